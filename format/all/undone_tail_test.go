package all

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/internal/bodytest"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
)

// A tail may begin with the "continue" of an earlier pivot. When that pivot is undone the message
// is in no file, and what followed it is still the tail.
func TestWrite_aTailThatBeginsWithWhatWasUndone(t *testing.T) {
	goesOn := bodytest.User("c1", "Continue if you have next steps")
	goesOn.Parts[0].Synthetic, goesOn.Parts[0].Metadata = true, session.Note{Pivot: "k1"}.Metadata()
	answer := func(id, text string) session.Message {
		m := bodytest.User(id, text)
		m.Role, m.Finish = session.Assistant, "stop"
		m.ProviderID, m.ModelID = "anthropic", "claude-sonnet-4-5"
		return m
	}
	s := session.Session{Info: session.Info{ID: "ses_1", Directory: "/work"}, Messages: []session.Message{
		bodytest.User("u1", "Look at the lamp."), answer("a1", "It is on."), bodytest.Marker("k1", ""),
		bodytest.Summary("s1", "k1", "The lamp was looked at."), goesOn, answer("a2", "I go on with the tower."),
		bodytest.Marker("k2", "c1"), bodytest.Summary("s2", "k2", "The lamp is on."),
	}}
	undone := map[string]bool{"k1": true}
	want := textOf(view.Render(view.Window(s.Messages, undone), rule.Ledger{}))
	if !strings.Contains(want, "I go on with the tower.") {
		t.Fatalf("the view is %q", want)
	}
	for _, name := range Writable() {
		f, err := Named(name)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := f.Write(&out, nil, format.Change{Session: s, Undone: undone}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		again := bodytest.Read(t, f, out.Bytes())
		got := textOf(view.Render(view.Window(again.Session.Messages, nil), again.Ledger))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-view +file):\n%s", name, diff)
		}
	}
	if s.Messages[6].Marker().TailStartID != "c1" {
		t.Error("the session was changed")
	}
}

func textOf(messages []session.Message) string {
	var texts []string
	for i := range messages {
		texts = append(texts, messages[i].Text())
	}
	return strings.Join(texts, "\n")
}
