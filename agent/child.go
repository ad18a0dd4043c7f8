package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

// Child is what another agent is to do, in a session of its own, for the call that began it.
type Child struct {
	SessionID string // of a child of the same session that goes on; empty: a new one begins
	Title     string // of the new session
	Prompt    string
	// System is said behind the parent's system prompt.
	System string
	// Tools are names of those of the parent's tools that it may use; nil: all of them. The tool
	// whose call began it is never among them.
	Tools []string
	// OnEvent is told what happens in it, as Config.OnEvent is in the parent, which is told nothing
	// of it. It may be nil.
	OnEvent func(Event)
}

// ErrNoChild is the error when a call wants to go on with a session that is not a child of its own.
var ErrNoChild = errors.New("no session that was begun from this one has this id")

// desk is where a loop and its children see who works on which session.
type desk struct {
	mu       sync.Mutex
	queues   map[string][]said        // what was said to sessions that are worked on; an entry for each of them
	prefixes map[string]winnow.Prefix // what the requests of sessions that are worked on begin with
	beside   map[string]*beside       // summaries that are being written, by session
}

// child does what Call.Child says. began is told the id of its session as soon as there is one.
func (r *run) child(ctx context.Context, j job, c Child, began func(id string)) (Turn, error) {
	if strings.TrimSpace(c.Prompt) == "" {
		return Turn{}, errors.New("the prompt is empty: say what is to be done")
	}
	config := r.config
	config.OnEvent, config.Ask = c.OnEvent, j.call.Ask
	config.Headlines = nil // nobody reads what the turns of a child were about, and the call would wait for it
	config.System, config.SystemFor = r.system, nil
	if c.System != "" {
		config.System = strings.TrimSpace(r.system + "\n\n" + c.System)
	}
	config.Tools = slices.DeleteFunc(slices.Clone(config.Tools), func(t Tool) bool {
		return t.Name() == j.tool.Name() || c.Tools != nil && !slices.Contains(c.Tools, t.Name())
	})
	loop, err := New(config)
	if err != nil {
		return Turn{}, err
	}
	loop.desk = r.desk
	id := c.SessionID
	if id == "" {
		id, err = r.config.Engine.Create(ctx, session.Info{ParentID: r.id, Title: c.Title,
			Directory: r.config.Directory, Model: r.reference()})
	} else {
		err = r.began(ctx, id)
	}
	if err != nil {
		return Turn{}, err
	}
	began(id)
	return loop.Run(ctx, id, c.Prompt)
}

// began fails for a session that no call of this one began. A fork of this session is not one of
// them, although this one is its parent.
func (r *run) began(ctx context.Context, id string) error {
	s, _, err := r.config.Engine.Session(ctx, r.id)
	if err != nil {
		return err
	}
	state, err := r.config.Engine.Store().State(ctx, id)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if err != nil || state.Info.ParentID != r.id || !slices.Contains(Children(s.Messages), id) {
		return fmt.Errorf("%s: %w", id, ErrNoChild)
	}
	return nil
}
