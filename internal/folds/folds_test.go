// Package folds holds what five folds in a row must keep.
package folds

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/internal/outside"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/session"
)

// times is how often each session is folded, after each fifth of it.
const times = 5

func engine(t testing.TB, window int) *winnow.Engine {
	t.Helper()
	e, err := winnow.Open(winnow.Config{Model: "acme/a", Models: &model.Catalogue{Models: []model.Model{{Provider: "acme", ID: "a", Limits: model.Limits{Context: window, Output: 8_000}}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// fold folds a session and returns its summary: what the summariser wrote, and what the engine
// wrote under it.
func fold(t testing.TB, e *winnow.Engine, id string) (summary, carried string) {
	t.Helper()
	receipt, err := e.Compact(t.Context(), id, winnow.CompactOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s, _, err := e.Session(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	at := session.Index(s.Messages, receipt.Summary)
	if at < 0 {
		t.Fatalf("nothing was folded: %v", receipt.Notes)
	}
	m := &s.Messages[at]
	for i := range m.Parts {
		if n, _ := m.Parts[i].Note(); n.Carry {
			carried += m.Parts[i].Text
		}
	}
	return pivot.PreviousText(m), carried
}

// Whatever was planted stands in what is left after five folds, and what was superseded stands
// nowhere without what took its place.
func TestFolds_nothingPlantedIsLost(t *testing.T) {
	for name, p := range map[string]phrasings{"known": known, "held out": heldOut} {
		t.Run(name, func(t *testing.T) {
			facts, lost, unmarked := 0, 0, 0
			for seed := range uint64(20) {
				m := newMaker(seed, p)
				e := engine(t, 200_000)
				id, err := e.Create(t.Context(), session.Info{Title: "planted"})
				if err != nil {
					t.Fatal(err)
				}
				text := ""
				for at := range times {
					if err := e.Append(t.Context(), id, m.fifth(at)...); err != nil {
						t.Fatal(err)
					}
					summary, carried := fold(t, e, id)
					text = summary + "\n\n" + carried
				}
				v, err := e.View(t.Context(), id)
				if err != nil {
					t.Fatal(err)
				}
				whole := pivot.Transcript(v.Messages)
				for _, f := range m.facts {
					facts++
					if !strings.Contains(whole, f.holds) {
						lost++
						t.Errorf("session %d: the %s %q is lost (%s)", seed, f.kind, f.holds, f.how)
					}
					for _, was := range f.was {
						if where := beside(text, was, f.holds); where != "" {
							unmarked++
							t.Errorf("session %d: the %s was %q and is %q (%s), and there stands\n%s", seed, f.kind, was, f.holds, f.how, where)
						}
					}
				}
			}
			t.Logf("%s: of %d planted facts %d are lost; %d superseded values stand unmarked", name, facts, lost, unmarked)
		})
	}
}

// beside is the first paragraph or bullet that has an old value without the newest one, "" for
// none.
func beside(text, was, now string) string {
	for _, paragraph := range strings.Split(strings.ReplaceAll(text, "\n- ", "\n\n- "), "\n\n") {
		for _, w := range strings.FieldsFunc(paragraph, func(r rune) bool { return strings.ContainsRune(" \n\"'`.,;:()[]→={}", r) }) {
			if w == was && !strings.Contains(paragraph, now) {
				return fmt.Sprintf("%.400s", paragraph)
			}
		}
	}
	return ""
}

// The example's second fold had half the room of the first, and lost commands, a decision and the file under work.
func TestFolds_theExampleTwice(t *testing.T) {
	doc, err := all.Read(outside.Read(t, filepath.Join(outside.Root(t), "examples", "long-session.json")))
	if err != nil {
		t.Fatal(err)
	}
	e, err := winnow.Open(winnow.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if err := e.Import(t.Context(), doc.Session, doc.Ledger, nil); err != nil {
		t.Fatal(err)
	}
	id := doc.Session.Info.ID
	first, _ := fold(t, e, id)
	if _, err := e.Compact(t.Context(), id, winnow.CompactOptions{}); winnow.CodeOf(err) != winnow.NothingToFold {
		t.Errorf("folding again: %v, want %s", err, winnow.NothingToFold)
	}
	if err := e.Append(t.Context(), id, newMaker(1, known).fifth(1)...); err != nil {
		t.Fatal(err)
	}
	fold(t, e, id)
	v, err := e.View(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	view := flat(pivot.Transcript(v.Messages))
	for _, f := range tells(first) {
		if !f.passing() && !strings.Contains(view, flat(f.text)) {
			t.Errorf("%s: %q is lost", f.heading, f.text)
		}
	}
}

// Folding again with nothing new loses nothing, for nothing is done.
func TestFolds_nothingNewIsNothingToDo(t *testing.T) {
	m := newMaker(1, known)
	e := engine(t, 200_000)
	id, err := e.Create(t.Context(), session.Info{})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Append(t.Context(), id, m.fifth(0)...); err != nil {
		t.Fatal(err)
	}
	fold(t, e, id)
	before, err := e.View(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Compact(t.Context(), id, winnow.CompactOptions{}); winnow.CodeOf(err) != winnow.NothingToFold {
		t.Fatalf("folding again: %v, want %s", err, winnow.NothingToFold)
	}
	after, err := e.View(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if pivot.Transcript(before.Messages) != pivot.Transcript(after.Messages) {
		t.Error("the view is another one")
	}
}
