package torture

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/memory"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/store/sqlite"
)

// TestGoroutines_shareASession lets 32 goroutines do everything there is to one session. It is
// worth most under -race.
func TestGoroutines_shareASession(t *testing.T) {
	each := 6
	if *long {
		each = 60
	}
	for name, open := range map[string]func() (store.Store, error){
		"memory": func() (store.Store, error) { return memory.New(), nil },
		"sqlite": func() (store.Store, error) {
			return sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "winnow.db")})
		},
	} {
		t.Run(name, func(t *testing.T) {
			kept, err := open()
			if err != nil {
				t.Fatal(err)
			}
			defer kept.Close()
			shareGoroutines(t, kept, each)
		})
	}
}

func shareGoroutines(t *testing.T, kept store.Store, each int) {
	alive, off := watch(2 * time.Minute)
	defer off()
	ctx := t.Context()
	engine, err := winnow.Open(configOf(faultySeed, kept))
	if err != nil {
		t.Fatal(err)
	}
	id, err := engine.Create(ctx, session.Info{})
	if err != nil {
		t.Fatal(err)
	}
	const goroutines = 32
	appendedBy := make([][]string, goroutines)
	var all, observers sync.WaitGroup
	subscription := engine.Subscribe(64)
	events := 0
	observers.Go(func() {
		for range subscription.C {
			events++
		}
	})
	for g := range goroutines {
		all.Go(func() {
			dice := rand.New(rand.NewPCG(uint64(g), 1))
			for n := range each {
				kind := together[dice.IntN(len(together))]
				if g%8 == 7 {
					kind = "look"
				}
				alive()
				ids, err := one(ctx, engine, id, kind, g*10_000+n, dice)
				appendedBy[g] = append(appendedBy[g], ids...)
				switch code := winnow.CodeOf(err); {
				case err == nil, code == winnow.NothingToFold, code == winnow.NoProgress, code == winnow.Already, code == winnow.NotFound, code == winnow.Busy, code == winnow.TooLarge, code == winnow.NotKept, code == winnow.Undone:
				default:
					t.Errorf("goroutine %d, %s: %v", g, kind, err)
				}
			}
		})
	}
	all.Wait()
	engine.Close()
	observers.Wait()
	if events == 0 {
		t.Error("nobody was told anything")
	}
	log, _, err := engine.Session(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	for g, ids := range appendedBy {
		at := 0
		for _, want := range ids {
			found := slices.IndexFunc(log.Messages[at:], func(m session.Message) bool { return m.ID == want })
			if found < 0 {
				t.Fatalf("message %s of goroutine %d is lost, or not in order", want, g)
			}
			at += found + 1
		}
	}
	if err := coherent(ctx, engine, id, nil); err != nil {
		t.Error(err)
	}
	other, err := winnow.Open(configOf(faultySeed, kept))
	if err != nil {
		t.Fatal(err)
	}
	a, err := dump(ctx, kept)
	if err != nil {
		t.Fatal(err)
	}
	old, err := engine.View(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	now, err := other.View(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	if x, y := fmt.Sprint(texts(old.Messages)), fmt.Sprint(texts(now.Messages)); x != y { // not the tokens: what an engine learned of them is its own
		t.Error("the engine shows another view than one that was opened now")
	}
	t.Logf("%d goroutines, %d operations each, %d messages, %d events, %d events were too many for the subscriber, %d bytes in the store",
		goroutines, each, len(log.Messages), events, subscription.Dropped(), len(a[id]))
}

// one does one thing, and returns the ids of the messages that it appended.
func one(ctx context.Context, e *winnow.Engine, id, kind string, n int, dice *rand.Rand) (ids []string, err error) {
	switch kind {
	case "append":
		messages := someMessages(n, dice, 1+dice.IntN(3), 2000)
		if err := e.Append(ctx, id, messages...); err != nil {
			return nil, err
		}
		for _, m := range messages {
			ids = append(ids, m.ID)
		}
		return ids, nil
	case "look":
		v, err := e.View(ctx, id)
		if err != nil {
			return nil, err
		}
		if err := view.Check(v.Messages); err != nil {
			return nil, err
		}
		_, err = winnow.Look(ctx, e, id, report.Inspect)
		return nil, err
	case "fork": // gone again at once: all that were left would be copies of a long log, and every search would take up those that are new
		log, _, err := e.Session(ctx, id)
		if err != nil || len(log.Messages) == 0 {
			return nil, err
		}
		before := log.Messages[dice.IntN(len(log.Messages))].ID
		fork, err := e.Fork(ctx, id, before)
		if err != nil {
			return nil, err
		}
		if copied, _, err := e.Session(ctx, fork); err != nil {
			return nil, err
		} else if len(copied.Messages) == 0 && before != log.Messages[0].ID {
			return nil, fmt.Errorf("the fork before %s is empty", before)
		}
		return nil, e.Store().Delete(ctx, fork)
	case "import":
		own := e.Subscribe(1) // come and go
		defer own.Close()
		return nil, e.Import(ctx, session.Session{Info: session.Info{ID: fmt.Sprint("ses_", n)}, Messages: someMessages(n, dice, 2, 500)}, rule.Ledger{}, nil)
	}
	w := &worker{session: id, engine: e, store: e.Store()}
	return nil, w.run(ctx, op{n, kind}, dice)
}

func texts(messages []session.Message) (all []string) {
	for i := range messages {
		for j := range messages[i].Parts {
			all = append(all, text(&messages[i].Parts[j]))
		}
	}
	return all
}

// watch ends the test binary with the stacks of all goroutines when for so long nobody is alive,
// and it is not called off.
func watch(patience time.Duration) (alive, off func()) {
	timer := time.AfterFunc(patience, func() {
		pprof.Lookup("goroutine").WriteTo(os.Stderr, 2)
		panic("the goroutines wait for each other")
	})
	return func() { timer.Reset(patience) }, func() { timer.Stop() }
}
