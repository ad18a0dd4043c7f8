package main

import (
	"fmt"
	"math"

	"github.com/winnowhq/winnow/call"
	"github.com/winnowhq/winnow/schedule"
)

// grid are simple rules around the one in use.
func grid() []candidate {
	var all []candidate
	for _, outputs := range []int{3, 5, 7, 10, 15, 20} {
		for _, inputs := range []int{0, 10, 20, 40, 80} {
			all = append(all, same(fmt.Sprintf("%d/%d", outputs, inputs), simple(outputs, inputs)))
		}
	}
	return all
}

// usual is the rule in use.
var usual = simple(10, 20)

// instead is the rule in use, but for texts that another one has a word on.
func instead(of func(lying) bool, wait int) choice {
	return func(l lying) bool {
		if of(l) {
			return l.idle >= wait
		}
		return usual(l)
	}
}

// ideas are cheap changes of the rule in use.
func ideas() []candidate {
	read := func(l lying) bool { return !l.input && l.op == call.Read }
	all := []candidate{
		same("no idle at all", func(lying) bool { return false }),
		same("reads only after an edit of their file", func(l lying) bool { return usual(l) && (!read(l) || l.edited != never) }),
		same("reads at once after an edit of their file", func(l lying) bool {
			return usual(l) || read(l) && l.edited != never && l.idle >= 3
		}),
	}
	for _, n := range []int{10, 20, 40} {
		all = append(all, same(fmt.Sprintf("the last view of a file changed in the last %d steps stays", n), func(l lying) bool {
			return usual(l) && !(read(l) && l.edited < n && l.read == never)
		}))
	}
	for _, n := range []int{3, 5, 15, 20, 30} {
		all = append(all, same(fmt.Sprintf("failed calls after %d", n), instead(func(l lying) bool { return l.failed && !l.input }, n)))
	}
	for _, n := range []int{3, 5, 20} {
		all = append(all, same(fmt.Sprintf("searches and lists after %d", n), instead(func(l lying) bool { return l.lists && !l.input }, n)))
	}
	for _, n := range []int{3, 5, 20} {
		all = append(all, same(fmt.Sprintf("runs after %d", n), instead(func(l lying) bool { return l.op == call.Run && !l.input }, n)))
	}
	for _, n := range []int{3, 5, 10} {
		all = append(all, same(fmt.Sprintf("arguments of writes read again since after %d", n), instead(func(l lying) bool { return l.input && l.op == call.Create && l.read != never }, n)))
	}
	for _, n := range []int{1, 3, 5} {
		all = append(all, same(fmt.Sprintf("covered ones after %d", n), instead(func(l lying) bool { return l.covered }, n)))
	}
	for _, n := range []int{5, 20, 30} {
		all = append(all, same(fmt.Sprintf("quoted ones after %d", n), instead(func(l lying) bool { return l.refs > 0 }, n)))
	}
	for _, n := range []int{100, 200, 400, 800} {
		all = append(all, same(fmt.Sprintf("at least %d tokens", n), func(l lying) bool { return usual(l) && l.tokens >= n }))
	}
	for _, power := range []float64{0.3, 0.5} {
		all = append(all, same(fmt.Sprintf("wait × (1000/tokens)^%.1f", power), func(l lying) bool {
			scale := math.Pow(1000/float64(l.tokens), power)
			wait := 10 * scale
			if l.input {
				wait = 20 * scale
			}
			return float64(l.idle) >= max(3, wait)
		}))
	}
	for _, grows := range []struct {
		share        float64
		most, inputs int
	}{{0.1, 7, 40}, {0.2, 7, 40}, {0.1, 10, 40}, {0.2, 10, 40}, {0.3, 10, 40}, {0.1, 15, 40}, {0.2, 15, 40}, {0.2, 10, 20}, {0.2, 10, 60}} {
		all = append(all, same(fmt.Sprintf("outputs after %g of the steps so far, 3 to %d, arguments after %d", grows.share, grows.most, grows.inputs), func(l lying) bool {
			if l.input {
				return l.idle >= grows.inputs
			}
			return float64(l.idle) >= min(float64(grows.most), max(3, grows.share*float64(l.now)))
		}))
	}
	all = append(all,
		same("0.2 of the steps so far, 3 to 10, 40, reads after 5 once their file changed", func(l lying) bool {
			if l.input {
				return l.idle >= 40
			}
			return float64(l.idle) >= min(10, max(3, 0.2*float64(l.now))) || read(l) && l.edited != never && l.idle >= 5
		}),
		same("idle for a turn as well", func(l lying) bool { return usual(l) && l.turns > 0 }),
		same("idle for 10/20 steps, or 3 and a turn", func(l lying) bool { return usual(l) || l.turns > 0 && l.idle >= 3 }),
		same("idle for 10/20 steps, or 5 and a turn", func(l lying) bool { return usual(l) || l.turns > 0 && l.idle >= 5 }),
		same("quoted counts by six words as well", func(l lying) bool {
			if n := until(l.needed, l.now); n > 0 {
				l.idle = min(l.idle, l.now-l.needed[n-1])
			}
			return usual(l)
		}),
		same("who knows the future", func(l lying) bool { return l.neededAfter(l.now) == never }),
		same("who knows the next 50 steps", func(l lying) bool { n := l.neededAfter(l.now); return n == never || n > l.now+50 }),
	)
	return all
}

// bearable are how many needs somebody would bear for a million tokens that are not sent.
var bearable = []float64{2, 4, 8, 16, 32}

// learned are candidates that go by the weights of each source's others. A text goes when it is worth it to leave it out a step earlier: when its tokens are
// more than what a need of it costs, times the rate of needs.
func learned(of func(source string) ratings) []candidate {
	var all []candidate
	for _, b := range bearable {
		all = append(all, candidate{fmt.Sprintf("%g needs for a million tokens", b), func(source string) choice {
			r := of(source)
			return func(l lying) bool { return r.rate(l)*1e6/b < float64(l.tokens) }
		}})
	}
	for _, b := range bearable {
		all = append(all, candidate{fmt.Sprintf("the same, and what is fetched stays: %g", b), func(source string) choice {
			r := of(source)
			return func(l lying) bool {
				tokens := float64(l.tokens)
				return r.rate(l)*(1e6/b+ahead*float64(l.now)*tokens) < tokens
			}
		}})
	}
	for _, steps := range []float64{1000, 500, 250, 125, 60} {
		all = append(all, candidate{fmt.Sprintf("whatever its size, a need in %g steps", steps), func(source string) choice {
			r := of(source)
			return func(l lying) bool { return r.rate(l)*steps < 1 }
		}})
	}
	return all
}

// ahead is how many steps are expected for each so far, as the schedule expects them.
const ahead = schedule.DefaultAhead
