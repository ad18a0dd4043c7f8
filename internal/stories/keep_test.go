package stories

import (
	"slices"
	"strings"
	"testing"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/memory"
)

// bareStore is a store that keeps no texts.
type bareStore struct{ store.Store }

func keeping(t *testing.T, s store.Store) (*engine, string) {
	t.Helper()
	e, err := launch(winnow.Config{Store: s})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	id, err := e.Create(t.Context(), session.Info{})
	if err != nil {
		t.Fatal(err)
	}
	call := func(id, output string) session.Message {
		return session.Message{MessageInfo: session.MessageInfo{Role: session.Assistant, Finish: "tool-calls"},
			Parts: []session.Part{{
				Type: session.ToolPart, Tool: "read", CallID: id, State: &session.ToolState{Status: session.Completed,
					Input: []byte(`{"filePath":"` + id + `.go"}`), Output: output}}}}
	}
	log := []session.Message{
		{MessageInfo: session.MessageInfo{Role: session.User},
			Parts: []session.Part{{Type: session.TextPart, Text: "Look."}}},
		call("one", strings.Repeat("a line\n", 500)), call("two", "short"),
		{MessageInfo: session.MessageInfo{Role: session.Assistant, Finish: "stop"},
			Parts: []session.Part{{Type: session.TextPart, Text: "Hm."}}},
	}
	if err := e.Append(t.Context(), id, log...); err != nil {
		t.Fatal(err)
	}
	return e, id
}

func TestKeep_isSeenByNobodyButWhole(t *testing.T) {
	e, id := keeping(t, memory.New())
	before, err := e.View(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	whole := strings.Repeat("all of it\n", 10_000)
	handle, err := e.Keep(t.Context(), id, "two", whole)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{handle, "two", "[handle " + handle + "]"} {
		w, err := e.Whole(t.Context(), id, name)
		if err != nil {
			t.Fatal(err)
		}
		if w.Text != whole || !w.Kept || w.Handle != handle || w.Part.State.Output != "short" || w.Target != "two.go" ||
			len(w.Elided) != 0 {
			t.Errorf("%s: got %d bytes, kept %v, handle %s of %s, of a part that says %q", name, len(w.Text), w.Kept,
				w.Handle, w.Target, w.Part.State.Output)
		}
	}
	after, err := e.View(t.Context(), id)
	if err != nil || after.Tokens != before.Tokens {
		t.Errorf("the view has %d tokens, had %d (%v)", after.Tokens, before.Tokens, err)
	}
}

func TestWhole_ofWhatIsLeftOutIsWhatTheLogHas(t *testing.T) {
	e, id := keeping(t, memory.New())
	if _, err := e.Discard(t.Context(), id, "one"); err != nil {
		t.Fatal(err)
	}
	w, err := e.Whole(t.Context(), id, "one")
	if err != nil {
		t.Fatal(err)
	}
	if w.Text != strings.Repeat("a line\n", 500) || w.Kept || !slices.Contains(w.Elided, rule.Output) {
		t.Errorf("got %d bytes, kept %v, elided %v", len(w.Text), w.Kept, w.Elided)
	}
	v, err := e.View(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(v.Messages[1].Parts[0].State.Output, "a line\n") {
		t.Error("asking for it brought it back into the view")
	}
}

func TestKeep_errorsSayWhatToDo(t *testing.T) {
	e, id := keeping(t, memory.New())
	handle, err := e.Keep(t.Context(), id, "two", "x")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Keep(t.Context(), id, "nosuch", "x"); winnow.CodeOf(err) != winnow.NotFound {
		t.Errorf("a part that is not there: %v", err)
	}
	if _, err := e.Keep(t.Context(), "nosuch", "two", "x"); winnow.CodeOf(err) != winnow.NotFound {
		t.Errorf("a session that is not there: %v", err)
	}
	if _, err := e.Whole(t.Context(), id, handle[:5]+"1"); winnow.CodeOf(err) != winnow.NotFound ||
		!strings.Contains(err.Error(), handle) {
		t.Errorf("almost a handle: %v, want %s in it", err, handle)
	}
	e, id = keeping(t, bareStore{memory.New()})
	if _, err := e.Keep(t.Context(), id, "two", "x"); winnow.CodeOf(err) != winnow.Disabled {
		t.Errorf("a store that keeps nothing: %v", err)
	}
	if w, err := e.Whole(t.Context(), id, "two"); err != nil || w.Text != "short" || w.Kept {
		t.Errorf("of a store that keeps nothing: %+v, %v", w, err)
	}
}

func TestFork_hasWhatWasKept(t *testing.T) {
	e, id := keeping(t, memory.New())
	s, _, err := e.Session(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	m := s.Messages[2]
	state := *m.Parts[0].State
	state.Metadata = []byte(`{"shapedFrom":9}`)
	m.Parts = slices.Clone(m.Parts)
	m.Parts[0].State = &state
	if err := e.Update(t.Context(), id, m); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Keep(t.Context(), id, "two", "all of it"); err != nil {
		t.Fatal(err)
	}
	fork, err := e.Fork(t.Context(), id, "")
	if err != nil {
		t.Fatal(err)
	}
	if w, err := e.Whole(t.Context(), fork, "two"); err != nil || w.Text != "all of it" || !w.Kept {
		t.Errorf("got %q, kept %v, %v", w.Text, w.Kept, err)
	}
}

func TestAppend_refusesAMessageThatTheLogHas(t *testing.T) {
	e, id := keeping(t, memory.New())
	log, _, err := e.Session(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	said := func(own string) session.Message {
		return session.Message{MessageInfo: session.MessageInfo{ID: own, Role: session.User},
			Parts: []session.Part{{Type: session.TextPart, Text: "Again."}}}
	}
	for name, messages := range map[string][]session.Message{
		"one that is there":         {said(log.Messages[1].ID)},
		"behind one that is not":    {said("msg_new"), said(log.Messages[0].ID)},
		"one twice":                 {said("msg_new"), said("msg_new")},
		"one whose id is made here": {said(""), said(log.Messages[0].ID)},
	} {
		if err := e.Append(t.Context(), id, messages...); winnow.CodeOf(err) != winnow.Already {
			t.Errorf("%s: %v, want %s", name, err, winnow.Already)
		}
	}
	after, _, err := e.Session(t.Context(), id)
	if err != nil || len(after.Messages) != len(log.Messages) {
		t.Errorf("the log has %d messages, had %d (%v)", len(after.Messages), len(log.Messages), err)
	}
	if err := e.Append(t.Context(), id, said("msg_new")); err != nil {
		t.Error(err)
	}
}
