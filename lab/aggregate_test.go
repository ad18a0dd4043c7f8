package lab

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/winnowhq/winnow/plan/budget"
)

// sheet is a lab of made-up outcomes: the bills of each session, all read from the cache, by setup.
func sheet(setups []Setup, steps int, bills ...[]float64) (*Lab, []Recorded) {
	var sessions []Recorded
	for i, row := range bills {
		s := Recorded{ID: string(rune('a' + i)), Name: "session " + string(rune('a'+i)), Steps: steps, Input: 3}
		for _, bill := range row {
			s.Outcomes = append(s.Outcomes, Outcome{Steps: steps, Bill: Bill{Read: bill}, Tokens: Tokens{Sent: 1000, Cached: 900, Largest: 10 * (i + 1)}})
		}
		sessions = append(sessions, s)
	}
	return &Lab{Setups: setups}, sessions
}

func own(name string) Setup {
	return Setup{Name: name, Settings: map[string]string{"policy": `"` + name + `"`}}
}

func TestReport_sumsUpPolicies(t *testing.T) {
	l, sessions := sheet([]Setup{{Name: "nothing"}, own("balanced")}, 50, []float64{10, 5}, []float64{20, 22}, []float64{10, 10.1})
	sessions[0].Outcomes[1].Removed = 10_000
	sessions[0].Outcomes[1].LostEdits, sessions[2].Outcomes[1].LostInputs = 3, 6
	sessions[1].Outcomes[1].MissedItems, sessions[1].Outcomes[1].MissedSteps, sessions[1].Outcomes[1].Folds = 6, 3, 2
	r := l.report(sessions, nil)
	even := 40 - 37.1 // an extra step for 1,000 tokens is ten in all, at 0.1 each
	want := Standing{
		Name:      "balanced",
		Bill:      Bill{Read: 37.1},
		Tokens:    Tokens{Sent: 3000, Cached: 2700, Largest: 30},
		Steps:     150,
		Regrets:   6,
		MissRates: MissRates{MissedSteps: 3, MissedStepsPer100: 2, MissedItemsPer100: 4, LostEditsPer100: 2, LostInputsPer100: 4},
		Folds:     2,
		Ratios:    Ratios{Ratio: 37.1 / 40, Mean: (0.5 + 1.1 + 1.01) / 3, P10: 0.602, P50: 1.01, P90: 1.082},
		Hits:      0.9,
		Lambda:    Lambda{Some: (37.1 + 0.27) / 40, Much: (37.1 + 1.03) / 40, BreakEven: &even},
		Rises:     Rises{Rose: 2, RoseMore: 1, Worst: 0.1},
	}
	if diff := cmp.Diff(want, r.Policies[1], cmpopts.EquateApprox(1e-12, 0), cmpopts.IgnoreTypes(Range{})); diff != "" {
		t.Errorf("balanced (-want +got):\n%s", diff)
	}
	if r.Baseline != "nothing" || r.Relative || r.Policies[0].Ratio != 1 || r.Policies[0].Rose != 0 {
		t.Errorf("baseline %q, relative %v, %+v", r.Baseline, r.Relative, r.Policies[0])
	}
}

func TestReport_regionsAreSummedUpWhereAllSessionsHaveThem(t *testing.T) {
	l, sessions := sheet([]Setup{{Name: "nothing"}, own("balanced")}, 50, []float64{10, 5}, []float64{20, 15})
	for i := range sessions {
		o := sessions[i].Outcomes[1]
		o.Bill, o.MissedSteps = Bill{Read: o.Bill.Read - 2}, 1
		sessions[i].Outcomes[1].Region = &o
	}
	r := l.report(sessions, nil)
	if p := r.Policies[1]; p.Region == nil || math.Abs(p.Region.Ratio-16.0/30) > 1e-12 || p.Region.MissedStepsPer100 != 2 ||
		math.Abs(p.Ratio-20.0/30) > 1e-12 {
		t.Errorf("%v, with regions %+v", p.Ratio, p.Region)
	}
	sessions[0].Outcomes[1].Region = nil
	if p := l.report(sessions, nil).Policies[1]; p.Region != nil {
		t.Errorf("with one session that has none: %+v", p.Region)
	}
}

func TestReport_theBoundCountsWhereAllSessionsHaveOne(t *testing.T) {
	l, sessions := sheet([]Setup{{Name: "nothing"}}, 50, []float64{10}, []float64{20})
	sessions[0].Bound, sessions[1].Bound = 5, 10
	if got := l.report(sessions, nil).Policies[0].Bound; got != 2 {
		t.Errorf("30 is %v times the bound of 15", got)
	}
	sessions[1].Bound = 0
	if got := l.report(sessions, nil).Policies[0].Bound; got != 0 {
		t.Errorf("with one session that has no bound it is %v", got)
	}
}

func TestReport_isRelativeWhereOnePriceIsUnknown(t *testing.T) {
	l, sessions := sheet([]Setup{{Name: "nothing"}}, 50, []float64{12}, []float64{4})
	sessions[1].Input = 0
	sessions[0].Outcomes[0].Curve, sessions[0].Outcomes[0].Events = []float64{6, 12}, []Event{{Cost: 9}}
	r := l.report(sessions, nil)
	if !r.Relative || r.Policies[0].Bill.Total() != 8 {
		t.Errorf("relative %v, bill %v; $12 at $3 a million are 4 million tokens, and 4 more", r.Relative, r.Policies[0].Bill.Total())
	}
	o := r.Sessions[0].Outcomes[0]
	if diff := cmp.Diff([]float64{2, 4}, o.Curve); diff != "" || o.Events[0].Cost != 3 {
		t.Errorf("the curve and events have another unit: %v, %v", o.Curve, o.Events)
	}
}

func TestReport_theBaselineIsTheOneThatWasNamed(t *testing.T) {
	setups := []Setup{{Name: "compact"}, {Name: "nothing"}, own("balanced")}
	for name, want := range map[string]string{"": "nothing", "balanced": "balanced", "compact": "compact"} {
		if got := baseline(setups, name); got != want {
			t.Errorf("of %q it is %q, want %q", name, got, want)
		}
	}
	if got := baseline(setups[2:], ""); got != "balanced" {
		t.Errorf("without nothing it is %q, want the first", got)
	}
}

func TestReport_ofNoSessionsHasNoNumbersThatAreNone(t *testing.T) {
	l, _ := sheet([]Setup{{Name: "nothing"}, own("balanced")}, 0)
	r := l.report(nil, nil)
	for _, p := range r.Policies {
		if math.IsNaN(p.Ratio + p.Mean + p.MissedStepsPer100 + p.Hits + p.Bound + p.Worst) {
			t.Errorf("%+v", p)
		}
	}
	if r.Sessions == nil {
		t.Error("its list of sessions is no list")
	}
	if r.Subject != "" {
		t.Errorf("%s is said to change most, of no session", r.Subject)
	}
}

// alone is compaction alone.
func alone(name string, at int) Setup {
	s := own(name)
	s.Policy.Auto = true
	if at > 0 {
		s.Policy.Budget.Thresholds = budget.Thresholds{"*": budget.Threshold(at)}
	}
	return s
}

func TestAdvice_theCheapestThatIsBearable(t *testing.T) {
	setups := []Setup{{Name: "nothing"}, {Name: "mask:10"}, alone("compact", 0), own("balanced"), own("aggressive")}
	row := []float64{10, 2, 9, 8, 5}
	rows := func(n int, row ...float64) (all [][]float64) {
		for range n {
			all = append(all, row)
		}
		return all
	}
	build := func(steps int, regrets float64, bills ...[]float64) Report {
		l, sessions := sheet(setups, steps, bills...)
		l.Regrets = regrets
		for i := range sessions {
			sessions[i].Outcomes[2].MissedSteps, sessions[i].Outcomes[3].MissedSteps, sessions[i].Outcomes[4].MissedSteps = 2, 1, 4
		}
		return l.report(sessions, nil)
	}
	for name, tt := range map[string]struct {
		report Report
		policy string
		says   []string
	}{
		"as it comes":           {build(100, 0, rows(3, row...)...), "balanced", []string{"3 sessions (300 steps) of 1 source", "0.80 of everything kept", "0.89 of compact", "1 missed step in 100, against 2", "2.5 are"}},
		"with a wider bound":    {build(100, 4, rows(3, row...)...), "aggressive", []string{"0.50 of everything kept", "4 are taken as bearable"}},
		"with a narrower bound": {build(100, 0.5, rows(3, row...)...), "", []string{"stays within 0.5 missed steps in 100"}},
		"with one miss borne":   {build(100, 1, rows(3, row...)...), "balanced", []string{"with 1 missed step in 100", "1 is taken as bearable"}},
		"with two sessions":     {build(100, 0, row, row), "", []string{"3 sessions of 30 steps or more; found 2"}},
		"with short sessions":   {build(29, 0, rows(3, row...)...), "", []string{"3 sessions of 30 steps or more; found 0"}},
		"where little is gained": {build(100, 0, rows(3, 10, 2, 10, 9.85, 9.9)...), "",
			[]string{"balanced", "0.98", "less than 2 %"}},
		"where it is compaction that wins": {build(100, 0, rows(3, 10, 2, 7, 8, 5)...), "", []string{"compact is compaction alone"}},
		"where it wins in two sessions alone": {build(100, 0, append(rows(2, 10, 2, 9.9, 2, 5), rows(4, 10, 2, 9.9, 11, 5)...)...), "",
			[]string{"(on all of them balanced) costs 0.80 (0.", "the interval reaches 1"}},
	} {
		said := tt.report.Unadvised
		if a := tt.report.Advice; a != nil {
			said = a.Reason
			if a.Policy != tt.policy || a.Settings["policy"] != `"`+tt.policy+`"` || tt.report.Unadvised != "" {
				t.Errorf("%s: %q is recommended with %v, want %q", name, a.Policy, a.Settings, tt.policy)
			}
		} else if tt.policy != "" {
			t.Errorf("%s: nothing is recommended, want %s", name, tt.policy)
		}
		for _, want := range tt.says {
			if !strings.Contains(said, want) {
				t.Errorf("%s: it says %q, want something with %q", name, said, want)
			}
		}
	}
}

// What is dearer than compaction alone is not recommended, however much cheaper than nothing it is;
// nor is what was not compared with it.
func TestAdvice_nothingDearerThanCompactionAlone(t *testing.T) {
	row := []float64{10, 6, 7}
	l, sessions := sheet([]Setup{{Name: "nothing"}, alone("compact", 0), own("balanced")}, 100, row, row, row)
	for i := range sessions {
		sessions[i].Outcomes[1].MissedSteps = 9 // unbearable
	}
	r := l.report(sessions, nil)
	if r.Advice != nil || !strings.Contains(r.Unadvised, "(on all of them balanced) costs 1.17 of compact, which is compaction alone") {
		t.Errorf("advice %+v, %q", r.Advice, r.Unadvised)
	}
	l, sessions = sheet([]Setup{{Name: "nothing"}, own("balanced")}, 100, row, row, row)
	if r := l.report(sessions, nil); r.Advice != nil || !strings.Contains(r.Unadvised, "add compact") {
		t.Errorf("without compaction alone: advice %+v, %q", r.Advice, r.Unadvised)
	}
}

func TestAdvice_saysWhatProductsCanBeSetTo(t *testing.T) {
	early := alone("compact@90k", 90_000)
	early.Settings = nil
	row := []float64{10, 9, 6, 5}
	l, sessions := sheet([]Setup{{Name: "nothing"}, alone("compact", 0), early, own("balanced")}, 100, row, row, row)
	for i, product := range []string{"claude-code", "codex", "opencode"} {
		sessions[i].Product = product
	}
	r := l.report(sessions, nil)
	var got []string
	for _, p := range r.Products {
		got = append(got, strings.Join([]string{p.Product, p.Gateway, p.Policy, p.File, p.Key, p.Value}, "|"))
	}
	want := []string{
		"claude-code|winnow wrap claude|compact@90k|~/.claude/settings.json|autoCompactWindow|123000",
		"codex|winnow wrap codex|compact@90k|~/.codex/config.toml|model_auto_compact_token_limit|90000",
		"opencode|winnow wrap opencode|compact@90k|opencode.json|compaction.reserved|the model's input limit less 90000",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if r.Advice == nil || r.Advice.Policy != "balanced" {
		t.Errorf("advice %+v, %q", r.Advice, r.Unadvised)
	}

	// What the choice is worth to a product is counted on that product's sessions alone.
	l, sessions = sheet(l.Setups, 100, row, []float64{10, 9, 8, 5}, []float64{20, 18, 17, 9})
	sessions[0].Product, sessions[1].Product, sessions[2].Product = "claude-code", "codex", "codex"
	sessions[1].Outcomes[2].MissedSteps = 4
	r = l.report(sessions, nil)
	if claude, codex := r.Products[0].HeldOut, r.Products[1].HeldOut; math.Abs(claude.Ratio-0.6) > 1e-12 ||
		math.Abs(codex.Ratio-25.0/30) > 1e-12 || claude.MissedStepsPer100 != 0 || codex.MissedStepsPer100 != 2 || claude.Within.Known() {
		t.Errorf("to Claude Code it is worth %+v, to Codex %+v", claude, codex)
	}

	for i := range sessions {
		sessions[i].Outcomes[2].MissedSteps = 50
	}
	for _, p := range l.report(sessions, nil).Products {
		if p.Policy != "" || !strings.Contains(p.Why, "missed steps in 100") {
			t.Errorf("with half of all steps missed it says %+v", p)
		}
	}
}

func TestAdvice_ofPoliciesThatWinnowDoesNotRunIsNone(t *testing.T) {
	l, sessions := sheet([]Setup{{Name: "nothing"}, {Name: "mask:10"}}, 100, []float64{10, 2}, []float64{10, 2}, []float64{10, 2})
	if r := l.report(sessions, nil); r.Advice != nil || r.Unadvised == "" || r.Subject != "" {
		t.Errorf("advice %+v, subject %q", r.Advice, r.Subject)
	}
}

func TestChanges_fiveAtMostTheLargestFirst(t *testing.T) {
	var bills [][]float64
	for i := range 8 {
		bills = append(bills, []float64{10, 9 - float64(i)}, []float64{10, 11 + float64(i)})
	}
	l, sessions := sheet([]Setup{{Name: "nothing"}, own("balanced")}, 100, append(bills, []float64{100, 1})...)
	r := l.report(sessions, nil)
	if r.Subject != "balanced" || len(r.Gains) != 5 || len(r.Losses) != 5 {
		t.Fatalf("subject %q, %d gains, %d losses", r.Subject, len(r.Gains), len(r.Losses))
	}
	if g, l := r.Gains[0], r.Losses[0]; g.Before != 100 || g.After != 1 || l.Before != 10 || l.After != 18 {
		t.Errorf("first gain %+v, first loss %+v", g, l)
	}
}

func TestChanges_sayWhyInWords(t *testing.T) {
	was := Outcome{Steps: 300, Bill: Bill{Read: 10, Write: 1}}
	for want, is := range map[string]Outcome{
		"2 commits left out 40k tokens; 200 steps came after the first; the cache was cold 3 times": {
			Steps:    300,
			Removals: Removals{Commits: 2, First: 100, Elided: 40_000, Cold: 3},
			Bill:     Bill{Read: 5, Write: 1},
		},
		"1 compaction took 1.2M tokens away; 10 steps came after the first": {Steps: 300, Removals: Removals{Folds: 1, First: 290, Folded: 1_200_000}, Bill: Bill{Read: 5}},
	} {
		if got := gained(&was, &is); got != want {
			t.Errorf("gained: %q, want %q", got, want)
		}
	}
	for want, is := range map[string]Outcome{
		"71 of 300 steps needed what was hidden":                              {Steps: 300, Misses: Misses{MissedSteps: 71, Regrets: 80}, Bill: Bill{Read: 10, Write: 2, Regret: 5}},
		"12 commits had 300k tokens written to the cache again and saved 900": {Steps: 300, Removals: Removals{Commits: 12, Rewritten: 300_000, Elided: 900}, Bill: Bill{Read: 9, Write: 9, Regret: 5}},
		"1 compaction cost more than the 4 steps that were left saved":        {Steps: 300, Removals: Removals{Folds: 1, First: 296}, Bill: Bill{Read: 9, Write: 2, Compact: 5}},
		"2 compactions had the prompt written to the cache again":             {Steps: 300, Removals: Removals{Folds: 2}, Bill: Bill{Read: 9, Write: 9, Compact: 5}},
		"more was read from the cache":                                        {Steps: 300, Bill: Bill{Read: 12, Write: 1}},
	} {
		if got := lost(&was, &is); got != want {
			t.Errorf("lost: %q, want %q", got, want)
		}
	}
}
