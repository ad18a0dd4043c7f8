package transport

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/store"
)

// asked counts how often a store is asked for a revision: with a database each is a round trip.
type asked struct {
	store.Store
	revisions atomic.Int64
}

func (a *asked) Revision(ctx context.Context, id string) (int64, error) {
	a.revisions.Add(1)
	return a.Store.Revision(ctx, id)
}

// A request of a known conversation and its answer ask for the revision a bounded number of times,
// however long the conversation is.
func TestTransport_asksForFewRevisions(t *testing.T) {
	sequential(t)
	s := play(t, llmtest.Anthropic, 40, Options{})
	a := &asked{Store: s.store}
	s.store = a
	s.restart()
	most, all, requests := int64(0), int64(0), int64(0)
	for i, at := range s.steps() {
		before := a.revisions.Load()
		if status, answer := s.send(s.request(at)); status != 200 {
			t.Fatalf("step %d: %d %s", at, status, answer)
		}
		if n := a.revisions.Load() - before; i > 0 {
			most, all, requests = max(most, n), all+n, requests+1
		}
		s.now = s.now.Add(20 * time.Second)
	}
	t.Logf("%d requests, %.1f revisions each, %d at most", requests, float64(all)/float64(requests), most)
	if most > 7 {
		t.Errorf("a request and its answer ask for %d revisions", most)
	}
}
