package transport

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/winnowhq/winnow/internal/tworuns"
	"github.com/winnowhq/winnow/internal/workday"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/memory"
)

// One-hour writes are billed to the cent, and no request vanishes from the sums because of what we
// made of its usage.
func TestTotals_oneHourWritesAreBilled(t *testing.T) {
	sequential(t)
	for _, mode := range []Mode{Full, Safe, Observe} {
		t.Run(string(mode), func(t *testing.T) {
			g := &gateway{t: t, foldsAt: 12_000, options: Options{Mode: mode}}
			run := tworuns.Scene{Steps: 40, Log: longer(0, 40), Hour: true}.Play(t, g.between)
			all := g.Totals()
			if all.Unpriced > 0 || math.Abs(float64(all.Billed)-run.Billed) > 1e-9 || run.Billed == 0 {
				t.Errorf("billed %.4f, the provider asks for %.4f; %d of %d requests have no price", all.Billed,
					run.Billed, all.Unpriced, all.Requests)
			}
		})
	}
}

// longer is a made-up day whose tools say twice as much, so that a conversation fills in half as many
// steps.
func longer(seed uint64, steps int) []session.Message {
	log := workday.Make(seed, steps).Messages
	for i := range log {
		for j := range log[i].Parts {
			if state := log[i].Parts[j].State; state != nil && state.Output != "" {
				lines := strings.Split(state.Output, "\n")
				slices.Reverse(lines)
				state.Output += "\n" + strings.Join(lines, "\n")
			}
		}
	}
	return log
}

// claim is what a scene really saves, by two runs, and what the totals say of it.
type claim struct {
	alone, with tworuns.Run
	all         Totals
	through     *gateway
}

// claims plays a scene with and without us. If it was seen when the client compacts by itself, that
// worked through another day before, which was only observed.
func claims(t *testing.T, s tworuns.Scene, g *gateway, seen bool) claim {
	t.Helper()
	c := claim{alone: s.Play(t, nil), through: g}
	g.t, g.store = t, memory.New()
	if seen {
		before, o := s, g.options
		before.Log, before.Seed, before.Steps, g.options.Mode = nil, 7, 90, Observe
		if s.CompactAt > 60_000 { // it takes longer to be full
			before.Log = longer(7, 160)
		}
		before.Play(t, g.between)
		g.options = o
	}
	c.with = s.Play(t, func(p tworuns.Place) http.RoundTripper { // by another process
		via := g.between(p)
		if err := g.ReadHabits(t.Context()); err != nil {
			t.Fatal(err)
		}
		return via
	})
	c.all = g.Totals()
	return c
}

// says holds what is claimed against what was really saved.
func (c claim) says(t *testing.T) {
	t.Helper()
	saved := c.alone.Billed - c.with.Billed
	t.Logf("alone $%.3f (compactions at %v), with us $%.3f (%v): saved $%.3f, claimed $%.3f", c.alone.Billed,
		c.alone.Compactions, c.with.Billed, c.with.Compactions, saved, c.all.Net)
	if math.Abs(float64(c.all.Billed)-c.with.Billed) > 1e-9 || c.all.Unpriced > 0 {
		t.Errorf("billed %v, the provider asks for %v; %d requests have no price", c.all.Billed, c.with.Billed, c.all.Unpriced)
	}
	if math.Abs(c.all.Net-saved) > 0.15*math.Abs(saved) {
		t.Errorf("claimed %.4f, saved %.4f", c.all.Net, saved)
	}
}

// What is said to be saved is what the same client pays less than without us, where it compacts
// itself: in whatever units the provider counts, and for five minutes and for an hour. The mode
// observe foretells what the mode full is billed.
func TestTotals_claimWhatTwoRunsDifferBy(t *testing.T) {
	sequential(t)
	for _, hour := range []bool{false, true} {
		for _, ratio := range []float64{3, 3.6, 4} {
			t.Run(fmt.Sprintf("%g characters, an hour %t", ratio, hour), func(t *testing.T) {
				s := tworuns.Scene{Log: longer(0, 80), CompactAt: 60_000, CharsPerToken: ratio, Hour: hour}
				c := claims(t, s, &gateway{foldsAt: 20_000}, true)
				if c.says(t); len(c.alone.Compactions) == 0 {
					t.Error("the client never compacted")
				}
				if hour && ratio != 3.6 {
					return
				}
				o := &gateway{t: t, foldsAt: 20_000, options: Options{Mode: Observe}}
				s.Play(t, o.between)
				if got := o.Totals().Otherwise.Likely; math.Abs(got-c.with.Billed) > 0.1*c.with.Billed {
					t.Errorf("observe foretells %.4f, full is billed %.4f", got, c.with.Billed)
				}
			})
		}
	}
}

// The mode observe foretells what full is billed, too, where the client compacts its conversations
// far below what full folds them to: without that they are larger for a long time.
func TestTotals_observeForetellsLargerConversations(t *testing.T) {
	sequential(t)
	for foldsAt, clients := range map[int][]int{20_000: {60_000}, 45_000: {60_000, 110_000}, 100_000: {60_000}, 0: {110_000}} {
		for _, compactAt := range clients {
			s := tworuns.Scene{Log: longer(0, 160), CompactAt: compactAt, CharsPerToken: 3.6}
			full := &gateway{t: t, foldsAt: foldsAt}
			billed := s.Play(t, full.between).Billed
			o := &gateway{t: t, foldsAt: foldsAt, options: Options{Mode: Observe}}
			run := s.Play(t, o.between)
			got := o.Totals().Otherwise.Likely
			t.Logf("folds at %d, compacts at %d (%v): observe foretells %.4f, full is billed %.4f: %+.0f %%", foldsAt, compactAt,
				run.Compactions, got, billed, 100*(got/billed-1))
			within := 0.1
			if foldsAt < 45_000 { // it folds every ten steps, and each fold leaves more than the one before
				within = 0.15
			}
			if math.Abs(got-billed) > within*billed {
				t.Errorf("more than %.0f %% beside it", 100*within)
			}
		}
	}
}

// A conversation that winnow made dearer is said to be dearer.
func TestTotals_claimALoss(t *testing.T) {
	sequential(t)
	s := tworuns.Scene{Steps: 160, CompactAt: 40_000, CharsPerToken: 3}
	c := claims(t, s, &gateway{foldsAt: 20_000}, true)
	if c.says(t); c.all.Net >= 0 {
		t.Errorf("claimed %.4f", c.all.Net)
	}
}

// Pauses that are longer than the provider's cache lives cost both runs the same way.
func TestTotals_claimOverLongPauses(t *testing.T) {
	sequential(t)
	s := tworuns.Scene{Log: longer(0, 70), CompactAt: 60_000, Pause: func(step int) time.Duration {
		if step%12 == 11 {
			return 10 * time.Minute
		}
		return 8 * time.Second
	}}
	claims(t, s, &gateway{foldsAt: 20_000}, true).says(t)
}

// Keeping the cache, and folding where it is cold, save as much as two runs differ by.
func TestTotals_claimPingsAndColdFolds(t *testing.T) {
	sequential(t)
	pauses := func(step int) time.Duration {
		switch {
		case step%30 == 29:
			return 3 * time.Hour
		case step%12 == 11:
			return 9 * time.Minute
		}
		return 8 * time.Second
	}
	for _, c := range []struct{ warm, cold int }{{0, 0}, {2, 0}, {0, 50_000}, {2, 50_000}} {
		t.Run(fmt.Sprintf("%d pings, folds from %d", c.warm, c.cold), func(t *testing.T) {
			s := tworuns.Scene{Log: longer(0, 200), CompactAt: 110_000, Pause: pauses}
			is := claims(t, s, &gateway{cold: c.cold, options: Options{KeepWarm: c.warm}}, true)
			is.says(t)
			if (is.all.Warm > 0) != (c.warm > 0) {
				t.Errorf("%d requests kept the cache", is.all.Warm)
			}
			if folds := is.through.folds(); c.cold > 0 && folds < 2 {
				t.Errorf("it folded %d times", folds)
			}
		})
	}
}

// A client that never compacts ends at its model's window without us. Where nobody knows that, a
// range is said, and what came behind that end is compared with nothing.
func TestTotals_claimAgainstTheWindow(t *testing.T) {
	sequential(t)
	window := 60_000
	small := model.Default().With(model.Override{Match: "**", Patch: model.Patch{Context: &window}})
	s := tworuns.Scene{Log: longer(0, 80), Window: window}
	c := claims(t, s, &gateway{foldsAt: 20_000, options: Options{Models: small}}, false)
	n := 0
	for _, r := range c.alone.Requests {
		if r.Status == http.StatusOK {
			n++
		}
	}
	if c.alone.Ended < 0 || c.with.Ended >= 0 {
		t.Fatalf("alone it ended at %d, with us at %d", c.alone.Ended, c.with.Ended)
	}
	behind := 0.0
	for _, r := range c.with.Requests[n:] {
		cost, _ := model.Default().Lookup("anthropic/" + r.Model).Cost(bill.Usage(r.Usage))
		behind += cost
	}
	low, high := c.all.Otherwise.Range()
	if got := low - behind; low >= high || got > 1.15*c.alone.Billed || high-behind < 0.85*c.alone.Billed {
		t.Errorf("said $%.3f to $%.3f, alone it was $%.3f, and $%.3f of $%.3f behind that", low, high, c.alone.Billed,
			behind, c.with.Billed)
	}
}

// Where nothing is left out, what would have been is what was.
func TestTotals_claimNothingForNothing(t *testing.T) {
	s := tworuns.Scene{Log: longer(0, 40), CompactAt: 20_000, Hour: true}
	c := claims(t, s, &gateway{options: Options{Mode: Safe}}, false)
	if c.all.Edited > 0 {
		t.Skip("something is left out of such a conversation now")
	}
	if low, high := c.all.Otherwise.Range(); math.Abs(c.all.Net) > 1e-9 || low != high {
		t.Errorf("claimed %v, between %v and %v", c.all.Net, low, high)
	}
}
