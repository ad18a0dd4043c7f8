package tui

import (
	"math"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/look/display"
	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/report"
)

// hostile are texts as sessions have them, and as nobody should.
func hostile() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.String(),
		rapid.SampledFrom([]string{
			"", "a/b/c.go", "\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "\x1b[2J\x1b[H", "\u009b31m", "two\nlines",
			"\u202eright to left", "日本語のテキスト", "👨‍👩‍👧",
			"\xff\xfe", "שלום עולם", "e\u0301\u0301\u0301\u0301", strings.Repeat("long ", 60), strings.Repeat("字", 90),
			"🇩🇪🇫🇷", "\x00", "\x1b",
		}),
		rapid.Custom(func(t *rapid.T) string { return string(rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "bytes")) }))
}

func number() *rapid.Generator[int] {
	return rapid.OneOf(rapid.IntRange(0, 300_000),
		rapid.SampledFrom([]int{0, 1, -1, math.MaxInt, math.MinInt, math.MaxInt - 1}))
}

func byName(t *rapid.T, label string) map[string]int {
	return rapid.OneOf(rapid.Just(map[string]int(nil)), rapid.MapOfN(hostile(), number(), 0, 9)).Draw(t, label)
}

func anyReport(t *rapid.T) report.Report {
	text, n := hostile(), number()
	zones := rapid.SampledFrom([]report.Zone{
		report.Folded, report.Summary, report.Pruned, report.Prunable, report.Guarded, report.Talk, report.ActiveNow,
		"", "other", "\x1b[31m",
	})
	r := report.Report{
		Title: text.Draw(t, "title"), Model: text.Draw(t, "model"), Messages: n.Draw(t, "messages"),
		Steps: n.Draw(t, "steps"), Turns: n.Draw(t, "turns"),
		ToolCalls: n.Draw(t, "calls"),
		Money: report.Money{Bill: bill.Sums{Steps: bill.Bill{Requests: n.Draw(t, "requests"),
			Cost: rapid.Float64().Draw(t, "cost"), Unpriced: n.Draw(t, "unpriced")}}},
		Tokens: report.Tokens{Total: n.Draw(t, "total"), ByKind: byName(t, "kinds"), ByTool: byName(t, "tools"),
			ByFile: byName(t, "files")},
		Window: report.Window{
			Messages: n.Draw(t, "window"), Tokens: n.Draw(t, "window tokens"), Overhead: n.Draw(t, "overhead"),
			Context: n.Draw(t, "context"),
			Usable:  n.Draw(t, "usable"), Overflow: rapid.Bool().Draw(t, "overflow"), Reason: text.Draw(t, "reason"),
			Elided:       n.Draw(t, "elided"),
			ElidedTokens: n.Draw(t, "elided tokens"), Folded: n.Draw(t, "folded"), Pending: text.Draw(t, "pending"),
		},
		Constraints: rapid.SliceOfN(text, 0, 12).Draw(t, "constraints"),
	}
	for range rapid.IntRange(0, 6).Draw(t, "candidates") {
		r.Candidates = append(r.Candidates, report.Candidate{
			Elision: rule.Elision{Rule: text.Draw(t, "rule"), Saves: n.Draw(t, "saves")}, Tool: text.Draw(t, "tool"),
			Target: text.Draw(t, "target"),
		})
		r.Refusals = append(r.Refusals, rule.Refusal{Code: rule.Code(text.Draw(t, "code")), Part: text.Draw(t, "part"),
			Reason: text.Draw(t, "why")})
		r.Pins = append(r.Pins, rule.Pin{Text: text.Draw(t, "pin")})
	}
	turn := rapid.IntRange(-1, 2).Draw(t, "first turn")
	for range rapid.IntRange(0, 60).Draw(t, "strata") {
		s := report.Stratum{
			Role: rapid.SampledFrom([]session.Role{session.User, session.Assistant}).Draw(t, "role"), Turn: turn,
			Zones: rapid.MapOfN(zones, n, 0, 4).Draw(t, "zones"), Pivot: rapid.IntRange(0, 40).Draw(t, "pivot") == 0,
		}
		if rapid.Bool().Draw(t, "next") {
			turn += rapid.IntRange(-1, 2).Draw(t, "turn")
			s.Written = text.Draw(t, "written")
		}
		r.Strata = append(r.Strata, s)
	}
	return r
}

func anyReceipt(t *rapid.T) pivot.Receipt {
	text, n := hostile(), number()
	r := pivot.Receipt{
		MessagesBefore: n.Draw(t, "m1"), MessagesAfter: n.Draw(t, "m2"), TokensBefore: n.Draw(t, "t1"),
		TokensAfter: n.Draw(t, "t2"),
		Usable:      n.Draw(t, "budget"), Folded: n.Draw(t, "away"), Tail: n.Draw(t, "tail"), Gone: byName(t, "gone"),
		Carried: pivot.Carried{Pins: n.Draw(t, "pins"), Messages: n.Draw(t, "said"), Recallable: n.Draw(t, "recall"),
			Tokens: n.Draw(t, "carried")},
		Summarizer: text.Draw(t, "summarizer"), Cost: rapid.Float64().Draw(t, "price"),
		Duration: rapid.Float64().Draw(t, "took"),
		Notes:    rapid.SliceOfN(text, 0, 12).Draw(t, "notes"),
	}
	for range rapid.IntRange(0, 12).Draw(t, "struck") {
		r.Struck = append(r.Struck, pivot.Struck{Kind: text.Draw(t, "kind"), Text: text.Draw(t, "claim")})
		r.Usage = append(r.Usage, session.Usage{Input: n.Draw(t, "in"), Output: n.Draw(t, "out")})
	}
	for range rapid.IntRange(0, 4).Draw(t, "committed") {
		r.Committed = append(r.Committed, rule.Elision{Rule: text.Draw(t, "by"), Saves: n.Draw(t, "saved")})
	}
	return r
}

var ourColours = regexp.MustCompile("\x1b\\[(0|1|(1;)?38;5;[0-9]{1,3})m")

// checkPage fails unless every line fits, and nothing but our own colours steers the terminal.
func checkPage(t *rapid.T, out string, p Painter) {
	width := p.Width
	if width <= 0 {
		width = 80
	}
	if p.Color {
		out = ourColours.ReplaceAllString(out, "")
	}
	for l := range strings.SplitSeq(out, "\n") {
		if Columns(l) > width {
			t.Fatalf("%d columns, want at most %d: %q", Columns(l), width, l)
		}
		if strings.HasSuffix(l, " ") {
			t.Fatalf("spaces at the end of %q", l)
		}
		for _, r := range l {
			if r != unicode.ReplacementChar && !unicode.IsPrint(r) {
				t.Fatalf("%U in %q", r, l)
			}
		}
	}
}

func TestPainter_drawsAnyReportWithinItsWidthAndCleanly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		p := Painter{W: &b, Color: rapid.Bool().Draw(t, "color"), Width: rapid.OneOf(rapid.IntRange(60, 200),
			rapid.IntRange(-1, 60)).Draw(t, "width")}
		r, title := anyReport(t), hostile().Draw(t, "title of the page")
		p.Inspection(r, nil, title, rapid.SliceOfN(rapid.Custom(func(t *rapid.T) format.Damage {
			return format.Damage{Line: number().Draw(t, "line"), Offset: rapid.Int64().Draw(t, "offset"),
				Reason: hostile().Draw(t, "damage")}
		}), 0, 5).Draw(t, "damaged"))
		receipt := anyReceipt(t)
		p.Pruning(r, receipt, title)
		p.Receipt(receipt, r.Window.Overhead)
		p.Compaction(r, r, receipt, title)
		checkPage(t, b.String(), p)
	})
}

func TestPainter_showsThousandsOfTurnsOnAboutTwentyRows(t *testing.T) {
	var r report.Report
	for n := range 10_000 {
		r.Strata = append(r.Strata, report.Stratum{Role: session.User, Turn: n + 1,
			Zones: map[report.Zone]int{report.Talk: n}, Written: "again"})
	}
	var b strings.Builder
	Painter{W: &b, Width: 100}.Inspection(r, nil, "many", nil)
	rows := strings.Count(b.String(), "again")
	if rows != display.MostRows {
		t.Errorf("%d rows, want %d", rows, display.MostRows)
	}
	if !strings.Contains(b.String(), "10,000  ≡") {
		t.Errorf("the newest turn has no row of its own:\n%s", b.String())
	}
}

func TestTimeline_splitsATurnThatIsMostOfTheSession(t *testing.T) {
	r := report.Report{Strata: turnOf(1, "do it all", 60, map[report.Zone]int{report.ActiveNow: 500})}
	var b strings.Builder
	Painter{W: &b, Width: 80}.Inspection(r, nil, "one", nil)
	for _, want := range []string{"do it all", "↳", "–60\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

func TestTimeline_drawsThePivotBetweenWhatIsFoldedAndWhatIsShown(t *testing.T) {
	var b strings.Builder
	Painter{W: &b, Width: 80}.Inspection(folded(), nil, "kiln", nil)
	at := func(text string) int {
		i := strings.Index(b.String(), text)
		if i < 0 {
			t.Fatalf("no %q in\n%s", text, b.String())
		}
		return i
	}
	if before, line, summary, after := at("Batch 1:"), at("── pivot: 51 messages, 111,510 tokens folded"), at("◆"),
		at("Write the report."); before > line || line > summary || summary > after {
		t.Errorf("not in order: folded %d, pivot %d, summary %d, shown %d", before, line, summary, after)
	}
}
