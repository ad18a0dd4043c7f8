package winnow

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/winnowhq/winnow/internal/workday"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/cache"
	"github.com/winnowhq/winnow/store/sqlite"
)

// heap is how many bytes are in use.
func heap() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// keptAt opens an engine on a database.
func keptAt(t *testing.T, path string, memory int) *Engine {
	t.Helper()
	kept, err := sqlite.Open(t.Context(), sqlite.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	e, err := Open(Config{Store: kept, Memory: memory})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close(); kept.Close() })
	return e
}

// No more is at hand than is allowed, which is counted about right; and it changes nothing that is
// decided.
func TestEngine_hasNoMoreBytesAtHandThanItMay(t *testing.T) {
	if testing.Short() {
		t.Skip("it does one thing after the other: -short is for the race detector")
	}
	const sessions, most = 10, 2 << 20
	ctx := context.Background()
	dir := t.TempDir()
	bound, free := keptAt(t, dir+"/a.db", most), keptAt(t, dir+"/b.db", 1<<40)
	for step := 0; step < 48; step += 8 {
		for i := range sessions {
			id := fmt.Sprint("s", i)
			log := workday.Make(uint64(i), 48).Messages
			log = log[step*len(log)/48 : (step+8)*len(log)/48]
			for _, e := range []*Engine{bound, free} {
				if step == 0 {
					if _, err := e.Create(ctx, session.Info{ID: id}); err != nil {
						t.Fatal(err)
					}
				}
				if err := e.Append(ctx, id, slices.Clone(log)...); err != nil {
					t.Fatal(err)
				}
				if _, err := e.Begin(ctx, id); err != nil {
					t.Fatal(err)
				}
			}
			if bound.cache.Bytes() > most {
				t.Fatalf("%d bytes are at hand, of %d sessions", bound.cache.Bytes(), len(bound.live))
			}
		}
	}
	if n := len(bound.live); n == 0 || n > sessions/2 || len(free.live) != sessions {
		t.Errorf("%d and %d sessions are at hand", n, len(free.live))
	}
	decided := 0
	for i := range sessions {
		_, a, err := bound.Session(ctx, fmt.Sprint("s", i))
		_, b, other := free.Session(ctx, fmt.Sprint("s", i))
		if err != nil || other != nil || len(a.Receipts) != len(b.Receipts) || a.Ledger.Len() != b.Ledger.Len() {
			t.Errorf("session %d: %d decisions, %d with room: %v, %v", i, a.Ledger.Len(), b.Ledger.Len(), err, other)
		}
		decided += a.Ledger.Len()
	}
	if decided == 0 {
		t.Error("nothing was decided at all")
	}

	before := heap()
	e := keptAt(t, dir+"/b.db", 1<<40)
	for i := range sessions {
		if _, err := e.View(ctx, fmt.Sprint("s", i)); err != nil {
			t.Fatal(err)
		}
	}
	took := heap() - before
	t.Logf("%d sessions take %d bytes, counted as %d", sessions, took, e.cache.Bytes())
	if ratio := float64(took) / float64(e.cache.Bytes()); ratio < 0.4 || ratio > 1.6 {
		t.Errorf("sessions that take %d bytes are counted as %d", took, e.cache.Bytes())
	}
	runtime.KeepAlive(e)
	sum := 0
	for _, l := range e.live {
		sum += cache.Messages(l.log...)
	}
	if sum != e.cache.Bytes() {
		t.Errorf("%d bytes are counted, the sessions at hand have %d", e.cache.Bytes(), sum)
	}
}

func TestEngine_hasNoMoreSessionsAtHandThanItShould(t *testing.T) {
	e := quiet(t)
	ctx := context.Background()
	var ids []string
	for i := range maxLive + 10 {
		id, err := e.Create(ctx, session.Info{Title: fmt.Sprint(i)})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
		said := []session.Part{{Type: session.TextPart, Text: fmt.Sprint("hello ", i)}}
		err = e.Append(ctx, id, session.Message{MessageInfo: session.MessageInfo{Role: session.User}, Parts: said})
		if err != nil {
			t.Fatal(err)
		}
	}
	if n := len(e.live); n > maxLive {
		t.Errorf("%d sessions are at hand, want %d at most", n, maxLive)
	}
	for i, id := range ids {
		v, err := e.View(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		if len(v.Messages) != 1 || v.Messages[0].Text() != fmt.Sprint("hello ", i) {
			t.Errorf("session %d lost its message", i)
		}
	}
}
