package winnow

import (
	"context"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/view"
)

// Charge records what requests took that left no message: attempts that failed and were paid for. Nothing else is done about them.
func (e *Engine) Charge(ctx context.Context, id string, spent ...store.Spend) error {
	if len(spent) == 0 {
		return nil
	}
	for i := range spent {
		if spent[i].Time == 0 {
			spent[i].Time = millis(e.config.Now())
		}
	}
	return e.change(ctx, "charge", id, func(*live) (store.Change, error) { return store.Change{Spend: spent}, nil }, func(*live) { e.recorded(id, spent) })
}

// Pending returns the marker that waits to be executed by Compact, nil when there is none. A loop looks before each step (S001, the loop's order).
func (e *Engine) Pending(ctx context.Context, id string) (*session.Message, error) {
	l, err := e.lock(ctx, "read", id)
	if err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	at := view.Pending(l.log, l.state.Undone)
	if at < 0 {
		return nil, nil
	}
	marker := l.log[at]
	return &marker, nil
}
