package rule_test

import (
	"fmt"
	"testing"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/rule/ruletest"
	"github.com/winnowhq/winnow/session"
)

func toolPart(id, callID string) session.Part {
	return session.Part{ID: id, Type: session.ToolPart, Tool: "read", CallID: callID, State: &session.ToolState{Status: session.Completed}}
}

// colliding are two call ids whose first 30 bits are equal, found by search.
func colliding(t *testing.T) (string, string) {
	t.Helper()
	seen := map[string]string{}
	for i := range 1 << 19 {
		callID := fmt.Sprintf("call_%d", i)
		p := toolPart("p", callID)
		name := (&rule.Handles{}).Of(&p)
		if other, ok := seen[name]; ok {
			return other, callID
		}
		seen[name] = callID
	}
	t.Fatal("no two of half a million call ids collide: the handles are longer than they say")
	return "", ""
}

// Case 9 of the recorded defects: both of a colliding pair can be named, and each name is taken.
func TestHandles_bothOfACollidingPairAreAddressable(t *testing.T) {
	one, other := colliding(t)
	a, b := toolPart("pa", one), toolPart("pb", other)
	var h rule.Handles
	first, second := h.Of(&a), h.Of(&b)
	if first == second || len(first) != rule.HandleLength || len(second) <= rule.HandleLength {
		t.Fatalf("the handles are %q and %q, want one of %d characters and a longer one", first, second, rule.HandleLength)
	}
	if got := h.Part(first); got != "pa" {
		t.Errorf("%s names %q, want pa", first, got)
	}
	if got := h.Part(second); got != "pb" {
		t.Errorf("%s names %q, want pb", second, got)
	}
	w := ruletest.New().Window()
	w.Handles = &h
	for _, p := range []*session.Part{&a, &b} {
		p.State.Output = "one\ntwo\n"
		if shown := w.Discarded(p, rule.Output); !rule.ContainsPlaceholder(shown) || h.Part(shown) != p.ID {
			t.Errorf("%q names %q, want %s, and is a placeholder", shown, h.Part(shown), p.ID)
		}
		if label := rule.Label(h.Of(p)); !rule.ContainsPlaceholder(label) || h.Part(label) != p.ID {
			t.Errorf("%q names %q, want %s, and is a label", label, h.Part(label), p.ID)
		}
	}
	// Named again from the beginning, as after a restart, they have the same handles.
	var again rule.Handles
	again.Name([]session.Message{{Parts: []session.Part{a}}, {Parts: []session.Part{b}}})
	if again.Of(&a) != first || again.Of(&b) != second {
		t.Errorf("after a restart the handles are %s and %s, want %s and %s", again.Of(&a), again.Of(&b), first, second)
	}
}

func TestHandles_comeFromTheCallAlone(t *testing.T) {
	a, renamed := toolPart("p1", "toolu_1"), toolPart("p9", "toolu_1")
	renamed.State = &session.ToolState{Status: session.Running}
	if one, other := (&rule.Handles{}).Of(&a), (&rule.Handles{}).Of(&renamed); one != other || one == "" {
		t.Errorf("one call has the handles %q and %q: its part's id, or its state, counts", one, other)
	}
}

func TestHandles_aPartialListChangesNothing(t *testing.T) {
	l := ruletest.New()
	for i := range 6 {
		l.Call("read", ruletest.Args{"filePath": fmt.Sprint(i)}, "text")
	}
	var h rule.Handles
	h.Name(l.Messages)
	names := map[string]string{}
	for i := range l.Messages {
		for j := range l.Messages[i].Parts {
			names[l.Messages[i].Parts[j].ID] = h.Of(&l.Messages[i].Parts[j])
		}
	}
	h.Name(l.Messages[3:5]) // the tail after a compaction
	h.Name(l.Messages[:2])  // a fork
	h.Name(l.Messages)
	for i := range l.Messages {
		for j := range l.Messages[i].Parts {
			p := &l.Messages[i].Parts[j]
			if got := h.Of(p); got != names[p.ID] {
				t.Errorf("%s is %q now, was %q", p.ID, got, names[p.ID])
			}
			if names[p.ID] != "" && h.Part(names[p.ID]) != p.ID {
				t.Errorf("%s names %q, want %s", names[p.ID], h.Part(names[p.ID]), p.ID)
			}
		}
	}
}

func TestHandles_aHandleIsNeverUsedAgain(t *testing.T) {
	one, other := colliding(t)
	a, b := toolPart("pa", one), toolPart("pb", other)
	var h rule.Handles
	h.Name([]session.Message{{Parts: []session.Part{a}}})
	first := h.Of(&a)
	h.Name([]session.Message{{Parts: []session.Part{b}}}) // a is gone from the list
	if got := h.Of(&b); got == first {
		t.Errorf("%s named pa and names pb now", first)
	}
}

func TestHandles_twoPartsWithOneCallIDHaveTheirOwn(t *testing.T) {
	a, b := toolPart("pa", "toolu_1"), toolPart("pb", "toolu_1")
	var h rule.Handles
	if one, other := h.Of(&a), h.Of(&b); one == other || h.Part(one) != "pa" || h.Part(other) != "pb" {
		t.Errorf("%q names %q and %q names %q, want pa and pb", one, h.Part(one), other, h.Part(other))
	}
}

func TestHandles_areNotGivenToWhatHasNoContent(t *testing.T) {
	for _, p := range []session.Part{{ID: "s", Type: session.StepStartPart}, {ID: "c", Type: session.CompactionPart}, {Type: session.TextPart, Text: "no id"}} {
		if got := (&rule.Handles{}).Of(&p); got != "" {
			t.Errorf("a %s part with the id %q has the handle %q", p.Type, p.ID, got)
		}
	}
}

func TestHandles_areTakenAsModelsWriteThem(t *testing.T) {
	p := toolPart("p1", "toolu_1")
	var h rule.Handles
	name := h.Of(&p)
	for _, form := range []string{"%s", " %s\n", "[%s]", "`%s`", "\"%s\"", "[handle %s]", "[winnow %s: read a.go, 3 lines left out]", "%s:", "#%s", "handle %s"} {
		if written := fmt.Sprintf(form, name); h.Part(written) != "p1" {
			t.Errorf("%q names %q, want p1", written, h.Part(written))
		}
	}
	for _, wrong := range []string{"", "zzzzzz", name[:5], name + "a", "p1"} {
		if got := h.Part(wrong); got != "" {
			t.Errorf("%q names %q, want nothing", wrong, got)
		}
	}
	if got := h.Near("a" + name); got != name {
		t.Errorf("near a%s is %q, want %s", name, got, name)
	}
	if got := h.Near(name[:len(name)-1]); got != name {
		t.Errorf("near %s is %q, want %s", name[:len(name)-1], got, name)
	}
	if got := h.Near("0189018"); got != "" {
		t.Errorf("near 0189018 is %q, want nothing", got)
	}
}
