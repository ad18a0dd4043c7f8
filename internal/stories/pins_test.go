package stories

import (
	"context"
	"strings"
	"testing"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/memory"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/summarize/offline"
	"github.com/winnowhq/winnow/token"
)

func TestPin_ofAMessageKeepsEveryPartOfItWhole(t *testing.T) {
	l := newLab(t, winnow.Config{Models: small(400_000, 4_000)})
	l.user("Read it.")
	read := func(output string) session.Part {
		return session.Part{Type: session.ToolPart, Tool: "read", CallID: "call" + output[:3],
			State: &session.ToolState{
				Status: session.Completed, Input: []byte(`{"filePath":"plan.md"}`),
				Output: output + strings.Repeat("word ", 20_000)}}
	}
	kept := l.append(session.Message{MessageInfo: session.MessageInfo{Role: session.Assistant, Finish: "tool-calls"},
		Parts: []session.Part{read("ONE "), read("TWO ")}})
	for range 4 {
		l.reads("other.go", 20_000)
	}
	l.work(3)
	ctx := context.Background()
	if out, err := l.Prune(ctx, l.id, false); err != nil || out.Pruned == nil || strings.Contains(l.text(), "ONE") {
		t.Fatalf("pruned %v, %v", out.Pruned, err)
	}
	if _, err := l.Pin(ctx, l.id, rule.Pin{Message: kept.ID}); err != nil {
		t.Fatal(err)
	}
	again := func(when string) {
		t.Helper()
		for _, want := range []string{"ONE", "TWO"} {
			if !strings.Contains(l.text(), want) {
				t.Errorf("%s %q is not in the view", when, want)
			}
		}
	}
	again("once it is pinned")
	x, err := l.Explain(ctx, l.id, kept.Parts[1].ID)
	if err != nil || !x.Pinned || x.Zone == report.Prunable {
		t.Errorf("a part of a pinned message is %+v, %v", x, err)
	}
	if _, err := l.Prune(ctx, l.id, false); err != nil {
		t.Fatal(err)
	}
	again("after another pruning")
	l.compact(winnow.CompactOptions{})
	again("after a pivot")
}

func TestPin_refusesWhatIsNotOneThing(t *testing.T) {
	l := newLab(t, winnow.Config{})
	m := l.user("Hello.")
	for name, c := range map[string]struct {
		pin  rule.Pin
		code rule.Code
	}{
		"nothing":               {rule.Pin{}, winnow.BadInput},
		"blanks":                {rule.Pin{Text: " \n"}, winnow.BadInput},
		"a part and a message":  {rule.Pin{Part: m.Parts[0].ID, Message: m.ID}, winnow.BadInput},
		"a part that is none":   {rule.Pin{Part: m.ID}, winnow.NotFound},
		"a message that is not": {rule.Pin{Message: "msg_none"}, winnow.NotFound},
	} {
		if _, err := l.Pin(context.Background(), l.id, c.pin); winnow.CodeOf(err) != c.code {
			t.Errorf("%s: %v, want %s", name, err, c.code)
		}
	}
	pin, err := l.Pin(context.Background(), l.id, rule.Pin{Text: "Keep it."})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Unpin(context.Background(), l.id, "pin_none"); winnow.CodeOf(err) != winnow.NotFound ||
		!strings.Contains(err.Error(), pin.ID) {
		t.Errorf("an unknown pin: %v, want the pins that there are", err)
	}
	if err := l.Unpin(context.Background(), l.id, "Keep it."); err != nil {
		t.Errorf("a pin named by its text: %v", err)
	}
}

// meddler does something to the session while it writes the summary.
type meddler struct {
	pivot.Summarizer
	do func(pivot.Request)
}

func (m meddler) Summarize(ctx context.Context, r pivot.Request) (pivot.Answer, error) {
	m.do(r)
	return m.Summarizer.Summarize(ctx, r)
}

func TestPin_madeWhileTheSummaryIsWrittenIsCarriedOver(t *testing.T) {
	var l *lab
	var part string
	l = newLab(t, winnow.Config{Summarizer: meddler{offline.New(), func(pivot.Request) {
		if _, err := l.Pin(context.Background(), l.id, rule.Pin{Part: part}); err != nil {
			t.Error(err)
		}
	}}})
	l.user("Begin.")
	part = l.append(session.Message{MessageInfo: session.MessageInfo{Role: session.Assistant},
		Parts: []session.Part{{Type: session.ReasoningPart, Text: "THE THOUGHT"}}}).Parts[0].ID
	l.work(6)
	if r := l.compact(winnow.CompactOptions{}); r.Carried.Pins != 1 || !strings.Contains(l.text(), "THE THOUGHT") {
		t.Errorf("carried %+v", r.Carried)
	}
}

func TestPin_ofATextInASessionThatIsOverItsBudget(t *testing.T) {
	for _, policy := range []string{"balanced", "classic", "aggressive"} {
		l := newLab(t, winnow.Config{Settings: withPolicy(policy)})
		l.user("Begin.")
		l.reads("big.go", 20_000)
		if _, err := l.Pin(t.Context(), l.id,
			rule.Pin{Text: strings.Repeat("word ", 16_000)}); winnow.CodeOf(err) != winnow.TooLarge {
			t.Errorf("%s: a text larger than the window: %v", policy, err)
		}
		if _, err := l.Pin(t.Context(), l.id, rule.Pin{Text: "The buoy is yellow."}); err != nil {
			t.Errorf("%s: %v", policy, err)
		}
		l.work(3)
		l.compact(winnow.CompactOptions{})
		if !strings.Contains(l.text(), "The buoy is yellow.") {
			t.Errorf("%s: after the pivot it is not in the view", policy)
		}
	}
}

func TestCompact_namesPinsThatDoNotFit(t *testing.T) {
	l := newLab(t, winnow.Config{})
	l.user("Begin.")
	m := l.reads("big.go", 12_000)
	l.work(3)
	if _, err := l.Pin(context.Background(), l.id, rule.Pin{Message: m.ID}); err != nil {
		t.Fatal(err)
	}
	_, err := l.Compact(context.Background(), l.id, winnow.CompactOptions{})
	if winnow.CodeOf(err) != winnow.NoProgress || !strings.Contains(err.Error(), "pins 1") ||
		!strings.Contains(err.Error(), "unpin") {
		t.Errorf("a pinned output larger than the window: %v", err)
	}
}

func TestDismiss_takesNumbersAndWordsAndNamesWhatThereIs(t *testing.T) {
	kept := memory.New()
	l := newLab(t, winnow.Config{Store: kept})
	ctx := context.Background()
	l.user("Never push to main. Thanks.\nOnly use the port 8417, never 80.")
	if _, err := l.Dismiss(ctx, l.id, true, "3"); winnow.CodeOf(err) != winnow.NotFound ||
		!strings.Contains(err.Error(), `2 "Only use the port 8417, never 80."`) {
		t.Errorf("a number that is not there: %v", err)
	}
	if _, err := l.Dismiss(ctx, l.id, true, "never"); winnow.CodeOf(err) != winnow.NotFound ||
		!strings.Contains(err.Error(), `2 instructions say "never"`) {
		t.Errorf("words that two of them have: %v", err)
	}
	if _, err := l.Dismiss(ctx, l.id, true); winnow.CodeOf(err) != winnow.BadInput {
		t.Errorf("nothing named: %v", err)
	}
	changed, err := l.Dismiss(ctx, l.id, true, "1", "never PUSH to main")
	if err != nil || len(changed) != 1 || !changed[0].Dismissed {
		t.Fatalf("by number and by words: %v, %v", changed, err)
	}
	if _, err := l.Dismiss(ctx, l.id, true, "1"); winnow.CodeOf(err) != winnow.Already {
		t.Errorf("twice: %v", err)
	}

	again := open(t, winnow.Config{Store: kept, Models: small(16_000, 4_000), Counter: token.Chars4{}})
	r, err := again.Inspect(ctx, l.id)
	if err != nil || len(r.Constraints) != 1 || len(r.Dismissed) != 1 || r.Dismissed[0] != "Never push to main." {
		t.Errorf("after a restart: %v, %v, %v", r.Constraints, r.Dismissed, err)
	}
	l.user("never push to MAIN! Always test.")
	all, err := l.Constraints(ctx, l.id)
	if err != nil || len(all) != 3 || !all[0].Dismissed || all[2].Number != 3 || all[2].Text != "Always test." {
		t.Errorf("after the same words once more: %v, %v", all, err)
	}
	if back, err := l.Dismiss(ctx, l.id, false, "push"); err != nil || len(back) != 1 || back[0].Dismissed {
		t.Errorf("taken back: %v, %v", back, err)
	}
	if _, err := l.Dismiss(ctx, l.id, false, "1"); winnow.CodeOf(err) != winnow.Already {
		t.Errorf("taken back twice: %v", err)
	}
}

func TestDismiss_isToldToTheSummariser(t *testing.T) {
	var asked pivot.Request
	l := newLab(t, winnow.Config{Summarizer: meddler{offline.New(), func(r pivot.Request) { asked = r }}})
	l.user("Never push to main. Always test.")
	if _, err := l.Dismiss(context.Background(), l.id, true, "1"); err != nil {
		t.Fatal(err)
	}
	l.work(6)
	r := l.compact(winnow.CompactOptions{})
	if !asked.Dismissed["never push to main"] || !strings.HasSuffix(asked.Instruction,
		"no standing constraints. Do not list them as such:\n- Never push to main.") {
		t.Errorf("it was asked %q without %v", asked.Instruction, asked.Dismissed)
	}
	m, _, err := l.Session(context.Background(), l.id)
	if err != nil {
		t.Fatal(err)
	}
	summary := m.Messages[session.Index(m.Messages, r.Summary)].Text()
	if wishes := section(summary, "Constraints and preferences"); strings.Contains(wishes, "push") ||
		!strings.Contains(wishes, "Always test.") {
		t.Errorf("the summary lists %q", wishes)
	}
}
