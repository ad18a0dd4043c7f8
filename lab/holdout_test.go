package lab

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// of gives sessions their sources, in turn.
func of(sessions []Recorded, sources ...string) []Recorded {
	for i := range sessions {
		sessions[i].Source = sources[i%len(sources)]
	}
	return sessions
}

func swept(names ...string) (setups []Setup) {
	for _, name := range names {
		s := own(name)
		s.Group = "balanced threshold"
		setups = append(setups, s)
	}
	return setups
}

// A value that is best because of one source is not chosen where that source is held out.
func TestHoldout_aSourceIsJudgedByWhatTheOthersChoose(t *testing.T) {
	setups := append([]Setup{{Name: "nothing"}}, swept("low", "high")...)
	l, sessions := sheet(setups, 50, []float64{10, 1, 6}, []float64{10, 8, 7}, []float64{10, 8, 7}, []float64{10, 8, 7})
	of(sessions, "a", "b", "c", "b")
	l.Holdout = true
	r := l.report(sessions, nil)
	if len(r.Holdout) != 1 || r.By != BySources || r.Sources != 3 || len(r.InSample) > 0 {
		t.Fatalf("%d choices by %s of %d sources, in sample %v", len(r.Holdout), r.By, r.Sources, r.InSample)
	}
	c := r.Holdout[0]
	var got []string
	for _, f := range c.Folds {
		got = append(got, fmt.Sprintf("%s %d %d %s %.2f", f.HeldOut, f.Sessions, f.Steps, f.Chosen, f.Ratio))
	}
	// Without a high is cheaper: 21 against 24. Without b low is: 9 against 13, without c 17 against 20.
	want := []string{"a 1 50 high 0.60", "b 2 100 low 0.80", "c 1 50 low 0.80"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if math.Abs(c.Ratio-(6+8+8+8)/40.0) > 1e-12 || c.InSample.Chosen != "low" || math.Abs(c.InSample.Ratio-25.0/40) > 1e-12 {
		t.Errorf("held out it costs %v, want 0.75; on all sessions %s at %v, want low at 0.625", c.Ratio, c.InSample.Chosen, c.InSample.Ratio)
	}
	if !(c.Within.Low <= c.Ratio && c.Ratio <= c.Within.High && c.Within.Known()) {
		t.Errorf("%v is not within %v", c.Ratio, c.Within)
	}

	l.Holdout = false
	if r := l.report(sessions, nil); cmp.Diff([]string{"low"}, r.InSample) != "" || r.Holdout != nil {
		t.Errorf("without --holdout %v is chosen in sample, %v held out", r.InSample, r.Holdout)
	}
}

func TestHoldout_withFewSourcesSessionsAreLeftOut(t *testing.T) {
	setups := append([]Setup{{Name: "nothing"}}, swept("low", "high")...)
	var bills [][]float64
	for range 12 {
		bills = append(bills, []float64{10, 6, 7})
	}
	l, sessions := sheet(setups, 50, bills...)
	l.Holdout = true
	r := l.report(of(sessions, "a", "b"), nil)
	if r.By != BySessions || len(r.Holdout) != 1 || len(r.Holdout[0].Folds) != 5 {
		t.Fatalf("by %s: %+v", r.By, r.Holdout)
	}
	steps := 0
	for _, f := range r.Holdout[0].Folds {
		steps += f.Steps
	}
	if steps != 600 || r.Holdout[0].Folds[4].HeldOut != "every 5th session from number 5" {
		t.Errorf("the parts have %d steps, want 600; the last is %q", steps, r.Holdout[0].Folds[4].HeldOut)
	}
	r = l.report(sessions[:1], nil)
	if r.Holdout != nil || !strings.Contains(r.Unheld, "only one session") {
		t.Errorf("of one session: %v, %q", r.Holdout, r.Unheld)
	}
}

// Of policies that miss too much the one that misses least is chosen.
func TestHoldout_choosesTheCheapestThatIsBearable(t *testing.T) {
	setups := append([]Setup{{Name: "nothing"}}, swept("low", "middle", "high")...)
	row := []float64{10, 5, 6, 7}
	l, sessions := sheet(setups, 100, row, row, row)
	l.Holdout = true
	for most, want := range map[float64]string{0.5: "high", 2: "middle", 9: "low"} {
		l.Regrets = most
		for i := range sessions {
			sessions[i].Outcomes[1].MissedSteps, sessions[i].Outcomes[2].MissedSteps, sessions[i].Outcomes[3].MissedSteps = 4, 2, 1
		}
		if got := l.report(of(sessions, "a", "b", "c"), nil).Holdout[0].InSample.Chosen; got != want {
			t.Errorf("with %v missed steps in 100 it chooses %s, want %s", most, got, want)
		}
	}
}

// An interval contains the ratio of sums, is the same each time, and has no width where all sources
// are alike.
func TestInterval_containsTheRatioOfSums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 30).Draw(t, "sessions")
		parts := rapid.SliceOfN(rapid.Float64Range(0, 1e3), n, n).Draw(t, "parts")
		wholes := rapid.SliceOfN(rapid.Float64Range(0.01, 1e3), n, n).Draw(t, "wholes")
		sessions := make([]Recorded, n)
		for i := range sessions {
			sessions[i].Source = fmt.Sprint(rapid.IntRange(0, 8).Draw(t, "source"))
		}
		var part, whole float64
		for i := range parts {
			part, whole = part+parts[i], whole+wholes[i]
		}
		get := func() Range {
			return newBootstrap(sourcesOf(sessions)).ratio(func(i int) (float64, float64) { return parts[i], wholes[i] })
		}
		r := get()
		if is := part / whole; !(r.Low <= is*(1+1e-9) && is*(1-1e-9) <= r.High) {
			t.Fatalf("%v is not within %v", is, r)
		}
		if again := get(); again != r {
			t.Fatalf("%v, and then %v", r, again)
		}
		alike := newBootstrap(sourcesOf(sessions)).ratio(func(i int) (float64, float64) { return 0.5 * wholes[i], wholes[i] })
		if alike.Known() {
			t.Fatalf("sources that are alike lie within %v", alike)
		}
	})
}

// Sessions of one source go together: an interval over sources is wider than one over as many
// sessions that have nothing to do with each other.
func TestInterval_isOverSources(t *testing.T) {
	together, apart := make([]Recorded, 40), make([]Recorded, 40)
	for i := range together {
		together[i].Source, apart[i].Source = fmt.Sprint(i/10), fmt.Sprint(i)
	}
	ratio := func(i int) (float64, float64) { return []float64{1, 2, 3, 4}[i/10], 5 }
	a, b := newBootstrap(sourcesOf(together)).ratio(ratio), newBootstrap(sourcesOf(apart)).ratio(ratio)
	if !(a.Low < b.Low && b.High < a.High) {
		t.Errorf("over 4 sources %v, over 40 %v", a, b)
	}
}

func TestQuantile_interpolates(t *testing.T) {
	for _, tt := range []struct {
		values   []float64
		at, want float64
	}{{nil, 0.5, 0}, {[]float64{3}, 0.9, 3}, {[]float64{1, 2}, 0.5, 1.5}, {[]float64{1, 2, 3, 4, 5}, 0.1, 1.4}, {[]float64{1, 2, 3}, 1, 3}} {
		if got := quantile(tt.values, tt.at); math.Abs(got-tt.want) > 1e-12 {
			t.Errorf("%v at %v is %v, want %v", tt.values, tt.at, got, tt.want)
		}
	}
}

// What stands for a choice is made of outcomes under what was chosen without the session's source,
// whatever the sessions together would choose.
func TestHoldout_theStandingIsOfWhatWasLeftOut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		setups := append([]Setup{{Name: "nothing"}}, swept("low", "middle", "high")...)
		for i := range setups {
			setups[i].Bearable = []float64{1, 3}
		}
		var bills [][]float64
		for range rapid.IntRange(3, 12).Draw(t, "sessions") {
			bills = append(bills, rapid.SliceOfN(rapid.Float64Range(1, 9), 4, 4).Draw(t, "bills"))
		}
		l, sessions := sheet(setups, 50, bills...)
		l.Holdout = true
		of(sessions, "a", "b", "c")
		for i := range sessions {
			for j := range setups[1:] {
				sessions[i].Outcomes[1+j].MissedSteps = rapid.IntRange(0, 3).Draw(t, "missed")
			}
		}
		r := l.report(sessions, nil)
		if len(r.Holdout) != 2 || r.Holdout[0].Bearable != 1 || r.Holdout[1].Bearable != 3 {
			t.Fatalf("%d choices, want one for 1 and one for 3 missed steps", len(r.Holdout))
		}
		for _, c := range r.Holdout {
			bill, was, missed := 0.0, 0.0, 0
			for i := range sessions {
				for _, f := range c.Folds {
					if f.HeldOut == sessions[i].Source {
						o := sessions[i].Outcomes[f.Policy]
						bill, was, missed = bill+o.Bill.Total(), was+bills[i][0], missed+o.MissedSteps
					}
				}
			}
			s := c.Standing
			if math.Abs(s.Ratio-bill/was) > 1e-9 || s.MissedSteps != missed || s.Ratio != c.Ratio || s.Within != c.Within {
				t.Fatalf("%s: %v at %d missed steps, want %v at %d", s.Name, s.Ratio, s.MissedSteps, bill/was, missed)
			}
			for _, f := range c.Folds { // no session of a source speaks for what is judged on it
				for _, other := range r.Policies[1:] {
					bill, was, missed, steps := 0.0, 0.0, 0, 0
					for i := range sessions {
						if sessions[i].Source != f.HeldOut {
							o := sessions[i].Outcomes[f.Policy]
							bill, missed, steps = bill+o.Bill.Total(), missed+o.MissedSteps, steps+o.Steps
							for j := range r.Policies {
								if r.Policies[j].Name == other.Name {
									was += sessions[i].Outcomes[j].Bill.Total()
								}
							}
						}
					}
					if allowed := per100(missed, steps) <= c.Bearable; allowed && bill > was+1e-9 && othersMiss(sessions, r, other.Name, f.HeldOut) <= c.Bearable {
						t.Fatalf("without %s %s was chosen at %v, and %s costs %v", f.HeldOut, f.Chosen, bill, other.Name, was)
					}
				}
			}
		}
	})
}

// othersMiss is how many steps in 100 a policy misses outside of a source.
func othersMiss(sessions []Recorded, r Report, policy, source string) float64 {
	missed, steps := 0, 0
	for i := range sessions {
		for j := range r.Policies {
			if r.Policies[j].Name == policy && sessions[i].Source != source {
				missed, steps = missed+sessions[i].Outcomes[j].MissedSteps, steps+sessions[i].Outcomes[j].Steps
			}
		}
	}
	return per100(missed, steps)
}
