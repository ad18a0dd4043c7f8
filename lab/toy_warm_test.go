package lab

import (
	"context"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/schedule"
	"github.com/winnowhq/winnow/session"
)

func TestToy_keepsTheCacheWarm(t *testing.T) {
	// Step 3 comes 688 s after step 2, whose prompt has 140 tokens and whose answer calls a tool. The
	// cache is kept at 270 s and 540 s: 2·(140·1 + 50) = 380. Step 3 calls nothing.
	clock := []int{1, 2, 10, 700}
	warm := Bill{Read: 250, Write: 2136, Output: 1250, Warm: 380}
	got := billed(t, three(clock...), Setup{Policy: nothing(), Window: Unlimited, KeepWarm: 5}, Options{}, warm)
	if got.Warm != 2 || got.Bridged != 1 || got.Cold != 0 || got.Steps != 3 {
		t.Errorf("%d requests bridged %d pauses, %d cold", got.Warm, got.Bridged, got.Cold)
	}
	if last := got.Curve[2]; last != got.Bill.Total() {
		t.Errorf("the curve ends at %v of %v", last, got.Bill.Total())
	}
	// Of one request a pause none bridges: 190 are paid in vain, and step 3 is written whole.
	cold := Bill{Read: 110, Write: (140 + 178) * 12, Output: 1250, Warm: 190}
	got = billed(t, three(clock...), Setup{Policy: nothing(), Window: Unlimited, KeepWarm: 1}, Options{}, cold)
	if got.Warm != 1 || got.Bridged != 0 || got.Cold != 1 {
		t.Errorf("%d requests bridged %d pauses, %d cold", got.Warm, got.Bridged, got.Cold)
	}
}

// A session that ends in a call of a tool, and nobody comes back: five requests of 110 tokens.
func TestToy_keepsTheCacheInVain(t *testing.T) {
	y := new(toy).user(1, words("u", 10)).step(2, looks("a1", "o1")).reported(session.Usage{Input: 110})
	billed(t, y, Setup{Policy: nothing(), Window: Unlimited, KeepWarm: 5}, Options{},
		Bill{Write: 1320, Output: 100, Warm: 5 * (110 + 50)})
}

// What was left out since the newest request makes that one useless: none is sent.
func TestToy_keepsNothingThatChanged(t *testing.T) {
	e := rule.Elision{Message: "m1", Part: "p1.1", Field: rule.Output, Shown: "gone away", Because: "m2"}
	billed(t, three(1, 2, 10, 400), Setup{Policy: eliding(e), Window: Unlimited, KeepWarm: 5}, Options{},
		Bill{Read: 110, Write: 140*12 + 160*12, Output: 1250})
}

// A bill with requests that keep the cache differs from the one without only in what they cost and
// in what is read instead of written; of a model whose provider is not asked to cache, in nothing.
func TestRun_keepsWarm(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		trace := working(20).Draw(r, "session").Trace
		for k := range trace.steps {
			trace.steps[k].timed = true
			trace.steps[k].idle = 0
			if rapid.IntRange(0, 3).Draw(r, "pause") == 0 {
				trace.steps[k].idle = plain().Lifetime * 3
			}
		}
		run := func(warm int, o Options) Outcome {
			o.Unmissed = true
			setup := Setup{Policy: nothing(), Window: Unlimited, KeepWarm: warm}
			out, err := Run(context.Background(), trace, setup, o)
			if err != nil {
				r.Fatal(err)
			}
			return out
		}
		terms := plain()
		none, some := run(0, Options{Terms: &terms}), run(4, Options{Terms: &terms})
		if none.Warm != 0 || none.Bill.Warm != 0 || none.Bridged != 0 {
			r.Fatalf("none was asked for: %+v", none)
		}
		if some.Cold+some.Bridged != none.Cold || some.Bill.Output != none.Bill.Output {
			r.Fatalf("%+v\nand without\n%+v", some, none)
		}
		of, with := none.Bill.Read+none.Bill.Write/12, some.Bill.Read+some.Bill.Write/12
		if d := of - with; d > 1e-6 || d < -1e-6 {
			r.Fatalf("prompts of %v tokens, and of %v without", with, of)
		}
		if a, b := run(0, Options{}), run(4, Options{}); !reflect.DeepEqual(a, b) {
			r.Fatalf("the model's requests mark nothing: %+v\n%+v", a, b)
		}
	})
}

// Step 3 comes 688 s after step 2, and the cache lives for 300 s. If it counts as cold only 388 s
// later, nothing is left out, and a cold cache is paid for all the same. A request that kept it at
// 270 s leaves 118 s of them.
func TestToy_nobodyIsSureThatTheCacheIsCold(t *testing.T) {
	e := rule.Elision{Message: "m1", Part: "p1.1", Field: rule.Output, Shown: "gone away", Because: "m2"}
	p := eliding(e)
	p.Schedule = schedule.Cold{}
	for _, c := range []struct {
		warm    int
		unsure  time.Duration
		commits int
	}{
		{0, 0, 1}, {0, 387 * time.Second, 1}, {0, 388 * time.Second, 0},
		{1, 0, 1}, {1, 117 * time.Second, 1}, {1, 118 * time.Second, 0},
	} {
		terms := plain()
		got, err := Run(t.Context(), three(1, 2, 10, 700).trace(), Setup{Policy: p, Window: Unlimited, KeepWarm: c.warm},
			Options{Terms: &terms, Unsure: c.unsure, Detail: true})
		if err != nil {
			t.Fatal(err)
		}
		if got.Cold != 1 || got.Commits != c.commits || got.Warm != c.warm {
			t.Errorf("%d kept, unsure for %s: %d cold, %d commits, %d kept; want 1, %d", c.warm, c.unsure, got.Cold,
				got.Commits, got.Warm, c.commits)
		}
	}
}
