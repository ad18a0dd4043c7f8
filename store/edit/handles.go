package edit

import (
	"cmp"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/report"
)

// Named is a part that is worth pruning, or was pruned, with the handle that names it.
type Named struct {
	// The short name that "discard", "distill", "restore", "explain" and "pin" take.
	Handle  string `json:"handle"`
	Part    string `json:"part"`          // id of the part
	Message string `json:"message"`       // id of its message
	Type    string `json:"type"`          // "tool", "text", "reasoning" or "file"
	Tool    string `json:"tool,omitzero"` // for a call: the tool
	// For a call: the file, command or address that it was called on.
	Target string `json:"target,omitzero"`
	Tokens int    `json:"tokens"`        // its tokens in the log
	Shown  int    `json:"shownTokens"`   // its tokens as the model sees it
	Age    int    `json:"age"`           // steps since; the newest step has the age 0
	State  State  `json:"state"`         // "shown" or "elided"
	Rule   string `json:"rule,omitzero"` // the rule that left it out
}

// State is how a part is shown.
type State string

// States of a part.
const (
	Shown  State = "shown"  // whole
	Elided State = "elided" // with less of it; restoring shows it whole
)

// Handles lists the parts of the window that are worth pruning, in their order: those of the older
// steps, with a text, arguments or a result of at least rule.HandleMinimum tokens, and nothing that
// protects them. Those that are elided already are among them, whatever left them out.
func Handles(s *report.Session) ([]Named, error) {
	b := newBatch(s)
	named := []Named{}
	steps, step := session.Steps(b.window), 0
	for i := range b.window {
		m := &b.window[i]
		if m.Role == session.Assistant {
			step += session.Steps(b.window[i : i+1])
		}
		for j := range m.Parts {
			p := &m.Parts[j]
			elided := s.State.Ledger.Touches(p.ID)
			if !rule.Worth(p, rule.HandleMinimum) || !elided && (step >= steps || b.refuse(m, p) != nil) {
				continue
			}
			n := Named{
				Handle: s.Handles.Of(p), Part: p.ID, Message: m.ID, Type: string(p.Type), Tool: p.Tool,
				Target: cmp.Or(s.Facts.Target(p), p.Filename), Tokens: s.Facts.Size(p).Total(),
				Shown: b.shownTokens(p, s.State.Ledger), Age: steps - step, State: Shown,
			}
			if elided {
				el, ok := mainly(s.State.Ledger, p)
				if !ok { // its arguments are all that is elided
					el = s.State.Ledger.Of(p.ID)[0]
				}
				n.State, n.Rule = Elided, el.Rule
			}
			named = append(named, n)
		}
	}
	return named, nil
}
