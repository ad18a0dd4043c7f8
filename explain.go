package winnow

import (
	"context"

	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
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

// Explain says why a part is shown as it is. part is its id, its call id, or its handle.
func (e *Engine) Explain(ctx context.Context, id, part string) (Explanation, error) {
	l, err := e.lock(ctx, "explain", id)
	if err != nil {
		return Explanation{}, err
	}
	defer l.mu.Unlock()
	m, p := l.find(part)
	if p == nil {
		return Explanation{}, notFound("explain", id, "part "+part)
	}
	x := e.explainer(l).explain(m, p, session.Index(l.log, m.ID))
	x.Text = l.shownText(p)
	return x, nil
}

func (l *live) shownText(p *session.Part) string {
	rendered := l.render([]session.Message{{MessageInfo: session.MessageInfo{Role: session.Assistant}, Parts: []session.Part{*p}}}, l.state.Ledger)
	if len(rendered) == 0 || len(rendered[0].Parts) == 0 {
		return ""
	}
	if q := rendered[0].Parts[0]; q.State != nil {
		return q.State.Result()
	} else {
		return q.Text
	}
}

func (x explainer) because(of Explanation) (because, undo string) {
	l := x.live
	switch of.Zone {
	case Folded:
		return "the summary of " + x.window[0].ID + " stands for everything before it", "winnow undo " + l.id + " " + x.window[0].ID
	case Summary:
		return "it is the summary that the window begins with", "winnow undo " + l.id + " " + x.window[0].ID
	case Pruned:
		last := of.Elisions[len(of.Elisions)-1]
		return last.Rule + ": " + last.Because, "winnow restore " + l.id + " " + of.Part
	case Prunable:
		return of.Candidate.Rule + " would elide it: " + of.Candidate.Because, ""
	}
	if r, ok := x.refusals[of.Part]; ok && of.Part != "" {
		return r.Reason, ""
	}
	switch {
	case of.Pinned:
		if !x.pins.Pinned(of.Part) {
			return "its message is pinned", "winnow pin --remove " + l.id + " " + of.Message
		}
		return "it is pinned", "winnow pin --remove " + l.id + " " + of.Part
	case of.Zone == ActiveNow:
		return "it belongs to the last turns, which stay whole", ""
	case of.Zone == Guarded:
		return "it is among the newest tool output or of a protected tool, or too little could go with it for a commit to pay", ""
	}
	return "it was said, not looked up: no rule elides it", ""
}
