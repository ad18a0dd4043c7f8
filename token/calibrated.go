package token

import (
	"math"
	"sync"
)

const (
	// minSample is the smallest report, in tokens, that teaches anything: below it the overhead of
	// a request (message framing, tool preambles) is most of the difference.
	minSample = 1000
	// minFactor and maxFactor bound what is believed. No tokenizer in use is further than this from
	// o200k on ordinary text; a report beyond is about something else (images, hidden prompts).
	minFactor, maxFactor = 0.5, 2.0
	// newWeight is the share of a new report in the average once there are a few. Five reports take
	// two thirds of a change over.
	newWeight = 0.2
)

// Calibrated corrects another counter by what providers report. For each model it keeps a factor,
// the moving average of reported/estimated, because tokenizers of closed models are not published:
// the same text takes some 10 to 40 % more tokens on one than on another. It is safe for concurrent
// use.
//
// Used as a [Counter] itself it counts without a correction, for text that has no model yet.
// Learning changes later counts and never earlier ones: [Calibrated.For] takes the factor as it is
// at that moment, so that one plan is made with one measure.
type Calibrated struct {
	base Counter
	name string

	mu      sync.RWMutex
	factors map[string]learned
}

// learned is what is known about one model.
type learned struct {
	factor  float64 // reported/estimated, within the bounds
	samples int     // how many reports it was learned from
}

// NewCalibrated wraps base. The name is what [Calibrated.Name] answers; empty means the name of
// base.
func NewCalibrated(name string, base Counter) *Calibrated {
	if name == "" {
		name = base.Name()
	}
	return &Calibrated{base: base, name: name, factors: map[string]learned{}}
}

// Name returns the name that was given.
func (c *Calibrated) Name() string { return c.name }

// Count returns the uncorrected count.
func (c *Calibrated) Count(text string) int { return c.base.Count(text) }

// Factor returns what a count for model is multiplied by: 1 until something was observed.
func (c *Calibrated) Factor(model string) float64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if l, known := c.factors[model]; known {
		return l.factor
	}
	return 1
}

// Observe teaches: for a request to model this counter had estimated a number of tokens,
// uncorrected, and the provider reported another (everything that was in the prompt, cached or
// not). Samples in which either number is under 1,000 tokens are ignored.
func (c *Calibrated) Observe(model string, estimated, reported int) {
	if estimated < minSample || reported < minSample {
		return
	}
	seen := clampFactor(float64(reported) / float64(estimated))
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.factors[model]
	weight := max(newWeight, 1/float64(l.samples+1)) // a plain mean first, then a moving one
	c.factors[model] = learned{clampFactor(l.factor + weight*(seen-l.factor)), l.samples + 1}
}

// For returns a counter for model with the factor of this moment.
func (c *Calibrated) For(model string) Counter {
	return scaled{base: c.base, name: c.name, factor: c.Factor(model)}
}

func clampFactor(f float64) float64 { return min(max(f, minFactor), maxFactor) }

type scaled struct {
	base   Counter
	name   string
	factor float64
}

func (s scaled) Name() string { return s.name }

func (s scaled) Count(text string) int {
	n := s.base.Count(text)
	if n == 0 {
		return 0
	}
	return max(1, int(math.Round(float64(n)*s.factor)))
}
