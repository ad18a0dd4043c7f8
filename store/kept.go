package store

import (
	"context"
	"errors"
)

// Kept returns the whole text that was kept of a part beside the log. ok is false if there is none,
// or s is not a Keeper.
func Kept(ctx context.Context, s Store, id, part string) (text string, ok bool, err error) {
	keeper, keeps := s.(Keeper)
	if !keeps {
		return "", false, nil
	}
	text, err = keeper.Kept(ctx, id, part)
	if errors.Is(err, ErrNotKept) {
		return "", false, nil
	}
	return text, err == nil, err
}
