package view

import (
	"errors"
	"fmt"

	"github.com/winnowhq/winnow/session"
)

// Check looks for what would make a provider refuse a rendered view, and returns one error that
// names all of it, nil when there is none. It is run on every view before it is sent.
func Check(rendered []session.Message) error {
	var all []error
	for _, p := range session.Check(rendered) {
		if p.Refused {
			all = append(all, errors.New(p.String()))
		}
	}
	for i := range rendered {
		m := &rendered[i]
		if m.IsSummary() && !m.Completes() {
			all = append(all, fmt.Errorf("message %s: an unfinished summary", m.ID))
		}
		for j := range m.Parts {
			if p := &m.Parts[j]; p.Type == session.ToolPart && p.CallID == "" {
				all = append(all, fmt.Errorf("message %s, part %s: a call without a call id", m.ID, p.ID))
			}
		}
	}
	return errors.Join(all...)
}
