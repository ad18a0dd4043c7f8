package codex

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// fork is a rollout that goes on behind the first lines of another one, with one turn.
func fork(base []byte, lines int) (src, before []byte) {
	end, at := 0, 0
	for range lines {
		end += bytes.IndexByte(base[end:], '\n') + 1
		at++
	}
	const thread, other = "22222222-2222-3333-4444-555555555555", "11111111-2222-3333-4444-555555555555"
	add := func(kind, payload string) {
		src = fmt.Appendf(src, `{"timestamp":"2026-03-01T10:00:59.%03dZ","ordinal":%d,"type":%q,"payload":%s}`+"\n",
			at-lines, at, kind, payload)
		at++
	}
	add("session_meta", fmt.Sprintf(`{"id":%q,"forked_from_id":%q,"timestamp":"2026-03-01T10:00:59.000Z",`+
		`"cwd":"/home/me/garden","history_base":{"thread_id":%q,"end_ordinal_exclusive":%d,"end_byte_offset":%d}}`,
		thread, other, other, at, end))
	add("response_item", `{"type":"message","role":"user","content":[{"type":"input_text","text":"And the fork?"}]}`)
	add("response_item", `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Here."}]}`)
	return src, base[:end]
}

// A rollout that goes on from another one is read with it. Its compaction is written into this file
// alone, and folds messages of the other one.
func TestReadBehind_foldsWhatIsInTheOtherFile(t *testing.T) {
	garden := testdata(t, "garden.jsonl")
	base := read(t, garden)
	src, want := fork(garden, bytes.Count(garden, []byte{'\n'}))
	before, ok := Format{}.Before(src, garden)
	if !ok || !bytes.Equal(before, want) {
		t.Fatalf("before it come %d bytes, %v; want %d", len(before), ok, len(want))
	}
	pruned := append([]byte("\n"), garden...)
	if part, sure := (Format{}).Before(src, pruned); sure || !bytes.Equal(part, pruned) {
		t.Errorf("before it come %d bytes of a file that was pruned since, %v", len(part), sure)
	}
	if part, _ := (Format{}).Before(src, garden[:len(garden)/2]); len(part) > 0 {
		t.Error("a file without the last line is taken for what comes before")
	}
	doc, err := Format{}.ReadBehind(src, before)
	if err != nil {
		t.Fatal(err)
	}
	if got := doc.Session.Info; got.ID != "22222222-2222-3333-4444-555555555555" ||
		got.ParentID != "11111111-2222-3333-4444-555555555555" {
		t.Errorf("the session is %s, of %s", got.ID, got.ParentID)
	}
	wanted := append(outline(base.Session.Messages), outline(read(t, src).Session.Messages)...)
	if diff := cmp.Diff(wanted, outline(doc.Session.Messages)); diff != "" {
		t.Errorf("the log (-want +got):\n%s", diff)
	}
	whole := Format{}.Whole(doc)
	if n := (Format{}).Parted(whole); !bytes.Equal(whole[n:], src) || !bytes.Equal(whole[:n], before) {
		t.Errorf("of %d bytes, %d are the base's; want %d", len(whole), n, len(before))
	}
	for _, alone := range [][]byte{src, garden, append([]byte("{\"history_base\":1}\n"), garden...)} {
		if n := (Format{}).Parted(alone); n != 0 {
			t.Errorf("a file that begins by itself is said to have %d bytes of a base", n)
		}
	}
	change := folded(doc)
	change.Ledger = doc.Ledger
	out := write(t, doc, change)
	if !bytes.HasPrefix(out, src) || bytes.Contains(out, garden[:100]) {
		t.Errorf("the file that is written does not begin with this one: %.300s", out)
	}
	again, err := Format{}.ReadBehind(out, before)
	if err != nil {
		t.Fatal(err)
	}
	change.Session.Info.Time.Updated = again.Session.Info.Time.Updated // the newest line's
	same(t, "folded", change.Session, again.Session)
	if n, m := len(view.Window(again.Session.Messages, nil)), len(again.Session.Messages); n >= m {
		t.Errorf("%d of %d messages are in the window", n, m)
	}
	back := write(t, again, format.Change{Session: again.Session, Ledger: again.Ledger,
		Undone: map[string]bool{again.Session.Messages[len(doc.Session.Messages)].ID: true}})
	if !bytes.Equal(back, src) {
		t.Errorf("undone, the file is another one: %.300s", back)
	}
}

// The other file is not changed, and without it nothing is written: a compaction would lose it.
func TestWrite_refusesToLoseTheOtherFile(t *testing.T) {
	garden := testdata(t, "garden.jsonl")
	src, before := fork(garden, bytes.Count(garden, []byte{'\n'}))
	alone := read(t, src)
	if err := (Format{}).Write(new(bytes.Buffer), alone, folded(alone)); err == nil {
		t.Error("a fork is folded without what it goes on from")
	}
	doc, err := Format{}.ReadBehind(src, before)
	if err != nil {
		t.Fatal(err)
	}
	var el rule.Elision
	for _, m := range doc.Session.Messages {
		for _, p := range m.Parts {
			if p.Type == session.ToolPart && p.State.Output != "" {
				el = rule.Elision{Part: p.ID, Message: m.ID, Field: rule.Output, Rule: "test", Shown: "[gone]", Time: 1}
			}
		}
	}
	err = Format{}.Write(new(bytes.Buffer), doc, format.Change{Session: doc.Session, Ledger: rule.NewLedger(el)})
	if err == nil || !strings.Contains(err.Error(), "goes on from another one") {
		t.Errorf("a result in the other file is left out: %v", err)
	}
}

// The tail of a second compaction may reach back over the first: the product is sent one summary.
func TestWrite_oneSummaryWhereTheTailReachesBackOverAnother(t *testing.T) {
	doc := read(t, testdata(t, "garden.jsonl"))
	change := folded(doc)
	change.Ledger = doc.Ledger
	once := read(t, write(t, doc, change))
	again := folded(once)
	for i := range 3 {
		m := &again.Session.Messages[len(once.Session.Messages)+i]
		m.ID, m.Parts = m.ID+"_2", append([]session.Part(nil), m.Parts...)
		for j := range m.Parts {
			m.Parts[j].ID, m.Parts[j].MessageID = m.Parts[j].ID+"_2", m.ID
		}
	}
	summary := &again.Session.Messages[len(once.Session.Messages)+1]
	summary.ParentID, summary.Parts[0].Text = "msg_marker_2", "## Done\nEverything is wet, and mown."
	again.Session.Messages[len(once.Session.Messages)+2].Parts[0].Metadata = session.Note{Pivot: "msg_marker_2"}.Metadata()
	again.Ledger = once.Ledger
	text := ""
	for row := range bytes.Lines(write(t, once, again)) {
		if l, head := headOf(row); l.kind == compactedLine {
			text = string(span.Get(l.payload.Of(head), "replacement_history"))
		}
	}
	if n := strings.Count(text, "Everything is wet"); n != 1 || !strings.Contains(text, "and mown") {
		t.Errorf("the product is sent %d summaries: %s", n, text)
	}
}
