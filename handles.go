package winnow

import (
	"cmp"
	"context"

	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/view"
)

// Named is a part that is worth pruning, or was pruned, with the handle that names it.
type Named struct {
	Handle  string `json:"handle"`
	Part    string `json:"part"`
	Message string `json:"message"`
	Type    string `json:"type"` // tool, text, reasoning, file
	Tool    string `json:"tool,omitzero"`
	Target  string `json:"target,omitzero"` // what the call was about
	Tokens  int    `json:"tokens"`          // as the log has it
	Shown   int    `json:"shownTokens"`     // as the model sees it
	Age     int    `json:"age"`             // in steps; the newest step has the age 0
	State   State  `json:"state"`
	Rule    string `json:"rule,omitzero"` // that it is elided by
}

// State is how a part is shown.
type State string

// States of a part.
const (
	Shown  State = "shown"  // whole
	Elided State = "elided" // with less of it; Restore shows it whole
)

// Handles lists the parts of the window that are worth pruning, in their order: of the older steps, with a text, arguments or a result of at least
// rule.HandleMinimum tokens, and nothing that protects them. Among them are those that are elided already, whatever left them out.
func (e *Engine) Handles(ctx context.Context, id string) ([]Named, error) {
	l, err := e.lock(ctx, "handles", id)
	if err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	b := e.newBatch(l)
	named := []Named{}
	steps, step := session.Steps(b.window), 0
	for i := range b.window {
		m := &b.window[i]
		if m.Role == session.Assistant {
			step += session.Steps(b.window[i : i+1])
		}
		for j := range m.Parts {
			p := &m.Parts[j]
			el, elided := b.elision(p)
			if !rule.Worth(p, rule.HandleMinimum) || !elided && (step >= steps || b.refuse(m, p) != nil) {
				continue
			}
			n := Named{
				Handle: l.handles.Of(p), Part: p.ID, Message: m.ID, Type: string(p.Type), Tool: p.Tool, Target: cmp.Or(l.facts.Target(p), p.Filename),
				Tokens: l.facts.Size(p).Total(), Shown: l.partTokens(p, l.state.Ledger), Age: steps - step, State: Shown,
			}
			if elided {
				n.State, n.Rule = Elided, el.Rule
			}
			named = append(named, n)
		}
	}
	return named, nil
}

// batch is what deciding about parts by their names needs.
type batch struct {
	engine  *Engine
	live    *live
	window  []session.Message
	at      map[string]int // position in the window of each message
	marks   rule.Window
	asked   int // position in the window of the newest message that the user wrote, -1 without one
	summary bool

	op        string
	targets   []*target
	next      rule.Ledger    // as it will be
	committed []rule.Elision // that make it so
	replaced  []rule.Elision // that stand and will not
	notes     []string
}

func (e *Engine) newBatch(l *live) *batch {
	l.handles.Name(l.log)
	b := &batch{engine: e, live: l, window: l.window(), at: map[string]int{}, asked: -1}
	for i := range b.window {
		b.at[b.window[i].ID] = i
		if b.window[i].Written() {
			b.asked = i
		}
	}
	b.summary = view.Pivot(b.window) != nil
	b.marks = rule.Window{Messages: b.window, Ledger: l.state.Ledger, Pins: l.state.Pins, Facts: l.facts, Guard: e.policy.Guard, Handles: &l.handles}
	return b
}

// elision is the one that decides what is shown of a part: of its arguments only when that is all that is elided.
func (b *batch) elision(p *session.Part) (rule.Elision, bool) {
	all := b.live.state.Ledger.Of(p.ID)
	for _, el := range all {
		if el.Field != rule.Input {
			return el, true
		}
	}
	if len(all) > 0 {
		return all[0], true
	}
	return rule.Elision{}, false
}

// refuse says why an agent may not leave out a part, nil when it may.
func (b *batch) refuse(m *session.Message, p *session.Part) *rule.Refusal {
	no := func(code Code, reason string) *rule.Refusal {
		return &rule.Refusal{Code: code, Part: p.ID, Reason: reason}
	}
	at, in := b.at[m.ID]
	switch {
	case !in:
		return no(BeforePivot, "it lies before the last compaction: the summary stands for it")
	case m.IsSummary() || b.summary && at == 0:
		return no(Protected, "it belongs to the summary")
	case b.marks.Pinned(p.ID, m.ID):
		return no(Protected, "it is pinned")
	case m.Role == session.User && p.Type != session.FilePart:
		return no(Protected, "it is what the user wrote")
	}
	switch p.Type {
	case session.ToolPart:
		if p.State == nil || !p.State.Final() {
			return no(NotFinal, "the call has not ended")
		}
		if why := b.marks.Guard.Stays(p, b.live.facts.Call(p, b.directory(at))); why != "" {
			return no(Protected, why)
		}
	case session.ReasoningPart:
		if at > b.asked {
			return no(Recent, "reasoning stays until the user has written again")
		}
	case session.FilePart:
		if !p.IsMedia() {
			return no(Unprofitable, "it takes no tokens of its own")
		}
	case session.TextPart:
		if p.Ignored {
			return no(Unprofitable, "the model does not see it")
		}
	default:
		return no(BadInput, "it has no content to leave out")
	}
	return nil
}

// directory is the folder in which the calls of a message ran, as the log says it last.
func (b *batch) directory(at int) string {
	for i := at; i >= 0; i-- {
		if p := b.window[i].Path; p != nil && p.Cwd != "" {
			return p.Cwd
		}
	}
	return ""
}

// fields of a part that go when it is left out.
func fields(p *session.Part) []rule.Field {
	switch p.Type {
	case session.ToolPart:
		if p.State.Status == session.Failed {
			return []rule.Field{rule.Error, rule.Input}
		}
		return []rule.Field{rule.Output, rule.Input}
	case session.ReasoningPart:
		return []rule.Field{rule.Whole}
	case session.FilePart:
		return []rule.Field{rule.Attachments}
	}
	return []rule.Field{rule.Text}
}

// standing are the elisions of a part, and those of the parts whose summary it shows.
func (l *live) standing(p *session.Part) []rule.Elision {
	l.handles.Name(l.log)
	w := rule.Window{Facts: l.facts, Handles: &l.handles}
	all := l.state.Ledger.Of(p.ID)
	if len(all) == 0 {
		return nil
	}
	for _, el := range l.state.Ledger.All() {
		if el.Part != p.ID && w.LeansOn(el, p) {
			all = append(all, l.state.Ledger.Of(el.Part)...)
		}
	}
	return all
}
