// Package bodytest holds formats of request bodies to what all of them promise,
// on random sessions and on recorded traffic if there is some.
package bodytest

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/internal/outside"
	"github.com/winnowhq/winnow/internal/wiretest"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
)

// Write is what a format writes, or a failure of the test.
func Write(t rapid.TB, f format.Format, from *format.Document, change format.Change) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := f.Write(&b, from, change); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Read is what a format reads, or a failure of the test.
func Read(t rapid.TB, f format.Format, src []byte) *format.Document {
	t.Helper()
	doc, err := f.Read(src)
	if err != nil {
		t.Fatalf("%v\n%s", err, src)
	}
	return doc
}

// Unchanged is the change that changes nothing.
func Unchanged(doc *format.Document) format.Change {
	return format.Change{Session: doc.Session, Ledger: doc.Ledger}
}

// Marker is a marker with this tail, "" for none.
func Marker(id, tail string) session.Message {
	return session.Message{
		MessageInfo: session.MessageInfo{ID: id, Role: session.User},
		Parts:       []session.Part{{ID: id + ":0", Type: session.CompactionPart, Auto: true, TailStartID: tail}},
	}
}

// Summary is the completed answer to a marker.
func Summary(id, marker, text string) session.Message {
	return session.Message{
		MessageInfo: session.MessageInfo{
			ID: id, Role: session.Assistant, ParentID: marker, Summary: []byte("true"), Finish: "stop",
		},
		Parts: []session.Part{{ID: id + ":0", Type: session.TextPart, Text: text}},
	}
}

// User is a message of the user's.
func User(id, text string) session.Message {
	return session.Message{
		MessageInfo: session.MessageInfo{ID: id, Role: session.User},
		Parts:       []session.Part{{ID: id + ":0", Type: session.TextPart, Text: text}},
	}
}

// Run holds a format to what bodies promise: check is the Check of its wire format.
func Run(t *testing.T, f format.Format, check func([]byte) error) {
	t.Run("nothing changed is the source", func(t *testing.T) {
		rapid.Check(t, func(r *rapid.T) {
			src, doc := random(r, f)
			if doc == nil {
				return
			}
			if got := Write(r, f, doc, Unchanged(doc)); !bytes.Equal(got, src) {
				r.Fatalf("got\n%s\nwant\n%s", got, src)
			}
		})
	})
	t.Run("an elided output is replaced and nothing else", func(t *testing.T) {
		rapid.Check(t, func(r *rapid.T) {
			src, doc := random(r, f)
			if doc == nil {
				return
			}
			change := Unchanged(doc)
			want := clone(r, doc)
			for i := range want {
				for j := range want[i].Parts {
					p := &want[i].Parts[j]
					if p.Type != session.ToolPart || p.State.Result() == "" || rapid.Bool().Draw(r, "keep") {
						continue
					}
					field := rule.Output
					if p.State.Status == session.Failed {
						field, p.State.Error = rule.Error, "[gone]"
					} else {
						p.State.Output = "[gone]"
					}
					p.State.Attachments = nil
					change.Ledger = change.Ledger.With(
						rule.Elision{Part: p.ID, Message: want[i].ID, Field: field, Shown: "[gone]"})
				}
			}
			got := Write(r, f, doc, change)
			if err := check(got); err != nil {
				r.Fatalf("%v\n%s", err, got)
			}
			again := Read(r, f, got)
			again.Session.Info.ID = doc.Session.Info.ID
			if diff := cmp.Diff(texts(want), texts(again.Session.Messages)); diff != "" {
				r.Fatalf("(-want +got)\n%s\n%s\n%s", diff, src, got)
			}
		})
	})
	t.Run("any change makes a body that is accepted", func(t *testing.T) {
		rapid.Check(t, func(r *rapid.T) { anyChange(r, f, check) })
	})
	t.Run("a pivot leaves the summary, the tail and what was appended", func(t *testing.T) {
		rapid.Check(t, func(r *rapid.T) { pivot(r, f, check) })
	})
}

var fields = []rule.Field{rule.Output, rule.Input, rule.Text, rule.Whole, rule.Attachments}

func anyChange(r *rapid.T, f format.Format, check func([]byte) error) {
	src, doc := random(r, f)
	if doc == nil {
		return
	}
	change := Unchanged(doc)
	ids := []string{""}
	for i := range doc.Session.Messages {
		ids = append(ids, doc.Session.Messages[i].ID)
		for _, p := range doc.Session.Messages[i].Parts {
			if rapid.Bool().Draw(r, "whole") {
				continue
			}
			field := rapid.SampledFrom(fields).Draw(r, "field")
			shown := rapid.SampledFrom([]string{"", "[x]", `{"path":"…"}`}).Draw(r, "shown")
			change.Ledger = change.Ledger.With(rule.Elision{Part: p.ID, Field: field, Shown: shown})
		}
	}
	change.Session.Messages = slices.Clone(doc.Session.Messages)
	if rapid.Bool().Draw(r, "pivot") {
		tail := rapid.SampledFrom(ids).Draw(r, "tail")
		change.Session.Messages = append(change.Session.Messages, Marker("mark", tail), Summary("sum", "mark", "s"))
	}
	for i, m := range wiretest.Messages(r) {
		m.ID = "new" + m.ID
		for j := range m.Parts {
			m.Parts[j].ID = m.ID + ":" + string(rune('a'+j))
		}
		change.Session.Messages = append(change.Session.Messages, m)
		if i == 3 {
			break
		}
	}
	got := Write(r, f, doc, change)
	if err := check(got); err != nil {
		r.Fatalf("%v\nfrom\n%s\ngot\n%s", err, src, got)
	}
}

func pivot(r *rapid.T, f format.Format, check func([]byte) error) {
	src, doc := random(r, f)
	if doc == nil {
		return
	}
	change := Unchanged(doc)
	n := len(doc.Session.Messages)
	tail := rapid.IntRange(0, n).Draw(r, "tail")
	id := ""
	var want []session.Message
	want = append(want, User("s", "<conversation-summary>\nsummed up\n</conversation-summary>"))
	if tail < n {
		id = doc.Session.Messages[tail].ID
		want = append(want, doc.Session.Messages[tail:]...)
	}
	added := []session.Message{Marker("mark", id), Summary("sum", "mark", "summed up")}
	if rapid.Bool().Draw(r, "continue") {
		added = append(added, User("next", "Go on."))
		want = append(want, User("next", "Go on."))
	}
	change.Session.Messages = append(slices.Clone(doc.Session.Messages), added...)
	got := Write(r, f, doc, change)
	if err := check(got); err != nil {
		r.Fatalf("%v\nfrom\n%s\ngot\n%s", err, src, got)
	}
	if diff := cmp.Diff(texts(want), texts(Read(r, f, got).Session.Messages)); diff != "" {
		r.Fatalf("tail %q (-want +got)\n%s\nfrom\n%s\ngot\n%s", id, diff, src, got)
	}
	// The same, undone, is what was there, and what was appended beside.
	change.Undone = map[string]bool{"mark": true}
	change.Session.Messages = change.Session.Messages[:n+2]
	if got := Write(r, f, doc, change); !bytes.Equal(got, src) {
		r.Fatalf("undone, got\n%s\nwant\n%s", got, src)
	}
}

// random is a random session in a body; nil when the session says nothing.
func random(r *rapid.T, f format.Format) ([]byte, *format.Document) {
	messages := wiretest.Messages(r)
	src := Write(r, f, nil, format.Change{Session: session.Session{Messages: messages}})
	doc, err := f.Read(src)
	if err != nil || len(doc.Session.Messages) == 0 {
		return src, nil
	}
	return src, doc
}

func clone(r *rapid.T, doc *format.Document) []session.Message {
	s, err := doc.Session.Clone()
	if err != nil {
		r.Fatal(err)
	}
	return s.Messages
}

// texts are all texts of a conversation, one a line, in order.
func texts(messages []session.Message) []string {
	var all []string
	for i := range messages {
		for j := range messages[i].Parts {
			switch p := &messages[i].Parts[j]; p.Type {
			case session.TextPart, session.ReasoningPart:
				all = append(all, string(messages[i].Role)+": "+p.Text)
			case session.ToolPart:
				all = append(all, p.CallID+" "+p.Tool+" "+string(p.State.Input)+" → "+p.State.Result())
			}
		}
	}
	return all
}

// Fixture is a recording of real traffic, beside the module; the test is skipped where there is
// none.
func Fixture(t testing.TB, name string) []byte {
	t.Helper()
	return outside.Read(t, outside.Path(t, "fixtures", "http", name))
}

// Requests are the lines of a recording, each a file of its own.
func Requests(recording []byte) [][]byte {
	return slices.DeleteFunc(bytes.SplitAfter(recording, []byte("\n")), func(line []byte) bool {
		head := bytes.Contains(line, []byte(`"method":"HEAD"`)) || bytes.Contains(line, []byte(`"method": "HEAD"`))
		return head || len(bytes.TrimSpace(line)) == 0
	})
}

// Stir writes changes that a fuzzer chose: every elide-th part shows less, everything before tail
// is folded. What is written must be readable again, unless the format refuses to write it.
func Stir(t *testing.T, f format.Format, doc *format.Document, tail string, elide uint8) {
	t.Helper()
	change := Unchanged(doc)
	n := 0
	for i := range doc.Session.Messages {
		for _, p := range doc.Session.Messages[i].Parts {
			if n++; elide > 0 && n%int(elide) == 0 {
				shown := []string{"", "[x]"}[n%2]
				change.Ledger = change.Ledger.With(rule.Elision{Part: p.ID, Field: fields[n%len(fields)], Shown: shown})
			}
		}
	}
	for _, added := range [][]session.Message{
		{User("n", "go on")}, {Marker("mark", tail), Summary("sum", "mark", "s"), User("n", "go on")},
	} {
		change.Session.Messages = append(slices.Clone(doc.Session.Messages), added...)
		var b bytes.Buffer
		if err := f.Write(&b, doc, change); err != nil {
			continue
		}
		again, err := f.Read(b.Bytes())
		if err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, b.Bytes())
		}
		if all := strings.Join(texts(again.Session.Messages), "\n"); !strings.Contains(all, "go on") {
			t.Fatalf("what was appended is gone:\n%s", b.Bytes())
		}
	}
}
