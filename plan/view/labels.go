package view

import (
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
)

// Labels write the handle of a part under what a call gave back, so that an agent can name what it
// is done with. A label depends on the part and on whether it is elided, on nothing else, so that a
// longer view begins with the bytes of the shorter one. nil writes none.
type Labels struct {
	Handles *rule.Handles
	Minimum int         // tokens, as rule.Worth counts them
	Guard   *rule.Guard // protected parts get no handle, because they cannot be pruned
}

// label is the line under a part, "" for none: for what is small, protected, not a call that ended,
// or shows its handle in a placeholder.
func (l *Labels) label(p *session.Part, ledger rule.Ledger) string {
	if l == nil || p.Type != session.ToolPart || p.State == nil || !p.State.Final() || ledger.Touches(p.ID) ||
		rule.SelfPrunes(p.Tool) {
		return ""
	}
	if size := rule.Estimate(p); size.Output+size.Files < l.Minimum || p.State.Result() == "" {
		return ""
	}
	if l.Guard != nil {
		if l.Guard.Tool(p.Tool) {
			return ""
		}
		for _, path := range rule.Paths(p) {
			if l.Guard.Path(path) {
				return ""
			}
		}
	}
	handle := l.Handles.Of(p)
	if handle == "" {
		return ""
	}
	return "\n" + rule.Label(handle)
}

// Tokens is what the labels of a message take.
func (l *Labels) Tokens(m *session.Message, ledger rule.Ledger, facts *rule.Facts) int {
	if l == nil {
		return 0
	}
	total := 0
	for j := range m.Parts {
		total += l.Part(&m.Parts[j], ledger, facts)
	}
	return total
}

// Part is what the label of one part takes.
func (l *Labels) Part(p *session.Part, ledger rule.Ledger, facts *rule.Facts) int {
	if text := l.label(p, ledger); text != "" {
		return facts.Count(text)
	}
	return 0
}

// Render writes labels into rendered messages, which are not changed: what gets one is copied.
func (l *Labels) Render(rendered []session.Message, ledger rule.Ledger) []session.Message {
	if l == nil {
		return rendered
	}
	var labelled []session.Message
	for i := range rendered {
		copied := false
		for j := range rendered[i].Parts {
			text := l.label(&rendered[i].Parts[j], ledger)
			if text == "" {
				continue
			}
			if labelled == nil {
				labelled = append([]session.Message{}, rendered...)
			}
			if !copied {
				labelled[i].Parts, copied = append([]session.Part{}, rendered[i].Parts...), true
			}
			p := &labelled[i].Parts[j]
			state := *p.State
			p.State = &state
			setResult(p.State, state.Result()+text)
		}
	}
	if labelled == nil {
		return rendered
	}
	return labelled
}

// WindowTokens is the size of a window rendered with a ledger and with labels.
func (l *Live) WindowTokens(window []session.Message, ledger rule.Ledger, facts *rule.Facts) int {
	total := Tokens(window, ledger, facts)
	for i := range window {
		total += l.Labels.Tokens(&window[i], ledger, facts)
	}
	return total
}

// PartTokens is the size of one part rendered with a ledger and with its label.
func (l *Live) PartTokens(p *session.Part, ledger rule.Ledger, facts *rule.Facts) int {
	return Part(p, ledger, facts).Total() + l.Labels.Part(p, ledger, facts)
}

// Render renders a window with a ledger as this view does: with labels and markers.
func (l *Live) Render(window []session.Message, ledger rule.Ledger) []session.Message {
	return l.Markers.Of(l.Labels.Render(Render(window, ledger), ledger))
}
