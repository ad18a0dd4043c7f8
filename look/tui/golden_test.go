package tui

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/lab/advise"
	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/report"
)

var update = flag.Bool("update", false, "write the golden files anew")

// turnOf makes the strata of one turn: what the user wrote, and steps of the given zones.
func turnOf(n int, written string, steps int, zones map[report.Zone]int) []report.Stratum {
	out := []report.Stratum{{Role: session.User, Turn: n, Zones: map[report.Zone]int{}, Written: written}}
	for range steps {
		out = append(out, report.Stratum{Role: session.Assistant, Turn: n, Zones: zones})
	}
	return out
}

func timelineOf(turns ...[]report.Stratum) []report.Stratum {
	var out []report.Stratum
	for _, t := range turns {
		out = append(out, t...)
	}
	return out
}

func overflowing() report.Report {
	cost := 3.14159
	return report.Report{
		Title: "Teach the kiln to cool down slowly", Model: "anthropic/claude-sonnet-4-5", Policy: "balanced",
		Messages: 61, Steps: 56, Turns: 5, ToolCalls: 104, ToolResults: 104,
		Money: report.Money{Cost: &cost, Bill: bill.Sums{Steps: bill.Bill{Requests: 56, Cost: cost}}},
		Tokens: report.Tokens{
			Total: 200_400,
			ByKind: map[string]int{"tool output": 180_000, "tool input": 12_400, "user": 900, "assistant": 5_100,
				"reasoning": 2_000},
			ByTool: map[string]int{"bash": 120_000, "read": 61_000, "edit": 8_000, "grep": 1_900, "list": 800,
				"glob": 500, "write": 200},
			ByFile: map[string]int{"kiln/firing/cooling_curve.go": 24_000, "kiln/firing/cooling_curve_test.go": 9_000,
				"README.md": 310},
		},
		Window: report.Window{
			Messages: 61, Tokens: 200_400, Overhead: 12_600, Context: 200_000, Usable: 148_000, Overflow: true,
		},
		Pruning: report.Pruning{
			Candidates: []report.Candidate{
				{Elision: rule.Elision{Rule: "backward", Part: "prt_1", Saves: 41_000}, Tool: "bash",
					Target: "make simulate CURVE=slow"},
				{Elision: rule.Elision{Rule: "backward", Part: "prt_2", Saves: 22_000}, Tool: "read",
					Target: "/home/potter/kiln/firing/cooling_curve.go"},
				{Elision: rule.Elision{Rule: "retries", Part: "prt_3", Saves: 1_800}, Tool: "bash",
					Target: "go test ./..."},
			},
			Refusals: []rule.Refusal{
				{Code: rule.Protected, Rule: "files", Part: "prt_4", Reason: ".env is protected"},
				{Code: rule.Protected, Rule: "files", Part: "prt_5", Reason: "kiln/AGENTS.md is protected"},
				{Code: rule.Recent, Rule: "inputs", Part: "prt_6", Reason: "too recent: it stays for 5 steps"},
				{Code: rule.TooSmall, Rule: "urls", Part: "prt_7", Reason: "its placeholder would be about as large"},
				{Code: rule.TooSmall, Rule: "urls", Part: "prt_8", Reason: "its placeholder would be about as large"},
				{Code: rule.TooSmall, Rule: "urls", Part: "prt_9", Reason: "its placeholder would be about as large"},
			},
		},
		Constraints: []string{
			"Never open the vents above 600 degrees.",
			"Please keep every exported name of package firing as it is, because the workshop in the other building links against it and cannot be rebuilt before spring.",
		},
		Pins: []rule.Pin{{Text: "cone 6 is 1222 °C"}},
		Strata: timelineOf(
			turnOf(1, "The kiln cools too fast and the glaze crazes. Find out why.", 12,
				map[report.Zone]int{report.Prunable: 4_000, report.Talk: 120}),
			turnOf(2, "Good. Now write a test that fails with the old curve.", 9,
				map[report.Zone]int{report.Prunable: 1_800, report.Guarded: 900, report.Talk: 200}),
			turnOf(3, "日本語のコメントを英語に直してください。表は変えないでください。", 10, map[report.Zone]int{report.Guarded: 3_300,
				report.Talk: 100}),
			turnOf(4, "ok", 1, map[report.Zone]int{report.ActiveNow: 11}),
			turnOf(5, "Run everything again, twenty times.", 24, map[report.Zone]int{report.ActiveNow: 3_600}),
		),
	}
}

// costly is the same session with a bill.
func costly() report.Report {
	r := overflowing()
	r.Costs = &report.Costs{
		Total: 3.14159, Split: bill.Split{Read: 1.6, Write: 0.9, Input: 0.04159, Output: 0.6},
		ByKind: map[string]float64{"tool output": 1.7, "tool input": 0.3, "user": 0.01, "assistant": 0.03159,
			report.Besides: 0.5, report.Answers: 0.6},
		ByTool:  map[string]float64{"bash": 1.2, "read": 0.7, "edit": 0.08, "mcp__kiln__fire": 0.02},
		ByFile:  map[string]float64{"kiln/firing/cooling_curve.go": 0.31, "README.md": 0.00004},
		ByModel: map[string]float64{"anthropic/claude-sonnet-4-5": 3, "anthropic/claude-haiku-4-5": 0.14159},
	}
	usage := session.Usage{Input: 12_000, Output: 40_000, Cache: session.CacheUsage{Read: 5_400_000, Write: 240_000}}
	r.Bill.Steps.Usage = usage
	for n := range 56 {
		one := report.Request{Kind: "step", Step: n + 1, Turn: 1 + n/12, Model: r.Model,
			Split: bill.Split{Read: 1.6 / 56, Write: 0.9 / 56, Input: 0.04159 / 56, Output: 0.6 / 56}}
		switch n {
		case 12, 40:
			one.Miss = &report.Miss{Cause: report.Idle, Tokens: 90_000 + n, Cost: 0.31, Idle: session.Millis(n) * 60_000}
		case 20:
			one.Miss = &report.Miss{Cause: report.Beginning, Tokens: 20_000, Cost: 0.07}
		case 21:
			one.Miss = &report.Miss{Cause: report.OtherModel, Tokens: 1_500}
		}
		r.Costs.Requests = append(r.Costs.Requests, one)
	}
	for i := range r.Strata {
		if r.Strata[i].Role == session.Assistant {
			r.Strata[i].Cost = r.Costs.Total / 56
		}
	}
	return r
}

func folded() report.Report {
	r := overflowing()
	r.Window = report.Window{
		Messages: 12, Tokens: 21_000, Overhead: 12_600, Context: 128_000, Usable: 95_232, Pivot: "msg_9", Folded: 51,
		Elided: 3, ElidedTokens: 8_200,
		Reason: "local/m1 is not in the catalogue: a context of 128000 tokens and an output of 16384 are assumed; its prices are unknown: `models` in winnow.jsonc sets them",
	}
	r.Model, r.Candidates = "local/m1", nil
	r.Refusals = []rule.Refusal{{Code: rule.BelowMinimum, Rule: "backward",
		Reason: "14729 tokens of old tool output could go; it takes more than 20000 to be worth a commit"}}
	var early [][]report.Stratum
	for n := range 40 {
		early = append(early, turnOf(n+1, fmt.Sprintf("Batch %d: fire it, look at it, write down what you see.", n+1),
			2, map[report.Zone]int{report.Folded: 1_000 + 137*(n%7)}))
	}
	early = append(early,
		turnOf(41, "Write the report.", 2, map[report.Zone]int{report.Pruned: 4_100, report.Talk: 300}),
		[]report.Stratum{
			{Role: session.User, Turn: 41, Pivot: true},
			{Role: session.Assistant, Turn: 41, Zones: map[report.Zone]int{report.Summary: 3_900}},
		},
		turnOf(42, "Shorter, please.", 3, map[report.Zone]int{report.ActiveNow: 2_700}))
	r.Strata = timelineOf(early...)
	r.Turns = 42
	return r
}

func receipt() pivot.Receipt {
	return pivot.Receipt{
		Kind: pivot.Compaction, Trigger: "manual", MessagesBefore: 61, MessagesAfter: 12, TokensBefore: 200_400,
		TokensAfter: 21_000, Usable: 95_232,
		Folded: 51, Tail: 9, Gone: map[string]int{"tool output": 101_000, "assistant": 4_800, "user": 800,
			"reasoning": 2_000},
		Carried: pivot.Carried{Pins: 1, Constraints: 2, Messages: 5, Todos: 1, Files: 7, Failures: 1, Recallable: 34,
			Tokens: 1_830},
		Summarizer: "anthropic/claude-haiku-4-5",
		Usage: []session.Usage{{Input: 1_200, Cache: session.CacheUsage{Read: 38_000}},
			{Input: 41_000, Output: 640, Reasoning: 250}}, Cost: 0.0421, Duration: 12.34,
		Notes:     []string{"3 tool outputs were cut to 2000 characters", "the 20000 oldest exchanges were left out"},
		Struck:    []pivot.Struck{{Kind: "path", Text: "internal/lamp/oil.go"}, {Kind: "number", Text: "4711"}},
		Committed: []rule.Elision{{Rule: "backward", Saves: 63_000}, {Rule: "retry", Saves: 1_800}},
		Saved:     179_400,
	}
}

// explained are parts in every zone, with what there is to say of each.
func explained() []report.Part {
	covering := report.Ref{Part: "prt_41", Handle: "k3f9a2", Type: "tool", Tool: "read",
		Target: "kiln/firing/cooling_curve.go", Step: 41}
	files := rule.Elision{
		Part: "prt_12", Field: rule.Output, Rule: "files", Because: "newer parts show every line of it", By: "prt_41",
		Saves: 3_880, Time: 1_772_438_500_000,
		Shown: "[winnow b7xq2e: read kiln/firing/cooling_curve.go, 412 lines left out; shown again below]",
	}
	standing := report.Reason{
		Elision: files, Covering: []report.Ref{covering}, Switch: "strategies.balancedPruning.files", StepsSince: 12, TurnsSince: 2,
		Receipt: "rcp_7", Together: 17, Undo: "winnow undo kiln.jsonl rcp_7",
	}
	could := report.Reason{
		Elision: rule.Elision{Part: "prt_20", Field: rule.Output, Rule: "backward",
			Because: "it lies behind the newest 40000 tokens of tool output and the last 2 turns", Saves: 40_990},
		Switch: "compaction.prune", Restored: true,
	}
	part := func(x report.Explanation) report.Part { return report.Part{Explanation: x} }
	return []report.Part{
		part(report.Explanation{
			Part: "prt_12", Message: "msg_9", Handle: "b7xq2e", Type: "tool", Tool: "read",
			Target: "kiln/firing/cooling_curve.go", Step: 9, Turn: 1, Tokens: 3_910, Shown: 30,
			Zone: report.Pruned, Rule: "files", Because: files.Because + ": " + covering.String(),
			Findings: report.Findings{
				Elisions: []report.Reason{standing},
				Refusals: []rule.Refusal{{Code: rule.Recent, Rule: "inputs",
					Reason: "too recent: it stays for 5 steps"}},
			},
			Undo: "winnow restore kiln.jsonl b7xq2e",
			Pieces: []report.Piece{
				{Field: rule.Input, Log: `{"filePath":"kiln/firing/cooling_curve.go"}`,
					Shown: `{"filePath":"kiln/firing/cooling_curve.go"}`,
					Would: `{"filePath":"kiln/firing/cooling_curve.go"}`},
				{Field: rule.Output, Log: strings.Repeat("\tcurve = append(curve, 1222)\n", 412), Shown: files.Shown,
					Would: files.Shown},
			},
		}),
		part(report.Explanation{
			Part: "prt_20", Handle: "pw4mzc", Type: "tool", Tool: "bash", Target: "make simulate CURVE=slow", Step: 17,
			Turn: 2, Tokens: 41_020, Shown: 41_020,
			Zone: report.Prunable, Rule: "backward", Because: "backward would leave it out: " + could.Because,
			Findings: report.Findings{Candidates: []report.Reason{could}},
		}),
		part(report.Explanation{
			Part: "prt_41", Handle: "k3f9a2", Type: "tool", Tool: "read", Target: "kiln/firing/cooling_curve.go",
			Step: 41, Turn: 3, Tokens: 3_910, Shown: 3_910,
			Zone: report.Guarded, Rule: "backward",
			Because: "backward would leave it out, but it is the latest copy; older ones were left out: read kiln/firing/cooling_curve.go (step 9, b7xq2e)",
			Findings: report.Findings{
				Refusals: []rule.Refusal{{Code: rule.Covers, Rule: "backward",
					Reason: "it is the latest copy; older ones were left out"}},
				StandsFor: []report.Ref{{Part: "prt_12", Handle: "b7xq2e", Type: "tool", Tool: "read",
					Target: "kiln/firing/cooling_curve.go", Step: 9}},
			},
		}),
		part(report.Explanation{
			Part: "prt_50", Handle: "zz2o7a", Type: "tool", Tool: "read", Target: "日本語/窯.md", Step: 48, Turn: 3,
			Tokens: 120, Shown: 120,
			Zone: report.Guarded, Because: "the file that it is about is protected (**/窯.md)",
			Kept: &report.Kept{By: report.ByPath, What: "**/窯.md", Switch: "compaction.protectedPaths"},
		}),
	}
}

func small() report.Report {
	return report.Report{
		Messages: 2, Steps: 1, Turns: 1, Model: "acme/anvil", Tokens: report.Tokens{Total: 12,
			ByKind: map[string]int{"user": 4, "assistant": 8}},
		Window: report.Window{Messages: 2, Tokens: 12},
		Strata: turnOf(1, "hi", 1, map[report.Zone]int{report.ActiveNow: 12}),
	}
}

func TestPainter_drawsWhatTheGoldenFilesShow(t *testing.T) {
	damaged := []format.Damage{
		{Line: 12, Reason: "unexpected end of input"}, {Offset: 123_456, Reason: "not an object"}, {Line: 14},
		{Line: 99, Reason: "never shown"},
	}
	for name, draw := range map[string]func(p Painter){
		"advice": func(p Painter) {
			p.Advice(advice(), nil)
			p.Advice(advise.Report{Sessions: 3, Cost: 2, Dropped: 5}, nil)
			r := advice()
			r.Cost = 200
			p.Advice(r, r.WithoutSmall())
		},
		"overflowing": func(p Painter) {
			p.Inspection(overflowing(), &pivot.Money{Step: new(0.04), Steps: new(2)}, "kiln.jsonl", damaged)
		},
		"costs":  func(p Painter) { p.Inspection(costly(), nil, "kiln.jsonl", nil) },
		"folded": func(p Painter) { p.Inspection(folded(), nil, "kiln.jsonl", nil) },
		"small":  func(p Painter) { p.Inspection(small(), nil, "hi.json", nil) },
		"explanation": func(p Painter) {
			for _, x := range explained() {
				p.Explanation(x.Explanation)
			}
		},
		"parts": func(p Painter) {
			zones, rules := report.Totals(explained())
			p.Parts(explained(), zones, rules, 1_204, true)
			p.Parts(nil, nil, nil, 0, true)
		},
		"empty":      func(p Painter) { p.Inspection(report.Report{}, nil, "empty.json", nil) },
		"compaction": func(p Painter) { p.Compaction(overflowing(), folded(), receipt(), "kiln.jsonl") },
		"outline": func(p Painter) {
			p.Outline(outlined())
			p.Outline(Outline{})
		},
		"receipt": func(p Painter) {
			r := receipt()
			r.Kind = pivot.Compaction
			p.Receipt(r, 12_600)
			p.Receipt(pivot.Receipt{Kind: pivot.Pruning, MessagesBefore: 61, MessagesAfter: 61, TokensBefore: 200_400,
				TokensAfter: 137_000, Usable: 148_000, Committed: receipt().Committed}, 0)
		},
		"replay":   func(p Painter) { p.Replay(replayed(), true); p.Replay(replayed(), false) },
		"policies": func(p Painter) { p.Replay(inDollars(), true) },
		"frontier": func(p Painter) {
			p.Frontier(replayed())
			p.Frontier(inDollars())
		},
		"frontier.odd": func(p Painter) {
			for _, r := range odd() {
				p.Frontier(r)
			}
		},
		"pruning": func(p Painter) {
			after := overflowing()
			after.Window = report.Window{Messages: 61, Tokens: 137_000, Overhead: 12_600, Context: 200_000,
				Usable: 148_000, Overflow: true, Elided: 2, ElidedTokens: 63_400}
			p.Pruning(after, pivot.Receipt{MessagesBefore: 61, MessagesAfter: 61, TokensBefore: 200_400,
				TokensAfter: 137_000, Committed: receipt().Committed}, "kiln.jsonl")
		},
	} {
		for _, color := range []bool{false, true} {
			file := name + ".txt"
			if color {
				file = name + ".color.txt"
			}
			t.Run(file, func(t *testing.T) {
				var got bytes.Buffer
				for _, width := range []int{40, 60, 80, 120} {
					fmt.Fprintf(&got, "[%d columns]\n", width)
					draw(Painter{W: &got, Color: color, Width: width})
				}
				path := filepath.Join("testdata", file)
				if *update {
					if err := os.MkdirAll("testdata", 0o755); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got.String(), "\n")); diff != "" {
					t.Errorf("%s (-want +got; -update writes it anew):\n%s", path, diff)
				}
			})
		}
	}
}

func TestPainter_saysTheConclusionFirst(t *testing.T) {
	fits := overflowing()
	fits.Window.Overflow, fits.Window.Tokens = false, 100_000
	meets := overflowing()
	meets.Window.Tokens = meets.Window.Usable - meets.Window.Overhead
	for name, c := range map[string]struct {
		report report.Report
		want   string
	}{
		"over":    {overflowing(), "144% full · $3.14"},
		"fits":    {fits, "76% full · $3.14"},
		"meets":   {meets, "100% full · $3.14"},
		"unknown": {small(), "12 tokens · the window of anvil is unknown"},
		"empty":   {report.Report{}, "Nothing here yet: no messages."},
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			Painter{W: &b}.Inspection(c.report, nil, "x", nil)
			if got, _, _ := strings.Cut(b.String(), "\n"); got != c.want {
				t.Errorf("first line\n got %q\nwant %q", got, c.want)
			}
		})
	}
}
