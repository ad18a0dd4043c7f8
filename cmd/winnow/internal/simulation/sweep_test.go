package simulation

import (
	"math"
	"testing"

	"github.com/winnowhq/winnow/budget"
)

func TestSweptValues_rangesAndLists(t *testing.T) {
	for text, want := range map[string][]float64{
		"40k..200k":     {40_000, 50_000, 63_000, 80_000, 100_000, 130_000, 160_000, 200_000},
		"40k..160k/3":   {40_000, 80_000, 160_000},
		"0..60k/4":      {0, 20_000, 40_000, 60_000},
		"40k,60k,80k":   {40_000, 60_000, 80_000},
		"50%,0.8":       {0.5, 0.8},
		"60k, economic": {60_000, float64(budget.Economic)},
		"late,1":        {float64(budget.Late), 1},
		"20%..80%/3":    {0.2, 0.4, 0.8},
		"1..2/9":        {1, 2},
		"3..6":          {3, 4, 5, 6},
	} {
		got, err := sweptValues(text)
		if err != nil || len(got) != len(want) {
			t.Errorf("%s: %v, %v; want %v", text, got, err, want)
			continue
		}
		for i := range got {
			if d := got[i] - want[i]; math.Abs(d) > 1e-6*math.Abs(want[i]) {
				t.Errorf("%s: %v, want %v", text, got, want)
				break
			}
		}
	}
	for _, text := range []string{"", "a..b", "5..5", "9..3", "1..2/1", "1..2/x", "1,,2", "economic..2", "1..economic", "economical", "late..2", "-2", "1.5", "0.5..1.5", "101%", "-3..5", "1..inf"} {
		if got, err := sweptValues(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}
