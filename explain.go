package winnow

import (
	"context"

	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/view"
)

// Explanation says of one part why it is shown, elided, protected or a candidate.
type Explanation struct {
	Part    string `json:"part"`
	Message string `json:"message"`
	Type    string `json:"type"`
	Tool    string `json:"tool,omitzero"`
	Target  string `json:"target,omitzero"`
	Tokens  int    `json:"tokens"`      // as the log has it
	Shown   int    `json:"shownTokens"` // as the model sees it
	// Zone is where it stands.
	Zone Zone `json:"zone"`
	// Because is the reason, a sentence.
	Because string `json:"because"`
	// Elisions stand on it, Candidate would.
	Elisions  []rule.Elision `json:"elisions"`
	Candidate *rule.Elision  `json:"candidate,omitzero"`
	Pinned    bool           `json:"pinned"`
	// Undo says how to have it shown whole.
	Undo string `json:"undo,omitzero"`
	// Text is what the model sees of it now, the result of a tool call or the text of another part.
	Text string `json:"text"`
}

// Explain says why a part is shown as it is. part is its id or its call id.
func (e *Engine) Explain(ctx context.Context, id, part string) (Explanation, error) {
	l, err := e.lock(ctx, "explain", id)
	if err != nil {
		return Explanation{}, err
	}
	defer l.mu.Unlock()
	m, p := session.FindPart(l.log, part)
	if p == nil {
		return Explanation{}, notFound("explain", id, "part "+part)
	}
	window := l.window()
	found := e.policy.Find(l.plannerState())
	prunable := map[string]bool{}
	x := Explanation{
		Part: p.ID, Message: m.ID, Type: string(p.Type), Tool: p.Tool, Target: rule.Target(p), Tokens: l.facts.Size(p).Total(),
		Elisions: append([]rule.Elision{}, l.state.Ledger.Of(p.ID)...),
		Pinned:   rule.Window{Pins: l.state.Pins}.Pinned(p.ID),
	}
	for _, el := range found.Elisions {
		prunable[el.Part] = true
		if el.Part == p.ID {
			x.Candidate = &el
		}
	}
	at := session.Index(l.log, m.ID)
	turns := session.Turns(l.log)
	active := len(turns) > 0 && at >= turns[max(0, len(turns)-e.activeTurns())].Start
	x.Zone = zoneOf(l, m, p, session.Index(window, m.ID) >= 0, prunable, active)
	if x.Zone != Folded {
		x.Shown = view.Part(p, l.state.Ledger, l.facts).Total()
	}
	x.Text = shownText(p, l.state.Ledger)
	x.Because, x.Undo = e.because(l, x, window, found.Refusals)
	return x, nil
}

func shownText(p *session.Part, ledger rule.Ledger) string {
	rendered := view.Render([]session.Message{{MessageInfo: session.MessageInfo{Role: session.Assistant}, Parts: []session.Part{*p}}}, ledger)
	if len(rendered) == 0 || len(rendered[0].Parts) == 0 {
		return ""
	}
	if q := rendered[0].Parts[0]; q.State != nil {
		return q.State.Result()
	} else {
		return q.Text
	}
}

func (e *Engine) because(l *live, x Explanation, window []session.Message, refusals []rule.Refusal) (because, undo string) {
	switch x.Zone {
	case Folded:
		return "the summary of " + window[0].ID + " stands for everything before it", "winnow undo " + l.id + " " + window[0].ID
	case Summary:
		return "it is the summary that the window begins with", "winnow undo " + l.id + " " + window[0].ID
	case Pruned:
		last := x.Elisions[len(x.Elisions)-1]
		return last.Rule + ": " + last.Because, "winnow restore " + l.id + " " + x.Part
	case Prunable:
		return x.Candidate.Rule + " would elide it: " + x.Candidate.Because, ""
	}
	for _, r := range refusals {
		if r.Part == x.Part {
			return r.Reason, ""
		}
	}
	switch {
	case x.Pinned:
		return "it is pinned", "winnow pin --remove " + l.id + " " + x.Part
	case x.Zone == ActiveNow:
		return "it belongs to the last turns, which stay whole", ""
	case x.Zone == Guarded:
		return "it is among the newest tool output or of a protected tool, or too little could go with it for a commit to pay", ""
	}
	return "it was said, not looked up: no rule elides it", ""
}
