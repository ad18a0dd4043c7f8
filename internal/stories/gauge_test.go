package stories

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/rule/ruletest"
	"github.com/winnowhq/winnow/plan/settings"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/memory"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/token"
)

func (l *lab) gauge() report.Gauge {
	l.t.Helper()
	g, err := l.Gauge(context.Background(), l.id)
	if err != nil {
		l.t.Fatal(err)
	}
	return g
}

// priced is the catalogue of small with a price.
func priced() *model.Catalogue {
	c := small(64_000, 4_000)
	c.Models[0].Price = model.Price{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75}
	return c
}

// Whatever is done with a session, the strata sum up to the total, the total is what Inspect and
// View say as long as no report says more, and what was counted on the way is what counting
// everything at once gives.
func TestGauge_saysWhatInspectAndViewSay(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		kept := memory.New()
		settings := withPolicy("balanced")
		// no counter that learns: what is counted later would be another number
		settings.Compaction.Minimum, settings.Counter = 0, "chars4"
		config := winnow.Config{Settings: settings, Counter: token.Chars4{}, Models: priced(), Store: kept,
			Summarizer: &scripted{answers: []any{notes("go on"), fmt.Errorf("no"), notes("go on")}}}
		l := newLab(t, config)
		ctx := context.Background()
		l.user("Never touch the harbour.")
		first := 0 // messages up to the first report, from which what stands before them was learned
		for range rapid.IntRange(1, 40).Draw(r, "n") {
			parts, err := l.Parts(ctx, l.id)
			if err != nil {
				r.Fatal(err)
			}
			part := parts[rapid.IntRange(0, len(parts)-1).Draw(r, "part")].Part
			// What is refused is refused: the gauge must be right all the same.
			switch rapid.SampledFrom([]string{"read", "many", "say", "user", "observe", "prune", "discard", "restore",
				"pin", "say it", "unpin", "compact", "undo", "redo", "charge", "update"}).Draw(r, "do") {
			case "read":
				l.reads(fmt.Sprintf("f%d.go", rapid.IntRange(0, 3).Draw(r, "file")),
					rapid.IntRange(1, 900).Draw(r, "tokens"))
			case "many":
				all := make([]session.Message, 70)
				for i := range all {
					all[i] = session.Message{MessageInfo: session.MessageInfo{Role: session.Assistant},
						Parts: []session.Part{{Type: session.TextPart, Text: "One of many."}}}
				}
				l.Append(ctx, l.id, all...)
			case "say":
				l.says("It is done.")
			case "user":
				l.user("And the next one.")
			case "observe":
				l.says("So it is.")
				if s, _, err := l.Session(ctx, l.id); err == nil && first == 0 {
					first = len(s.Messages)
				}
				l.Observe(ctx, l.id, session.Usage{Input: rapid.IntRange(0, 30_000).Draw(r, "input"), Output: 50,
					Cache: session.CacheUsage{Read: 1000}})
			case "prune":
				l.Prune(ctx, l.id, false)
			case "discard":
				l.Discard(ctx, l.id, part)
			case "restore":
				l.Restore(ctx, l.id, part)
			case "pin":
				l.Pin(ctx, l.id, rule.Pin{Part: part})
			case "say it":
				l.Pin(ctx, l.id, rule.Pin{Text: "The harbour stays."})
			case "unpin":
				l.Unpin(ctx, l.id, part)
			case "compact":
				l.Compact(ctx, l.id, winnow.CompactOptions{})
			case "undo":
				l.Undo(ctx, l.id, "")
			case "redo":
				l.Redo(ctx, l.id, "")
			case "charge":
				l.Charge(ctx, l.id,
					store.Spend{Kind: "step", Failed: true, Model: "p/m", Usage: session.Usage{Input: 10}, Cost: 0.01})
			case "update":
				s, _, err := l.Session(ctx, l.id)
				if err != nil {
					r.Fatal(err)
				}
				if first == len(s.Messages) {
					break
				}
				m := s.Messages[rapid.IntRange(first, len(s.Messages)-1).Draw(r, "message")]
				m.Parts = slices.Clone(m.Parts)
				if p := &m.Parts[0]; p.Type == session.TextPart && !m.IsSummary() {
					p.Text += " And one thing more."
				}
				l.Update(ctx, l.id, m)
			}
			g := l.gauge()
			if sum := g.System + g.Tools + g.Pinned + g.Summary + g.Live; sum != g.Total ||
				min(g.System, g.Tools, g.Pinned, g.Summary, g.Live, g.Elided) < 0 {
				r.Fatalf("the strata sum up to %d: %+v", sum, g)
			}
			inspected, err := l.Inspect(ctx, l.id)
			if err != nil {
				r.Fatal(err)
			}
			w := inspected.Window
			if g.Elided != w.ElidedTokens || g.ElidedParts != w.Elided || g.Usable != w.Usable ||
				g.Context != w.Context {
				r.Fatalf("it has %+v, Inspect %+v", g, w)
			}
			scaled, err := winnow.Look(ctx, l.Engine, l.id,
				func(s *report.Session) (bool, error) { return *s.Scale > 0, nil })
			if err != nil {
				r.Fatal(err)
			}
			if shown := l.view().Tokens; !g.Reported && !scaled && g.Total != shown+w.Overhead {
				r.Fatalf("the total is %d by estimate; the view has %d tokens, and %d stand before it", g.Total, shown,
					w.Overhead)
			}
			fresh := open(t, config)
			again, err := fresh.Gauge(ctx, l.id)
			if err != nil {
				r.Fatal(err)
			}
			if g.Reported || scaled { // another engine does not have the report
				again.Total, again.System, again.Pinned, again.Summary, again.Live, again.Reported = g.Total, g.System,
					g.Pinned, g.Summary, g.Live, g.Reported
			}
			// Sums of dollars depend on their order.
			near := cmp.Comparer(func(a, b float64) bool { return max(a-b, b-a) < 1e-9 })
			if diff := cmp.Diff(again, g, near); diff != "" {
				r.Fatalf("counted at once (-) and on the way (+):\n%s", diff)
			}
		}
	})
}

func TestGauge_agreesWithTheVerdictOfTheNewestStep(t *testing.T) {
	l := newLab(t, winnow.Config{Models: priced()})
	l.user("Read them.")
	for i := range 5 {
		l.reads(fmt.Sprint(i, ".go"), 500)
		out, err := l.Observe(t.Context(), l.id, session.Usage{Input: 12_000 + 800*i, Output: 40})
		if err != nil {
			t.Fatal(err)
		}
		if g := l.gauge(); !g.Reported || g.Total != out.Verdict.Total || g.Usable != out.Verdict.Usable {
			t.Errorf("step %d: %d of %d, reported: %v; the verdict says %d of %d", i, g.Total, g.Usable, g.Reported,
				out.Verdict.Total, out.Verdict.Usable)
		}
	}
	before := l.gauge()
	l.user(strings.Repeat("word", 300))
	if g := l.gauge(); g.Total != before.Total+300 || !g.Reported {
		t.Errorf("300 tokens later it is %d after %d, reported: %v", g.Total, before.Total, g.Reported)
	}
}

func TestGauge_tellsSystemFromToolsWhereTheProgramSaysThem(t *testing.T) {
	system, tools := strings.Repeat("Obey", 300), jsontext.Value(`"`+strings.Repeat("tool", 900)+`"`)
	prefix := func(context.Context, string) (winnow.Prefix, error) {
		return winnow.Prefix{System: system, Tools: tools}, nil
	}
	for name, c := range map[string]struct {
		config winnow.Config
		report int // of the first step; 0: none
		want   report.Gauge
	}{
		"nothing is known": {winnow.Config{}, 0, report.Gauge{}},
		"the program says it": {winnow.Config{Prefix: prefix}, 0,
			report.Gauge{System: 300, Tools: 901, Split: true}},
		"a report says it": {winnow.Config{}, 2_402 + 25, report.Gauge{System: 2_402, Learned: true}},
		"both do": {winnow.Config{Prefix: prefix}, 2_402 + 25,
			report.Gauge{System: 600, Tools: 1_802, Split: true, Learned: true}},
		"the program does not know": {winnow.Config{Prefix: func(context.Context, string) (winnow.Prefix, error) {
			return winnow.Prefix{}, fmt.Errorf("not yet")
		}}, 0, report.Gauge{}},
	} {
		l := newLab(t, c.config)
		l.user(strings.Repeat("word", 25))
		if c.report > 0 {
			l.says("Yes.")
			if _, err := l.Observe(t.Context(), l.id, session.Usage{Input: c.report}); err != nil {
				t.Fatal(err)
			}
		}
		g := l.gauge()
		if got := (report.Gauge{System: g.System, Tools: g.Tools, Split: g.Split,
			Learned: g.Learned}); got.System != c.want.System || got.Tools != c.want.Tools ||
			got.Split != c.want.Split || got.Learned != c.want.Learned {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func TestGauge_whatIsPinnedIsCountedWhereItStands(t *testing.T) {
	l := newLab(t, winnow.Config{Models: priced(), Summarizer: &scripted{answers: []any{notes("go on")}}})
	l.user("Read it.")
	kept := l.reads("kept.go", 700)
	l.work(8)
	if g := l.gauge(); g.Pinned != 0 {
		t.Fatalf("nothing is pinned, and %d tokens are", g.Pinned)
	}
	if _, err := l.Pin(t.Context(), l.id, rule.Pin{Part: kept.Parts[0].ID}); err != nil {
		t.Fatal(err)
	}
	if g := l.gauge(); g.Pinned < 700 || g.Pinned > 720 {
		t.Errorf("a part of 700 tokens is pinned, and %d tokens are", g.Pinned)
	}
	l.compact(winnow.CompactOptions{})
	folded := l.gauge()
	if folded.Pinned < 700 || folded.Pinned > 780 || folded.Summary == 0 {
		t.Errorf("under a summary of %d tokens %d are pinned, want the 700 of the part", folded.Summary, folded.Pinned)
	}
	if _, err := l.Pin(t.Context(), l.id, rule.Pin{Text: strings.Repeat("later ", 100)}); err != nil {
		t.Fatal(err)
	}
	if g := l.gauge(); g.Pinned < folded.Pinned+150 || g.Pinned > folded.Pinned+170 {
		t.Errorf("a text of 150 tokens is pinned after the summary, and %d tokens are, after %d", g.Pinned,
			folded.Pinned)
	}
}

func TestGauge_countsEveryRequestOnce(t *testing.T) {
	failed := fmt.Errorf("no answer")
	l := newLab(t, winnow.Config{Models: priced(), Summarizer: &scripted{answers: []any{failed, notes("go on")}}})
	l.work(8)
	for range 2 {
		l.reads("a.go", 100)
		if _, err := l.Observe(t.Context(), l.id,
			session.Usage{Input: 1000, Output: 100, Cache: session.CacheUsage{Read: 9000}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Charge(t.Context(), l.id, store.Spend{Kind: "step", Failed: true, Model: "p/m",
		Usage: session.Usage{Input: 1000}, Cost: 0.003}); err != nil {
		t.Fatal(err)
	}
	l.compact(winnow.CompactOptions{}) // the offline summariser writes, after the model failed
	l.work(8)
	l.compact(winnow.CompactOptions{})
	step := (1000*3 + 9000*0.3 + 100*15) / 1e6
	g := l.gauge()
	for _, c := range []struct {
		of       string
		got      bill.Bill
		requests int
		cost     float64
	}{{"the newest step", g.Last, 1, step}, {"the steps", g.Steps, 2, 2 * step},
		{"the summaries", g.Summaries, 1, 0.25}, {"what failed", g.Failed, 2, 0.503},
		{"all", g.All(), 5, 2*step + 0.753}} {
		if off := c.got.Cost - c.cost; c.got.Requests != c.requests || max(off, -off) > 1e-9 || c.got.Unpriced != 0 {
			t.Errorf("%s: %+v, want %d requests for $%v", c.of, c.got, c.requests, c.cost)
		}
	}
	if got := g.Last.CacheShare(); got != 0.9 {
		t.Errorf("9,000 of 10,000 tokens were read from the cache, a share of %v", got)
	}
}

// A model of which nobody knows the price has not answered for nothing.
func TestGauge_anUnknownPriceIsNotNothing(t *testing.T) {
	l := newLab(t, winnow.Config{Models: small(64_000, 4_000)})
	l.user("Hello.")
	l.says("Hello.")
	if _, err := l.Observe(t.Context(), l.id, session.Usage{Input: 100, Output: 10}); err != nil {
		t.Fatal(err)
	}
	if g := l.gauge(); g.Last.Unpriced != 1 || g.All().Unpriced != 1 {
		t.Errorf("of the newest step %d are without a price, of all %d; want 1 and 1", g.Last.Unpriced,
			g.All().Unpriced)
	}
}

// BenchmarkGauge measures a session after each of its steps: it is summed up anew, in a few
// milliseconds.
func BenchmarkGauge(b *testing.B) {
	for _, parts := range []int{1_000, 10_000} {
		log := ruletest.New()
		for i := range parts / 4 {
			if i%10 == 9 {
				log.User("Go on.")
			}
			log.Call("Read", ruletest.Args{"file_path": fmt.Sprintf("/repo/f%d.go", i%97)}, numbered(20))
			log.Call("Bash", ruletest.Args{"command": fmt.Sprintf("make t%d", i%13)}, "ok\n")
		}
		start := func(b *testing.B) *engine {
			s := settings.Default()
			s.Compaction.Minimum = 0
			e := open(b, winnow.Config{Settings: &s})
			if err := e.Import(b.Context(), session.Session{Info: session.Info{ID: "ses_x"}, Messages: log.Messages},
				rule.Ledger{}, nil); err != nil {
				b.Fatal(err)
			}
			if _, err := e.Prune(b.Context(), "ses_x", false); err != nil {
				b.Fatal(err)
			}
			if _, err := e.Gauge(b.Context(), "ses_x"); err != nil {
				b.Fatal(err)
			}
			return e
		}
		measure := func(b *testing.B, e *engine) {
			if _, err := e.Gauge(b.Context(), "ses_x"); err != nil {
				b.Fatal(err)
			}
		}
		b.Run(fmt.Sprintf("parts=%d/step", parts), func(b *testing.B) {
			e := start(b)
			for b.Loop() {
				b.StopTimer()
				m := session.Message{MessageInfo: session.MessageInfo{Role: session.Assistant},
					Parts: []session.Part{{Type: session.TextPart, Text: "Done."}}}
				if err := e.Append(b.Context(), "ses_x", m); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				measure(b, e)
			}
		})
	}
}

func TestRequests_areWhatTheBillsSumUp(t *testing.T) {
	l := newLab(t, winnow.Config{Models: priced(),
		Summarizer: &scripted{answers: []any{notes("go on"), fmt.Errorf("no answer")}}})
	l.work(8)
	l.reads("a.go", 100)
	if _, err := l.Observe(t.Context(), l.id, session.Usage{Input: 1000, Output: 100}); err != nil {
		t.Fatal(err)
	}
	l.compact(winnow.CompactOptions{})
	l.work(8)
	l.compact(winnow.CompactOptions{}) // the model fails, and the offline summariser writes
	all, err := l.Requests(t.Context(), l.id)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	var sum bill.Bill
	for _, r := range all {
		got = append(got, fmt.Sprintf("%s %s %v", r.Kind, r.Model, r.Failed))
		sum = sum.Plus(r.Bill)
	}
	want := []string{"step p/m false", "summary p/scribe false", "summary p/scribe true"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the requests (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(l.gauge().All(), sum); diff != "" {
		t.Errorf("the gauge (-) and the sum of the requests (+):\n%s", diff)
	}
}

// What a commit leaves out goes at the rate at which the provider counts, so that the total does
// not leap at a commit and back at the next report.
func TestGauge_aCommitLeavesTheProvidersWayOfCounting(t *testing.T) {
	l := newLab(t, winnow.Config{Models: priced()})
	l.user("Read it.")
	l.says("Yes.")
	if _, err := l.Observe(t.Context(), l.id, session.Usage{Input: 3_000}); err != nil {
		t.Fatal(err)
	}
	read := l.reads("a.go", 2_000)
	l.reads("b.go", 2_000)
	// twice what a.go is estimated at is 4,000
	if _, err := l.Observe(t.Context(), l.id, session.Usage{Input: 6_000, Output: 10}); err != nil {
		t.Fatal(err)
	}
	before := l.gauge()
	if !before.Reported {
		t.Fatalf("%+v is not reported", before)
	}
	was := l.view().Tokens
	if _, err := l.Discard(t.Context(), l.id, read.Parts[0].ID); err != nil {
		t.Fatal(err)
	}
	after, now := l.gauge(), l.view().Tokens
	rate := float64(before.Total-before.System) / float64(was)
	if off := float64(before.Total-after.Total) - rate*float64(was-now); after.Reported || max(off, -off) > 2 {
		t.Errorf("%d tokens of the estimate went, at a rate of %.2f, and the total fell from %d to %d", was-now, rate,
			before.Total, after.Total)
	}
}
