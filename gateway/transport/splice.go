package transport

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/body"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/report"
)

// splice leaves out of a request, whose messages are so many, everything that was decided. The
// lineage's lock is held.
func (t *Transport) splice(ctx context.Context, l *conversation, doc *format.Document, sent int) (c cut, err error) {
	if c.decisions, err = t.decisions(ctx, l.id, sent); err != nil {
		return c, err
	}
	c.body = doc.Source
	edited, left, err := edited(l, doc, c.decisions)
	if err != nil {
		return c, err
	}
	c.left = left
	if t.options.Mode != Observe && !bytes.Equal(edited, doc.Source) {
		c.body, c.edited = edited, true
	}
	return c, nil
}

// spliced is the body of a request with everything left out of it that was decided, and what that
// is. Where nothing was decided it is the body itself.
func spliced(l *conversation, doc *format.Document, st decisions) ([]byte, left, error) {
	state := st.state
	if state.Ledger.Len() == 0 && st.pivot == nil {
		return doc.Source, left{}, nil
	}
	change := format.Change{Session: doc.Session, Ledger: state.Ledger}
	if st.pivot != nil {
		change.Session.Messages = slices.Concat(change.Session.Messages, st.pivot)
	}
	n := doc.Native.(*body.Native)
	edited, err := n.Splice(change)
	if err != nil {
		return nil, left{}, err
	}
	edited = marked(edited, doc, st.answered, state)
	// What was accepted before is so now: what came since is the client's own.
	if now := countDecisions(state); now != l.accepted {
		if err := n.Accepted(edited); err != nil {
			return nil, left{}, err
		}
		l.accepted = now
	}
	return edited, leftOut(l, doc, state, st.pivot), nil
}

// decisions are what was decided about a conversation, for a request of so many messages.
type decisions struct {
	state store.State       // of it, as far as that says what is left out
	pivot []session.Message // what stands for what is folded
	// folded is how many of the client's messages were in the log when that was folded.
	folded int
	// answered is how many messages the log has up to the newest answer that the request has. The
	// answer to the request itself does not count. It is in the log if the request is asked again
	// because its answer was lost on the way, and what is sent must be what was sent then.
	answered int
}

// decisions are what was decided about a session, for a request of so many messages.
func (t *Transport) decisions(ctx context.Context, id string, sent int) (decisions, error) {
	return winnow.Look(ctx, t.engine, id, func(s *report.Session) (decisions, error) {
		return decisionsOf(s.Log, s.State, sent), nil
	})
}

// decisionsOf are what was decided about a session with this log.
func decisionsOf(log []session.Message, state store.State, sent int) decisions {
	st := decisions{pivot: body.Folded(log, state.Undone), answered: reaches(log, sent),
		state: store.State{Ledger: state.Ledger, Receipts: state.Receipts, Undone: state.Undone}}
	for st.answered > 0 && log[st.answered-1].Role != session.Assistant {
		st.answered--
	}
	if st.pivot != nil {
		st.folded = len(clients(log[:session.Index(log, st.pivot[0].ID)]))
	}
	return st
}

// reaches is how many messages a log has before the first one that the client did not send, where
// it sent this many.
func reaches(log []session.Message, sent int) int {
	for i := range log {
		if !isClients(&log[i]) {
			continue
		}
		if sent == 0 {
			return i
		}
		sent--
	}
	return len(log)
}

// decisionCount counts what was decided about a session.
type decisionCount struct{ elisions, receipts, undone int }

func countDecisions(state store.State) decisionCount {
	return decisionCount{state.Ledger.Len(), len(state.Receipts), len(state.Undone)}
}

// reasons reports whether a conversation holds reasoning that a model may bind to what it was sent
// before: as blocks, or as signatures on what it said.
func reasons(messages []session.Message) bool {
	for i := range messages {
		for j := range messages[i].Parts {
			p := &messages[i].Parts[j]
			if p.Type == session.ReasoningPart || strings.Contains(string(p.Metadata), "ignature") {
				return true
			}
		}
	}
	return false
}
