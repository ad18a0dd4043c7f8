package pi

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
)

// Whatever is done to a file, it reads as it was meant; all of it undone, the file is what it was.
func TestWrite_anyHistoryReadsAsItWasMeantAndCanBeUndone(t *testing.T) {
	sources := [][]byte{load(t, "tree.jsonl"), load(t, "linear.jsonl"), generated(20_000)}
	for _, name := range []string{"tree.jsonl", "linear.jsonl"} {
		doc := read(t, load(t, name))
		sources = append(sources, written(t, nil, folded(doc)), written(t, doc, folded(doc)))
	}
	rapid.Check(t, func(t *rapid.T) {
		src := sources[rapid.IntRange(0, len(sources)-1).Draw(t, "source")]
		doc := mustRead(t, src)
		original := doc
		pivots := map[string]bool{}
		for step := range rapid.IntRange(1, 8).Draw(t, "steps") {
			change := format.Change{Session: doc.Session, Ledger: doc.Ledger}
			log := doc.Session.Messages
			switch rapid.SampledFrom([]string{"pivot", "elide", "elide", "restore", "undo"}).Draw(t, "step") {
			case "pivot":
				id, tail := fmt.Sprintf("msg_%d", step), ""
				for i := rapid.IntRange(0, len(log)-1).Draw(t, "tail"); i > 0; i-- {
					if log[i].Marker() == nil && !log[i].IsSummary() {
						tail = log[i].ID
						break
					}
				}
				pivots[id] = true
				change.Session.Messages = append(log[:len(log):len(log)], pivot(id, id+"s", tail, doc.Session.Info.ID)...)
			case "elide":
				m := log[rapid.IntRange(0, len(log)-1).Draw(t, "message")]
				if len(m.Parts) == 0 {
					continue
				}
				p := m.Parts[rapid.IntRange(0, len(m.Parts)-1).Draw(t, "part")]
				fields := []rule.Field{rule.Text, rule.Whole}
				if p.Type == session.ToolPart {
					fields = []rule.Field{rule.Output, rule.Error, rule.Input, rule.Attachments, rule.Whole}
				}
				change.Ledger = change.Ledger.With(rule.Elision{Part: p.ID, Message: m.ID, Field: rapid.SampledFrom(fields).Draw(t, "field"),
					Rule: "r", Because: "b", Shown: rapid.SampledFrom([]string{"", "[less]", `{"path":"x"}`}).Draw(t, "shown"), Saves: step})
			case "restore":
				if n := doc.Ledger.Len(); n > 0 {
					change.Ledger = change.Ledger.Without(doc.Ledger.All()[rapid.IntRange(0, n-1).Draw(t, "elision")].Key())
				}
			case "undo":
				if len(pivots) == 0 {
					continue
				}
				ids := slices.Sorted(maps.Keys(pivots))
				id := ids[rapid.IntRange(0, len(ids)-1).Draw(t, "pivot")]
				change = undone(doc, id)
				delete(pivots, id)
			}
			var out bytes.Buffer
			if err := (Format{}).Write(&out, doc, change); err != nil {
				t.Fatal(err)
			}
			again := mustRead(t, out.Bytes())
			if diff := cmp.Diff(outline(change.Session.Messages), outline(again.Session.Messages)); diff != "" {
				t.Fatalf("messages (-meant +read):\n%s", diff)
			}
			if diff := cmp.Diff(change.Ledger.All(), again.Ledger.All()); diff != "" {
				t.Fatalf("ledger (-meant +read):\n%s", diff)
			}
			doc = again
		}
		change := format.Change{Session: original.Session, Ledger: original.Ledger, Undone: pivots}
		var out bytes.Buffer
		if err := (Format{}).Write(&out, doc, change); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(out.Bytes(), src) {
			t.Fatalf("all undone, the file is not what it was:\n%s", cmp.Diff(string(src), out.String()))
		}
	})
}

func mustRead(t *rapid.T, src []byte) *format.Document {
	doc, err := Format{}.Read(src)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// undone is the change that takes one pivot back: its messages, and the elisions of what they held.
func undone(doc *format.Document, marker string) format.Change {
	change := format.Change{Session: doc.Session, Ledger: doc.Ledger, Undone: map[string]bool{marker: true}}
	change.Session.Messages = nil
	goes := func(m *session.Message) bool {
		return m.ID == marker || m.IsSummary() && m.ParentID == marker || m.Companion() == marker
	}
	for i, m := range doc.Session.Messages {
		if goes(&m) {
			for _, p := range m.Parts {
				for _, e := range change.Ledger.Of(p.ID) {
					change.Ledger = change.Ledger.Without(e.Key())
				}
			}
			continue
		}
		// A tail that began at what is gone begins at what comes next.
		if k := m.Marker(); k != nil && k.TailStartID != "" {
			log := doc.Session.Messages
			m.Parts = slices.Clone(m.Parts)
			from := session.Index(log, k.TailStartID)
			for from < i && (goes(&log[from]) || log[from].Marker() != nil || log[from].IsSummary()) {
				from++
			}
			m.Marker().TailStartID = ""
			if from < i {
				m.Marker().TailStartID = log[from].ID
			}
		}
		change.Session.Messages = append(change.Session.Messages, m)
	}
	return change
}
