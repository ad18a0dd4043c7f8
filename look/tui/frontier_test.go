package tui

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/lab"
)

// standing is a policy over a hundred sessions with a thousand steps.
func standing(name, group string, ratio, rate float64) lab.Standing {
	even := 3 * (1 - ratio)
	return lab.Standing{
		Name:      name,
		Group:     group,
		Ratios:    lab.Ratios{Ratio: ratio, Mean: ratio*0.9 + 0.08, Within: lab.Range{Low: 0.9 * ratio, High: 0.2 + 0.8*ratio}, P10: 0.8 * ratio, P50: ratio, P90: 0.5 + 0.5*ratio},
		Hits:      0.97,
		Steps:     4_000,
		MissRates: lab.MissRates{MissedStepsPer100: rate, MissedItemsPer100: 2 * rate, MissedWithin: lab.Range{Low: rate / 2, High: 1.5 * rate}, LostEditsPer100: rate / 10, LostInputsPer100: rate / 4},
		Lambda:    lab.Lambda{Some: 0.1 + 0.9*ratio, Much: 0.4 + 0.6*ratio, BreakEven: &even},
		Region:    &lab.Standing{Ratios: lab.Ratios{Ratio: 0.95 * ratio}},
		Regrets:   int(rate * 40),
		Commits:   int(100 * rate),
		Folds:     int(30 / ratio),
		Bill:      lab.Bill{Read: 90 * ratio, Write: 40 * ratio, Output: 12},
		Rises:     lab.Rises{Rose: int(rate / 4), Worst: rate/100 - 0.01},
	}
}

// replayed is a report in tokens, with a sweep, a bound and advice.
func replayed() lab.Report {
	r := lab.Report{
		Baseline: "nothing", Relative: true, Prices: "cache read 0.1, write 1.25, output 5 times the input price",
		Sources: 2, By: lab.BySources, Bearable: 2.5,
		Sessions: []lab.Recorded{{ID: "ses_1", Name: "kiln.jsonl", Steps: 3_100},
			{ID: "ses_2", Name: "glaze.jsonl", Steps: 900}},
		Policies: []lab.Standing{
			standing("nothing", "", 1, 0), standing("compaction alone", "", 0.66, 3.2),
			standing("mask all but the last 10 steps", "", 0.9, 4.4), standing("balanced", "", 0.58, 1.9),
			standing("aggressive", "", 0.85, 7.5),
		},
		Advice: &lab.Advice{
			Policy: "balanced", Reason: "on your 2 sessions it costs 0.58 of what they cost with nothing left out, at 1.9 misses in 100 steps; of 4000 steps 76 would have fetched something again.",
			Settings: map[string]string{"policy": `"balanced"`, "compaction.threshold": "120000"},
		},
		Gains: []lab.Change{
			{Session: "ses_1", Name: "kiln.jsonl", Before: 90.5, After: 41.25,
				Why: "its prompts grew to 431000 tokens; three folds kept them below 120000"},
			{Session: "ses_2", Name: "pottery/winter/2026/glaze-recipes-with-a-long-name.jsonl", Before: 9.5,
				After: 9.02},
		},
		Losses: []lab.Change{{Session: "ses_3", Name: "日本語.jsonl", Before: 0.05, After: 0.0512,
			Why: "a commit near its end was not paid back"}},
		Skipped: []lab.Skipped{{Path: "/home/potter/notes.jsonl", Why: "no step in it"}},
	}
	for i, at := range []int{40, 60, 80, 100, 120, 160} {
		r.Policies = append(r.Policies, standing(fmt.Sprintf("balanced, compaction.threshold=%dk", at),
			"balanced, compaction.threshold", 0.5+0.03*float64(i), 9/float64(i+1)-1))
	}
	for i := range r.Policies {
		r.Policies[i].Bound = r.Policies[i].Ratio / 0.44
	}
	r.Policies[2].RoseMore = 1
	r.Holdout = []lab.Choice{{
		Of: "balanced, compaction.threshold", Bearable: 2.5, Standing: standing("left out: balanced, threshold ≤ 2.5", "", 0.571, 2.1), Ratio: 0.571, Within: lab.Range{Low: 0.5, High: 0.63}, MissedStepsPer100: 2.1,
		MissedWithin: lab.Range{Low: 1.4, High: 2.9}, ToAlone: 0.865, AloneWithin: lab.Range{Low: 0.8, High: 0.93},
		InSample: lab.Fold{Sessions: 2, Steps: 4_000, Chosen: "balanced, compaction.threshold=80k", Ratio: 0.56, MissedStepsPer100: 2},
		Folds: []lab.Fold{
			{HeldOut: "/home/potter/studio", Sessions: 1, Steps: 3_100, Chosen: "balanced, compaction.threshold=80k", Ratio: 0.55, MissedStepsPer100: 2},
			{HeldOut: "/home/potter/projects/glaze-recipes-with-a-long-name/winter/2026", Sessions: 1, Steps: 900, Chosen: "balanced, compaction.threshold=100k", Ratio: 0.61, MissedStepsPer100: 2.4},
		},
	}}
	r.Products = []lab.ProductAdvice{
		{Product: "claude-code", Gateway: "winnow wrap claude", Policy: "compact@90k", File: "~/.claude/settings.json",
			Key: "autoCompactWindow", Value: "123000", Note: "it compacts before the end of this window",
			Why: "on sources that it was not chosen on it costs 0.52 of nothing, with 2.4 missed steps in 100"},
		{Product: "codex", Gateway: "winnow wrap codex", Policy: "compact@90k", File: "~/.codex/config.toml",
			Key: "model_auto_compact_token_limit", Value: "90000"},
	}
	return r
}

// inDollars is a report with a policy that appears with two windows.
func inDollars() lab.Report {
	r := replayed()
	r.Relative, r.Prices, r.Advice, r.Gains, r.Skipped = false, "the prices of each session's model", nil, nil, nil
	r.By, r.Holdout, r.Products, r.InSample = lab.BySessions, nil, nil, []string{"balanced"}
	r.Policies = r.Policies[:4]
	r.Policies[1].Name, r.Policies[1].Window, r.Policies[1].Over = "balanced", 200_000, 3
	r.Policies[3].Window = lab.Unlimited
	for i := range r.Policies {
		r.Policies[i].Bound = 0
	}
	return r
}

// odd are reports that a chart can be spoilt by: nothing, one policy, equal ones, some far away,
// too many for their letters to have room.
func odd() []lab.Report {
	report := func(all ...lab.Standing) lab.Report { return lab.Report{Baseline: "nothing", Policies: all} }
	far := report(standing("nothing", "", 1, 0), standing("b", "", 0.9, 1), standing("c", "", 0.8, 2),
		standing("d", "", 0.7, 3),
		standing("forgets everything", "", 0.75, 180), standing("pays twice", "", 9.5, 1.5),
		standing("e", "", 0.72, 2.6), standing("f", "", 0.77, 2.2))
	many := report()
	for i := range 31 {
		many.Policies = append(many.Policies, standing(fmt.Sprintf("candidate %d", i+1), "", 0.8+0.0001*float64(i), 2))
	}
	return []lab.Report{
		report(), report(standing("nothing", "", 1, 0)), report(standing("nothing", "", 1, 0),
			standing("the same", "", 1, 0), standing("once more", "", 1, 0)), far, many,
	}
}

func TestFrontier_drawsNoLetterTwiceAndNoneOutsideTheFrame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []lab.Standing
		for i := range rapid.IntRange(1, 30).Draw(t, "policies") {
			group := rapid.SampledFrom([]string{"", "", "s", "t"}).Draw(t, "group")
			all = append(all, standing(fmt.Sprintf("p=%d", i), group, rapid.Float64Range(0.01, 3).Draw(t, "ratio"),
				rapid.Float64Range(0, 20).Draw(t, "rate")))
		}
		if bound := rapid.Float64Range(0, 1).Draw(t, "bound"); bound > 0 {
			all[0].Bound = all[0].Ratio / bound
		}
		r := lab.Report{Policies: all}
		policies, sweeps := policiesOf(&r)
		width := rapid.IntRange(40, 160).Draw(t, "width")
		c := chartOf(&r, policies, sweeps, width)
		times := map[rune]int{}
		for i, g := range c.on.cells {
			if strings.ContainsRune("┐│─╌·", g) || g == 0 {
				continue
			}
			if at := slices.IndexFunc(c.spots, func(s spot) bool {
				return s.drawn && s.col == i%c.on.width &&
					s.row == i/c.on.width
			}); at >= 0 {
				if c.spots[at].glyph != g {
					t.Fatalf("%q stands where %q should", g, c.spots[at].glyph)
				}
				times[g]++
			}
		}
		for _, s := range c.spots {
			if s.Sweep < 0 && s.drawn && times[s.glyph] != 1 {
				t.Fatalf("%q is drawn %d times", s.glyph, times[s.glyph])
			}
			if !s.drawn {
				continue
			}
			if col := c.col(s.Rate); s.col < col-3 || s.col > col+3 {
				t.Fatalf("%q stands in column %d, its place is %d", s.glyph, s.col, col)
			}
		}
	})
}

func TestFrontier_saysWhatIsBeyondThePicture(t *testing.T) {
	var b strings.Builder
	Painter{W: &b, Width: 100}.Frontier(odd()[3])
	for _, want := range []string{"E forgets everything is beyond the picture: 0.750 at 180.0 missed steps",
		"F pays twice is beyond the picture: 9.500 at 1.5 missed steps"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

// anyReplay is a report with figures and texts that no replay makes.
func anyReplay(t *rapid.T) lab.Report {
	text, f, n := hostile(), rapid.Float64(), number()
	r := lab.Report{Baseline: text.Draw(t, "baseline"), Relative: rapid.Bool().Draw(t, "relative"),
		Prices: text.Draw(t, "prices")}
	for range rapid.IntRange(0, 12).Draw(t, "policies") {
		r.Policies = append(r.Policies, lab.Standing{
			Name:      text.Draw(t, "name"),
			Window:    n.Draw(t, "window"),
			Group:     rapid.SampledFrom([]string{"", "", "sweep", "\x1b[2J"}).Draw(t, "group"),
			Bill:      lab.Bill{Read: f.Draw(t, "bill")},
			Ratios:    lab.Ratios{Ratio: f.Draw(t, "ratio"), Mean: f.Draw(t, "mean"), Bound: f.Draw(t, "bound"), Within: lab.Range{Low: f.Draw(t, "low"), High: f.Draw(t, "high")}, P50: f.Draw(t, "median")},
			MissRates: lab.MissRates{MissedStepsPer100: f.Draw(t, "rate"), MissedItemsPer100: f.Draw(t, "items")},
			Hits:      f.Draw(t, "hits"),
			Commits:   n.Draw(t, "commits"),
			Folds:     n.Draw(t, "folds"),
			Rises:     lab.Rises{Rose: n.Draw(t, "rose"), RoseMore: n.Draw(t, "more"), Worst: f.Draw(t, "worst")},
			Over:      n.Draw(t, "over"),
			Steps:     n.Draw(t, "steps"),
			Lambda:    lab.Lambda{Some: f.Draw(t, "lambda"), BreakEven: rapid.Ptr(f, true).Draw(t, "even")},
			Region:    &lab.Standing{Ratios: lab.Ratios{Ratio: f.Draw(t, "region")}},
		})
	}
	if rapid.Bool().Draw(t, "held out") {
		fold := rapid.Custom(func(t *rapid.T) lab.Fold {
			return lab.Fold{HeldOut: text.Draw(t, "left"), Chosen: text.Draw(t, "chosen"), Steps: n.Draw(t, "of steps"),
				Ratio: f.Draw(t, "its ratio")}
		})
		r.Holdout = []lab.Choice{{Of: text.Draw(t, "sweep"), Ratio: f.Draw(t, "held ratio"), ToAlone: f.Draw(t, "to alone"),
			InSample: fold.Draw(t, "in sample"), Folds: rapid.SliceOfN(fold, 0, 4).Draw(t, "folds")}}
		r.Products = []lab.ProductAdvice{{Product: text.Draw(t, "product"), Policy: text.Draw(t, "its policy"),
			Value: text.Draw(t, "its value"), Why: text.Draw(t, "its reason")}}
		r.InSample, r.Unheld = []string{text.Draw(t, "winner")}, text.Draw(t, "unheld")
	}
	changes := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) lab.Change {
		return lab.Change{Session: text.Draw(t, "id"), Name: text.Draw(t, "session"), Before: f.Draw(t, "before"),
			After: f.Draw(t, "after"), Why: text.Draw(t, "why")}
	}), 0, 3)
	r.Gains, r.Losses = changes.Draw(t, "gains"), changes.Draw(t, "losses")
	if rapid.Bool().Draw(t, "advised") {
		r.Advice = &lab.Advice{Policy: text.Draw(t, "policy"), Reason: text.Draw(t, "reason"),
			Settings: map[string]string{text.Draw(t, "key"): text.Draw(t, "value")}}
	}
	for range rapid.IntRange(0, 9).Draw(t, "skipped") {
		r.Skipped = append(r.Skipped, lab.Skipped{Path: text.Draw(t, "path"), Why: text.Draw(t, "because")})
	}
	return r
}

func TestPainter_drawsAnyReplayWithinItsWidthAndCleanly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		p := Painter{W: &b, Color: rapid.Bool().Draw(t, "color"), Width: rapid.OneOf(rapid.IntRange(60, 200),
			rapid.IntRange(-1, 60)).Draw(t, "width")}
		r := anyReplay(t)
		p.Replay(r, rapid.Bool().Draw(t, "statistics"))
		p.Frontier(r)
		checkPage(t, b.String(), p)
	})
}
