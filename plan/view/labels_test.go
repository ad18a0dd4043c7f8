package view_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/rule/ruletest"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/token"
)

func TestLabels_standUnderResultsThatAreWorthIt(t *testing.T) {
	big := strings.Repeat("word", 300)
	l := ruletest.New()
	for _, c := range []struct {
		name   string
		part   string
		labels bool
	}{
		{"a large result", l.Call("read", ruletest.Args{"filePath": "a.go"}, big), true},
		{"a large error", l.Fail("bash", ruletest.Args{"command": "x"}, big), true},
		{"a small result", l.Call("read", ruletest.Args{"filePath": "a.go"}, "few"), false},
		{"large arguments", l.Call("write", ruletest.Args{"filePath": "a.go", "content": big}, "ok"), false},
		{"a protected path", l.Call("read", ruletest.Args{"filePath": "conf/.env"}, big), false},
		{"a protected tool", l.Call("skill", ruletest.Args{}, big), false},
		{"one of the tools themselves", l.Call(rule.ToolList, ruletest.Args{}, big), false},
		{"what the user wrote", l.User(big), false},
		{"a call that runs", l.Running("bash", ruletest.Args{"command": big}), false},
	} {
		labels := &view.Labels{Handles: &rule.Handles{}, Minimum: rule.HandleMinimum, Guard: &rule.Guard{Tools: []string{"skill"}, Paths: []string{"**/.env*"}}}
		facts := rule.NewFacts(token.Chars4{})
		m, _ := session.FindPart(l.Messages, c.part)
		log := []session.Message{*m}
		rendered := labels.Render(view.Render(log, rule.Ledger{}), rule.Ledger{})
		_, p := session.FindPart(rendered, c.part)
		text := p.Text
		if p.State != nil {
			text = p.State.Result()
		}
		if got := strings.HasSuffix(text, "\n"+rule.Label(labels.Handles.Of(p))); got != c.labels {
			t.Errorf("%s: labelled %v, want %v", c.name, got, c.labels)
		}
		if got := labels.Tokens(&log[0], rule.Ledger{}, facts); (got > 0) != c.labels || got > 10 {
			t.Errorf("%s: its label takes %d tokens", c.name, got)
		}
		if original := l.Part(c.part); original.State != nil && strings.Contains(original.State.Result(), "[handle ") {
			t.Errorf("%s: the log was changed", c.name)
		}
		gone := rule.NewLedger(rule.Elision{Part: c.part, Message: log[0].ID, Field: rule.Output, Shown: "[gone]"})
		if n := labels.Tokens(&log[0], gone, facts); n != 0 {
			t.Errorf("%s: left out, its label takes %d tokens", c.name, n)
		}
	}
}

// However a log grows, with labels too the live view is the one that is rendered from scratch, and its tokens are those of what is rendered.
func TestLabels_theLiveViewIsTheViewFromScratch(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		source := ruletest.New()
		for range rapid.IntRange(1, 8).Draw(r, "calls") {
			source.Call("read", ruletest.Args{"filePath": "a.go"}, strings.Repeat("word", rapid.IntRange(0, 400).Draw(r, "size")))
		}
		ledger := rule.Ledger{}
		if rapid.Bool().Draw(r, "elided") {
			ledger = ledger.With(rule.Elision{Part: "p3", Message: "m2", Field: rule.Output, Shown: "[gone]"})
		}
		facts, handles := rule.NewFacts(token.Chars4{}), &rule.Handles{}
		labels := &view.Labels{Handles: handles, Minimum: rule.HandleMinimum}
		live := view.Live{Labels: labels}
		for n := 1; n <= len(source.Messages); n++ {
			log := source.Messages[:n]
			if rapid.IntRange(0, 4).Draw(r, "reset") == 0 {
				live.Reset()
			}
			live.Sync(log, nil, ledger, facts, min(n-1, len(live.Window())))
			want := labels.Render(view.Render(log, ledger), ledger)
			if diff := cmp.Diff(texts(want), texts(live.Rendered())); diff != "" {
				r.Fatalf("rendered (-want +got):\n%s", diff)
			}
			total := 0
			for i := range want {
				for _, p := range want[i].Parts {
					p.ID = "" // counted as it is shown
					total += facts.Size(&p).Total()
				}
			}
			if got := live.Tokens(); got < total-n || got > total+n { // a label is counted by itself: a token more or less
				r.Fatalf("%d tokens, what is shown has %d", got, total)
			}
		}
	})
}
