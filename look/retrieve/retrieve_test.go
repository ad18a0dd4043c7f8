package retrieve_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/look/retrieve"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/edit"
	"github.com/winnowhq/winnow/store/report"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// shelf is an engine with sessions.
type shelf struct {
	*winnow.Engine
	t *testing.T
}

func newShelf(t *testing.T) shelf {
	e, err := winnow.Open(winnow.Config{Now: func() time.Time { return noon }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return shelf{e, t}
}

// put adds a session in which a call gave an output at a time, and leaves it out if it is to.
func (s shelf) put(id, parent, call, output string, at time.Time, leaveOut bool) {
	s.t.Helper()
	ctx := context.Background()
	if _, err := s.Create(ctx, session.Info{ID: id, ParentID: parent}); err != nil {
		s.t.Fatal(err)
	}
	created := session.Millis(at.UnixMilli())
	user := session.Message{Parts: []session.Part{{Type: session.TextPart, Text: "Read it."}}}
	user.Role, user.Time.Created = session.User, created
	log := []session.Message{user}
	for i := range 6 { // the newest steps are not pruned
		m := session.Message{Parts: []session.Part{{Type: session.TextPart, Text: "Another step."}}}
		m.Role, m.Time.Created, m.Finish = session.Assistant, created, "stop"
		if i == 0 {
			m.Parts = []session.Part{{ID: call, CallID: call, Type: session.ToolPart, Tool: "read",
				State: &session.ToolState{Status: session.Completed, Input: jsontext.Value(`{"filePath":"a.go"}`), Output: output}}}
		}
		log = append(log, m)
	}
	if err := s.Append(ctx, id, log...); err != nil {
		s.t.Fatal(err)
	}
	if leaveOut {
		_, err := s.Edit(ctx, id, edit.Request{Discard: []string{call}, All: true})
		if err != nil {
			s.t.Fatal(err)
		}
	}
}

func long(word string) string { return strings.Repeat(word+" is a line of the file\n", 100) }

func handleOf(call string) string {
	var h rule.Handles
	return h.Of(&session.Part{ID: call, CallID: call, Type: session.ToolPart})
}

func TestFind(t *testing.T) {
	ago := func(d time.Duration) time.Time { return noon.Add(-d) }
	tests := []struct {
		name string
		put  func(s shelf)
		want string // session, or a piece of the error
	}{
		{"nowhere", func(s shelf) {}, "no session has a part"},
		{"a live one before a newer other one", func(s shelf) {
			s.put("ses_other", "", "call_1", long("other"), ago(0), true)
			s.put("live_1", "", "call_1", long("live"), ago(50*time.Hour), true)
		}, "live_1"},
		{"the live one that was used last, whichever was made last", func(s shelf) {
			s.put("live_1", "", "call_1", long("one"), ago(time.Minute), true)
			s.put("live_2", "", "call_1", long("two"), ago(2*time.Hour), true)
		}, "live_1"},
		{"a fork of a live one is live", func(s shelf) {
			s.put("live_1", "", "call_1", long("one"), ago(2*time.Hour), true)
			s.put("ses_fork", "live_1", "call_1", long("two"), ago(time.Minute), true)
		}, "ses_fork"},
		{"the only one that has it", func(s shelf) {
			s.put("live_1", "", "call_2", long("one"), ago(time.Minute), true)
			s.put("ses_other", "", "call_1", long("two"), ago(50*time.Hour), false)
		}, "ses_other"},
		{"of two in use, the one out of which it was left", func(s shelf) {
			s.put("live_1", "", "call_1", long("one"), ago(time.Minute), false)
			s.put("live_2", "", "call_1", long("two"), ago(30*time.Minute), true)
		}, "live_2"},
		{"of two in use that have the same, the newer", func(s shelf) {
			s.put("live_1", "", "call_1", long("one"), ago(30*time.Minute), true)
			s.put("live_2", "", "call_1", long("one"), ago(time.Minute), true)
		}, "live_2"},
		{"two in use that have different ones", func(s shelf) {
			s.put("live_1", "", "call_1", long("one"), ago(30*time.Minute), true)
			s.put("live_2", "", "call_1", long("two"), ago(time.Minute), true)
		}, "something else in each of 2 sessions: live_2 (read a.go), live_1 (read a.go)"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newShelf(t)
			test.put(s)
			for _, name := range []string{handleOf("call_1"), "call_1", "[winnow recall " + handleOf("call_1") + ": read a.go]"} {
				f, err := retrieve.Find(t.Context(), s.Engine, name)
				if got := f.Session.ID; err == nil && got != test.want || err != nil && !strings.Contains(err.Error(), test.want) {
					t.Errorf("%s: %q, %v; want %s", name, got, err, test.want)
				}
				var several *retrieve.Ambiguous
				if errors.As(err, &several) && len(several.Found) != 2 {
					t.Errorf("it names %d sessions", len(several.Found))
				}
			}
		})
	}
}

// What was missed is in the session, and what decides about it knows.
func TestMissed_isNotedInTheSession(t *testing.T) {
	s := newShelf(t)
	s.put("live_1", "", "call_1", long("one"), noon, true)
	f, err := retrieve.Find(t.Context(), s.Engine, handleOf("call_1"))
	if err != nil || !f.Hidden || f.Everything() != long("one") {
		t.Fatalf("%+v, %v", f, err)
	}
	for range 2 {
		if err := retrieve.Missed(t.Context(), s.Engine, f, f.Text); err != nil {
			t.Fatal(err)
		}
	}
	got, err := winnow.Look(t.Context(), s.Engine, "live_1", func(r *report.Session) (string, error) {
		a := r.Planner.Account
		return fmt.Sprintf("%d %d %v %v", a.Left, a.Missed, a.Back > 1000, r.State.Info.Missed[1].Part), nil
	})
	if err != nil || got != "1 2 true call_1" {
		t.Errorf("%s, %v", got, err)
	}
	r, err := winnow.Look(t.Context(), s.Engine, "live_1", report.Inspect)
	if err != nil || len(r.Missed) != 2 || r.Missed[0].Time != session.Millis(noon.UnixMilli()) {
		t.Errorf("inspect: %+v, %v", r.Missed, err)
	}
	fork, err := s.Fork(t.Context(), "live_1", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, state, err := s.Session(t.Context(), fork); err != nil || len(state.Info.Missed) > 0 {
		t.Errorf("the fork missed %+v, %v", state.Info.Missed, err)
	}
}

// The lines of a text that a tool numbered have the numbers that the tool gave them.
func TestRegion_ofANumberedText(t *testing.T) {
	text := "<file>\n00100| one\n00101| two\n00102| three\n00103| four\n00104| five\n</file>"
	for _, test := range []struct{ lines, words, want string }{
		{"101-102", "", "00101| two\n00102| three\n"},
		{"103-", "", "00103| four\n00104| five\n</file>"},
		{"-100", "", "<file>\n00100| one\n"},
		{"1-100", "", "<file>\n00100| one\n"},
		{"102-104", "five", "102- 00102| three\n103- 00103| four\n104: 00104| five\n"},
		{"1-20", "", ""},
		{"200-", "", ""},
	} {
		r, err := retrieve.Lines(test.lines)
		if err != nil {
			t.Fatal(err)
		}
		r.Words = strings.Fields(test.words)
		got, _, err := r.Of(text)
		if got != test.want || errors.Is(err, retrieve.ErrNothing) != (test.want == "") {
			t.Errorf("%q %q: %v\n%s", test.lines, test.words, err, cmp.Diff(test.want, got))
		}
		if err != nil && !strings.Contains(err.Error(), "with the numbers 99 to 105") {
			t.Errorf("%q: %v", test.lines, err)
		}
	}
}

func TestRegion(t *testing.T) {
	text := "one\ntwo\nThree\nfour\nfive\nsix\nseven\neight\nnine\nten"
	tests := []struct {
		lines, words string
		want         string
		fails        bool
	}{
		{"", "", text, false},
		{"2-3", "", "two\nThree\n", false},
		{"9-", "", "nine\nten", false},
		{"9-99", "", "nine\nten", false},
		{"-2", "", "one\ntwo\n", false},
		{"4", "", "four\n", false},
		{"11-", "", "", true},
		{"", "THREE", "1- one\n2- two\n3: Three\n4- four\n5- five\n6- six\n", false},
		{"3-4", "three", "3: Three\n4- four\n", false},
		{"", "n t", "7- seven\n8- eight\n9- nine\n10: ten\n", false},
		{"", "one ten", "1: one\n2- two\n3- Three\n4- four\n--\n7- seven\n8- eight\n9- nine\n10: ten\n", false},
		{"", "zebra", "", true},
	}
	for _, test := range tests {
		r, err := retrieve.Lines(test.lines)
		if err != nil {
			t.Fatal(err)
		}
		r.Words = strings.Fields(test.words)
		got, total, err := r.Of(text)
		if got != test.want || total != 10 || errors.Is(err, retrieve.ErrNothing) != test.fails {
			t.Errorf("%q %q: %d lines, %v\n%s", test.lines, test.words, total, err, cmp.Diff(test.want, got))
		}
	}
	for _, wrong := range []string{"a-b", "3-2", "0", "1-2-3", "1--2", "-1-"} {
		if r, err := retrieve.Lines(wrong); err == nil {
			t.Errorf("%q: %+v", wrong, r)
		}
	}
}
