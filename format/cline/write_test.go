package cline

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/internal/entries"
	"github.com/winnowhq/winnow/internal/filetest"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

func write(t testing.TB, from *format.Document, change format.Change) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := (Format{}).Write(&out, from, change); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// folded adds a pivot to a change.
func folded(c format.Change, id, tail string) format.Change {
	log := c.Session.Messages
	at := session.MessageTime{Created: 1775120500000}
	c.Session.Messages = append(log[:len(log):len(log)],
		session.Message{MessageInfo: session.MessageInfo{ID: id, SessionID: c.Session.Info.ID, Role: session.User, Time: at},
			Parts: []session.Part{{ID: id + "-m", MessageID: id, Type: session.CompactionPart, TailStartID: tail}}},
		session.Message{MessageInfo: session.MessageInfo{ID: id + "-s", SessionID: c.Session.Info.ID, Role: session.Assistant,
			ParentID: id, Finish: "stop", Summary: jsontext.Value("true"), Time: at},
			Parts: []session.Part{
				{ID: id + "-1", MessageID: id + "-s", Type: session.TextPart, Text: "Summary " + id + "."},
				{ID: id + "-2", MessageID: id + "-s", Type: session.TextPart, Text: "Carried by " + id + ".",
					Metadata: session.Note{Carry: true}.Metadata()},
			}})
	return c
}

// sent is what the product makes of a file: the role of each message, and the text in it.
func sent(src []byte) (all []string) {
	for at := range span.Values(src, span.Find(src, span.All(src), "messages")) {
		m := at.Of(src)
		if string(span.Get(m, "metadata", "displayOnly")) == "true" {
			continue
		}
		var texts []string
		for _, b := range entries.Blocks(span.Get(m, "content")) {
			for _, name := range []string{"text", "thinking", "name", "content"} {
				if v := span.Get(b, name); len(v) > 0 && !(name == "name" && resultOf(b) != "") {
					texts = append(texts, strings.Join(strings.Fields(string(v)), " "))
				}
			}
		}
		all = append(all, span.String(span.Get(m, "role"))+" "+strings.Join(texts, " | "))
	}
	return all
}

const (
	asked     = `user "<user_input mode=\"plan\">Why does the kiln overheat?</user_input>" | "hot at noon"`
	looked    = `assistant "The controller first." | "I look at the controller." | "read_files" | "run_commands" | "look"`
	gave      = `user [{"query": "/kiln/control.c", "result": "1 | int limit = 1300;\n", "success": true}] | "no rule to make target" | [{"type": "text", "text": "a gauge"}, {"type": "image", "data": "aGk=", "mediaType": "image/png"}]`
	reminded  = `user "You have not finished."`
	tooHigh   = `assistant "The limit is too high."`
	lower     = `user "<user_input mode=\"act\"><mode_notice>The user switched.</mode_notice>\n<user_command slash=\"fix\">Lower the limit to 1250.</user_command></user_input>"`
	done      = `assistant "Done."`
	summary1  = `user "Context summary:\n\nSummary p1." | "Carried by p1."`
	summary2  = `user "Context summary:\n\nSummary p2." | "Carried by p2."`
	goneFirst = `user "[left out]" | "no rule to make target" | [{"type": "text", "text": "a gauge"}, {"type": "image", "data": "aGk=", "mediaType": "image/png"}]`
)

func TestWrite_whatIsSent(t *testing.T) {
	doc := read(t, load(t))
	for name, c := range map[string]struct {
		change format.Change
		want   []string
	}{
		"no change":          {filetest.Change(doc), []string{asked, looked, gave, reminded, tooHigh, lower, done}},
		"a result":           {filetest.Elided(filetest.Change(doc), doc, "c1"), []string{asked, looked, goneFirst, reminded, tooHigh, lower, done}},
		"a fold with a tail": {folded(filetest.Change(doc), "p1", "u2"), []string{summary1, lower, done}},
		"a fold of all":      {folded(filetest.Change(doc), "p1", ""), []string{summary1}},
		"a second fold":      {folded(folded(filetest.Change(doc), "p1", "a2"), "p2", "u2"), []string{summary2, lower, done}},
		"a fold of what was pruned": {folded(filetest.Elided(filetest.Change(doc), doc, "c1"), "p1", "a2"),
			[]string{summary1, tooHigh, lower, done}},
	} {
		src := write(t, doc, c.change)
		if diff := cmp.Diff(c.want, sent(src)); diff != "" {
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
		if same := write(t, again, filetest.Change(again)); !bytes.Equal(same, src) {
			t.Errorf("%s: written again without a change it is another file", name)
		}
		if !bytes.Contains(src, []byte(`"agent": "lead"`)) || !bytes.HasSuffix(src, []byte("\"system_prompt\": \"You mend kilns.\"\n}\n")) {
			t.Errorf("%s: what is around the messages changed", name)
		}
	}
}

func TestWrite_undoneItIsTheSameFile(t *testing.T) {
	src := load(t)
	doc := read(t, src)
	first := read(t, write(t, doc, folded(filetest.Change(doc), "p1", "a2")))
	for name, c := range map[string]struct {
		from *format.Document
		do   func(c format.Change) format.Change
		undo func(c format.Change) format.Change
	}{
		"a fold": {doc, func(c format.Change) format.Change { return folded(c, "p1", "u2") },
			func(c format.Change) format.Change { c.Undone = map[string]bool{"p1": true}; return c }},
		"elisions": {doc, func(c format.Change) format.Change { return filetest.Elided(filetest.Elided(c, doc, "c1"), doc, "c2") },
			func(c format.Change) format.Change { c.Ledger = rule.Ledger{}; return c }},
		"a second fold": {first, func(c format.Change) format.Change { return folded(c, "p2", "u2") },
			func(c format.Change) format.Change { c.Undone = map[string]bool{"p2": true}; return c }},
		"elisions behind a fold": {first, func(c format.Change) format.Change { return filetest.Elided(c, first, "c3") },
			func(c format.Change) format.Change { c.Ledger = rule.Ledger{}; return c }},
	} {
		did := read(t, write(t, c.from, c.do(filetest.Change(c.from))))
		if bytes.Equal(did.Source, c.from.Source) {
			t.Errorf("%s: nothing was done", name)
		}
		if diff := cmp.Diff(string(c.from.Source), string(write(t, did, c.undo(filetest.Change(did))))); diff != "" {
			t.Errorf("%s: undone it is another file (-was +is):\n%s", name, diff)
		}
	}
}

// The product writes a file anew when it goes on: each result as a message of its own, with the
// metadata of the message that they came from.
func TestRead_whatTheProductMadeOfAFileOfOurs(t *testing.T) {
	doc := read(t, load(t))
	src := write(t, doc, filetest.Elided(filetest.Elided(filetest.Change(doc), doc, "c1"), doc, "c3"))
	var list [][]byte
	for at := range span.Values(src, span.Find(src, span.All(src), "messages")) {
		m := at.Of(src)
		blocks := entries.Blocks(span.Get(m, "content"))
		if len(blocks) < 2 || resultOf(blocks[0]) == "" {
			list = append(list, m)
			continue
		}
		for _, b := range blocks {
			one := span.Update(m, span.Array([][]byte{b}), "content")
			list = append(list, span.Update(one, span.Quote("r1_tool_"+resultOf(b)), "id"))
		}
	}
	again := read(t, span.Update(src, span.Array(list), "messages"))
	if diff := cmp.Diff(outline(doc.Session.Messages), outline(again.Session.Messages)); diff != "" {
		t.Errorf("the log (-before +after):\n%s", diff)
	}
	if n := again.Ledger.Len(); n != 2 {
		t.Errorf("%d elisions, want 2", n)
	}
	back := read(t, write(t, again, format.Change{Session: again.Session}))
	if diff := cmp.Diff(outline(doc.Session.Messages), outline(back.Session.Messages)); diff != "" ||
		bytes.Contains(back.Source, []byte("winnow")) {
		t.Errorf("undone (-before +after):\n%s", diff)
	}
}

func TestWrite_thePromptsThatASummaryStandsFor(t *testing.T) {
	doc := read(t, load(t))
	src := write(t, doc, folded(folded(filetest.Change(doc), "p1", "a2"), "p2", ""))
	got := map[string]string{}
	for at := range span.Values(src, span.Find(src, span.All(src), "messages")) {
		if m := at.Of(src); span.String(span.Get(m, "role")) == "user" {
			got[span.String(span.Get(m, "id"))] = string(span.Get(m, "metadata", "userRunSpan"))
		}
	}
	want := map[string]string{"u1": "0", "r1": "0", "n1": "0", "u2": "0", "p1": "0", "p2": "2"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("prompts that each message stands for (-want +got):\n%s", diff)
	}
	undone := read(t, src)
	c := filetest.Change(undone)
	c.Undone = map[string]bool{"p2": true}
	if src := write(t, undone, c); !bytes.Contains(src, []byte(`"userRunSpan":1`)) {
		t.Errorf("the first summary does not stand for its prompt any more:\n%s", src)
	}
}

// beside is what the product keeps of its own compaction of the first messages of a file.
func beside(t testing.TB, src []byte, count int, last, messages string) []byte {
	t.Helper()
	r := read(t, src).Native.(*reader)
	var sent []int
	for i := range r.records {
		if !r.records[i].hidden && len(sent) < count {
			sent = append(sent, i)
		}
	}
	return fmt.Appendf(nil, `{"version":1,"updated_at":"2026-04-02T09:09:00.000Z","source_message_count":%d,`+
		`"source_prefix_hash":%q,"source_last_message_key":"id:%s","messages":[%s]}`, count, r.hash(sent), last, messages)
}

const theirSummary = `{"role":"user","content":[{"type":"text","text":"Context summary:\n\nA kiln."}],"metadata":{"kind":"compaction_summary","summary":"A kiln."}}`

func TestReadWith_theProductsOwnCompaction(t *testing.T) {
	src := load(t)
	tail := `,{"id":"a2","role":"assistant","content":[{"type":"text","text":"The limit is too high."}]}`
	kept := beside(t, src, 5, "a2", theirSummary+tail)
	doc, err := Format{}.ReadWith(src, kept)
	if err != nil {
		t.Fatal(err)
	}
	want := "a2-compaction user  | compaction \"\"\na2-compaction-summary assistant stop | text \"A kiln.\"\n"
	window := view.Window(doc.Session.Messages, nil)
	if got := outline(window); !strings.HasPrefix(got, want+"a2 assistant stop | text") || !doc.Theirs["a2-compaction"] {
		t.Errorf("the window, theirs %v:\n%s", doc.Theirs, got)
	}
	if !bytes.Equal(write(t, doc, filetest.Change(doc)), src) {
		t.Error("without a change the file is another one")
	}

	// What is behind it may change, and it stands. What it was made from may not: then it is
	// written down, until that is undone.
	second := folded(filetest.Change(doc), "p1", "u2")
	made := write(t, doc, second)
	if diff := cmp.Diff([]string{summary1, lower, done}, sent(made)); diff != "" {
		t.Errorf("our fold behind theirs (-want +got):\n%s", diff)
	}
	again, err := Format{}.ReadWith(made, kept)
	if err != nil || !again.Theirs["a2-compaction"] || again.Theirs["p1"] {
		t.Fatalf("theirs: %v, %v", again.Theirs, err)
	}
	undo := filetest.Change(again)
	undo.Undone = map[string]bool{"p1": true}
	if diff := cmp.Diff(string(src), string(write(t, again, undo))); diff != "" {
		t.Errorf("undone (-was +is):\n%s", diff)
	}
	alone := read(t, made)
	undo = filetest.Change(alone)
	undo.Undone = map[string]bool{"p1": true}
	if diff := cmp.Diff([]string{`user "Context summary:\n\nA kiln."`, tooHigh, lower, done}, sent(write(t, alone, undo))); diff != "" {
		t.Errorf("undone without the file beside it (-want +got):\n%s", diff)
	}

	// Undone by its id, it does not count, although the file beside it is as it was.
	undo = filetest.Change(doc)
	undo.Undone = map[string]bool{"a2-compaction": true}
	free, err := Format{}.ReadWith(write(t, doc, undo), kept)
	if err != nil || len(free.Theirs) > 0 || bytes.Equal(free.Source, src) {
		t.Errorf("theirs undone: %v, %v", free.Theirs, err)
	}
	if diff := cmp.Diff(sent(src), sent(free.Source)); diff != "" {
		t.Errorf("theirs undone (-want +got):\n%s", diff)
	}

	for name, stale := range map[string][]byte{
		"of other messages": bytes.Replace(kept, []byte(`sha256:`), []byte(`sha256:0`), 1),
		"of more messages":  bytes.Replace(kept, []byte(`count":5`), []byte(`count":50`), 1),
		"of another end":    bytes.Replace(kept, []byte(`"id:a2"`), []byte(`"id:a9"`), 1),
		"damaged":           kept[:len(kept)/2],
		"of nothing":        beside(t, src, 5, "a2", tail[1:]),
	} {
		doc, err := Format{}.ReadWith(src, stale)
		if err != nil || len(doc.Theirs) > 0 {
			t.Errorf("%s: theirs %v, %v", name, doc.Theirs, err)
		}
	}
}

func TestBeside_isForSessionsWhereTheProductKeepsThem(t *testing.T) {
	for path, want := range map[string]string{
		"/s/1_x/1_x.messages.json": "/s/1_x/1_x.compaction.json", "/s/1_x/1_x.json": "", "-": "", "a.messages.json.gz": "",
	} {
		if got := (Format{}).Beside(path); got != want {
			t.Errorf("beside %s is %q, want %q", path, got, want)
		}
	}
}

// What version 3.0.65 shows people of what they typed, and therefore hashes.
func TestDisplay(t *testing.T) {
	for text, want := range map[string]string{
		"Look.": "Look.", "  ": "", "<user_input mode=\"act\">Look.</user_input>": "Look.",
		"<user_input mode=\"act\">Look.": "Look.", "<user_inputs>Look.</user_inputs>": "Look.</user_inputs>",
		"<mode_notice>x</mode_notice>\n<user_input mode=\"act\">Look.</user_input>":                      "Look.",
		"<user_command slash=\"fix\">the limit</user_command>":                                           "/fix the limit",
		"<user_input mode=\"act\"><user_command slash=\"fix\">it</user_command></user_input>":            "it",
		"<user_command slash=\"team\">Spawn a team of agents for the following task: dig</user_command>": "/team dig",
	} {
		if got := display(text); got != want {
			t.Errorf("%s is shown as %q, want %q", text, got, want)
		}
	}
}
