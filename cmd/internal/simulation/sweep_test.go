package simulation

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/desk/config"
	"github.com/winnowhq/winnow/plan/budget"
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

func TestSweptSetups_settingsInStep(t *testing.T) {
	const idle = "strategies.balancedPruning."
	setups, err := sweptSetups(config.Default(), idle+"idleSteps=100,140+"+idle+"idleInputSteps=200,280+compaction.threshold=economic@1.5,2")
	if err != nil || len(setups) != 2 {
		t.Fatalf("%d policies, %v; want 2", len(setups), err)
	}
	s := setups[1]
	if want := "balanced idleSteps=140 idleInputSteps=280 threshold=economic"; s.Name != want {
		t.Errorf("it is called %q, want %q", s.Name, want)
	}
	if want := "balanced " + idle + "idleSteps " + idle + "idleInputSteps compaction.threshold=economic"; s.Group != want {
		t.Errorf("its sweep is called %q, want %q", s.Group, want)
	}
	want := map[string]string{idle + "idleSteps": "140", idle + "idleInputSteps": "280", "compaction.threshold": `{"*":"economic"}`}
	if diff := cmp.Diff(want, s.Settings); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]float64{1.5, 2}, s.Bearable); diff != "" {
		t.Errorf("missed steps that may be chosen (-want +got):\n%s", diff)
	}
	for sweep, want := range map[string]string{
		idle + "idleSteps=100,140+" + idle + "idleInputSteps=200,280,300": "has 2 values and",
		idle + "idleSteps=100,140@":                                       `"" is not a number of missed steps`,
		idle + "idleSteps=100,140@-1":                                     `"-1" is not a number of missed steps`,
		idle + "idleSteps=100,140@1,inf":                                  `"inf" is not a number of missed steps`,
		idle + "idleSteps=100,140+":                                       "write KEY=FROM..TO",
		"idleStep":                                                        "write KEY=FROM..TO",
		"nothing.such=1,2":                                                "unknown setting",
	} {
		if _, err := sweptSetups(config.Default(), sweep); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", sweep, err, want)
		}
	}
}
