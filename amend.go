package winnow

import (
	"context"
	"errors"
	"strings"

	"github.com/winnowhq/winnow/store"
)

// Amendment is what is told about a session beside its messages.
type Amendment struct {
	// Title is another title for people: white space becomes single blanks. "" leaves the title as it is.
	Title string
	// Spent is what requests took that left no message: attempts that failed and were paid for.
	Spent []store.Spend
	// Kept are whole outputs, by part id, call id or handle, of parts whose text in the log is only the beginning and the
	// end because all of it is too long to be sent. Nothing of them is counted or sent, but a search finds them; they go
	// with the session. store.Kept returns them. Disabled if the store keeps no texts.
	Kept map[string]string
}

// Amend records what is told about a session. The view stays what it is.
func (e *Engine) Amend(ctx context.Context, id string, a Amendment) error {
	if a.Title != "" {
		if err := e.rename(ctx, id, a.Title); err != nil {
			return err
		}
	}
	if len(a.Spent) > 0 {
		if err := e.charge(ctx, id, a.Spent); err != nil {
			return err
		}
	}
	for part, text := range a.Kept {
		if err := e.keep(ctx, id, part, text); err != nil {
			return err
		}
	}
	return nil
}

func (e *Engine) rename(ctx context.Context, id, title string) error {
	title = strings.Join(strings.Fields(title), " ")
	if title == "" {
		return &Error{Code: BadInput, Op: "rename", Session: id, Err: errors.New("the title is empty"), Hint: "give a few words"}
	}
	return e.change(ctx, "rename", id, func(l *live) (store.Change, error) {
		info := l.state.Info
		info.Title = title
		return store.Change{Base: l.state.Revision, Info: &info}, nil
	}, nil)
}

func (e *Engine) charge(ctx context.Context, id string, spent []store.Spend) error {
	for i := range spent {
		if spent[i].Time == 0 {
			spent[i].Time = millis(e.config.Now())
		}
	}
	charged := func(*live) (store.Change, error) { return store.Change{Spend: spent}, nil }
	return e.change(ctx, "charge", id, charged, func(*live) { e.recorded(id, spent) })
}

func (e *Engine) keep(ctx context.Context, id, part, text string) error {
	keeper, ok := e.config.Store.(store.Keeper)
	if !ok {
		return &Error{Code: Disabled, Op: "keep", Session: id, Err: errors.New("the store keeps no texts beside the log"),
			Hint: "use a store that is a store.Keeper"}
	}
	l, err := e.lock(ctx, "keep", id)
	if err != nil {
		return err
	}
	_, p := l.find(part)
	l.mu.Unlock()
	if p == nil {
		return notFound("keep", id, "part "+part)
	}
	if err := keeper.Keep(ctx, id, p.ID, text); err != nil {
		return e.failed("keep", id, err)
	}
	return nil
}
