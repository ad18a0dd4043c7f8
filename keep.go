package winnow

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
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

// Whole is all that there is of a part.
type Whole struct {
	Handle string
	Part   session.Part // as the log has it
	Target string       // what the call was about
	// Text is the result of a call, or the text of another part: what was kept of it with Keep, else what the log has.
	Text string
	Kept bool // Text was kept beside the log
	// Elided are the fields of which the model is shown less, or nothing.
	Elided []rule.Field
}

// Whole returns a part with the whole of its text, whatever the model is shown of it. part is its id, its call id or its handle.
func (e *Engine) Whole(ctx context.Context, id, part string) (Whole, error) {
	l, err := e.lock(ctx, "read", id)
	if err != nil {
		return Whole{}, err
	}
	_, p := l.find(part)
	if p == nil {
		what := "part " + rule.Shorten(part, 40)
		if near := l.handles.Near(part); near != "" {
			what += fmt.Sprintf(" (%s is almost the same)", near)
		}
		l.mu.Unlock()
		return Whole{}, notFound("read", id, what)
	}
	w := Whole{Handle: l.handles.Of(p), Part: *p, Target: l.facts.Target(p), Text: p.Text}
	if p.State != nil {
		state := *p.State
		state.Attachments = slices.Clone(state.Attachments)
		w.Part.State, w.Text = &state, state.Result()
	}
	for _, el := range l.state.Ledger.Of(p.ID) {
		w.Elided = append(w.Elided, el.Field)
	}
	l.mu.Unlock()
	keeper, ok := e.config.Store.(store.Keeper)
	if !ok || p.Type != session.ToolPart {
		return w, nil
	}
	text, err := keeper.Kept(ctx, id, w.Part.ID)
	switch {
	case errors.Is(err, store.ErrNotKept):
		return w, nil
	case err != nil:
		return Whole{}, e.failed("read", id, err)
	}
	w.Text, w.Kept = text, true
	return w, nil
}
