package copilot

import (
	"bytes"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/internal/filetest"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

func write(t testing.TB, from *format.Document, change format.Change) string {
	t.Helper()
	var out bytes.Buffer
	if err := (Format{}).Write(&out, from, change); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// folded adds a pivot to a change.
func folded(c format.Change, id, tail string) format.Change {
	log := c.Session.Messages
	at := session.MessageTime{Created: 1777881700000}
	c.Session.Messages = append(log[:len(log):len(log)],
		session.Message{MessageInfo: session.MessageInfo{ID: id, SessionID: c.Session.Info.ID, Role: session.User, Time: at},
			Parts: []session.Part{{ID: id + "-m", MessageID: id, Type: session.CompactionPart, TailStartID: tail}}},
		session.Message{MessageInfo: session.MessageInfo{ID: id + "-s", SessionID: c.Session.Info.ID, Role: session.Assistant,
			ParentID: id, Finish: "stop", Summary: jsontext.Value("true"), Time: at},
			Parts: []session.Part{{ID: id + "-1", MessageID: id + "-s", Type: session.TextPart, Text: "Summary " + id + "."}}})
	return c
}

// told is what the product counts of a file: the type of each event of the conversation, and what
// is in it.
func told(src string) (all []string) {
	for l := range span.Lines([]byte(src)) {
		e := l.Text.Of([]byte(src))
		kind := span.String(span.Get(e, "type"))
		if len(span.Get(e, "agentId")) > 0 || !span.Valid(e) {
			continue
		}
		for _, path := range [][]string{{"data", "content"}, {"data", "result", "content"}, {"data", "error", "message"},
			{"data", "summaryContent"}} {
			if v := span.String(span.Get(e, path...)); v != "" && kind != "system.message" {
				kind += " " + v
			}
		}
		switch family, _, _ := strings.Cut(kind, "_"); {
		case strings.HasPrefix(kind, "user.message"), strings.HasPrefix(kind, "assistant.message"),
			strings.HasPrefix(kind, "tool.execution_complete"), family == "session.compaction":
			all = append(all, kind)
		}
	}
	return all
}

const (
	whole = `user.message Why do the pears drop early?
assistant.message I look at the soil.
tool.execution_complete Path does not exist
tool.execution_complete Forty.
session.compaction_start
assistant.message Too dry.
session.compaction_complete Forty trees; no soil.csv.
user.message Water them.`
)

func TestWrite_whatIsTold(t *testing.T) {
	doc := read(t, string(load(t)))
	for name, c := range map[string]struct {
		change format.Change
		want   string
	}{
		"no change":          {filetest.Change(doc), whole},
		"a result":           {filetest.Elided(filetest.Change(doc), doc, "c2"), strings.Replace(whole, "Forty.\n", "[left out]\n", 1)},
		"an error":           {filetest.Elided(filetest.Change(doc), doc, "c1"), strings.Replace(whole, "Path does not exist", "[left out]", 1)},
		"a fold of all":      {folded(filetest.Change(doc), "p1", ""), whole + "\nsession.compaction_start\nsession.compaction_complete Summary p1."},
		"a fold with a tail": {folded(filetest.Change(doc), "p1", "e20"), strings.Replace(whole, "user.message Water", "session.compaction_start\nuser.message Water", 1) + "\nsession.compaction_complete Summary p1."},
		"a second fold": {folded(folded(filetest.Change(doc), "p1", "e20"), "p2", ""), strings.Replace(whole, "user.message Water", "session.compaction_start\nuser.message Water", 1) +
			"\nsession.compaction_complete Summary p1.\nsession.compaction_start\nsession.compaction_complete Summary p2."},
		"a second fold with a tail in the first one's": {folded(folded(filetest.Change(doc), "p1", "e19"), "p2", "e20"),
			strings.Replace(whole, "user.message Water", "session.compaction_start\nsession.compaction_start\nuser.message Water", 1) + "\nsession.compaction_complete Summary p2."},
	} {
		src := write(t, doc, c.change)
		if diff := cmp.Diff(c.want, strings.Join(told(src), "\n")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		again := read(t, src)
		want := view.Render(view.Window(c.change.Session.Messages, nil), c.change.Ledger)
		got := view.Render(view.Window(again.Session.Messages, nil), again.Ledger)
		if diff := cmp.Diff(outline(want), outline(got)); diff != "" {
			t.Errorf("%s: read again (-view +file):\n%s", name, diff)
		}
		if diff := cmp.Diff(outline(c.change.Session.Messages), outline(again.Session.Messages)); diff != "" {
			t.Errorf("%s: the log, read again (-log +file):\n%s", name, diff)
		}
		if len(again.Theirs) != 1 || len(again.Damaged) != 1 {
			t.Errorf("%s: theirs %v, damaged %v", name, again.Theirs, again.Damaged)
		}
		if same := write(t, again, filetest.Change(again)); same != src {
			t.Errorf("%s: written again without a change it is another file", name)
		}
	}
}

func TestWrite_undoneItIsTheSameFile(t *testing.T) {
	doc := read(t, string(load(t)))
	first := read(t, write(t, doc, folded(filetest.Change(doc), "p1", "e19")))
	for name, c := range map[string]struct {
		from *format.Document
		do   func(c format.Change) format.Change
		undo func(c format.Change) format.Change
	}{
		"a fold": {doc, func(c format.Change) format.Change { return folded(c, "p1", "e20") },
			func(c format.Change) format.Change { c.Undone = map[string]bool{"p1": true}; return c }},
		"elisions": {doc, func(c format.Change) format.Change { return filetest.Elided(filetest.Elided(c, doc, "c1"), doc, "c2") },
			func(c format.Change) format.Change { c.Ledger = rule.Ledger{}; return c }},
		"a second fold": {first, func(c format.Change) format.Change { return folded(c, "p2", "e20") },
			func(c format.Change) format.Change { c.Undone = map[string]bool{"p2": true}; return c }},
	} {
		did := read(t, write(t, c.from, c.do(filetest.Change(c.from))))
		if bytes.Equal(did.Source, c.from.Source) {
			t.Errorf("%s: nothing was done", name)
		}
		if diff := cmp.Diff(string(c.from.Source), write(t, did, c.undo(filetest.Change(did)))); diff != "" {
			t.Errorf("%s: undone it is another file (-was +is):\n%s", name, diff)
		}
	}
}

// What the product appended after a compaction stays when that is undone, and is linked to what
// came before.
func TestWrite_undoneAfterMoreTurns(t *testing.T) {
	doc := read(t, string(load(t)))
	src := write(t, doc, folded(filetest.Change(doc), "p1", "e20"))
	last := read(t, src).Native.(*reader).Entries
	more := strings.Replace(line("user.message", "f1", `{"content":"And the plums?"}`), `"parentId":null`,
		`"parentId":"`+last[len(last)-1].ID+`"`, 1)
	again := read(t, src+more)
	undo := filetest.Change(again)
	undo.Undone = map[string]bool{"p1": true}
	want := string(load(t)) + strings.Replace(more, last[len(last)-1].ID, "e24", 1)
	if diff := cmp.Diff(want, write(t, again, undo)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
