package shaping

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strconv"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/cmd/internal/importing"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/report"
)

// keep brings the session in the store up to what an agent handed over, and tells the engine of the
// step that ended since. A decision of another process in between is waited for by trying again.
func (s *Shaper) keep(ctx context.Context, doc *format.Document) (winnow.Outcome, error) {
	for attempt := 0; ; attempt++ {
		out, err := s.kept(ctx, doc)
		busy := errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrExists) ||
			winnow.CodeOf(err) == winnow.Busy
		if !busy || attempt == 4 {
			return out, err
		}
	}
}

func (s *Shaper) kept(ctx context.Context, doc *format.Document) (winnow.Outcome, error) {
	id := doc.Session.Info.ID
	had, state, err := s.Engine.Session(ctx, id)
	if winnow.CodeOf(err) == winnow.NotFound {
		return winnow.Outcome{}, s.create(ctx, doc)
	}
	if err != nil {
		return winnow.Outcome{}, err
	}
	file := importing.Returned(had.Messages, doc.Session.Messages, state.Receipts)
	g := importing.Grow(had.Messages, file, doc.Session.Messages, state.Receipts)
	if g.Rewritten != "" && g.Agreed < len(had.Messages) { // another branch, or messages were taken back
		if had, state, err = s.rewind(ctx, doc, had, g.Agreed); err != nil {
			return winnow.Outcome{}, err
		}
		g = importing.Grow(had.Messages, file, doc.Session.Messages, state.Receipts)
	}
	if g.Rewritten != "" {
		return winnow.Outcome{}, errors.New(g.Rewritten)
	}
	g.Updated = slices.DeleteFunc(g.Updated, func(m session.Message) bool {
		at := session.Index(had.Messages, m.ID)
		if at >= 0 && m.Cost == nil {
			m.Cost = had.Messages[at].Cost // which Observe has worked out
		}
		return at >= 0 && reflect.DeepEqual(m, had.Messages[at])
	})
	if err := s.marked(ctx, id, doc, state); err != nil {
		return winnow.Outcome{}, err
	}
	return s.grown(ctx, id, g)
}

// grown appends what is new, up to the newest step, tells the engine of that, and appends the rest.
func (s *Shaper) grown(ctx context.Context, id string, g importing.Growth) (winnow.Outcome, error) {
	step := lastStep(g.Appended)
	updated := lastStep(g.Updated)
	if err := winnow.Extend(ctx, s.Engine, id, nil, g.Updated, g.Appended[:step+1]...); err != nil {
		return winnow.Outcome{}, err
	}
	ended := (*session.Message)(nil)
	switch {
	case step >= 0:
		ended = &g.Appended[step]
	case updated >= 0:
		ended = &g.Updated[updated]
	}
	var out winnow.Outcome
	if ended != nil && ended.Tokens != nil && ended.Tokens.Prompt() > 0 && !ended.IsSummary() {
		var err error
		if out, err = s.Engine.Observe(ctx, id, *ended.Tokens); err != nil {
			return out, err
		}
		if !called(ended) {
			turn, err := s.Engine.EndTurn(ctx, id)
			if err != nil {
				return out, err
			}
			if turn.Pruned != nil {
				out.Pruned = turn.Pruned
			}
		}
	}
	return out, winnow.Extend(ctx, s.Engine, id, nil, nil, g.Appended[step+1:]...)
}

// create adds the session.
func (s *Shaper) create(ctx context.Context, doc *format.Document) error {
	info := doc.Session.Info
	info.Recall = true
	if info.Time.Created == 0 {
		info.Time.Created = session.Millis(s.Now().UnixMilli())
	}
	info.Time.Updated = max(info.Time.Updated, info.Time.Created)
	_, err := s.Engine.Store().Apply(ctx, info.ID, store.Change{
		Create: &info, Append: doc.Session.Messages, Commit: doc.Ledger.All(),
		Source: source(doc), Spend: report.Beside(doc.Beside),
	})
	return err
}

// rewind takes a session back to its first messages. As it was, it is kept under an id of its own.
func (s *Shaper) rewind(ctx context.Context, doc *format.Document, had session.Session, to int) (
	session.Session, store.State, error) {
	id := had.Info.ID
	aside, err := s.free(ctx, id)
	if err == nil {
		_, err = s.Engine.Fork(ctx, id, had.Messages[to].ID, id, aside)
	}
	if err == nil {
		_, err = s.Engine.Store().Apply(ctx, id, store.Change{Source: source(doc)})
	}
	if err != nil {
		return session.Session{}, store.State{}, err
	}
	return s.Engine.Session(ctx, id)
}

func source(doc *format.Document) *store.Source {
	return &store.Source{Format: doc.Format, Data: doc.Source}
}

// marked takes over what the product itself left out since.
func (s *Shaper) marked(ctx context.Context, id string, doc *format.Document, state store.State) error {
	c := store.Change{Base: state.Revision}
	for _, e := range doc.Ledger.All() {
		if !state.Ledger.Has(e.Key()) && !s.taken(state, e.Key()) {
			c.Commit = append(c.Commit, e)
		}
	}
	if len(c.Commit) == 0 {
		return nil
	}
	_, err := s.Engine.Store().Apply(ctx, id, c)
	return err
}

// taken reports whether an elision was committed before and taken back.
func (s *Shaper) taken(state store.State, k rule.Key) bool {
	for i := range state.Receipts {
		for _, e := range state.Receipts[i].Committed {
			if e.Key() == k {
				return true
			}
		}
	}
	return false
}

// free is the first id of ID~1, ID~2, … that no session has.
func (s *Shaper) free(ctx context.Context, id string) (string, error) {
	for n := 1; ; n++ {
		aside := id + "~" + strconv.Itoa(n)
		if _, err := s.Engine.Store().Revision(ctx, aside); errors.Is(err, store.ErrNotFound) {
			return aside, nil
		} else if err != nil {
			return "", err
		}
	}
}

// lastStep is the position of the newest message of the assistant, -1 without one.
func lastStep(messages []session.Message) int {
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Role == session.Assistant {
			return i
		}
	}
	return -1
}

// called reports whether a step called tools, so that its turn goes on.
func called(m *session.Message) bool {
	return slices.ContainsFunc(m.Parts, func(p session.Part) bool { return p.Type == session.ToolPart })
}
