package winnow

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/winnowhq/winnow/internal/storetest"
	"github.com/winnowhq/winnow/internal/workday"
	"github.com/winnowhq/winnow/plan/policy"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/settings"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/memory"
)

// pair are two engines that work on one session in turns.
type pair struct {
	engines  [2]*Engine
	id       string
	log      []session.Message
	said     int
	receipts []string
	now      time.Time
}

// pairOn makes the same of the same seed and store.
func pairOn(t *testing.T, kept store.Store, seed uint64) *pair {
	t.Helper()
	p := &pair{log: workday.Make(seed, 120).Messages, now: time.UnixMilli(1_800_000_000_000)}
	set := settings.Default()
	set.Strategies.BalancedPruning.IdleSteps, set.Strategies.BalancedPruning.IdleInputSteps = 10, 20
	set.Strategies.Handles = seed%2 == 0
	set.Compaction.Auto = false
	for i := range p.engines {
		var random [32]byte
		random[0] = byte(i)
		var err error
		p.engines[i], err = Open(Config{Store: kept, Settings: &set, Model: "anthropic/claude-sonnet-4-5",
			Random: rand.NewChaCha8(random), Now: func() time.Time { return p.now }})
		if err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if p.id, err = p.engines[0].Create(t.Context(), session.Info{ID: "ses"}); err != nil {
		t.Fatal(err)
	}
	return p
}

// step does something at random and returns the outcome.
func (p *pair) step(ctx context.Context, dice *rand.Rand) (did string) {
	p.now = p.now.Add(time.Duration(dice.IntN(20_000)) * time.Millisecond)
	e := p.engines[dice.IntN(2)]
	what, place, waits := dice.IntN(24), dice.IntN(1000), dice.IntN(2) == 0
	if waits {
		ctx = (&store.Reading{Behind: true}).Within(ctx)
	}
	receipt := func() string {
		if len(p.receipts) == 0 {
			return "none"
		}
		return p.receipts[place%len(p.receipts)]
	}
	var err error
	var out Outcome
	switch {
	case what < 2 && p.said > 0:
		m := p.log[max(0, p.said-1-place%(1+what*100))]
		m.Finish = fmt.Sprint("again ", place)
		for i := range m.Parts {
			if m.Parts[i].Type == session.TextPart {
				m.Parts = append([]session.Part{}, m.Parts...)
				m.Parts[i].Text += " And more."
			}
		}
		err = e.Update(ctx, p.id, m)
	case what == 2:
		out, err = e.Prune(ctx, p.id, true)
	case what == 3:
		_, err = e.Undo(ctx, p.id, receipt())
	case what == 4:
		_, err = e.Redo(ctx, p.id, receipt())
	case what == 5:
		err = e.Amend(ctx, p.id, Amendment{Title: fmt.Sprint(place), Recall: place%2 == 0})
	case what == 6:
		_, err = e.Pin(ctx, p.id, rule.Pin{Text: fmt.Sprint("pin ", place)})
	case what == 7 && place%4 == 0:
		_, err = e.Compact(ctx, p.id, CompactOptions{})
	case p.said < len(p.log):
		m := p.log[p.said]
		p.said++
		if m.Role == session.Assistant {
			out, err = e.Begin(ctx, p.id)
		}
		if failed := e.Append(ctx, p.id, m); failed != nil {
			err = failed
		}
		if m.Role == session.Assistant && place%5 > 0 {
			did = fmt.Sprint(out.Pruned != nil, err)
			u := session.Usage{Input: 10 + place, Output: 100}
			u.Cache.Read = 3000 + 200*p.said
			out, err = e.Observe(ctx, p.id, u)
		}
	}
	if out.Pruned != nil {
		p.receipts = append(p.receipts, out.Pruned.ID)
	}
	return fmt.Sprint(what, did, out.Pruned != nil, err)
}

// plan returns the next decision of an engine, and its view.
func (p *pair) plan(t *testing.T, e *Engine) (state store.State, view View, all []any) {
	t.Helper()
	_, state, err := e.Session(t.Context(), p.id)
	if err != nil {
		t.Fatal(err)
	}
	view, failed := e.View(t.Context(), p.id)
	err = e.locked(t.Context(), "test", p.id, func(l *live) {
		s, o := e.starting(l)
		s.Account.Before = nil
		all = append(all, fmt.Sprint(failed), s.Account, s.Shown, s.Restored, o, len(s.Window),
			l.policy.Plan(func() policy.State { s, _ := e.starting(l); return s }(), o))
	})
	if err != nil {
		t.Fatal(err)
	}
	return state, view, all
}

// An engine that reads only what is new of a session that another one changed has it as one that reads
// all of it, plans the same and shows the same.
func TestLoad_readsAsMuchAsItMust(t *testing.T) {
	decided := 0
	for seed := range uint64(12) {
		some, all := pairOn(t, storetest.Resuming(memory.New()), seed), pairOn(t, memory.New(), seed)
		dice, same := rand.New(rand.NewPCG(seed, 1)), rand.New(rand.NewPCG(seed, 1))
		for n := range 400 {
			did := some.step(t.Context(), dice)
			if other := all.step(t.Context(), same); did != other {
				t.Fatalf("seed %d, step %d: %s, want %s", seed, n, did, other)
			}
			if n%3 > 0 {
				continue
			}
			for i := range some.engines {
				got, view, plan := some.plan(t, some.engines[i])
				want, other, others := all.plan(t, all.engines[i])
				if !reflect.DeepEqual(got.Ledger.All(), want.Ledger.All()) {
					t.Fatalf("seed %d, step %d, engine %d: another ledger", seed, n, i)
				}
				got.Ledger, want.Ledger = rule.Ledger{}, rule.Ledger{}
				if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(view, other) {
					t.Fatalf("seed %d, step %d, engine %d: another view\n%+v\n%+v", seed, n, i, got, want)
				}
				if !reflect.DeepEqual(plan, others) {
					t.Fatalf("seed %d, step %d, engine %d: it plans\n%+v\nwant\n%+v", seed, n, i, plan, others)
				}
			}
		}
		decided += len(some.receipts)
	}
	if decided < 20 {
		t.Errorf("%d decisions", decided)
	}
}
