package stories

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/settings"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/edit"
	"github.com/winnowhq/winnow/store/sqlite"
)

// call appends a step with one call that ended well, and returns its call id.
func (l *lab) call(tool, input, output string) string {
	l.t.Helper()
	id := fmt.Sprintf("call_%d", l.n)
	l.append(session.Message{
		MessageInfo: session.MessageInfo{Role: session.Assistant, ProviderID: "p", ModelID: "m", Finish: "tool-calls"},
		Parts: []session.Part{{Type: session.ToolPart, Tool: tool, CallID: id, State: &session.ToolState{
			Status: session.Completed, Input: []byte(input), Output: output,
		}}},
	})
	return id
}

func lines(n int) string { return strings.Repeat("a line of text\n", n) }

// quay is a session with two large reads, a search, and more behind them.
func quay(t *testing.T, c winnow.Config) (l *lab, read, again, search string) {
	l = newLab(t, c)
	l.user("Why does the crane stop?")
	read = l.call("read", `{"filePath":"crane.go"}`, lines(300))
	again = l.call("read", `{"filePath":"rope.go"}`, lines(200))
	search = l.call("grep", `{"pattern":"stop"}`, lines(100))
	l.says("I have an idea.")
	l.user("Go on.")
	l.says("Yes.")
	return l, read, again, search
}

func (l *lab) discard(targets ...string) winnow.Edited {
	l.t.Helper()
	done, err := l.Discard(context.Background(), l.id, targets...)
	if err != nil {
		l.t.Fatal(err)
	}
	return done
}

func (l *lab) distill(summary string, targets ...string) winnow.Edited {
	l.t.Helper()
	done, err := l.Distill(context.Background(), l.id, edit.Distillation{Targets: targets, Summary: summary})
	if err != nil {
		l.t.Fatal(err)
	}
	return done
}

func (l *lab) restoreEach(targets ...string) winnow.Edited {
	l.t.Helper()
	done, err := l.RestoreEach(context.Background(), l.id, targets...)
	if err != nil {
		l.t.Fatal(err)
	}
	return done
}

// outcomes are the codes of the targets, "ok" for those that were done.
func outcomes(done winnow.Edited) (all []string) {
	for _, t := range done.Targets {
		word := string(t.Code)
		if t.OK {
			word = strings.TrimSuffix("ok "+word, " ")
		}
		all = append(all, word)
	}
	return all
}

func (l *lab) bytes() []byte { l.t.Helper(); return viewJSON(l.t, l.engine, l.id) }

// claims checks that the receipt, the results and the view say the same.
func (l *lab) claims(done winnow.Edited, before int) {
	l.t.Helper()
	after, sum := l.view().Tokens, 0
	for _, t := range done.Targets {
		sum += t.Saved
	}
	if before-after != sum {
		l.t.Errorf("the targets say %d tokens, the view became %d smaller", sum, before-after)
	}
	if r := done.Receipt; r != nil && (r.TokensBefore != before || r.TokensAfter != after || r.Saved != before-after) {
		l.t.Errorf("the receipt says %d → %d (%d), the view says %d → %d", r.TokensBefore, r.TokensAfter, r.Saved,
			before, after)
	}
}

// Case 48: one protected and one unknown target hold up no other.
func TestDiscard_aBadTargetFailsAlone(t *testing.T) {
	l, read, again, _ := quay(t, winnow.Config{})
	env := l.call("bash", `{"command":"cat .env"}`, lines(100))
	skill := l.call("skill", `{"name":"lifting"}`, lines(100))
	running := l.append(session.Message{
		MessageInfo: session.MessageInfo{Role: session.Assistant, ProviderID: "p", ModelID: "m"},
		Parts: []session.Part{{Type: session.ReasoningPart, Text: lines(100)},
			{Type: session.ToolPart, Tool: "bash", CallID: "call_run",
				State: &session.ToolState{Status: session.Running, Input: []byte(`{}`)}}},
	})
	if _, err := l.Pin(context.Background(), l.id, rule.Pin{Part: again}); err != nil {
		t.Fatal(err)
	}
	log, _, err := l.Session(context.Background(), l.id)
	if err != nil {
		t.Fatal(err)
	}
	user := log.Messages[0].Parts[0].ID
	before := l.view().Tokens
	done := l.discard(env, "nosuch", read, again, skill, user, "call_run", running.Parts[0].ID, read, "")
	want := []string{"protected", "not-found", "ok", "protected", "protected", "protected", "not-final", "recent",
		"ok already", "not-found"}
	if diff := cmp.Diff(want, outcomes(done)); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	for _, r := range done.Targets {
		if !r.OK && r.Reason == "" {
			t.Errorf("%s was refused without a reason", r.Target)
		}
	}
	l.claims(done, before)
	if got := l.discard(read); got.Changed || got.Receipt != nil || outcomes(got)[0] != "ok already" {
		t.Errorf("discarded again it is %+v", got)
	}
}

func TestDiscard_leavesThePairAndSaysWhat(t *testing.T) {
	l, read, _, _ := quay(t, winnow.Config{})
	before := l.bytes()
	done := l.discard(read)
	handle := done.Targets[0].Handle
	p := l.view().Messages[1].Parts[0]
	if want := "[winnow " + handle + ": read crane.go, 300 lines left out]"; p.State.Output != want {
		t.Errorf("it shows %q, want %q", p.State.Output, want)
	}
	if string(p.State.Input) != `{"filePath":"crane.go"}` || p.CallID != read {
		t.Errorf("the call is %s %s", p.CallID, p.State.Input)
	}
	if x, err := l.Explain(context.Background(), l.id, handle); err != nil || x.Elisions[0].Rule != rule.Discard {
		t.Errorf("explained by its handle: %+v (%v)", x, err)
	}
	if _, err := l.Undo(context.Background(), l.id, done.Receipt.ID); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before, l.bytes()) {
		t.Error("undone the view is not what it was")
	}
}

func TestDiscard_longArgumentsGoAndShortOnesStay(t *testing.T) {
	l := newLab(t, winnow.Config{})
	l.user("Write it.")
	write := l.call("write", `{"filePath":"a.go","content":"`+strings.Repeat(`line\n`, 300)+`"}`, "written")
	l.says("Done.")
	before := l.view().Tokens
	done := l.discard(write)
	l.claims(done, before)
	input := string(l.view().Messages[1].Parts[0].State.Input)
	if want := `{"filePath":"a.go","content":"[winnow ` + done.Targets[0].Handle +
		`: 300 lines left out]"}`; input != want {
		t.Errorf("the arguments are %s, want %s", input, want)
	}
	if out := l.view().Messages[1].Parts[0].State.Output; out != "written" {
		t.Errorf("the short result became %q", out)
	}
}

func TestDiscard_partsBeforeThePivotAreRefused(t *testing.T) {
	l, read, _, _ := quay(t, winnow.Config{Summarizer: &scripted{answers: []any{notes("go on")}}})
	l.compact(winnow.CompactOptions{})
	for name, done := range map[string]winnow.Edited{"discarded": l.discard(read),
		"distilled": l.distill("short", read)} {
		if got := outcomes(done)[0]; got != string(rule.BeforePivot) {
			t.Errorf("%s it is %q, want %s", name, got, rule.BeforePivot)
		}
	}
}

func TestDiscard_reasoningGoesWholeAndOnlyWhenItIsOld(t *testing.T) {
	l := newLab(t, winnow.Config{})
	thinks := func() string {
		return l.append(session.Message{
			MessageInfo: session.MessageInfo{Role: session.Assistant, ProviderID: "p", ModelID: "m", Finish: "stop"},
			Parts: []session.Part{{Type: session.ReasoningPart, Text: lines(100),
				Metadata: []byte(`{"anthropic":{"signature":"c2ln"}}`)},
				{Type: session.TextPart, Text: "So."}},
		}).Parts[0].ID
	}
	l.user("Think.")
	old := thinks()
	l.user("Think again.")
	young := thinks()
	if diff := cmp.Diff([]string{"ok", "recent"}, outcomes(l.discard(old, young))); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	for _, m := range l.view().Messages {
		for _, p := range m.Parts {
			if p.ID == old && (p.Type == session.ReasoningPart || len(p.Metadata) > 0) {
				t.Errorf("signed reasoning was edited: %+v", p)
			}
		}
	}
}

// Cases 46 and 49: what was distilled stays visible, and what is restored is to the byte what it
// was, also after a restart.
func TestDistill_isSeenInEveryLaterViewAndRestoredToTheByte(t *testing.T) {
	path := filepath.Join(t.TempDir(), "winnow.db")
	restart := func(id string) *lab {
		s, err := sqlite.Open(t.Context(), sqlite.Config{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		if id == "" {
			l, _, _, _ := quay(t, winnow.Config{Store: s})
			return l
		}
		return &lab{engine: open(t, winnow.Config{Store: s, Models: small(16000, 4000)}), t: t, id: id, n: 100}
	}
	l := restart("")
	before := l.bytes()
	tokens := l.view().Tokens
	const summary = "crane.go: the brake is let go in Stop()."
	done := l.distill(summary, "call_1", "call_2")
	l.claims(done, tokens)
	if diff := cmp.Diff([]string{"ok", "ok"}, outcomes(done)); diff != "" {
		t.Fatalf("outcomes (-want +got):\n%s", diff)
	}
	first, second := done.Targets[0].Handle, done.Targets[1].Handle
	shown := []string{"[winnow " + first + ": read crane.go, 300 lines distilled] " + summary,
		"[winnow " + second + ": read rope.go, 200 lines left out; distilled with " + first + "]"}
	visible := func(when string) {
		t.Helper()
		for i, want := range shown {
			if got := l.view().Messages[i+1].Parts[0].State.Output; got != want {
				t.Errorf("%s part %d shows %q, want %q", when, i, got, want)
			}
		}
	}
	visible("at once")
	l.call("context_list", `{}`, "nothing")
	l.call("context_distill", `{"handles":[],"summary":"x"}`, "nothing")
	visible("after other calls")
	for i := range 50 {
		l.user(fmt.Sprint("Step ", i))
		l.says("Yes.")
	}
	visible("50 requests later")
	kept := l.bytes()
	l = restart(l.id)
	if !bytes.Equal(kept, l.bytes()) {
		t.Error("after a restart the view is another one")
	}
	visible("after a restart")

	if got := outcomes(l.restoreEach(first, "nosuch", second)); got[0] != "ok" || got[1] != "not-found" ||
		got[2] != "ok" && got[2] != "ok already" {
		t.Errorf("restored they are %v", got)
	}
	if got := l.bytes(); !bytes.HasPrefix(got, before[:len(before)-1]) {
		t.Error("restored after a restart the view does not begin with what it was")
	}
	if got := outcomes(l.restoreEach(first))[0]; got != "ok already" {
		t.Errorf("restored once more it is %q", got)
	}
}

func TestDistill_aSharedSummaryComesBackAltogether(t *testing.T) {
	l, read, again, _ := quay(t, winnow.Config{})
	before := l.bytes()
	tokens := l.view().Tokens
	l.distill("Both are about ropes.", again, read)
	half := l.view().Tokens
	done := l.restoreEach(read) // the larger one shows the summary
	if len(done.Targets) != 1 || !done.Targets[0].OK || done.Targets[0].Saved != half-tokens ||
		done.Targets[0].Reason == "" {
		t.Errorf("restored: %+v, want %d tokens more and the other one named", done.Targets, tokens-half)
	}
	if !bytes.Equal(before, l.bytes()) {
		t.Error("the part that leaned on the summary was left without it")
	}
}

func TestDistill_theOneThatShowsASharedSummaryDoesNotGoAlone(t *testing.T) {
	l, read, again, _ := quay(t, winnow.Config{})
	l.distill("Both are about ropes.", again, read)
	if got := outcomes(l.discard(read))[0]; got != string(rule.Covers) {
		t.Errorf("discarded it is %q", got)
	}
	if got := outcomes(l.distill("Ropes.", read))[0]; got != string(rule.Covers) {
		t.Errorf("distilled it is %q", got)
	}
	if got := outcomes(l.discard(again))[0]; got != "ok" {
		t.Errorf("the other one discarded is %q", got)
	}
	if got := outcomes(l.discard(read))[0]; got != "ok" {
		t.Errorf("discarded then it is %q", got)
	}
}

// A summary that stood for two parts is shown at the short one; discarded, that one is shown whole
// again, for it is shorter than any mark. The receipt leaves nothing out, and is undone all the
// same.
func TestDiscard_whatOnlyShowsAPartWholeAgainIsUndone(t *testing.T) {
	l := newLab(t, winnow.Config{Models: small(400_000, 4000)})
	l.user("Begin.")
	short := l.call("write", `{"filePath":"f0","content":"`+strings.Repeat(`x\n`, 30)+`"}`, "ok")
	long := l.says(lines(8) + "x").Parts[0].ID
	l.user("Go on.")
	l.says("Yes.")
	l.distill("said", short, long)
	l.discard(long)
	before := l.bytes()
	r := l.discard(short).Receipt
	if r == nil || len(r.Committed) > 0 || len(r.Replaced) == 0 {
		t.Fatalf("the receipt of a discard that only takes back: %+v", r)
	}
	after, ctx := l.bytes(), context.Background()
	if err := l.undone(ctx, l.id, r.ID); err != nil || !bytes.Equal(l.bytes(), before) {
		t.Errorf("undone: %v, want the view as before", err)
	}
	if err := l.redone(ctx, l.id, r.ID); err != nil || !bytes.Equal(l.bytes(), after) {
		t.Errorf("done again: %v, want the view as after", err)
	}
}

// Case 50: the view never grows.
func TestDistill_aSummaryThatDoesNotPayIsRefused(t *testing.T) {
	l, read, again, search := quay(t, winnow.Config{})
	before := l.bytes()
	if done := l.distill(lines(301), read); outcomes(done)[0] != string(rule.Unprofitable) || done.Changed {
		t.Errorf("a summary larger than its part: %+v", done)
	}
	refused := []string{"unprofitable", "unprofitable", "unprofitable"}
	if done := l.distill(lines(700), read, again, search); cmp.Diff(refused, outcomes(done)) != "" {
		t.Errorf("a summary larger than its parts: %+v", done)
	}
	if got := outcomes(l.distill(" \n", read))[0]; got != string(winnow.BadInput) {
		t.Errorf("an empty summary is %q", got)
	}
	if !bytes.Equal(before, l.bytes()) {
		t.Error("what was refused changed the view")
	}
	// Larger than one part, smaller than both.
	tokens := l.view().Tokens
	done := l.distill(lines(250), read, again)
	if diff := cmp.Diff([]string{"ok", "ok"}, outcomes(done)); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	l.claims(done, tokens)
}

func TestDistill_aNewerSummaryReplacesTheOlderInOneCommit(t *testing.T) {
	l, read, _, _ := quay(t, winnow.Config{})
	whole := l.bytes()
	one := l.distill("crane.go holds the brake, the rope, and the drum.", read)
	first := l.bytes()
	tokens := l.view().Tokens
	if got := l.distill("crane.go holds the brake, the rope, and the drum.", read); outcomes(got)[0] != "ok already" ||
		got.Changed {
		t.Errorf("the same words again: %+v", got)
	}
	if got := outcomes(l.distill(lines(20), read))[0]; got != string(rule.Unprofitable) {
		t.Errorf("a longer one is %q, want %s", got, rule.Unprofitable)
	}
	two := l.distill("The brake.", read)
	l.claims(two, tokens)
	if len(two.Receipt.Committed) != 1 || len(two.Receipt.Replaced) != 1 {
		t.Errorf("%d were committed, %d replaced, want 1 and 1", len(two.Receipt.Committed), len(two.Receipt.Replaced))
	}
	second := l.bytes()
	for _, step := range []struct {
		name string
		do   func(context.Context, string, string) error
		want []byte
	}{
		{"undone", l.undone, first}, {"redone", l.redone, second}, {"undone again", l.undone, first},
		{"both undone", l.undone, whole},
		{"the first redone", l.redone, first}, {"both redone", l.redone, second},
	} {
		if err := step.do(context.Background(), l.id, ""); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if got := l.bytes(); !bytes.Equal(got, step.want) {
			t.Fatalf("%s the view is\n%s, want\n%s", step.name, got, step.want)
		}
	}
	if one.Receipt.ID == two.Receipt.ID {
		t.Error("two commits have one receipt")
	}
	if got := l.discard(read); outcomes(got)[0] != "ok" || len(got.Receipt.Replaced) != 1 {
		t.Errorf("a distilled part discarded: %+v", got)
	}
}

func (l *lab) undone(ctx context.Context, id, what string) error {
	_, err := l.Undo(ctx, id, what)
	return err
}

func (l *lab) redone(ctx context.Context, id, what string) error {
	_, err := l.Redo(ctx, id, what)
	return err
}

func TestDistill_whatARuleLeftOutIsRestoredFirst(t *testing.T) {
	l, read, _, _ := quay(t, winnow.Config{})
	log, state, err := l.Session(context.Background(), l.id)
	if err != nil {
		t.Fatal(err)
	}
	m, p := session.FindPart(log.Messages, read)
	gone := []rule.Elision{{Part: p.ID, Message: m.ID, Field: rule.Output, Rule: "backward", Shown: rule.Cleared,
		Time: 1}}
	if _, err := l.Store().Apply(t.Context(), l.id, store.Change{Base: state.Revision, Commit: gone}); err != nil {
		t.Fatal(err)
	}
	if got := l.distill("short", read); outcomes(got)[0] != string(winnow.Already) {
		t.Errorf("distilled it is %+v", got)
	}
	if got := l.discard(read); outcomes(got)[0] != "ok already" || got.Changed {
		t.Errorf("discarded it is %+v", got)
	}
}

// The arguments of a call that distilled say once more what is shown in its place.
func TestDistill_theArgumentsOfOlderCallsGoWithTheNextCommit(t *testing.T) {
	l, read, again, _ := quay(t, winnow.Config{})
	summary := strings.Repeat("The brake is let go. ", 40)
	l.distill(summary, again)
	own := l.call("context_distill", `{"handles":["x"],"summary":"`+summary+`"}`, "done")
	l.says("On.")
	newest := l.call("mcp__winnow__context_distill", `{"handles":["y"],"summary":"`+summary+`"}`, "done")
	before := l.bytes()
	done := l.discard(read)
	log, state, err := l.Session(context.Background(), l.id)
	if err != nil {
		t.Fatal(err)
	}
	for call, want := range map[string]bool{own: true, newest: false} {
		_, p := session.FindPart(log.Messages, call)
		if got := state.Ledger.Has(rule.Key{Part: p.ID, Field: rule.Input}); got != want {
			t.Errorf("the arguments of %s are elided: %v, want %v", call, got, want)
		}
	}
	if len(done.Receipt.Notes) != 1 || !strings.Contains(done.Receipt.Notes[0], "1 older context_distill") {
		t.Errorf("the notes are %q", done.Receipt.Notes)
	}
	if err := l.undone(context.Background(), l.id, done.Receipt.ID); err != nil || !bytes.Equal(before, l.bytes()) {
		t.Errorf("undone as a whole the view is another one (%v)", err)
	}
}

func TestHandles_listsWhatIsWorthPruning(t *testing.T) {
	l, read, again, search := quay(t, winnow.Config{})
	l.call("read", `{"filePath":".env"}`, lines(300))
	small := l.call("read", `{"filePath":"small.go"}`, "few words")
	l.call("read", `{"filePath":"newest.go"}`, lines(300))
	l.discard(search, small)
	named, err := l.Handles(context.Background(), l.id)
	if err != nil {
		t.Fatal(err)
	}
	want := []edit.Named{
		{Type: "tool", Tool: "read", Target: "crane.go", State: edit.Shown, Age: 7},
		{Type: "tool", Tool: "read", Target: "rope.go", State: edit.Shown, Age: 6},
		{Type: "tool", Tool: "grep", Target: "stop", State: edit.Elided, Rule: rule.Discard, Age: 5},
	}
	varies := cmpopts.IgnoreFields(edit.Named{}, "Handle", "Part", "Message", "Tokens", "Shown")
	if diff := cmp.Diff(want, named, varies); diff != "" {
		t.Errorf("the list (-want +got):\n%s", diff)
	}
	for i, call := range []string{read, again, search} {
		x, err := l.Explain(context.Background(), l.id, named[i].Handle)
		if err != nil || x.Part != named[i].Part || x.Tokens != named[i].Tokens || x.Shown != named[i].Shown {
			t.Errorf("%s is listed as %+v, explained as %+v (%v)", call, named[i], x, err)
		}
	}
}

// With strategies.handles on, results that are worth it show their handle, and everything that
// counts tokens counts it.
func TestView_showsHandlesWhereTheyAreWorthIt(t *testing.T) {
	settings := settings.Default()
	settings.Strategies.Handles = true
	plain, _, _, _ := quay(t, winnow.Config{})
	l, read, again, _ := quay(t, winnow.Config{Settings: &settings})
	l.call("read", `{"filePath":".env"}`, lines(300))
	l.call("read", `{"filePath":"small.go"}`, "few words")
	l.call("context_list", `{}`, lines(300))
	labelled := 0
	for _, m := range l.view().Messages {
		for _, p := range m.Parts {
			if p.State == nil {
				continue
			}
			_, label, found := strings.Cut(p.State.Output, "\n[handle ")
			if !found {
				if p.CallID == read || p.CallID == again {
					t.Errorf("%s shows no handle", p.CallID)
				}
				continue
			}
			labelled++
			if x, err := l.Explain(context.Background(), l.id, strings.TrimSuffix(label, "]")); err != nil ||
				x.Part != p.ID || !strings.HasSuffix(x.Text, label) {
				t.Errorf("%s shows the handle %q, which explains %+v (%v)", p.CallID, label, x, err)
			}
		}
	}
	if labelled != 3 {
		t.Errorf("%d results show a handle, want 3", labelled)
	}
	inspected, err := l.Inspect(context.Background(), l.id)
	if err != nil || inspected.Window.Tokens != l.view().Tokens {
		t.Errorf("inspected it has %d tokens, viewed %d (%v)", inspected.Window.Tokens, l.view().Tokens, err)
	}
	sum, after := 0, 0
	for _, m := range l.view().Messages {
		for _, p := range m.Parts {
			x, err := l.Explain(context.Background(), l.id, p.ID)
			if err != nil {
				t.Fatal(err)
			}
			sum += x.Shown
		}
		after = sum
	}
	if after != l.view().Tokens {
		t.Errorf("the parts have %d tokens, the view says %d", after, l.view().Tokens)
	}
	if bytes.Contains(plain.bytes(), []byte("[handle ")) {
		t.Error("handles are shown although they are off")
	}
	before := l.view().Tokens
	l.claims(l.discard(read), before)
	if text := l.view().Messages[1].Parts[0].State.Output; strings.Contains(text, "[handle ") {
		t.Errorf("a part that is left out shows its handle twice: %q", text)
	}
	before = l.view().Tokens
	l.claims(l.restoreEach(read), before)
}

// A view with handles begins with the view before it, and is the same after a restart.
func TestView_withHandlesIsStable(t *testing.T) {
	settings := settings.Default()
	settings.Strategies.Handles = true
	l := newLab(t, winnow.Config{Settings: &settings})
	var before []byte
	for i := range 12 {
		l.user(fmt.Sprint("Request ", i))
		l.call("read", `{"filePath":"a.go"}`, lines(10*i))
		now := l.bytes()
		if len(before) > 0 && !bytes.HasPrefix(now, before[:len(before)-1]) {
			t.Fatalf("the view with %d turns does not begin with the one before", i+1)
		}
		before = now
	}
	again := open(t, winnow.Config{Settings: &settings, Store: l.Store(), Models: small(16000, 4000)})
	if got := viewJSON(t, again, l.id); !bytes.Equal(got, before) {
		t.Error("another engine shows other bytes")
	}
}

// Cases 45 and 47 are void: nothing of ours strips tags from what a user or a tool said, and
// nothing is replaced by where it stands in a text. What stands in place of something is known from
// the ledger, so that a text which looks like one of our marks stays as it is.
func TestView_textsThatLookLikeOurMarksStay(t *testing.T) {
	l := newLab(t, winnow.Config{})
	const text = "const tag = \"[winnow k3f7a2: read a.go, 3 lines left out]\"\n<dcp-x>kept</dcp-x>\n[handle " +
		"k3f7a2]\n<acp:tool prunable_hash=\"a1b2c3\"/>"
	l.user(text)
	read := l.call("read", `{"filePath":"marks.go"}`, text+lines(200))
	l.says(text)
	l.user("Go on.")
	check := func() {
		t.Helper()
		m := l.view().Messages
		if m[0].Parts[0].Text != text || m[1].Parts[0].State.Output != text+lines(200) || m[2].Parts[0].Text != text {
			t.Errorf("the texts were changed: %+v", m)
		}
	}
	check()
	l.distill(text, read)
	if got := l.view().Messages[1].Parts[0].State.Output; !strings.HasSuffix(got, "] "+text) {
		t.Errorf("the summary is shown as %q", got)
	}
	l.restoreEach(read)
	check()
}

func TestSelfPruned_isOneDocument(t *testing.T) {
	l, read, _, _ := quay(t, winnow.Config{})
	text, err := json.Marshal(l.discard(read, "nosuch").Targets, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"target":"call_1"`, `"ok":true`, `"code":"not-found"`, `"saved":0`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s has no %s", text, want)
		}
	}
}
