package stories

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/memory"
)

// full is a store that takes nothing once its disk is full.
type full struct {
	*memory.Store
	now bool
}

func (f *full) Apply(ctx context.Context, id string, c store.Change) (int64, error) {
	if f.now {
		return 0, store.ErrFull
	}
	return f.Store.Apply(ctx, id, c)
}

// A summary that was paid for and cannot be stored is one error, which says so too.
func TestCompact_aFullDiskIsOneError(t *testing.T) {
	kept := &full{Store: memory.New()}
	l := newLab(t, winnow.Config{Store: kept, Summarizer: &scripted{answers: []any{notes("x")}}})
	l.work(6)
	kept.now = true
	_, err := l.Compact(t.Context(), l.id, winnow.CompactOptions{})
	if !errors.Is(err, store.ErrFull) || strings.Count(err.Error(), store.ErrFull.Error()) != 1 ||
		!strings.Contains(err.Error(), "what it cost") {
		t.Errorf("the error is %v", err)
	}
}
