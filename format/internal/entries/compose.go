package entries

import (
	"cmp"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
)

// Names are the ids with which reading a file gives the parts that were composed, and their
// messages.
type Names map[string]Name

// Name is a part's id, and its message's.
type Name struct{ Part, Message string }

// Of returns a ledger with these names in place of its own.
func (n Names) Of(ledger rule.Ledger) rule.Ledger {
	if len(n) == 0 {
		return ledger
	}
	elisions := slices.Clone(ledger.All())
	for i := range elisions {
		n.Rename(&elisions[i])
	}
	return rule.NewLedger(elisions...)
}

// Rename puts an elision under these names.
func (n Names) Rename(e *rule.Elision) {
	name := n[e.Part]
	e.Part, e.Message = cmp.Or(name.Part, e.Part), cmp.Or(name.Message, e.Message)
	by := e.Covers()
	for i := range by {
		by[i] = cmp.Or(n[by[i]].Part, by[i])
	}
	e.By = strings.Join(by, " ")
}

// Noted reports whether a message has a note that only the engine's own form can hold.
func Noted(m *session.Message) bool {
	return slices.ContainsFunc(m.Parts, func(p session.Part) bool { _, noted := p.Note(); return noted })
}

// Summary is the text of a summary.
func Summary(m *session.Message) string {
	texts, _, _ := Texts(m)
	return strings.Join(texts, "\n\n")
}

// Completed is the summary that completes the marker at a position of a log, nil without one.
func Completed(log []session.Message, marker int) *session.Message {
	for i := marker; i < len(log); i++ {
		if m := &log[i]; m.Completes() && m.ParentID == log[marker].ID {
			return m
		}
	}
	return nil
}

// Tail are the messages of the tail of the marker at a position of a change's log, by their ids.
// Earlier pivots in it are left out: the new summary covers them.
func Tail(c format.Change, marker int) map[string]bool {
	log := c.Session.Messages
	in := map[string]bool{}
	if from := session.Index(log[:marker], log[marker].Marker().TailStartID); from >= 0 {
		for i := from; i < marker; i++ {
			if m := &log[i]; m.Marker() == nil && !m.IsSummary() && !m.IsUndone(c.Undone) {
				in[m.ID] = true
			}
		}
	}
	return in
}
