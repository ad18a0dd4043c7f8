package fold

import (
	"slices"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
)

// withoutDiscarded is a log in which the user's messages that were discarded say nothing: a summary
// neither quotes them nor holds instructions in them for valid. The messages keep their places.
func withoutDiscarded(log []session.Message, ledger rule.Ledger) []session.Message {
	shared := true
	for i := range log {
		for j := range log[i].Parts {
			p := &log[i].Parts[j]
			at := slices.IndexFunc(ledger.Of(p.ID), func(el rule.Elision) bool {
				return el.Rule == rule.Discard && el.Field == rule.Text
			})
			if at < 0 || log[i].Role != session.User || p.Type != session.TextPart {
				continue
			}
			if shared {
				log, shared = slices.Clone(log), false
			}
			log[i].Parts = slices.Clone(log[i].Parts)
			p = &log[i].Parts[j]
			p.Text, p.Synthetic = ledger.Of(p.ID)[at].Shown, true
		}
	}
	return log
}
