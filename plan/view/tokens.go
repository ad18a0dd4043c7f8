package view

import (
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
)

// Tokens is the size of the rendered window. It is measured, not summed from what elisions claim:
// an elided piece counts with what is shown in its place. Parts that the facts know already cost
// nothing.
func Tokens(window []session.Message, ledger rule.Ledger, facts *rule.Facts) int {
	total := 0
	for i := range window {
		m := &window[i]
		if m.IsSummary() && !m.Completes() || m.Marker() != nil && !answered(window[i:]) {
			continue
		}
		total += Message(m, ledger, facts)
	}
	return total
}

// Message is the size of one rendered message.
func Message(m *session.Message, ledger rule.Ledger, facts *rule.Facts) int {
	total := 0
	for j := range m.Parts {
		total += Part(&m.Parts[j], ledger, facts).Total()
	}
	return total
}

// Part is the size of one rendered part.
func Part(p *session.Part, ledger rule.Ledger, facts *rule.Facts) rule.Size {
	size := facts.Size(p)
	if !ledger.Touches(p.ID) {
		return size
	}
	before := *p
	shown, stays := elideOne(before, ledger)
	if !stays {
		return rule.Size{}
	}
	// The rendered part has the id of the log's: measured under it, it would take the place of what
	// is known.
	shown.ID = "shown:" + p.ID
	return facts.Size(&shown)
}

func elideOne(p session.Part, ledger rule.Ledger) (session.Part, bool) {
	stays := true
	for _, e := range ledger.Of(p.ID) {
		if p, stays = Apply(p, e); !stays {
			return p, false
		}
	}
	return p, true
}
