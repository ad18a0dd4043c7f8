package lab

import (
	"iter"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
)

// toolOutput is the result of a call, with its message.
type toolOutput struct {
	part    *session.Part
	message string // id
}

// outputsOf yields the outputs of finished calls in the first messages of a window, oldest first,
// elided ones included.
func outputsOf(w rule.Window, upTo int) iter.Seq[toolOutput] {
	return func(yield func(toolOutput) bool) {
		for i := range w.Messages[:upTo] {
			m := &w.Messages[i]
			if m.Role != session.Assistant || m.IsSummary() {
				continue
			}
			for j := range m.Parts {
				p := &m.Parts[j]
				if p.Type == session.ToolPart && p.State != nil && p.State.Final() && !yield(toolOutput{p, m.ID}) {
					return
				}
			}
		}
	}
}

// hidden returns elisions that replace outputs by a fixed text, for outputs larger than it.
func hidden(w rule.Window, outputs []toolOutput, name, shown, because string) rule.Found {
	var found rule.Found
	takes := w.Facts.Count(shown)
	for _, o := range outputs {
		if w.Ledger.Touches(o.part.ID) {
			continue
		}
		size := w.Facts.Size(o.part)
		if saves := size.Output + size.Files - takes; saves > 0 {
			field := rule.Output
			if o.part.State.Status == session.Failed {
				field = rule.Error
			}
			found.Elisions = append(found.Elisions, rule.Elision{
				Part: o.part.ID, Message: o.message, Field: field, Rule: name, Shown: shown, Because: because,
				Saves: saves,
			})
		}
	}
	return found
}

// isStep reports whether a message is a model's answer in the log.
func isStep(m *session.Message) bool { return m.Role == session.Assistant && !m.IsSummary() }
