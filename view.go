package winnow

import (
	"context"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/view"
)

// View is what the model is to be sent.
type View struct {
	// Messages are of the same types as the log's: elisions applied, the summary in its place. Package wire writes them down for a provider.
	Messages []session.Message
	// Tokens is their size by the session's counter.
	Tokens int
	// Model is who reads them, "provider/id".
	Model string
}

// View returns what the model is to be sent now. It is checked first: an error means that a provider would refuse it, and says why.
// Two views of the same state are equal to the byte, and a view after one more message begins with the view before it.
func (e *Engine) View(ctx context.Context, id string) (View, error) {
	l, err := e.lock(ctx, "view", id)
	if err != nil {
		return View{}, err
	}
	defer l.mu.Unlock()
	now := l.look()
	v := View{Messages: now.Rendered(), Tokens: now.Tokens(), Model: l.model.String()}
	if err := now.Check(); err != nil {
		return v, &Error{Code: BadInput, Op: "view", Session: id, Err: err, Hint: "the log holds what no provider takes; update the messages named"}
	}
	return v, nil
}

// look brings the view up to date.
func (l *live) look() *view.Live {
	if l.view.Labels != nil {
		l.handles.Name(l.log)
	}
	l.view.Sync(l.log, l.state.Undone, l.state.Ledger, l.facts, l.changed)
	l.changed = len(l.log)
	return &l.view
}

func (l *live) window() []session.Message { return l.look().Window() }
