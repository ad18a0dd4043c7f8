package winnow

import (
	"context"
	"errors"
	"reflect"
	"strings"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

// Rename gives a session another title, for people: white space becomes single blanks. An empty one is an error.
func (e *Engine) Rename(ctx context.Context, id, title string) error {
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

// sameToModels reports whether a user message differs from the one that it replaces in nothing but its outline, which no model is sent.
func sameToModels(before, after *session.Message) bool {
	if before.Role != session.User || after.Role != session.User || before.ID != after.ID {
		return false
	}
	a, b := before.MessageInfo, after.MessageInfo
	a.Summary, b.Summary = nil, nil
	return reflect.DeepEqual(a, b) && (len(before.Parts) == 0 && len(after.Parts) == 0 || reflect.DeepEqual(before.Parts, after.Parts))
}
