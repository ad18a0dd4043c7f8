// Package filetest holds formats that write sessions to what all of them promise.
package filetest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
)

// Write is what a format writes, or a failure of the test.
func Write(t testing.TB, f format.Format, from *format.Document, change format.Change) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := f.Write(&b, from, change); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Read is what a format reads, or a failure of the test.
func Read(t testing.TB, f format.Format, src []byte) *format.Document {
	t.Helper()
	doc, err := f.Read(src)
	if err != nil {
		t.Fatalf("%v\n%s", err, src)
	}
	return doc
}

// Fold appends a pivot: marker, summary in two parts, continuation. The marker is msg_NAME.
func Fold(s session.Session, name, tail string) session.Session {
	message := func(id string, role session.Role, parts ...session.Part) session.Message {
		for i := range parts {
			parts[i].ID = fmt.Sprintf("prt_%s_%d", id, i)
			parts[i].MessageID, parts[i].SessionID = "msg_"+id, s.Info.ID
		}
		info := session.MessageInfo{ID: "msg_" + id, SessionID: s.Info.ID, Role: role}
		return session.Message{MessageInfo: info, Parts: parts}
	}
	marker := message(name, session.User, session.Part{Type: session.CompactionPart, TailStartID: tail})
	carry, companion := session.Note{Carry: true}, session.Note{Pivot: marker.ID}
	summary := message(name+"s", session.Assistant,
		session.Part{Type: session.TextPart, Text: "## Summary " + name},
		session.Part{Type: session.TextPart, Text: "## Carried " + name, Metadata: carry.Metadata()})
	summary.Summary, summary.Finish, summary.ParentID = jsontext.Value("true"), "stop", marker.ID
	goOn := message(name+"c", session.User, session.Part{
		Type: session.TextPart, Text: "Continue " + name, Synthetic: true, Metadata: companion.Metadata()})
	s.Messages = append(slices.Clone(s.Messages), marker, summary, goOn)
	return s
}

// fields are those of a call that ended.
var fields = []rule.Field{rule.Output, rule.Error, rule.Input, rule.Whole, rule.Attachments}

// Some chooses elisions of a log.
func Some(messages []session.Message, random *rand.Rand) (found []rule.Elision) {
	for i := range messages {
		for _, p := range messages[i].Parts {
			if random.IntN(2) == 0 {
				continue
			}
			e := rule.Elision{Part: p.ID, Message: messages[i].ID, Rule: "test", Because: "because",
				Shown: "shown \"" + p.ID + "\"", Saves: 7, Time: session.Millis(len(found))}
			switch {
			case p.Type == session.ToolPart && p.State.Final():
				e.Field = fields[random.IntN(len(fields))]
			case p.Type == session.TextPart:
				e.Field = rule.Text
			case p.Type == session.ReasoningPart:
				e.Field, e.Shown = rule.Whole, ""
			case p.Type == session.FilePart:
				e.Field = rule.Whole
			default:
				continue
			}
			found = append(found, e)
		}
	}
	return found
}

// Unchanged checks that a document without a change is written as it was read.
func Unchanged(t testing.TB, f format.Format, doc *format.Document) {
	t.Helper()
	got := Write(t, f, doc, Change(doc))
	if !bytes.Equal(got, doc.Source) {
		t.Fatalf("without a change it became another file:\n%s", cmp.Diff(string(doc.Source), string(got)))
	}
}

// RoundTrips prunes and folds a file in some ways: what is written is read back, and undone the
// file is what it was, to the byte.
func RoundTrips(t testing.TB, f format.Format, src []byte, times int) {
	t.Helper()
	doc := Read(t, f, src)
	Unchanged(t, f, doc)
	for seed := range times {
		random := rand.New(rand.NewPCG(1, uint64(seed)))
		tail := ""
		if n := random.IntN(len(doc.Session.Messages) + 1); n < len(doc.Session.Messages) {
			tail = doc.Session.Messages[n].ID
		}
		change := format.Change{Session: doc.Session, Ledger: doc.Ledger.With(Some(doc.Session.Messages, random)...)}
		between := doc // pruned first, and then folded; or both at once
		if random.IntN(2) == 0 {
			between = Read(t, f, Write(t, f, doc, change))
		}
		change.Session = Fold(doc.Session, "one", tail)
		if random.IntN(2) == 0 {
			change.Session = Fold(change.Session, "two", change.Session.Messages[len(change.Session.Messages)-1].ID)
		}
		after := Read(t, f, Write(t, f, between, change))
		if diff := cmp.Diff(change.Session.Messages, after.Session.Messages); diff != "" {
			t.Fatalf("seed %d: messages (-changed +read):\n%s", seed, diff)
		}
		byKey := cmpopts.SortSlices(func(a, b rule.Elision) bool {
			return a.Part < b.Part || a.Part == b.Part && a.Field < b.Field
		})
		if diff := cmp.Diff(change.Ledger.All(), after.Ledger.All(), byKey, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("seed %d: ledger (-changed +read):\n%s", seed, diff)
		}
		Unchanged(t, f, after)
		undone := map[string]bool{"msg_one": true, "msg_two": true}
		undo := format.Change{Session: after.Session, Ledger: doc.Ledger, Undone: undone}
		if got := Write(t, f, after, undo); !bytes.Equal(got, src) {
			t.Fatalf("seed %d: undoing everything gave another file:\n%s", seed, cmp.Diff(string(src), string(got)))
		}
	}
}

// Damaged spoils a file of lines in some ways. What is read of it is written as it was, and can be
// pruned and folded; what is written then is read again, and has the pivot.
func Damaged(t testing.TB, f format.Format, src []byte, times int) {
	t.Helper()
	for seed := range times {
		random := rand.New(rand.NewPCG(2, uint64(seed)))
		doc, err := f.Read(spoil(src, random))
		if err != nil {
			continue
		}
		change := format.Change{Session: Fold(doc.Session, "one", ""), Ledger: doc.Ledger.With(
			Some(doc.Session.Messages, random)...)}
		var b bytes.Buffer
		if f.Write(&b, doc, change) == format.ErrReadOnly {
			continue
		}
		Unchanged(t, f, doc)
		after := Read(t, f, b.Bytes())
		Unchanged(t, f, after)
		if session.Index(after.Session.Messages, "msg_one") < 0 {
			t.Fatalf("seed %d: read again there is no pivot:\n%s", seed, b.Bytes())
		}
	}
}

// spoil takes lines out of a file, doubles, swaps and cuts them, and changes bytes.
func spoil(src []byte, random *rand.Rand) []byte {
	lines := bytes.SplitAfter(bytes.Clone(src), []byte("\n"))
	for range 1 + random.IntN(4) {
		i, j := random.IntN(len(lines)), random.IntN(len(lines))
		switch random.IntN(5) {
		case 0:
			lines[i] = nil
		case 1:
			lines[i] = slices.Concat(lines[i], lines[i])
		case 2:
			lines[i], lines[j] = lines[j], lines[i]
		case 3:
			lines[i] = lines[i][:random.IntN(len(lines[i])+1)]
		case 4:
			if n := len(lines[i]); n > 0 {
				lines[i][random.IntN(n)] = byte(random.IntN(128))
			}
		}
	}
	return bytes.Join(lines, nil)
}

// Change is the change of a document that changes nothing.
func Change(doc *format.Document) format.Change {
	return format.Change{Session: doc.Session, Ledger: doc.Ledger}
}

// Elided adds to a change that the result of a call is left out.
func Elided(c format.Change, doc *format.Document, part string) format.Change {
	m, p := session.FindPart(doc.Session.Messages, part)
	field := rule.Output
	if p.State.Status == session.Failed {
		field = rule.Error
	}
	c.Ledger = c.Ledger.With(rule.Elision{Part: part, Message: m.ID, Field: field,
		Rule: "test", Because: "it is tried", Shown: "[left out]"})
	return c
}
