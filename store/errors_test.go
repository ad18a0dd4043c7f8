package store_test

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/winnowhq/winnow/store"
)

func TestError_saysWhatWhereAndWhatToDo(t *testing.T) {
	err := error(&store.Error{Op: "apply", Path: "/a/winnow.db", Session: "ses", Hint: "try again",
		Err: fmt.Errorf("%w: %w", store.ErrLocked, fs.ErrPermission)})
	want := "store: apply session ses in /a/winnow.db: the store is locked by another process: permission denied (try again)"
	if err.Error() != want {
		t.Errorf("got  %s\nwant %s", err, want)
	}
	if !errors.Is(err, store.ErrLocked) || !errors.Is(err, fs.ErrPermission) {
		t.Error("what it wraps is not found")
	}
	if got := (&store.Error{Op: "list", Err: store.ErrClosed}).Error(); got != "store: list: the store is closed" {
		t.Errorf("without path: %s", got)
	}
}
