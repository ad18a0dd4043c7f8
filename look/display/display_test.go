package display

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/lab"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/report"
)

func TestDistinct_isWhatNamesDoNotShare(t *testing.T) {
	for _, c := range []struct{ names, want []string }{
		{[]string{"t=40k", "t=48k", "t=160k"}, []string{"40k", "48k", "160k"}},
		{[]string{"balanced @ 1.5", "balanced @ 1.25"}, []string{"1.5", "1.25"}},
		{[]string{"40k no limit", "60k no limit"}, []string{"40k", "60k"}},
		{[]string{"a=1 b=2", "a=1 b=3", "a=2 b=2"}, []string{"1 b=2", "1 b=3", "2 b=2"}},
		{[]string{"t=40k"}, []string{"40k"}},
		{[]string{"alone"}, []string{"alone"}},
		{[]string{"same", "same"}, []string{"same", "same"}},
		{[]string{"", "x"}, []string{"", "x"}},
		{[]string{"値=本", "値=木"}, []string{"本", "木"}},
	} {
		if diff := cmp.Diff(c.want, distinct(c.names)); diff != "" {
			t.Errorf("distinct(%q) (-want +got):\n%s", c.names, diff)
		}
	}
}

func TestAxis_holdsItsValuesBetweenRoundNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		low := rapid.Float64Range(0, 5).Draw(t, "low")
		high := low + rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(1e-6, 1e6)).Draw(t, "more")
		a := NewAxis(low, high, rapid.IntRange(2, 9).Draw(t, "ticks"))
		a.Root = a.Low == 0 && rapid.Bool().Draw(t, "root")
		if a.Low > low+1e-9 || a.High < high*(1-1e-9) || a.Low < 0 {
			t.Fatalf("%v to %v for %v to %v", a.Low, a.High, low, high)
		}
		if n := len(a.Ticks(rapid.Float64Range(0.05, 0.2).Draw(t, "apart"))); n < 2 || n > 20 {
			t.Fatalf("%d ticks in %+v", n, a)
		}
	})
}

func TestEnd_leavesOutAFewThatAreFarAway(t *testing.T) {
	for _, c := range []struct {
		name   string
		values []float64
		want   float64
	}{
		{"none", nil, 0},
		{"few stay together", []float64{1, 2, 100}, 100},
		{"one goes", []float64{1, 2, 3, 4, 100}, 4},
		{"two of eight go", []float64{1, 2, 3, 4, 4, 4, 100, 120}, 4},
		{"two of seven are too many", []float64{1, 2, 3, 4, 4, 100, 120}, 120},
		{"near ones stay", []float64{1, 2, 3, 4, 20}, 20},
	} {
		if got := End(c.values, 0); got != c.want {
			t.Errorf("%s: the scale ends at %v, want %v", c.name, got, c.want)
		}
	}
}

func TestAxis_byTheRootHasRoomForWhatIsSmall(t *testing.T) {
	a := Axis{High: 16, Step: 4, Root: true}
	if got := a.At(1); got != 0.25 {
		t.Errorf("1 of 16 stands at %v, want 0.25", got)
	}
	last := -1.0
	for _, v := range []float64{0, 0.5, 1, 16, 20} {
		if at := a.At(v); at < last || at > 1 {
			t.Errorf("%v stands at %v, after %v", v, at, last)
		} else {
			last = at
		}
	}
}

func TestCrowded_isWhenMostLieNearZeroAndSomeFarAway(t *testing.T) {
	for _, c := range []struct {
		name   string
		values []float64
		want   bool
	}{
		{"most near", []float64{0, 0.2, 0.4, 5, 12}, true},
		{"spread out", []float64{0, 2, 5, 8, 12}, false},
		{"all at zero", []float64{0, 0, 0, 0, 0}, false},
		{"three are no crowd", []float64{0, 0.1, 12}, false},
	} {
		if got := Crowded(c.values, 12); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestTimeline_rowsHoldEveryToken(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var strata []report.Stratum
		want := 0
		for turn := range rapid.IntRange(1, 70).Draw(t, "turns") {
			for range rapid.IntRange(1, 20).Draw(t, "messages") {
				n := rapid.IntRange(0, 9_999).Draw(t, "tokens")
				want += n
				strata = append(strata, report.Stratum{Role: session.Assistant, Turn: turn + 1,
					Zones: map[report.Zone]int{report.Guarded: n}})
			}
		}
		rows := rowsOf(strata, MostRows, newestAlone, want)
		got := 0
		for i, r := range rows {
			got += r.Tokens
			if i > 0 && r.FirstTurn < rows[i-1].LastTurn {
				t.Fatalf("row %d begins with turn %d, after turn %d", i, r.FirstTurn, rows[i-1].LastTurn)
			}
		}
		if got != want || len(rows) > MostRows {
			t.Fatalf("%d rows with %d tokens, want at most %d with %d", len(rows), got, MostRows, want)
		}
	})
}

func TestVerdict_saysWhetherTheWindowFits(t *testing.T) {
	for _, c := range []struct {
		window report.Window
		want   string
		fit    Fit
	}{
		{report.Window{Tokens: 60_000, Overhead: 10_000, Usable: 148_000}, "it fits, with room for 78,000 more", Fits},
		{report.Window{Tokens: 148_000, Usable: 148_000, Overflow: true}, "the usable window is full", Over},
		{report.Window{Tokens: 149_500, Usable: 148_000, Overflow: true}, "1,500 over the limit", Over},
		{report.Window{Tokens: 10}, "the window of opus is unknown", Unknown},
	} {
		if got, fit := Verdict(c.window, "anthropic/opus"); got != c.want || fit != c.fit {
			t.Errorf("%+v: got %q (%d), want %q (%d)", c.window, got, fit, c.want, c.fit)
		}
	}
}

func TestVerdictAfter_takesTheLimitOfTheReceiptIfTheSessionHasNone(t *testing.T) {
	r := pivot.Receipt{TokensAfter: 9_000, Usable: 10_000}
	for _, c := range []struct {
		window report.Window
		want   string
		fit    Fit
	}{
		{report.Window{}, "it fits, with room for 1,000 more", Fits},
		{report.Window{Overhead: 1_500}, "still 500 over the limit", Over},
		{report.Window{Usable: 20_000}, "it fits, with room for 11,000 more", Fits},
	} {
		if got, fit := VerdictAfter(&r, c.window); got != c.want || fit != c.fit {
			t.Errorf("%+v: got %q (%d), want %q (%d)", c.window, got, fit, c.want, c.fit)
		}
	}
	if got, fit := VerdictAfter(&pivot.Receipt{}, report.Window{}); got != "" || fit != Unknown {
		t.Errorf("without a limit: got %q (%d), want nothing", got, fit)
	}
}

func TestRanking_sumsUpTheRestUnlessItIsOne(t *testing.T) {
	by := map[string]int{"a": 5, "b": 10, "c": 5, "d": 1, "none": 0}
	want := []Ranked{{Name: "b", Tokens: "10", Share: "50%", Part: 1}, {Name: "a", Tokens: "5", Share: "25%", Part: 0.5},
		{Name: "2 more", Tokens: "6", Share: "30%", Rest: true}}
	if diff := cmp.Diff(want, TokenRanking("", by, 20, 2).Rows); diff != "" {
		t.Error("-want +got:\n" + diff)
	}
	if rows := TokenRanking("", by, 20, 3).Rows; len(rows) != 4 || rows[3].Rest {
		t.Errorf("%+v, want all four", rows)
	}
}

func TestReceipt_saysWhatStaysAndWhoWroteIt(t *testing.T) {
	r := pivot.Receipt{Kind: pivot.Compaction, Summarizer: "offline", Tail: 2, Duration: 3.24,
		Carried: pivot.Carried{Messages: 1, Constraints: 2, Tokens: 1_830, Recallable: 3}}
	want := []Fact{
		{Name: "stays", Text: "2 messages, word for word"},
		{Name: "carried", Text: "1 user message, 2 instructions; 1,830 tokens"},
		{Name: "named", Text: "3 outputs of the folded messages, by id"},
		{Name: "written by", Text: "offline, 3.2 s"},
	}
	if diff := cmp.Diff(want, Receipt(&r)); diff != "" {
		t.Error("-want +got:\n" + diff)
	}
	asked := pivot.Receipt{Kind: pivot.Pruning, Usage: []session.Usage{{Input: 1_200, Output: 30}}}
	if diff := cmp.Diff([]Fact{{Name: "asked", Text: "1 call, 1,200 tokens in, 30 out, cost unknown"}}, Receipt(&asked)); diff != "" {
		t.Error("-want +got:\n" + diff)
	}
}

func TestHeadline_isOneSentenceInDollars(t *testing.T) {
	of := func(name string, cost, missed float64) lab.Standing {
		return lab.Standing{Name: name, Bill: lab.Bill{Read: cost}, MissRates: lab.MissRates{MissedStepsPer100: missed}}
	}
	r := lab.Report{Baseline: "nothing", Policies: []lab.Standing{of("nothing", 26.88, 0), of("balanced", 22.48, 0.8),
		of("classic", 30, 2)}}
	relative, asked := r, r
	relative.Relative, asked.Subject = true, "classic"
	closest := asked
	closest.Policies = []lab.Standing{r.Policies[0], r.Policies[2]}
	recommended := asked
	recommended.Advice = &lab.Advice{Policy: "balanced"}
	compacted := r
	compacted.Policies = append(slices.Clone(r.Policies), of("compact@168k", 24.1, 3.2))
	alone := lab.Report{Baseline: "balanced", Policies: []lab.Standing{of("balanced", 22.48, 0.8)}}
	balanced := "balanced would have cost $22.48 instead of $26.88 with everything kept (−16%); in 0.8 of 100 steps the agent missed something"
	for name, tt := range map[string]struct {
		r    lab.Report
		want string
	}{
		"nothing is recommended": {r, balanced},
		"recommended":            {recommended, balanced},
		"others are closer":      {asked, balanced},
		"the only one":           {closest, "classic would have cost $30.00 instead of $26.88 with everything kept (+12%); in 2.0 of 100 steps the agent missed something"},
		"no prices":              {relative, "balanced would have cost 22.48 M input tokens instead of 26.88 M with everything kept (−16%); in 0.8 of 100 steps the agent missed something"},
		"beside own compaction":  {compacted, "balanced would have cost $22.48 instead of $24.10 without winnow (−7%); in 0.8 of 100 steps the agent missed something"},
		"only the baseline":      {alone, ""},
		"nothing was replayed":   {lab.Report{}, ""},
	} {
		if got := Headline(&tt.r); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func TestSpent_saysThatItIsALowerBound(t *testing.T) {
	d := report.Days{Days: make([]report.DayCost, 7), Cost: 215}
	if got := Spent(&d); got != "$215.00 this week" {
		t.Error(got)
	}
	if d.Uncosted = 2; Spent(&d) != "at least $215.00 this week" {
		t.Error(Spent(&d))
	}
}
