package winnow

import (
	"context"

	"github.com/winnowhq/winnow/store"
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
