package report_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/report"
)

var someSpend = rapid.Custom(func(r *rapid.T) store.Spend {
	dollars := rapid.Float64Range(0, 3)
	s := store.Spend{
		Time: session.Millis(rapid.IntRange(0, 5*24*3600_000).Draw(r, "time")), Kind: "step", Model: "p/m",
		Inherited: rapid.IntRange(0, 9).Draw(r, "inherited") == 0,
	}
	switch rapid.IntRange(0, 9).Draw(r, "what") {
	case 0:
		s.Kind, s.Cost = "summary", dollars.Draw(r, "summary")
		return s
	case 1:
		s.Cost = dollars.Draw(r, "no gateway")
		return s
	}
	l := &store.Live{
		Billed: bill.Dollars(dollars.Draw(r, "billed")), Otherwise: bill.Estimate{Likely: dollars.Draw(r, "otherwise")},
		Edited:   rapid.Bool().Draw(r, "edited"),
		Observed: rapid.Bool().Draw(r, "observed"), Resent: rapid.Bool().Draw(r, "resent"), Beside: rapid.Bool().Draw(r, "beside"),
		Rewritten: rapid.IntRange(0, 99).Draw(r, "rewritten"), Rules: map[string]store.Share{},
	}
	if l.Warm = !l.Beside && rapid.IntRange(0, 9).Draw(r, "warm") == 0; l.Warm {
		l.Observed = false
	}
	if !l.Observed {
		l.Bridged = rapid.Float64Range(0, 0.1).Draw(r, "bridged")
		l.Missed = min(l.Otherwise.Likely, rapid.Float64Range(0, 0.1).Draw(r, "missed"))
	}
	for _, rule := range rapid.SliceOfN(rapid.SampledFrom([]string{"idle", "files", "inputs", store.Compaction}), 0, 3).Draw(r, "rules") {
		l.Rules[rule] = store.Share{Tokens: rapid.IntRange(0, 999).Draw(r, "tokens"), Net: rapid.Float64Range(-1, 1).Draw(r, "share")}
		if rapid.Bool().Draw(r, "again") {
			l.Again = append(l.Again, store.Again{Rule: rule})
		}
	}
	s.Live = l
	return s
})

func plus(g, h report.Gain) report.Gain {
	return report.Gain{g.Requests + h.Requests, g.Beside + h.Beside, g.Warm + h.Warm, g.Observed + h.Observed,
		g.Edited + h.Edited, g.Resent + h.Resent, g.Unpriced + h.Unpriced, g.Recalls + h.Recalls, g.Rewritten + h.Rewritten,
		g.Billed + h.Billed, g.Otherwise.Plus(h.Otherwise), g.Missed + h.Missed, g.Summaries + h.Summaries,
		g.WarmCost + h.WarmCost, g.WarmSaved + h.WarmSaved, g.Net + h.Net, g.ToSave + h.ToSave, report.Amounts{}}
}

// Sessions, days and rules are the same sum cut in three ways, and the net is what is left of the
// difference when all costs are taken off it.
func TestSumRelayed_everyCutIsTheSameSum(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var accounts []store.Account
		since := session.Millis(rapid.IntRange(0, 24*3600_000).Draw(r, "since"))
		var missed, summaries, saved, otherwise, toSave, bridged float64
		var billed, warm bill.Dollars
		requests, recalls := 0, 0
		for i := range rapid.IntRange(0, 4).Draw(r, "sessions") {
			a := store.Account{Info: session.Info{ID: fmt.Sprint("s", i)}, Spent: rapid.SliceOfN(someSpend, 0, 8).Draw(r, "spent")}
			accounts = append(accounts, a)
			for _, s := range a.Spent {
				switch l := s.Live; {
				case s.Inherited || s.Time < since:
				case l == nil && s.Kind == "summary":
					summaries += s.Cost
				case l == nil:
				case l.Observed:
					billed, otherwise, toSave = billed+l.Billed, otherwise+float64(l.Billed), toSave-l.Otherwise.Over(l.Billed)
					requests, recalls = requests+1, recalls+len(l.Again)
				default:
					billed, otherwise, missed = billed+l.Billed, otherwise+l.Otherwise.Likely, missed+l.Missed
					saved += l.Otherwise.Over(l.Billed) - l.Missed
					bridged += l.Bridged
					if l.Warm {
						warm += l.Billed
					}
					requests, recalls = requests+1, recalls+len(l.Again)
				}
			}
		}
		got := report.SumRelayed(accounts, since, time.UTC, func(string) int { return 1000 })
		about := gocmp.Options{cmpopts.EquateApprox(0, 1e-6), gocmp.Transformer("dollars", func(d bill.Dollars) float64 { return float64(d) })}
		g := got.Total
		want := g
		want.Billed, want.Otherwise.Likely, want.Missed, want.Summaries, want.ToSave, want.Net = billed, otherwise, missed, summaries, toSave, saved-summaries
		want.Recalls, want.WarmCost, want.WarmSaved = recalls, warm, bridged
		if diff := gocmp.Diff(want, g, about); diff != "" || g.Requests+g.Beside+g.Warm != requests {
			r.Errorf("%d requests; the total (-want +got):\n%s", requests, diff)
		}
		if math.Abs(g.Net-(g.Otherwise.Over(g.Billed)-g.Missed-g.Summaries)) > 1e-6 {
			r.Errorf("the net is %v of %+v", g.Net, g)
		}
		var sessions, days report.Gain
		for _, s := range got.Sessions {
			sessions = plus(sessions, s.Gain)
		}
		for _, d := range got.Days {
			days = plus(days, d.Gain)
		}
		for what, sum := range map[string]report.Gain{"sessions": sessions, "days": days} {
			if diff := gocmp.Diff(g, sum, about); diff != "" {
				r.Errorf("the sum of the %s (-total +sum):\n%s", what, diff)
			}
		}
		var rules report.LiveRule
		for _, l := range got.Rules {
			rules.Net, rules.ToSave, rules.Recalls = rules.Net+l.Net, rules.ToSave+l.ToSave, rules.Recalls+l.Recalls
			rules.LeftOut += l.LeftOut
		}
		left := 0
		for _, s := range got.Sessions {
			left += s.LeftOut
		}
		if math.Abs(rules.Net-g.Net) > 1e-6 || math.Abs(rules.ToSave-g.ToSave) > 1e-6 || rules.Recalls != g.Recalls || rules.LeftOut != left {
			r.Errorf("the rules sum up to %+v, the total is %+v with %d tokens left out", rules, g, left)
		}
		if !slices.IsSortedFunc(got.Sessions, func(a, b report.LiveSession) int { return cmp.Compare(b.Last, a.Last) }) ||
			!slices.IsSortedFunc(got.Days, func(a, b report.LiveDay) int { return cmp.Compare(b.Day, a.Day) }) {
			r.Error("the order is another one")
		}
	})
}

// A request belongs to the day that it was made on where the person is; what a session says of now
// is what its newest request says.
func TestSumRelayed_daysAndTheNewestRequest(t *testing.T) {
	zone := time.FixedZone("east", 5*3600)
	at := func(text string) session.Millis {
		moment, err := time.ParseInLocation("2006-01-02 15:04", text, zone)
		if err != nil {
			t.Fatal(err)
		}
		return session.Millis(moment.UnixMilli())
	}
	row := func(text string, prompt int, l store.Live) store.Spend {
		return store.Spend{Time: at(text), Kind: "step", Model: "p/m", Usage: session.Usage{Input: prompt}, Live: &l}
	}
	info := session.Info{ID: "a", Title: "T", ParentID: "p", Unknown: []byte(`{"client":{"name":"claude-cli/2","session":"5e"},"x":1}`)}
	got := report.SumRelayed([]store.Account{{Info: info, Spent: []store.Spend{
		row("2026-01-01 23:59", 9, store.Live{Billed: 1, Otherwise: bill.Estimate{Likely: 3}}),
		row("2026-01-02 00:01", 50, store.Live{Billed: 2, Otherwise: bill.Estimate{Likely: 1}, Observed: true, Edited: true, Rules: map[string]store.Share{"idle": {Tokens: 7}}}),
		row("2026-01-02 00:02", 1, store.Live{Billed: 0.5, Otherwise: bill.Estimate{Likely: 0.5}, Beside: true}),
	}}, {Info: session.Info{ID: "none"}, Spent: []store.Spend{{Time: at("2026-01-02 00:00"), Kind: "step", Cost: 3}}}},
		at("2026-01-01 00:00"), zone, func(model string) int { return len(model) })
	want := report.Relayed{Since: at("2026-01-01 00:00"),
		Total: report.Gain{Requests: 2, Beside: 1, Observed: 1, Edited: 1, Billed: 3.5, Otherwise: bill.Estimate{Likely: 5.5}, Net: 2, ToSave: 1},
		Sessions: []report.LiveSession{{ID: "a", Title: "T", Parent: "p", Client: "claude-cli/2", Session: "5e", Model: "p/m",
			Last: at("2026-01-02 00:01"), LeftOut: 7, Prompt: 57, Window: 3,
			Gain: report.Gain{Requests: 2, Beside: 1, Observed: 1, Edited: 1, Billed: 3.5, Otherwise: bill.Estimate{Likely: 5.5}, Net: 2, ToSave: 1}}},
		People: []report.LivePerson{},
		Days: []report.LiveDay{
			{Day: "2026-01-02", Gain: report.Gain{Requests: 1, Beside: 1, Observed: 1, Edited: 1, Billed: 2.5, Otherwise: bill.Estimate{Likely: 2.5}, ToSave: 1}},
			{Day: "2026-01-01", Gain: report.Gain{Requests: 1, Billed: 1, Otherwise: bill.Estimate{Likely: 3}, Net: 2}}},
		Rules: []report.LiveRule{{Rule: "", Net: 2, ToSave: 1}, {Rule: "idle", LeftOut: 7}},
		Tools: report.Uncalled{Sets: []report.Toolset{}, Drop: []string{}}}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// FuzzSumRelayed: whatever stands in the info of a session, its figures are summed up.
func FuzzSumRelayed(f *testing.F) {
	for _, seed := range []string{`{"client":{"name":"a","session":"b"}}`, `{"client":[]}`, `{"client":{"name":1}}`, `{"client"`, "", "{}",
		"{\"client\":{\"name\":\"\xff\"},\"client\":{}}"} {
		f.Add([]byte(seed), 1.0, -2.0)
	}
	f.Fuzz(func(t *testing.T, info []byte, at, net float64) {
		spent := []store.Spend{{Time: session.Millis(at), Live: &store.Live{Billed: 1, Otherwise: bill.Estimate{Likely: net},
			Rules: map[string]store.Share{"idle": {Tokens: -1, Net: net}}}}}
		got := report.SumRelayed([]store.Account{{Info: session.Info{ID: "s", Unknown: info}, Spent: spent}}, session.Millis(math.Inf(-1)),
			time.UTC, func(string) int { return 0 })
		if !math.IsNaN(at) && (got.Total.Requests != 1 || len(got.Sessions) != 1 || got.Sessions[0].ID != "s") {
			t.Errorf("%+v", got)
		}
	})
}
