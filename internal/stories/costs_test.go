package stories

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/memory"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/token"
)

// inspected is what is told of a session after a change, nil for none.
func inspected(t interface{ Fatal(...any) }, s session.Session, spent []store.Spend,
	change func(*winnow.Engine)) report.Report {
	e, err := winnow.Open(winnow.Config{Store: memory.New(), Counter: token.Chars4{}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if err := e.Import(context.Background(), s, rule.Ledger{}, nil, spent...); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(e)
	}
	r, err := winnow.Look(context.Background(), e, s.Info.ID, report.Inspect)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// work makes a log of one session.
type work struct {
	s   session.Session
	now session.Millis
}

func newWork() *work {
	return &work{session.Session{Info: session.Info{ID: "ses_1", Directory: "/repo"}}, 1_772_438_400_000}
}

func (w *work) add(m session.Message) {
	m.ID = fmt.Sprintf("msg_%04d", len(w.s.Messages))
	m.Time.Created, m.Time.Completed = w.now, w.now
	for j := range m.Parts {
		m.Parts[j].ID = fmt.Sprintf("prt_%04d_%d", len(w.s.Messages), j)
	}
	w.s.Messages, w.now = append(w.s.Messages, m), w.now+10_000
}

func (w *work) user(text string) {
	w.add(session.Message{MessageInfo: session.MessageInfo{Role: session.User},
		Parts: []session.Part{{Type: session.TextPart, Text: text}}})
}

const sonnet = "anthropic/claude-sonnet-4-5"

// step is an answer that reads a file, if it names one.
func (w *work) step(model string, usage session.Usage, file string, output int) {
	provider, id, _ := strings.Cut(model, "/")
	parts := []session.Part{{Type: session.TextPart, Text: "I look at it."}}
	if file != "" {
		parts = append(parts, session.Part{Type: session.ToolPart, Tool: "read",
			CallID: fmt.Sprint("c", len(w.s.Messages)),
			State: &session.ToolState{Status: session.Completed,
				Input:  []byte(fmt.Sprintf(`{"filePath":"/repo/%s"}`, file)),
				Output: strings.Repeat("code", output)}})
	}
	w.add(session.Message{MessageInfo: session.MessageInfo{Role: session.Assistant, ProviderID: provider, ModelID: id,
		Finish: "stop", Tokens: &usage}, Parts: parts})
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Max(1, math.Abs(b)) }

// Each request's prompt is shared among what it carried, by its tokens; the answer is the turn's.
func TestCosts_areSharedAmongWhatEachPromptCarried(t *testing.T) {
	w := newWork()
	w.user(strings.Repeat("word", 100))
	w.step(sonnet, session.Usage{Input: 100, Output: 1000}, "a.go", 700)
	w.user("And?")
	w.step(sonnet, session.Usage{Output: 10, Cache: session.CacheUsage{Read: 100, Write: 900}}, "", 0)
	r := inspected(t, w.s, nil, nil)
	c := r.Costs
	if c == nil {
		t.Fatal("there are no costs")
	}
	first, second := 100*3e-6, 100*.3e-6+900*3.75e-6
	whole := float64(r.Tokens.Total - token.Chars4{}.Count("I look at it.")) // what the second prompt carried
	for kind, want := range map[string]float64{
		"user":        first + second*101/whole,
		"tool output": second * 700 / whole,
		"assistant":   second * float64(token.Chars4{}.Count("I look at it.")) / whole,
		"answers":     1010 * 15e-6,
	} {
		if !near(c.ByKind[kind], want) {
			t.Errorf("%s cost $%.8f, want $%.8f", kind, c.ByKind[kind], want)
		}
	}
	if got, want := c.ByFile["a.go"], c.ByKind["tool output"]+c.ByKind["tool input"]; !near(got, want) ||
		!near(c.ByTool["read"], want) {
		t.Errorf("a.go cost $%.8f and its tool $%.8f, want $%.8f", got, c.ByTool["read"], want)
	}
	if len(c.ByTurn) != 2 || !near(c.ByTurn[0].Cost, first+1000*15e-6) || !near(c.ByTurn[1].Cost, second+10*15e-6) {
		t.Errorf("by turn: %+v", c.ByTurn)
	}
}

// Whatever is in a log, and whatever is left out of it or folded, the parts add up to the bill.
func TestCosts_addUpToTheBill(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWork()
		logged := 0.25
		for range rapid.IntRange(1, 25).Draw(t, "messages") {
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0:
				w.user("Go on, please, with the next of them.")
			case 1:
				w.now += 3_600_000
			default:
				n := rapid.SampledFrom([]int{0, 30, 4000, 90_000}).Draw(t, "prompt")
				read := rapid.IntRange(0, n).Draw(t, "read")
				usage := session.Usage{Output: rapid.IntRange(0, 900).Draw(t, "output"),
					Searches: rapid.IntRange(0, 1).Draw(t, "searches"),
					Cache:    session.CacheUsage{Read: read, Write: (n - read) / 2}, Input: (n - read) / 3}
				name := rapid.SampledFrom([]string{sonnet, "openai/gpt-5", "loom/l1"}).Draw(t, "model")
				w.step(name, usage, rapid.SampledFrom([]string{"", "a.go", "b.go"}).Draw(t, "file"),
					rapid.IntRange(0, 5000).Draw(t, "size"))
				m := &w.s.Messages[len(w.s.Messages)-1]
				if rapid.Bool().Draw(t, "logged") {
					m.Cost = &logged
				}
				if rapid.IntRange(0, 4).Draw(t, "several steps") == 0 {
					one, two := usage, usage
					m.Parts = append(m.Parts,
						session.Part{ID: m.ID + "_s1", Type: session.StepFinishPart, Tokens: &one},
						session.Part{ID: m.ID + "_t", Type: session.TextPart, Text: "and on"},
						session.Part{ID: m.ID + "_s2", Type: session.StepFinishPart, Tokens: &two})
				}
			}
		}
		var spent []store.Spend
		kinds := rapid.SampledFrom([]string{"agent", "left", "summary"})
		for _, kind := range rapid.SliceOfN(kinds, 0, 3).Draw(t, "beside") {
			spent = append(spent, store.Spend{Kind: kind, Model: sonnet, Time: w.now,
				Cost:   rapid.SampledFrom([]float64{0, 0.5}).Draw(t, "cost"),
				Failed: rapid.Bool().Draw(t, "failed"), Usage: session.Usage{Input: 1000, Output: 10}})
		}
		folds := 0
		r := inspected(t, w.s, spent, func(e *winnow.Engine) {
			for range rapid.IntRange(0, 2).Draw(t, "folds") {
				if receipt, err := e.Compact(context.Background(), w.s.Info.ID, winnow.CompactOptions{}); err == nil {
					if folds++; rapid.Bool().Draw(t, "undone") {
						if _, err := e.Undo(context.Background(), w.s.Info.ID, receipt.ID); err != nil {
							t.Fatal(err)
						}
					}
				}
			}
		})
		want := r.Bill.Total().Cost
		if r.Costs == nil {
			if want != 0 {
				t.Fatalf("the bill is $%v, and no costs are told", want)
			}
			return
		}
		c := r.Costs
		turns := c.Beside
		for _, one := range c.ByTurn {
			turns += one.Cost
		}
		requests, parts := 0.0, c.ByKind[report.Besides]+c.ByKind[report.Answers]+c.ByKind[report.Summaries]+
			c.ByKind[report.SubAgents]+c.ByKind[report.Branches]+c.ByKind[report.Wasted]+c.ByKind[report.Searches]
		for _, one := range c.Requests {
			requests += one.Split.Total()
		}
		for name, got := range map[string]float64{
			"total": c.Total, "split": c.Split.Total(), "kinds": sum(c.ByKind), "models": sum(c.ByModel),
			"turns":    turns,
			"requests": requests, "parts and what is no part": parts + sum(c.ByPart),
		} {
			if !near(got, want) {
				t.Fatalf("%s add up to $%.9f, the bill is $%.9f: %+v", name, got, want, c)
			}
		}
		if sum(c.ByFile) > sum(c.ByTool)+1e-9 || sum(c.ByTool) > c.Split.Prompt()+1e-9 {
			t.Fatalf("files cost $%v, tools $%v, all prompts $%v", sum(c.ByFile), sum(c.ByTool), c.Split.Prompt())
		}
		for part, cost := range c.ByPart {
			if cost < 0 {
				t.Fatalf("%s cost $%v", part, cost)
			}
		}
	})
}

func sum(by map[string]float64) (all float64) {
	for _, key := range slices.Sorted(maps.Keys(by)) {
		all += by[key]
	}
	return all
}

// A request that pays anew for what the cache had is told with the reason that the log shows.
func TestCosts_sayWhatMissedTheCacheAndWhy(t *testing.T) {
	const haiku = "anthropic/claude-haiku-4-5"
	warm := session.Usage{Input: 10, Cache: session.CacheUsage{Read: 50_000, Write: 500}}
	cold := session.Usage{Cache: session.CacheUsage{Write: 50_600}}
	for name, tt := range map[string]struct {
		then func(w *work)
		want report.Cause
		cost float64
	}{
		"it was all there": {func(w *work) { w.step(sonnet, warm, "", 0) }, "", 0},
		"the first of all": {func(w *work) { w.s.Messages = w.s.Messages[:1]; w.step(sonnet, cold, "", 0) }, "", 0},
		"after ten minutes": {func(w *work) { w.now += 600_000; w.step(sonnet, cold, "", 0) }, report.Idle,
			50_500 * (3.75 - .3) / 1e6},
		"another model": {func(w *work) { w.step(haiku, cold, "", 0) }, report.OtherModel,
			50_500 * (1.25 - .1) / 1e6},
		"nothing in the log": {func(w *work) { w.step(sonnet, cold, "", 0) }, report.Beginning,
			50_500 * (3.75 - .3) / 1e6},
		"a part of it": {func(w *work) {
			w.step(sonnet, session.Usage{Cache: session.CacheUsage{Read: 40_000, Write: 11_000}}, "", 0)
		}, report.Unclear, 10_500 * (3.75 - .3) / 1e6},
		"a prompt that shrank": {func(w *work) {
			w.step(sonnet, session.Usage{Cache: session.CacheUsage{Read: 20_000, Write: 21_000}}, "", 0)
		}, report.Edit, 21_000 * (3.75 - .3) / 1e6},
		"after a compaction": {func(w *work) {
			w.add(session.Message{MessageInfo: session.MessageInfo{Role: session.User},
				Parts: []session.Part{{Type: session.CompactionPart}}})
			marker := w.s.Messages[len(w.s.Messages)-1].ID
			w.add(session.Message{MessageInfo: session.MessageInfo{Role: session.Assistant, ParentID: marker,
				Summary: []byte("true"), Finish: "stop"},
				Parts: []session.Part{{Type: session.TextPart, Text: "What was done so far."}}})
			w.step(sonnet, session.Usage{Cache: session.CacheUsage{Read: 10_000, Write: 4000}}, "", 0)
		}, report.Compacted, 4000 * (3.75 - .3) / 1e6},
		"an hour was paid for": {func(w *work) {
			w.step(sonnet, session.Usage{Cache: session.CacheUsage{Read: 50_000, Write: 500, Write1h: 500}}, "", 0)
			w.now += 600_000
			w.step(sonnet, warm, "", 0)
		}, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWork()
			w.user("Begin.")
			w.step(sonnet, session.Usage{Input: 500, Cache: session.CacheUsage{Write: 50_000}}, "a.go", 100)
			tt.then(w)
			all := inspected(t, w.s, nil, nil).Costs.Requests
			got := all[len(all)-1].Miss
			switch {
			case got == nil && tt.want != "":
				t.Errorf("no miss, want %s", tt.want)
			case got != nil && (got.Cause != tt.want || !near(got.Cost, tt.cost)):
				t.Errorf("%+v, want %q and $%.6f", *got, tt.want, tt.cost)
			}
		})
	}
}
