package agent

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/wire"
)

// Config is what a Loop is made from. Engine, Client and Model are needed.
type Config struct {
	// Engine keeps the sessions. It must know Model by its own catalogue, or assume it.
	Engine *winnow.Engine
	// Client asks the model, through llm.Retry with the options of Retry: it is not wrapped in one
	// already.
	Client llm.Client
	Retry  llm.RetryOptions
	Model  model.Model
	// Protocol is what the client speaks, for the tools are written in the provider's own JSON.
	// Default: Chat.
	Protocol wire.Protocol
	System   string
	// SystemFor gives the system prompt of one session, in the place of System. It is asked once in
	// each Run, and for a summary that is made outside of one: what it gives for a session must be
	// the same to the byte every time, for that is what the provider's cache knows the session by.
	// Default: System for all.
	SystemFor func(ctx context.Context, sessionID string) (string, error)
	Tools     []Tool
	// Directory is the folder in which the tools work. Default: that of the process.
	Directory string
	// Ask is asked before a tool touches something; nil error: allowed. It may wait for somebody to
	// answer; tools ask from several goroutines. Default: what lies in the working folder is
	// allowed, nothing else.
	Ask func(ctx context.Context, p Permission) error
	// Limits say which outputs of tools are too long to be sent, and how much of such a one is. The
	// whole of it is kept in the store, where it can be recalled: see Shape. The zero value is the
	// default; tools that are Paged are left alone.
	Limits Limits
	// OnEvent is told what happens, one event after the other. It must return soon, for the work
	// waits for it.
	OnEvent func(Event)
	// MaxSteps is how many requests one Run or Resume makes at most. Default 1,000.
	MaxSteps int
	// Snapshots keeps the state of the working folder before and after each step, so that there are
	// diffs, and a session and its files can go back together. Package snapshot has one. Default:
	// none.
	Snapshots Snapshots
	// SnapshotTime is how long one may take at most. One that fails or takes longer does not stop
	// the work: it is told by an event, and after a failure, or three in a row that took too long,
	// no more are taken until the end of that Run. Default 10 s.
	SnapshotTime time.Duration
	// Headlines says in a few words what a turn was about, for people; HeadlinesBy asks a model.
	// Default, and where it fails: the first sentences of the request and of the answer.
	Headlines func(ctx context.Context, t Told) (Headline, error)
}

// Loop lets a model work with tools. It is safe for use by several goroutines; one session is
// worked on by one Run or Resume at a time. Where another process works on it too, that of the two
// stops with ErrElsewhere that finds an answer of the other's in the log behind its own: what both
// did is in the log, and what they did to the files is theirs.
type Loop struct {
	config   Config
	client   llm.Client
	tools    map[string]Tool
	declared jsontext.Value

	*desk

	telling sync.Mutex
}

// New makes a loop. The error names what in the configuration cannot be.
func New(c Config) (*Loop, error) {
	switch {
	case c.Engine == nil:
		return nil, errors.New("agent: there is no engine: set Config.Engine")
	case c.Client == nil:
		return nil, errors.New("agent: there is no client: set Config.Client, package providers makes one")
	case c.Model.ID == "":
		return nil, errors.New("agent: there is no model: set Config.Model, a model.Catalogue has it")
	case c.MaxSteps < 0:
		return nil, fmt.Errorf("agent: MaxSteps is %d: give 1 or more, or 0 for 1,000", c.MaxSteps)
	}
	if c.MaxSteps == 0 {
		c.MaxSteps = 1000
	}
	if c.SnapshotTime <= 0 {
		c.SnapshotTime = 10 * time.Second
	}
	if c.Protocol == "" {
		c.Protocol = wire.Chat
	}
	if c.Ask == nil {
		c.Ask = inside
	}
	folder, err := filepath.Abs(c.Directory)
	if err != nil {
		return nil, fmt.Errorf("agent: the working folder: %w", err)
	}
	c.Directory = folder
	declared, err := Declare(c.Protocol, c.Tools)
	if err != nil {
		return nil, err
	}
	l := &Loop{config: c, client: llm.Retry(c.Client, c.Retry), declared: declared, tools: map[string]Tool{},
		desk: &desk{queues: map[string][]said{}, prefixes: map[string]winnow.Prefix{}, beside: map[string]*beside{}}}
	for _, t := range c.Tools {
		l.tools[t.Name()] = t
	}
	return l, nil
}

// inside is the answer when nobody is there to ask.
func inside(_ context.Context, p Permission) error {
	if p.Inside {
		return nil
	}
	return fmt.Errorf("%s %s: outside of the working folder nothing is allowed", p.Action, p.Target)
}

// Prefix is what every request begins with, for winnow.Config.Prefix, so that requests for
// summaries are read from the provider's cache.
func (l *Loop) Prefix(ctx context.Context, id string) (winnow.Prefix, error) {
	l.mu.Lock()
	p, ok := l.prefixes[id]
	l.mu.Unlock()
	if ok {
		return p, nil
	}
	system, err := l.system(ctx, id)
	return winnow.Prefix{System: system, Tools: l.declared}, err
}

func (l *Loop) system(ctx context.Context, id string) (string, error) {
	if l.config.SystemFor == nil {
		return l.config.System, nil
	}
	return l.config.SystemFor(ctx, id)
}

// Turn is what came of a Run or a Resume, as far as it came.
type Turn struct {
	SessionID string
	Text      string     // of the last answer
	Finish    llm.Finish // why it ended; Length: it was cut off. Empty where there was no answer
	Steps     int        // answers
	Spent     Totals     // of this Run alone, and of compactions in it
}

// Run tells the model something and lets it work until it calls no more tools. An empty id begins a
// session; Turn has its id. Attached are file parts that are sent with the prompt: images,
// documents.
//
// Where ctx ends, Run returns within 250 ms: calls that had not ended are marked as failed, what
// was said so far is kept, and the session can be resumed. Tools that do not heed ctx are left
// behind. The same holds of every other error: nothing is lost, and Resume or Run go on.
func (l *Loop) Run(ctx context.Context, id, prompt string, attached ...session.Part) (Turn, error) {
	if strings.TrimSpace(prompt) == "" {
		return Turn{SessionID: id}, errors.New("agent: the prompt is empty: say what is to be done, or use Resume")
	}
	if id == "" {
		created, err := l.config.Engine.Create(ctx,
			session.Info{Directory: l.config.Directory, Model: l.reference(),
				Title: titleOf(prompt)})
		if err != nil {
			return Turn{}, err
		}
		id = created
	}
	return l.work(ctx, id, func(r *run, _ bool) (bool, error) {
		if err := r.overdue(ctx); err != nil {
			return false, err
		}
		return true, r.say(ctx, said{prompt, attached})
	})
}

// Resume goes on with a session that a crash, an error or a cancellation left: calls that never
// ended are marked as interrupted, and the last turn is finished where it was not. A session whose
// last turn is finished is left alone; Turn.Steps is 0 then.
func (l *Loop) Resume(ctx context.Context, id string) (Turn, error) {
	return l.work(ctx, id, func(r *run, unfinished bool) (bool, error) {
		if !unfinished {
			return false, nil
		}
		if err := r.overdue(ctx); err != nil || !r.cut {
			return true, err
		}
		return true, r.nudge(ctx)
	})
}

// Say tells the model something while it works: it is appended at the next boundary between two
// steps. False: nobody works on the session, and nothing was said; call Run.
func (l *Loop) Say(id, text string, attached ...session.Part) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	queue, working := l.queues[id]
	if working && strings.TrimSpace(text) != "" {
		l.queues[id] = append(queue, said{text, attached})
	}
	return working
}

// ErrBusy is the error when a session is worked on already.
var ErrBusy = errors.New("the session is being worked on: use Say, or wait")

// work does one Run or Resume. begin says whether there is something to do.
func (l *Loop) work(ctx context.Context, id string, begin func(r *run, unfinished bool) (bool, error)) (Turn, error) {
	r := &run{Loop: l, id: id, result: Turn{SessionID: id}, known: map[string]bool{}, seen: map[string]bool{}}
	if !l.enter(id) {
		return r.result, fmt.Errorf("agent: session %s: %w", id, ErrBusy)
	}
	saving, done := outlast(ctx)
	defer done()
	r.saving = saving
	defer r.accompany(ctx)()
	defer func() {
		if !r.left { // it did not begin, or something panicked
			r.leave(true)
		}
	}()
	before, err := l.Totals(ctx, id)
	if err != nil {
		return r.result, fmt.Errorf("agent: %w", err)
	}
	if r.system, err = l.system(ctx, id); err != nil {
		return r.result, fmt.Errorf("agent: session %s: its system prompt: %w", id, err)
	}
	l.mu.Lock()
	l.prefixes[id] = winnow.Prefix{System: r.system, Tools: l.declared}
	l.mu.Unlock()
	unfinished, err := r.mend(ctx)
	goes := false
	if err == nil {
		goes, err = begin(r, unfinished)
	}
	for !r.left {
		if err == nil && goes {
			err = r.turn(ctx)
		}
		r.end(before, err)
		goes, r.over = true, false // something was said meanwhile
	}
	switch {
	case err == nil:
		return r.result, nil
	case ctx.Err() != nil:
		err = fmt.Errorf("interrupted: %w", context.Cause(ctx))
	}
	return r.result, fmt.Errorf("agent: session %s: %w", id, errors.Join(err, r.unsaid))
}

// end sums up and leaves the session, unless something was said to it meanwhile. After an error
// that is written down too.
func (r *run) end(before Totals, failed error) {
	if failed != nil {
		r.unsaid = r.deliver(r.saving)
		r.giveUp()
	}
	if after, err := r.Totals(r.saving, r.id); err == nil {
		r.result.Spent = after.minus(before)
	}
	r.leave(r.unsaid != nil)
}

// patience is how long writing down what must be written may take after the caller stopped.
const patience = 180 * time.Millisecond

// outlast is a context for what must still be written when the caller's has ended: it ends a little
// later.
func outlast(ctx context.Context) (context.Context, context.CancelFunc) {
	saving, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(patience, cancel) })
	return saving, func() { stop(); cancel() }
}

func (l *Loop) enter(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, working := l.queues[id]; working {
		return false
	}
	l.queues[id] = nil
	return true
}

// leave ends the work on a session, unless something was said meanwhile and it need not end. A
// summary that is being written is left to itself for a while.
func (r *run) leave(must bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.queues[r.id]) > 0 && !must {
		return
	}
	delete(r.queues, r.id)
	delete(r.prefixes, r.id)
	if b := r.beside[r.id]; b != nil {
		b.late = time.AfterFunc(linger, b.cancel)
	}
	r.left = true
}

// reference names the model in messages.
func (l *Loop) reference() *session.ModelRef {
	return &session.ModelRef{ProviderID: l.config.Model.Provider, ModelID: l.config.Model.ID}
}
