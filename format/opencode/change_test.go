package opencode

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
)

// TestWrite_anyChangesComeBack makes change after change to a file, each on what the one before wrote, and holds the last file to the
// session and the ledger as they then are; with everything taken back it is the first file again.
func TestWrite_anyChangesComeBack(t *testing.T) {
	source := testdata(t, "session.json")
	oneLine := compact(t, source)
	rapid.Check(t, func(t *rapid.T) {
		src := rapid.SampledFrom([][]byte{source, oneLine}).Draw(t, "source")
		doc := read(t, src)
		first, want := doc, unchanged(doc)
		for step := range rapid.IntRange(1, 5).Draw(t, "steps") {
			for range rapid.IntRange(0, 4).Draw(t, "elisions") {
				m := rapid.SampledFrom(want.Session.Messages).Draw(t, "message")
				p := rapid.SampledFrom(m.Parts).Draw(t, "part")
				fields := map[session.PartType][]rule.Field{
					session.ToolPart: {rule.Output, rule.Input, rule.Error}, session.FilePart: {rule.Attachments}, session.TextPart: {rule.Text},
				}[p.Type]
				if fields == nil {
					fields = []rule.Field{rule.Whole}
				}
				e := rule.Elision{Part: p.ID, Message: m.ID, Field: rapid.SampledFrom(fields).Draw(t, "field")}
				if want.Ledger.Has(e.Key()) {
					want.Ledger = want.Ledger.Without(e.Key())
					continue
				}
				e.Rule, e.Shown, e.Time = "rule", rapid.String().Draw(t, "shown"), session.Millis(1795000010000+step)
				want.Ledger = want.Ledger.With(e)
			}
			if rapid.Bool().Draw(t, "fold") {
				marker := fmt.Sprintf("msg_f%d1", step)
				at := session.Millis(1795000010000 + step)
				want.Session.Messages = append(slices.Clone(want.Session.Messages),
					session.Message{
						MessageInfo: session.MessageInfo{ID: marker, Role: session.User, Time: session.MessageTime{Created: at}},
						Parts:       []session.Part{{ID: "prt_" + marker, Type: session.CompactionPart}},
					},
					session.Message{
						MessageInfo: session.MessageInfo{ID: fmt.Sprintf("msg_f%d2", step), Role: session.Assistant, ParentID: marker, Summary: []byte(`true`), Finish: "stop", Time: session.MessageTime{Created: at}},
						Parts:       []session.Part{{ID: fmt.Sprintf("prt_f%d2", step), Type: session.TextPart, Text: "sum"}},
					})
			}
			text := write(t, doc, want)
			importable(t, text, 1)
			doc = read(t, text)
			if diff := cmp.Diff(outline(&want.Session), outline(&doc.Session)); diff != "" {
				t.Fatalf("log (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(byPart(want.Ledger), byPart(doc.Ledger)); diff != "" {
				t.Fatalf("ledger (-want +got):\n%s\n%s", diff, text)
			}
			if len(doc.Damaged) > 0 {
				t.Fatalf("damaged: %v", doc.Damaged)
			}
		}
		back := unchanged(doc)
		back.Ledger, back.Undone = first.Ledger, map[string]bool{}
		for _, m := range doc.Session.Messages[len(first.Session.Messages):] {
			back.Undone[m.ID] = true
		}
		if got := write(t, doc, back); !bytes.Equal(got, src) {
			t.Fatalf("with everything taken back the file differs: %q", lines(src, got))
		}
	})
}
