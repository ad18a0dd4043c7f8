package lab

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// drawn is a session in the report of a failure, which is short.
type drawn struct{ *Trace }

func (d drawn) GoString() string { return fmt.Sprintf("a session of %d steps", d.Steps()) }

// small draws sessions of a few steps in which outputs and arguments are quoted later, with gaps.
func small(steps int) *rapid.Generator[drawn] {
	return rapid.Custom(func(r *rapid.T) drawn {
		n := func(from, to int) int { return rapid.IntRange(from, to).Draw(r, "n") }
		y, clock := &toy{}, 1
		y.user(clock, words("u", n(1, 5)))
		var said []string
		for k := range n(1, steps) {
			if n(0, 3) == 0 {
				clock += n(1, 2) * 200
			}
			clock += 10
			text := words("t", 1)
			if len(said) > 0 && n(0, 1) == 0 {
				again := said[n(0, len(said)-1)]
				text = from(again, n(1, 2), n(7, 10))
			}
			output := words(fmt.Sprintf("o%d.", k), n(12, 60))
			said = append(said, output)
			if k > 0 && n(0, 4) == 0 {
				output = said[0]
			}
			y.step(clock, say(text), looks("x", output))
			if n(0, 3) == 0 {
				y.user(clock+4, words("v", n(1, 3)))
			}
		}
		y.Messages[1].Tokens = nil
		trace := y.trace()
		trace.Base = n(0, 20)
		return drawn{trace}
	})
}

// cheapest tries every step at which each item may go, and bills what is sent as the replay defines
// it.
func cheapest(t *Trace, terms Terms) float64 {
	last, n := t.needed(), len(t.steps)
	gone := make([]int, len(t.items)) // before which step an item goes; n: never
	for i := range gone {
		gone[i] = n
	}
	best := math.Inf(1)
	var choose func(i int)
	choose = func(i int) {
		if i == len(t.items) {
			best = min(best, t.sends(gone, terms))
			return
		}
		choose(i + 1)
		if at := t.parts[t.items[i].part]; at.input != int32(i) && at.output != int32(i) {
			return
		}
		for k := max(t.items[i].step+1, int(last[i])) + 1; k < n; k++ {
			gone[i] = k
			choose(i + 1)
		}
		gone[i] = n
	}
	choose(0)
	return best
}

// sends bills a session of which each item is sent up to before a step.
func (t *Trace) sends(gone []int, terms Terms) float64 {
	total := 0.0
	var before []int
	for k := range t.steps {
		var now []int
		prompt := t.Base
		for i := range t.items {
			if t.items[i].step < k && k < gone[i] && t.items[i].tokens > 0 {
				now = append(now, i)
				prompt += t.items[i].tokens
			}
		}
		cached := 0
		if k > 0 && terms.Lifetime > 0 && t.steps[k].idle <= terms.Lifetime {
			cached = t.Base
			for j := 0; j < min(len(now), len(before)) && now[j] == before[j]; j++ {
				cached += t.items[now[j]].tokens
			}
		}
		before = now
		read, write, output := terms.at(prompt)
		total += float64(cached)*read + float64(prompt-cached)*write + float64(t.steps[k].output)*output
	}
	return total
}

func TestBound_isTheCheapestOfAllSchedules(t *testing.T) {
	uncached := plain()
	uncached.Lifetime, uncached.Price.CacheRead, uncached.Price.CacheWrite = 0, uncached.Price.Input, uncached.Price.Input
	dear := plain()
	dear.Price.CacheWrite = 3e6
	rapid.Check(t, func(r *rapid.T) {
		trace := small(5).Draw(r, "session").Trace
		terms := rapid.SampledFrom([]Terms{plain(), dear, uncached}).Draw(r, "terms")
		got, want := Bound(trace, Options{Terms: &terms}), cheapest(trace, terms)
		if math.Abs(got-want) > 1e-6 {
			r.Fatalf("bound %v, the cheapest of all is %v", got, want)
		}
	})
}

// With commits of neighbouring steps taken together a bound is lower, never higher.
func TestBound_isNeverHigherForALongSession(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		trace := small(30).Draw(r, "session").Trace
		terms := plain()
		b := newBound(trace, Options{Terms: &terms})
		exact, coarse := 0.0, 0.0
		width := rapid.IntRange(2, 5).Draw(r, "width")
		for from := 0; from < len(trace.steps); {
			to := from + 1
			for to < len(trace.steps) && !b.cold[to] {
				to++
			}
			exact += b.between(from, to, 1)
			coarse += b.between(from, to, width)
			from = to
		}
		if coarse > exact+1e-6 {
			r.Fatalf("%v with %d steps taken together, %v by the step", coarse, width, exact)
		}
	})
}

func TestBound_byHand(t *testing.T) {
	// The prompts of three's steps and two more are, when nothing goes, of 110, 140, 178, 185 and
	// 193 tokens, which is what is written in all, 193, and 110+140+178+185 = 613 are read. The
	// fourth step says eight words of the output of the first.
	y := three()
	y.step(0, say(from(words("o", 20), 1, 8))).step(0, say("e1"))
	// After step 3 nobody needs the call of step 2 any more, 4+30 tokens. To leave it out before
	// step 4 costs nothing: of what stands behind it nothing was sent. It saves 34 that would be
	// read in step 4, and again in step 5:         -34·1 - 34·1 = -68 The arguments of step 1, 4
	// tokens, would save 4 twice, for 20 + 4 (step 2's text) that are written and not read: 24·11.
	// They stay, and so does its output, which could go before step 5, for 20 saved once and 4+7
	// written again: 11·11. produced: 10 + 8 + 7 + 8 + 1 = 34
	terms := plain()
	got := Bound(y.trace(), Options{Terms: &terms})
	if want := float64(613 - 68 + 193*12 + 34*50); math.Abs(got-want) > 1e-6 {
		t.Errorf("bound %v, by hand %v", got, want)
	}
}

func TestBound_withNothingToHideIsTheBill(t *testing.T) {
	y := &toy{}
	y.user(1, words("u", 30)).step(2, say(words("a", 10))).step(400, say(words("b", 10))).user(402, words("v", 5)).step(403, say(words("c", 10)))
	terms := Reference()
	out, err := Run(t.Context(), y.trace(), Setup{Policy: nothing(), Window: Unlimited}, Options{Terms: &terms})
	if err != nil {
		t.Fatal(err)
	}
	if got := Bound(y.trace(), Options{Terms: &terms}); math.Abs(got-out.Bill.Total()) > 1e-12 {
		t.Errorf("bound %v, the bill is %v", got, out.Bill.Total())
	}
}

func BenchmarkBound(b *testing.B) {
	for _, steps := range []int{100, 500, 2000} {
		y := &toy{}
		y.user(0, words("u", 100))
		for k := range steps {
			text := words("t", 20)
			if k > 9 {
				text = words(fmt.Sprintf("o%d.", k-k%7-3), 10)
			}
			y.step(0, say(text), looks("x", words(fmt.Sprintf("o%d.", k), 20+k%90)))
		}
		trace, terms := y.trace(), Reference()
		b.Run(fmt.Sprint(steps, " steps"), func(b *testing.B) {
			for b.Loop() {
				Bound(trace, Options{Terms: &terms})
			}
		})
	}
}
