package stories

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/internal/wiretest"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/store/edit"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/wire"
	"github.com/winnowhq/winnow/wire/anthropic"
	"github.com/winnowhq/winnow/wire/gemini"
	"github.com/winnowhq/winnow/wire/openaichat"
	"github.com/winnowhq/winnow/wire/responses"
)

// discardMessages discards messages and turns by name.
func (l *lab) discardMessages(names ...string) winnow.Edited {
	l.t.Helper()
	targets, err := winnow.Look(context.Background(), l.Engine, l.id, func(s *report.Session) ([]string, error) {
		return edit.Expand(s, names)
	})
	if err != nil {
		l.t.Fatal(err)
	}
	done, err := l.Edit(context.Background(), l.id, edit.Request{Discard: targets, Words: true})
	if err != nil {
		l.t.Fatal(err)
	}
	return done
}

// foresee is the preview of that.
func (l *lab) foresee(names ...string) []edit.Leaving {
	l.t.Helper()
	all, err := winnow.Look(context.Background(), l.Engine, l.id, func(s *report.Session) ([]edit.Leaving, error) {
		return edit.Foresee(s, names)
	})
	if err != nil {
		l.t.Fatal(err)
	}
	return all
}

// Every message and every turn can be discarded, with what the user said in it; each call keeps its
// result in each wire format, the preview says what the view loses, and undo takes it back to the
// byte.
func TestDiscard_messagesAndTurns(t *testing.T) {
	l, _, _, _ := quay(t, winnow.Config{})
	before, size := l.bytes(), l.view().Tokens
	names := []string{"turn:1", "turn:2"}
	for i := range l.log() {
		names = append(names, fmt.Sprintf("message:%d", i+1), l.log()[i].ID)
	}
	for _, name := range names {
		foreseen := 0
		for _, m := range l.foresee(name) {
			foreseen += m.Tokens
		}
		if !bytes.Equal(before, l.bytes()) {
			t.Fatalf("%s: the preview changes the view", name)
		}
		done := l.discardMessages(name)
		v := l.view()
		if got := size - v.Tokens; !done.Changed || got != foreseen {
			t.Errorf("%s: changed %t, %d tokens less, foreseen %d", name, done.Changed, got, foreseen)
		}
		for protocol, f := range map[string]wiretest.Format{
			"anthropic": {Form: anthropic.Form, Check: anthropic.Check}, "chat": {Form: openaichat.Form, Check: openaichat.Check},
			"responses": {Form: responses.Form, Check: responses.Check}, "gemini": {Form: gemini.Form, Check: gemini.Check},
		} {
			_, body, err := f.Encode(v.Messages, wire.Options{Model: "m"})
			if err == nil {
				err = f.Check(body)
			}
			results := 0
			for _, mark := range []string{`"tool_result"`, `"tool_call_id"`, `"function_call_output"`, `"functionResponse"`} {
				results += strings.Count(string(body), mark)
			}
			if err != nil || results != 3 {
				t.Errorf("%s as %s: %d results, %v\n%s", name, protocol, results, err, body)
			}
		}
		if _, err := l.Undo(context.Background(), l.id, done.Receipt.ID); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(before, l.bytes()) {
			t.Errorf("%s: undone the view is not what it was", name)
		}
	}
}

// The preview names what the user said, and the later messages that quote what leaves. A place that
// the log does not have is an error.
func TestDiscard_thePreviewNamesTheUserAndTheQuotations(t *testing.T) {
	l := newLab(t, winnow.Config{})
	l.user("Never touch the brake of the crane.")
	read := l.call("read", `{"filePath":"crane.go"}`, "package crane\n\nfunc Lift(load int) error { return hoist(load) }\n"+lines(100))
	l.says("It lifts.")
	l.call("edit", `{"filePath":"crane.go","oldString":"func Lift(load int) error { return hoist(load) }","newString":"x"}`, "edited")
	l.user("Go on.")
	l.says("Yes.")
	all := l.foresee("turn:1")
	if len(all) != 4 || !all[0].User || all[0].Text != "Never touch the brake of the crane." || all[1].User || all[1].Text != "read crane.go" {
		t.Fatalf("got %+v", all)
	}
	if one := l.foresee(read); len(one) != 1 || fmt.Sprint(one[0].QuotedBy) != "[4]" || one[0].Number != 2 {
		t.Errorf("the read: %+v", one)
	}
	for _, name := range []string{"turn:3", "turn:0", "message:99"} {
		_, err := winnow.Look(context.Background(), l.Engine, l.id, func(s *report.Session) ([]edit.Leaving, error) {
			return edit.Foresee(s, []string{name})
		})
		if err == nil || !strings.Contains(err.Error(), "the session has ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if done := l.discard(l.log()[0].Parts[0].ID); outcomes(done)[0] != string(rule.Protected) {
		t.Errorf("by its part, what the user wrote is %v", outcomes(done))
	}
}

// A message of the user's that was discarded is not quoted under a later summary, and an instruction
// in it no longer holds.
func TestDiscard_aSummaryDoesNotBringTheUsersWordsBack(t *testing.T) {
	const wish = "Never touch the brake of the crane."
	for _, discards := range []bool{false, true} {
		l := newLab(t, winnow.Config{})
		l.user("Mend the crane.")
		l.user(wish)
		for range 6 {
			l.call("read", `{"filePath":"crane.go"}`, lines(200))
			l.says("I see.")
			l.user("Go on.")
		}
		if discards {
			l.discardMessages("message:2")
		}
		l.compact(winnow.CompactOptions{})
		said := false
		for _, m := range l.view().Messages {
			said = said || strings.Contains(m.Text(), wish)
		}
		if said == discards {
			t.Errorf("discarded %t: it is said %t\n%s", discards, said, l.text())
		}
	}
}
