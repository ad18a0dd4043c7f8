package postgres_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/winnowhq/winnow/internal/pgtest"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/postgres"
)

// TestStore_outlivesItsPrimary kills the primary under a store that names both servers, promotes the
// standby and gives it a new one, over and over: each change that was confirmed is there once, in
// the order in which it was made, and none fails meanwhile.
func TestStore_outlivesItsPrimary(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts two servers and kills them")
	}
	pair := pgtest.NewPair(t)
	s := open(t, pair.URL(), postgres.Options{}).Tenant("acme")
	if err := s.Create(t.Context(), session.Info{ID: "ses"}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var confirmed atomic.Int64
	ended, another := make(chan struct{}), make(chan struct{}, 1)
	go func() {
		defer close(ended)
		for base := int64(1); ctx.Err() == nil; {
			spent := store.Spend{Kind: "step", Cost: float64(base)}
			revision, err := s.Apply(t.Context(), "ses", store.Change{Base: base, Spend: []store.Spend{spent}})
			if err != nil {
				t.Errorf("behind %d changes: %v", confirmed.Load(), err)
				return
			}
			base = revision
			confirmed.Add(1)
			select {
			case another <- struct{}{}:
			default:
			}
		}
	}()
	for range 3 {
		if err := pair.FailOver(); err != nil {
			t.Error(err)
		}
		if err := pair.Follow(t.Context()); err != nil {
			t.Error(err)
		}
		for range 3 { // one may have been confirmed before, and one by the server that died
			select {
			case <-another:
			case <-ended:
				t.Fatal("nothing is written any more")
			}
		}
	}
	stop()
	<-ended
	state, err := s.State(t.Context(), "ses")
	if err != nil || len(state.Spent) != int(confirmed.Load()) {
		t.Errorf("%d changes were confirmed, %d are there, %v", confirmed.Load(), len(state.Spent), err)
	}
	for i, spent := range state.Spent {
		if spent.Cost != float64(i+1) {
			t.Fatalf("change %d is number %g", i+1, spent.Cost)
		}
	}
	// Who only reads finds the same server by the same URL.
	reader := open(t, pair.URL(), postgres.Options{ReadOnly: true}).Tenant("acme")
	if state, err := reader.State(t.Context(), "ses"); err != nil || len(state.Spent) != int(confirmed.Load()) {
		t.Errorf("read only: %d changes of %d, %v", len(state.Spent), confirmed.Load(), err)
	}
	if _, err := reader.Apply(t.Context(), "ses", store.Change{}); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("written read only: %v", err)
	}
	t.Logf("%d changes", len(state.Spent))
}
