package winnow

import (
	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/view"
)

// labels are what the view shows beside the log: nil unless strategies.handles is on.
func (e *Engine) labels(l *live) *view.Labels {
	if !e.config.Settings.Strategies.Handles {
		return nil
	}
	return &view.Labels{Handles: &l.handles, Minimum: rule.HandleMinimum, Guard: e.policy.Guard}
}

// render is the view of a window, with its labels and markers.
func (l *live) render(window []session.Message, ledger rule.Ledger) []session.Message {
	return l.view.Markers.Of(l.view.Labels.Render(view.Render(window, ledger), ledger))
}

// tokens is the size of the view of a window, with its labels.
func (l *live) tokens(window []session.Message, ledger rule.Ledger) int {
	total := view.Tokens(window, ledger, l.facts)
	for i := range window {
		total += l.view.Labels.Tokens(&window[i], ledger, l.facts)
	}
	return total
}

// partTokens is the size of one part in the view, with its label; plainTokens without it.
func (l *live) partTokens(p *session.Part, ledger rule.Ledger) int {
	return l.plainTokens(p, ledger) + l.view.Labels.Part(p, ledger, l.facts)
}

func (l *live) plainTokens(p *session.Part, ledger rule.Ledger) int {
	return view.Part(p, ledger, l.facts).Total()
}
