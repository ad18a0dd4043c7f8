package codex

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/internal/jsonl"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// folded is the garden with a pivot at its end: a tail of the newest turn, a carried text, the
// synthetic word to go on, and two elisions, one before the pivot and one in its tail.
func folded(doc *format.Document) format.Change {
	s := doc.Session
	marker := session.Message{
		MessageInfo: session.MessageInfo{ID: "msg_marker", SessionID: s.Info.ID, Role: session.User, Time: session.MessageTime{Created: 1772359300000}, Model: &session.ModelRef{ProviderID: "local", ModelID: "m-1"}},
		Parts:       []session.Part{{ID: "prt_m", SessionID: s.Info.ID, MessageID: "msg_marker", Type: session.CompactionPart, Auto: true, TailStartID: "msg_u2"}},
	}
	summary := session.Message{
		MessageInfo: session.MessageInfo{
			ID: "msg_summary", SessionID: s.Info.ID, Role: session.Assistant, ParentID: "msg_marker", Summary: []byte("true"), Finish: "stop",
			Time: session.MessageTime{Created: 1772359301000, Completed: 1772359302000}, Mode: "compaction", Agent: "compaction",
		},
		Parts: []session.Part{
			{ID: "prt_s", SessionID: s.Info.ID, MessageID: "msg_summary", Type: session.TextPart, Text: "## Done\nEverything is wet."},
			{ID: "prt_c", SessionID: s.Info.ID, MessageID: "msg_summary", Type: session.TextPart, Text: "The user said: water the plants.", Metadata: session.Note{Carry: true}.Metadata()},
		},
	}
	goOn := session.Message{
		MessageInfo: session.MessageInfo{ID: "msg_on", SessionID: s.Info.ID, Role: session.User, Time: session.MessageTime{Created: 1772359303000}},
		Parts: []session.Part{{
			ID: "prt_on", SessionID: s.Info.ID, MessageID: "msg_on", Type: session.TextPart, Text: "Go on.", Synthetic: true,
			Metadata: session.Note{Pivot: "msg_marker"}.Metadata(),
		}},
	}
	s.Messages = append(slices.Clip(s.Messages), marker, summary, goOn)
	return format.Change{Session: s, Ledger: doc.Ledger.With(
		rule.Elision{Part: "call_4", Message: "fc_3", Field: rule.Output, Rule: "test", Because: "it is long", Shown: "[mow: left out]", Saves: 3, Time: 5},
		rule.Elision{Part: "call_1", Message: "rs_1", Field: rule.Output, Rule: "test", Because: "it is old", Shown: "[ls: left out]", Saves: 4, Time: 5},
	)}
}

// same compares two sessions as JSON writes them.
func same(t *testing.T, what string, want, got session.Session) {
	t.Helper()
	a, err := json.Marshal(&want, json.Deterministic(true), session.ReadOptions())
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(&got, json.Deterministic(true), session.ReadOptions())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(canonical(t, a), canonical(t, b)); diff != "" {
		t.Errorf("%s: the session changed (-want +got):\n%s", what, diff)
	}
}

func TestWrite_pivotReadsBack(t *testing.T) {
	src := testdata(t, "garden.jsonl")
	doc := read(t, src)
	change := folded(doc)
	written := write(t, doc, change)
	again := read(t, written)
	got := again.Session
	got.Info.Time.Updated = doc.Session.Info.Time.Updated
	same(t, "after the pivot", change.Session, got)
	if diff := cmp.Diff(change.Ledger.All(), again.Ledger.All()); diff != "" {
		t.Errorf("ledger (-want +got):\n%s", diff)
	}
	if twice := write(t, again, format.Change{Session: again.Session, Ledger: again.Ledger}); !bytes.Equal(twice, written) {
		t.Error("writing what was read changed bytes")
	}
	before, after := strings.Split(string(src), "\n"), strings.Split(string(written), "\n")
	changed := 0
	for i, line := range before[:len(before)-1] {
		if line != after[i] {
			changed++
		}
	}
	if changed != 2 {
		t.Errorf("%d of the lines that were read changed, want the 2 that are elided", changed)
	}
}

func TestWrite_pivotIsWhatTheProductGoesOnFrom(t *testing.T) {
	doc := read(t, testdata(t, "garden.jsonl"))
	written := write(t, doc, folded(doc))
	lines := strings.Split(strings.TrimSpace(string(written)), "\n")
	var types []string
	var history []item
	for _, line := range lines[33:] {
		var l struct {
			Type    string    `json:"type"`
			Ordinal int       `json:"ordinal"`
			Payload compacted `json:"payload"`
		}
		if err := decode([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		if want := 33 + len(types); l.Ordinal != want {
			t.Errorf("ordinal %d, want %d", l.Ordinal, want)
		}
		types = append(types, l.Type)
		for _, v := range l.Payload.Replacement {
			var it item
			if err := decode(v, &it); err != nil {
				t.Fatal(err)
			}
			history = append(history, it)
		}
	}
	if diff := cmp.Diff([]string{"compacted", "world_state", "turn_context", "response_item"}, types); diff != "" {
		t.Errorf("new lines (-want +got):\n%s", diff)
	}
	var got []string
	for _, it := range history {
		var texts []string
		for at := range span.Values(it.Content, span.All(it.Content)) {
			var c content
			if err := decode(at.Of(it.Content), &c); err != nil {
				t.Fatal(err)
			}
			texts = append(texts, c.Text)
		}
		got = append(got, strings.TrimSpace(it.Type+" "+it.Role+it.CallID+" "+strings.Join(texts, "+")+span.String(it.Output)))
	}
	want := []string{
		"message developer Be careful with the tomatoes.+Permissions: all.",
		"message user <environment_context>garden, spring</environment_context>",
		"message user The user said: water the plants.",
		"message user ## Done\nEverything is wet.",
		"message user Now the lawn.",
		"function_call call_4",
		"function_call_output call_4 [mow: left out]",
		"message assistant The mower needs fuel.",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("replacement history (-want +got):\n%s", diff)
	}
}

// A fork of the product copies the compaction and drops our mark.
func TestRead_pivotOfOursWithoutItsMark(t *testing.T) {
	doc := read(t, testdata(t, "garden.jsonl"))
	written := write(t, doc, folded(doc))
	var bare bytes.Buffer
	for text := range bytes.Lines(written) {
		text = bytes.TrimSpace(text)
		var l line
		if err := scanLine(text, &l); err != nil {
			t.Fatal(err)
		}
		text = span.Remove(text, false, oursType)
		bare.Write(append(text, '\n'))
	}
	messages := read(t, bare.Bytes()).Session.Messages
	at := slices.IndexFunc(messages, func(m session.Message) bool { return m.Marker() != nil })
	if at < 0 || messages[at].Marker().TailStartID != "msg_u2" {
		t.Fatalf("no marker with the tail msg_u2:\n%s", strings.Join(outline(messages), "\n"))
	}
	var texts []string
	for _, p := range messages[at+1].Parts {
		texts = append(texts, string(p.Type)+" "+p.Text)
	}
	want := []string{
		"text ## Done\nEverything is wet.", "text Be careful with the tomatoes.", "text Permissions: all.",
		"text <environment_context>garden, spring</environment_context>", "text The user said: water the plants.",
	}
	if diff := cmp.Diff(want, texts); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
}

func TestWrite_undoneGivesTheSourceBack(t *testing.T) {
	for _, name := range []string{"garden.jsonl", "pond-old.jsonl"} {
		src := testdata(t, name)
		doc := read(t, src)
		change := folded(doc)
		if name != "garden.jsonl" {
			change.Ledger = doc.Ledger.With(rule.Elision{Part: "c1", Field: rule.Output, Rule: "test", Shown: "[skim]"})
		}
		written := write(t, doc, change)
		again := read(t, written)
		back := write(t, again, format.Change{Session: again.Session, Undone: map[string]bool{"msg_marker": true}})
		if want := strings.TrimSuffix(string(src), "\n"); strings.TrimSuffix(string(back), "\n") != want {
			t.Errorf("%s: undone (-want +got):\n%s", name, cmp.Diff(strings.Split(want, "\n"), strings.Split(string(back), "\n")))
		}
	}
}

func TestWrite_elisionInATailThatWasFoldedBefore(t *testing.T) {
	doc := read(t, testdata(t, "garden.jsonl"))
	change := folded(doc)
	change.Ledger = rule.Ledger{}
	again := read(t, write(t, doc, change))
	change = format.Change{Session: again.Session, Ledger: rule.NewLedger(rule.Elision{Part: "call_4", Field: rule.Output, Rule: "test", Shown: "[later]"})}
	written := write(t, again, change)
	if n := bytes.Count(written, []byte(`"output":"[later]"`)); n != 2 {
		t.Errorf("the placeholder is there %d times, want in its line and in the replacement history:\n%s", n, written)
	}
	// The words are in the original of the elided line and nowhere else.
	if n := bytes.Count(written, []byte("out of fuel")); n != 1 {
		t.Errorf("the elided output is there %d times, want once", n)
	}
	back := write(t, read(t, written), format.Change{Session: again.Session})
	if !bytes.Equal(back, again.Source) {
		t.Error("undoing the elision did not give the file back")
	}
}

func TestWrite_everyFieldCanBeElidedAndRestored(t *testing.T) {
	src := testdata(t, "garden.jsonl")
	doc := read(t, src)
	for _, c := range []struct {
		name    string
		elision rule.Elision
		there   string // in the payload that the product reads
		gone    string
	}{
		{"output", rule.Elision{Part: "call_1", Field: rule.Output, Shown: "[o]"}, `"output":"[o]"`, "roses"},
		{"error", rule.Elision{Part: "call_1#2", Field: rule.Error, Shown: "[e]"}, `"output":"[e]"`, "no such bed"},
		{"input", rule.Elision{Part: "call_1", Field: rule.Input, Shown: `{"cmd":"…"}`}, `"arguments":"{\"cmd\":\"…\"}"`, "ls beds"},
		{"input that is no object", rule.Elision{Part: "call_4", Field: rule.Input, Shown: "[i]"}, `"arguments":"{\"elided\":\"[i]\"}"`, `"mow`},
		{"input of a custom tool", rule.Elision{Part: "call_2", Field: rule.Input, Shown: "[i]"}, `"input":"[i]"`, "*** add hose"},
		{"attachments", rule.Elision{Part: "call_2", Field: rule.Attachments, Shown: "[image]"}, `"text":"[image]"`, "base64,AAAA"},
		{"text", rule.Elision{Part: "msg_u1:0", Field: rule.Text, Shown: "[t]"}, `{"type":"input_text","text":"[t]"}`, ""},
		{"a thought", rule.Elision{Part: "rs_1:0", Field: rule.Whole}, "", "Which plants"},
		{"a thought with a word in its place", rule.Elision{Part: "rs_1:0", Field: rule.Whole, Shown: "[w]"}, `{"type":"output_text","text":"[w]"}`, "c2VjcmV0"},
		{"all of the text of a thought, and what is sealed", rule.Elision{Part: "rs_1:0", Field: rule.Text}, `"name":"exec_command"`, "c2VjcmV0"},
		{"the text of a thought", rule.Elision{Part: "rs_1:0", Field: rule.Text, Shown: "[t]"}, `"text":"[t]"}],"content":null,"encrypted_content":"c2VjcmV0"`, "Which plants"},
		{"a call altogether", rule.Elision{Part: "call_4", Field: rule.Whole}, `"output":""`, `mow\"`},
		{"a call with a word in its place", rule.Elision{Part: "call_4", Field: rule.Whole, Shown: "[w]"}, `"output":"[w]"`, `mow\"`},
	} {
		c.elision.Rule = "test"
		ledger := rule.NewLedger(c.elision)
		written := write(t, doc, format.Change{Session: doc.Session, Ledger: ledger})
		seen := sent(t, written)
		if c.there != "" && !strings.Contains(seen, c.there) || c.gone != "" && strings.Contains(seen, c.gone) {
			t.Errorf("%s: the product reads\n%s\nwant %q in it and %q not", c.name, seen, c.there, c.gone)
		}
		again := read(t, written)
		same(t, c.name, doc.Session, again.Session)
		if diff := cmp.Diff(ledger.All(), again.Ledger.All()); diff != "" {
			t.Errorf("%s: ledger (-want +got):\n%s", c.name, diff)
		}
		if back := write(t, again, format.Change{Session: again.Session}); !bytes.Equal(back, src) {
			t.Errorf("%s: undoing did not give the file back", c.name)
		}
	}
}

// sent is the payloads of the items that the product reads of a rollout without compactions. In it
// quotes are not escaped.
func sent(t *testing.T, src []byte) string {
	t.Helper()
	var payloads []string
	for text := range bytes.Lines(src) {
		var l line
		if err := scanLine(bytes.TrimSpace(text), &l); err != nil {
			t.Fatal(err)
		}
		if l.kind == itemLine {
			payloads = append(payloads, string(l.payload.Of(text)))
		}
	}
	return strings.Join(payloads, "\n")
}

func TestWrite_unknownElisionIsRefused(t *testing.T) {
	doc := read(t, testdata(t, "garden.jsonl"))
	err := Format{}.Write(&bytes.Buffer{}, doc, format.Change{Session: doc.Session, Ledger: rule.NewLedger(rule.Elision{Part: "prt_nowhere"})})
	if err == nil || !strings.Contains(err.Error(), "prt_nowhere") {
		t.Errorf("error = %v, want one that names the part", err)
	}
}

// everyPart is the session package's own fixture: a session that has every kind of part.
func everyPart(t testing.TB) session.Session {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "session", "testdata", "every-part.json"))
	if err != nil {
		t.Fatal(err)
	}
	var s session.Session
	if err := json.Unmarshal(text, &s, session.ReadOptions()); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestWrite_newRolloutReadsBack(t *testing.T) {
	s := everyPart(t)
	var ledger rule.Ledger
	for i := range s.Messages {
		for j := range s.Messages[i].Parts {
			if p := &s.Messages[i].Parts[j]; p.Type == session.ToolPart && p.State.Final() {
				ledger = ledger.With(rule.Elision{Part: p.ID, Message: s.Messages[i].ID, Field: rule.Output, Rule: "test", Shown: "[gone]"})
			}
		}
	}
	if ledger.Len() == 0 {
		t.Fatal("the fixture has no results")
	}
	written := write(t, nil, format.Change{Session: s, Ledger: ledger})
	if !(Format{}).Detect(written[:min(len(written), 64<<10)]) {
		t.Error("what was written is not detected")
	}
	again := read(t, written)
	same(t, "a new rollout", s, again.Session)
	if diff := cmp.Diff(ledger.All(), again.Ledger.All(), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("ledger (-want +got):\n%s", diff)
	}
	if got := write(t, again, format.Change{Session: again.Session, Ledger: again.Ledger}); !bytes.Equal(got, written) {
		t.Error("writing what was read changed bytes")
	}
}

func TestThreadID(t *testing.T) {
	if id := "01a1f89c-081c-7c01-b645-6a1191c573e1"; ThreadID(id) != id {
		t.Errorf("ThreadID(%s) = %s", id, ThreadID(id))
	}
	if a, b := ThreadID("ses_1"), ThreadID("ses_2"); a == b || !jsonl.IsUUID(a) || a != ThreadID("ses_1") {
		t.Errorf("derived ids %s and %s", a, b)
	}
}
