package main

import (
	"errors"
	"math"
	"slices"
)

// example is a text over a few steps in which it lay about the same.
type example struct {
	x []float64 // features
	n float64   // steps
	y float64   // of them that needed it
}

// ridge holds weights at 0 as if that much had been seen against them; the first, the constant, is free.
const ridge = 1.0

// fit finds the weights under which the examples are likeliest, where the needs of a step are Poisson with the rate exp(x·weights): Newton's method, halved
// steps where it overshoots. The same examples give the same weights.
func fit(examples []example) ([]float64, error) {
	if len(examples) == 0 {
		return nil, errors.New("nothing to learn from")
	}
	size := len(examples[0].x)
	weights := make([]float64, size)
	steps, needs := 0.0, 0.0
	for _, e := range examples {
		steps, needs = steps+e.n, needs+e.y
	}
	if needs == 0 {
		return nil, errors.New("nothing was ever needed again")
	}
	weights[0] = math.Log(needs / steps)
	at := likelihood(examples, weights)
	for range 100 {
		gradient, curve := slopes(examples, weights)
		move, err := solve(curve, gradient)
		if err != nil {
			return nil, err
		}
		next, gain := slices.Clone(weights), 0.0
		for half := 1.0; half > 1e-6; half /= 2 {
			for i := range next {
				next[i] = weights[i] + half*move[i]
			}
			if gain = likelihood(examples, next) - at; gain >= 0 {
				break
			}
		}
		if !(gain > 0) {
			break
		}
		weights, at = next, at+gain
		if gain < 1e-9*math.Abs(at) {
			break
		}
	}
	return weights, nil
}

func dot(a, b []float64) (sum float64) {
	for i, x := range a {
		sum += x * b[i]
	}
	return sum
}

// likelihood is its logarithm, with what the ridge takes.
func likelihood(examples []example, weights []float64) (sum float64) {
	for _, e := range examples {
		z := dot(e.x, weights)
		sum += e.y*z - e.n*math.Exp(z)
	}
	for _, w := range weights[1:] {
		sum -= ridge / 2 * w * w
	}
	return sum
}

func slopes(examples []example, weights []float64) (gradient []float64, curve [][]float64) {
	gradient, curve = make([]float64, len(weights)), make([][]float64, len(weights))
	for i := range curve {
		curve[i] = make([]float64, len(weights))
		if i > 0 {
			curve[i][i] = ridge
			gradient[i] = -ridge * weights[i]
		}
	}
	for _, e := range examples {
		mean := e.n * math.Exp(dot(e.x, weights))
		for i, a := range e.x {
			if a == 0 {
				continue
			}
			gradient[i] += (e.y - mean) * a
			for j := range i + 1 {
				curve[i][j] += mean * a * e.x[j]
			}
		}
	}
	return gradient, curve
}

// solve solves a·x = b by Cholesky; of a, which is symmetric, the lower half is read and overwritten.
func solve(a [][]float64, b []float64) ([]float64, error) {
	x := slices.Clone(b)
	for i := range a {
		for j := range i + 1 {
			sum := a[i][j]
			for k := range j {
				sum -= a[i][k] * a[j][k]
			}
			if i > j {
				a[i][j] = sum / a[j][j]
				continue
			}
			if !(sum > 1e-12) {
				return nil, errors.New("the features say the same twice")
			}
			a[i][i] = math.Sqrt(sum)
		}
	}
	for i := range x {
		x[i] = (x[i] - dot(a[i][:i], x[:i])) / a[i][i]
	}
	for i := len(x) - 1; i >= 0; i-- {
		for k := i + 1; k < len(x); k++ {
			x[i] -= a[k][i] * x[k]
		}
		x[i] /= a[i][i]
	}
	return x, nil
}

// surprise is the mean loss in nats of a step, when a rate is the chance that it needs a text.
func surprise(examples []example, rate func(example) float64) float64 {
	sum, steps := 0.0, 0.0
	for _, e := range examples {
		p := min(max(rate(e), 1e-9), 0.999)
		sum -= e.y*math.Log(p) + max(0, e.n-e.y)*math.Log(1-p)
		steps += e.n
	}
	return sum / steps
}

// ranking is the chance that of a step that needed a text and one that did not the first has the higher score; ties count half (the area under the ROC).
func ranking(examples []example, score func(example) float64) float64 {
	type scored struct{ score, yes, no float64 }
	all := make([]scored, len(examples))
	yes, no := 0.0, 0.0
	for i, e := range examples {
		all[i] = scored{score(e), e.y, max(0, e.n-e.y)}
		yes, no = yes+all[i].yes, no+all[i].no
	}
	slices.SortFunc(all, func(a, b scored) int {
		switch {
		case a.score < b.score:
			return -1
		case a.score > b.score:
			return 1
		}
		return 0
	})
	area, below := 0.0, 0.0
	for i := 0; i < len(all); {
		end, tied, same := i, 0.0, 0.0
		for ; end < len(all) && all[end].score == all[i].score; end++ {
			tied, same = tied+all[end].yes, same+all[end].no
		}
		area += tied * (below + same/2)
		below += same
		i = end
	}
	return area / (yes * no)
}
