package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/winnowhq/winnow/call"
)

// features are what the rate of needs is read from. The first few are known of a text when it is made, and how long it lies idle; the others are what happened
// to it since.
var features = []string{
	"constant",
	"output of a read", "output of a run", "output of a search", "other output",
	"input of an edit", "input of a create", "input of a run", "other input",
	"log(tokens/300)", "log(1+idle)",
	"failed", "log(1+quoted)", "output, file changed since", "input, file changed since", "covered", "user wrote since", "log(1+needed before)",
}

// few is how many of the features are those that are known without looking further.
const few = 11

// describe is a text as it lies, as features.
func describe(l lying) []float64 {
	x := make([]float64, len(features))
	x[0] = 1
	kind := 4
	switch {
	case l.input && l.op == call.Edit:
		kind = 5
	case l.input && l.op == call.Create:
		kind = 6
	case l.input && l.op == call.Run:
		kind = 7
	case l.input:
		kind = 8
	case l.op == call.Read:
		kind = 1
	case l.op == call.Run:
		kind = 2
	case l.op == call.Search:
		kind = 3
	}
	x[kind] = 1
	x[9] = math.Log(float64(max(1, l.tokens)) / 300)
	x[10] = math.Log(1 + float64(l.idle))
	x[11] = is(l.failed)
	x[12] = math.Log(1 + float64(l.refs))
	x[13] = is(!l.input && l.edited != never)
	x[14] = is(l.input && l.edited != never)
	x[15] = is(l.covered)
	x[16] = is(l.turns > 0)
	x[17] = math.Log(1 + float64(until(l.needed, l.now)))
	return x
}

func is(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// examples of a session: each text at each later step, steps in which it lay about the same taken together.
func (x *texts) examples(use int) []example {
	var all []example
	for _, t := range x.all {
		type state struct {
			bin, refs, needed, turns int
			edited, covered, started bool
		}
		var last state
		for step := t.made + 1; step < x.steps; step++ {
			l := x.at(t, step-1)
			now := state{int(2 * math.Log2(1+float64(l.idle))), l.refs, until(t.needed, step-1), min(1, l.turns), l.edited != never, l.covered, true}
			f := describe(l)[:use]
			needed := is(t.neededAfter(step-1) == step)
			if now != last {
				all, last = append(all, example{x: f}), now
			}
			e := &all[len(all)-1]
			e.x[10] = (e.x[10]*e.n + f[10]) / (e.n + 1) // the mean of its steps
			e.n, e.y = e.n+1, e.y+needed
		}
	}
	return all
}

// ratings are weights that were learned.
type ratings []float64

// rate is how many needs a text is expected to meet in the next step.
func (r ratings) rate(l lying) float64 { return math.Exp(dot(describe(l)[:len(r)], r)) }

// source is the weights as they stand in a Go file.
func (r ratings) source() string {
	var b strings.Builder
	for i, w := range r {
		fmt.Fprintf(&b, "\t%+7.3f, // %s\n", w, features[i])
	}
	return b.String()
}

func exp(x float64) float64 { return math.Exp(x) }

// isInput and idleOf read features back.
func isInput(e example) bool { return e.x[5]+e.x[6]+e.x[7]+e.x[8] > 0 }

// simpleScore is the order in which the simple rule lets texts go: how much of its wait is left.
func simpleScore(e example) float64 {
	if isInput(e) {
		return math.Log(21) - e.x[10]
	}
	return math.Log(11) - e.x[10]
}

// simpleRates are what the simple rule says of a need: the rates of outputs and of arguments, before and after their wait.
func simpleRates(of []example) func(example) float64 {
	var n, y [4]float64
	class := func(e example) int {
		at := 0
		if isInput(e) {
			at = 2
		}
		if simpleScore(e) > 0 {
			at++
		}
		return at
	}
	for _, e := range of {
		n[class(e)] += e.n
		y[class(e)] += e.y
	}
	return func(e example) float64 { c := class(e); return (y[c] + 0.5) / (n[c] + 1) }
}
