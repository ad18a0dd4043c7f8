package geminicli

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/internal/entries"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
)

// Write writes a recording that the product resumes. See format.Format. No line that is there is
// changed: what a change makes of the session is a line behind them that lists what the model is
// sent from then on, as the product itself lists it. Lines of ours at the end of the file are
// written anew, and gone when nothing of them counts any more.
//
// The error is format.ErrReadOnly for a recording in one object, and for a checkpoint. Without
// from, calls that have not ended stay without a result. A marker without a completed summary is
// not written.
func (Format) Write(w io.Writer, from *format.Document, change format.Change) error {
	change = change.Settled()
	p := &writer{change: change, base: &format.Document{}}
	c := &composer{index: newIndex(), calls: map[string]bool{}, names: entries.Names{}}
	var x *index
	if from != nil && from.Format == Name {
		x, _ = from.Native.(*index)
	}
	switch {
	case x == nil:
		c.header(&change.Session.Info)
	case !x.lined:
		return format.ErrReadOnly
	case same(from.Ledger, change.Ledger) && from.SameMessages(change):
		_, err := w.Write(from.Source)
		return err
	default:
		base, err := theirs(from)
		if err != nil {
			return err
		}
		own := *base.Native.(*index)
		own.said = maps.Clone(own.said)
		p.base, c.index, c.keep = base, &own, true
		c.out = base.Source
		if n := len(c.out); n > 0 && c.out[n-1] != '\n' {
			c.ended = true
		}
		for i := range base.Session.Messages {
			for j := range base.Session.Messages[i].Parts {
				c.calls[base.Session.Messages[i].Parts[j].CallID] = true
			}
		}
	}
	if err := p.write(c); err != nil {
		return fmt.Errorf("%s: %w", Name, err)
	}
	_, err := w.Write(c.out)
	return err
}

func ids(messages []session.Message) map[string]bool {
	have := make(map[string]bool, len(messages))
	for i := range messages {
		have[messages[i].ID] = true
	}
	return have
}

// theirs is a document without lines of ours at its end.
func theirs(doc *format.Document) (*format.Document, error) {
	end := doc.Native.(*index).theirs
	if end == 0 || end == len(doc.Source) {
		return doc, nil
	}
	return understand(doc.Source[:end:end], true)
}

// writer writes one file.
type writer struct {
	base   *format.Document // what stays of the file
	change format.Change
}

// write composes what the file does not have.
func (p *writer) write(c *composer) error {
	messages := p.change.Session.Messages
	undone := func(m *session.Message) bool { return m.IsUndone(p.change.Undone) }
	have := ids(p.base.Session.Messages)
	for i := range messages {
		if m := &messages[i]; !have[m.ID] && !undone(m) && m.Marker() == nil && !m.IsSummary() {
			c.compose(m)
		}
	}
	ledger := c.known(c.names.Of(p.change.Ledger))
	lists := slices.ContainsFunc(p.base.Session.Messages, func(m session.Message) bool { return undone(&m) }) ||
		!same(ledger, p.base.Ledger)
	for i := range messages {
		m := &messages[i]
		if have[m.ID] || undone(m) || m.IsSummary() {
			continue
		}
		if m.Marker() == nil {
			if err := c.message(m); err != nil {
				return err
			}
			lists = lists || slices.ContainsFunc(m.Parts, func(part session.Part) bool {
				return ledger.Touches(c.part(part.ID))
			})
			continue
		}
		summary := entries.Completed(messages, i)
		if summary == nil {
			continue
		}
		// What comes between a marker and its summary is behind both.
		window := view.Window(append(slices.Clone(messages[:i+1]), *summary), p.change.Undone)
		if err := c.list(window, ledger, &marks{Message: m, Summary: summary}); err != nil {
			return err
		}
		lists = false
	}
	if !lists {
		return nil
	}
	return c.list(view.Window(messages, p.change.Undone), ledger, &marks{})
}

// same reports whether two ledgers hold the same elisions.
func same(a, b rule.Ledger) bool {
	return a.Len() == b.Len() && !slices.ContainsFunc(a.All(), func(e rule.Elision) bool {
		return !slices.Contains(b.Of(e.Part), e)
	})
}
