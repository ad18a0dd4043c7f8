package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// drawn are examples whose needs were drawn from the rate of known weights.
func drawn(weights []float64, n int) []example {
	random := rand.New(rand.NewPCG(1, 2))
	var all []example
	for range n {
		e := example{x: []float64{1, float64(random.IntN(2)), random.NormFloat64()}, n: float64(1 + random.IntN(20))}
		rate := math.Exp(dot(e.x, weights))
		for range int(e.n) {
			// one step: as many needs as fit into it
			for left := random.ExpFloat64(); left < rate; left += random.ExpFloat64() {
				e.y++
			}
		}
		all = append(all, e)
	}
	return all
}

func TestFit_findsTheWeightsThatMadeTheNeeds(t *testing.T) {
	for _, want := range [][]float64{{-3, 1, -0.5}, {-1, -2, 0.25}, {-4, 0, 1}} {
		got, err := fit(drawn(want, 20_000))
		if err != nil {
			t.Fatalf("%v: %v", want, err)
		}
		for i := range want {
			if math.Abs(got[i]-want[i]) > 0.06 {
				t.Errorf("weight %d is %.3f, drawn from %v", i, got[i], want[i])
			}
		}
	}
}

func TestFit_givesTheSameForTheSame(t *testing.T) {
	examples := drawn([]float64{-3, 1, -0.5}, 2_000)
	first, err := fit(examples)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		again, err := fit(examples)
		if err != nil || !slices.Equal(first, again) {
			t.Fatalf("%v, then %v (%v)", first, again, err)
		}
	}
}

func TestFit_isWhereTheLikelihoodIsFlat(t *testing.T) {
	examples := drawn([]float64{-2, 0.5, 0.5}, 5_000)
	weights, err := fit(examples)
	if err != nil {
		t.Fatal(err)
	}
	gradient, _ := slopes(examples, weights)
	for i, g := range gradient {
		if math.Abs(g) > 1e-2 {
			t.Errorf("slope %d is %g at %v, want 0", i, g, weights)
		}
	}
}

func TestFit_doesNotRunAwayWhereAKindWasNeverNeeded(t *testing.T) {
	weights, err := fit([]example{{x: []float64{1, 0}, n: 1000, y: 10}, {x: []float64{1, 1}, n: 1000}})
	if err != nil {
		t.Fatal(err)
	}
	if weights[1] > -0.5 || weights[1] < -10 {
		t.Errorf("the weight of what was never needed is %.2f, want one below 0 that is held", weights[1])
	}
}

func TestFit_refusesWhatTeachesNothing(t *testing.T) {
	for name, examples := range map[string][]example{"no examples": nil, "no needs": {{x: []float64{1}, n: 5}}} {
		if w, err := fit(examples); err == nil {
			t.Errorf("%s: %v, want an error", name, w)
		}
	}
}

func TestRanking_isTheShareOfPairsInOrder(t *testing.T) {
	first := func(e example) float64 { return e.x[0] }
	for _, c := range []struct {
		name     string
		examples []example
		want     float64
	}{
		{"all in order", []example{{[]float64{2}, 1, 1}, {[]float64{1}, 3, 0}}, 1},
		{"all the other way", []example{{[]float64{1}, 1, 1}, {[]float64{2}, 3, 0}}, 0},
		{"ties are half", []example{{[]float64{1}, 4, 1}, {[]float64{1}, 2, 0}}, 0.5},
		{"steps count", []example{{[]float64{2}, 1, 1}, {[]float64{1}, 3, 0}, {[]float64{3}, 1, 0}}, 0.75},
	} {
		if got := ranking(c.examples, first); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s: %g, want %g", c.name, got, c.want)
		}
	}
}

func TestSurprise_isThatOfACoin(t *testing.T) {
	got := surprise([]example{{n: 4, y: 2}}, func(example) float64 { return 0.5 })
	if want := math.Log(2); math.Abs(got-want) > 1e-12 {
		t.Errorf("%g nats a step, want %g", got, want)
	}
}
