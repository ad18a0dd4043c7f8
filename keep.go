package winnow

import (
	"context"
	"errors"

	"github.com/winnowhq/winnow/store"
)

// Keep keeps the whole of an output beside the log, for a part whose text there is only the beginning and the end of it, because all of it is too long to be
// sent. part is the id of a part, of its call, or a handle; the handle under which Whole finds it is returned. Nothing of it is counted or sent, but a search finds it; it
// goes with its session. Disabled where the store keeps no texts.
func (e *Engine) Keep(ctx context.Context, id, part, text string) (handle string, err error) {
	keeper, ok := e.config.Store.(store.Keeper)
	if !ok {
		return "", &Error{Code: Disabled, Op: "keep", Session: id, Err: errors.New("the store keeps no texts beside the log"), Hint: "a store.Keeper does"}
	}
	l, err := e.lock(ctx, "keep", id)
	if err != nil {
		return "", err
	}
	_, p := l.find(part)
	if p != nil {
		part, handle = p.ID, l.handles.Of(p)
	}
	l.mu.Unlock()
	if p == nil {
		return "", notFound("keep", id, "part "+part)
	}
	if err := keeper.Keep(ctx, id, part, text); err != nil {
		return "", e.failed("keep", id, err)
	}
	return handle, nil
}
