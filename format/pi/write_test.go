package pi

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// generated makes a session of about this size: turns of a question, three calls with results, and
// an answer.
func generated(size int) []byte {
	var out bytes.Buffer
	out.WriteString(`{"type":"session","version":3,"id":"0199bbbb","timestamp":"2026-02-01T08:00:00.000Z","cwd":"/home/ada/kiln"}` + "\n")
	n, parent := 0, "null"
	entry := func(message string) {
		n++
		fmt.Fprintf(&out, `{"type":"message","id":"%08x","parentId":%s,"timestamp":"2026-02-01T08:00:00.000Z","message":%s}`+"\n", n, parent, message)
		parent = fmt.Sprintf(`"%08x"`, n)
	}
	const usage = `"api":"anthropic-messages","provider":"anthropic","model":"claude-sonnet-4-5","usage":{"input":3,"output":120,"cacheRead":52000,"cacheWrite":800,"totalTokens":52923,"cost":{"input":0.00001,"output":0.0018,"cacheRead":0.0156,"cacheWrite":0.003,"total":0.02041}}`
	line := `\tif err := kiln.Fire(ctx, \"stoneware\", 1240); err != nil {\n\t\treturn fmt.Errorf(\"fire: %w\", err) // the glaze – too thick\n\t}\n`
	for turn := 0; out.Len() < size; turn++ {
		entry(fmt.Sprintf(`{"role":"user","content":[{"type":"text","text":"Look at step %d and say what is wrong."}],"timestamp":1769932800000}`, turn))
		for call := range 3 {
			id := fmt.Sprintf("toolu_%06d_%d", turn, call)
			entry(fmt.Sprintf(`{"role":"assistant","content":[{"type":"text","text":"I read the next file."},{"type":"toolCall","id":"%s","name":"read","arguments":{"path":"kiln/step%d.go","offset":%d}}],%s,"stopReason":"toolUse","timestamp":1769932800000}`, id, turn, call, usage))
			entry(fmt.Sprintf(`{"role":"toolResult","toolCallId":"%s","toolName":"read","content":[{"type":"text","text":"%s"}],"isError":false,"timestamp":1769932800000}`, id, strings.Repeat(line, 20+10*call)))
		}
		entry(fmt.Sprintf(`{"role":"assistant","content":[{"type":"text","text":"Step %d fires before the glaze is dry."}],%s,"stopReason":"stop","timestamp":1769932800000}`, turn, usage))
	}
	return out.Bytes()
}

// folded is a change that appends a pivot with a tail and a word to go on, and elides the first
// output.
func folded(doc *format.Document) format.Change {
	s := doc.Session
	s.Messages = append([]session.Message(nil), s.Messages...)
	tail := ""
	for i := min(len(s.Messages)*3/4, len(s.Messages)-1); i >= 0 && tail == ""; i-- {
		if s.Messages[i].Written() {
			tail = s.Messages[i].ID
		}
	}
	s.Messages = append(s.Messages, pivot("msg_m1", "msg_s1", tail, s.Info.ID)...)
	ledger := doc.Ledger
	for i := range s.Messages {
		for j := range s.Messages[i].Parts {
			if p := &s.Messages[i].Parts[j]; p.Type == session.ToolPart && p.State.Final() && ledger.Len() == doc.Ledger.Len() {
				field := rule.Output
				if p.State.Status == session.Failed {
					field = rule.Error
				}
				ledger = ledger.With(rule.Elision{Part: p.ID, Message: s.Messages[i].ID, Field: field, Rule: "test", Because: "it is old",
					Shown: "[left out]", Saves: 10, Time: 1769932900000})
			}
		}
	}
	return format.Change{Session: s, Ledger: ledger}
}

// pivot is a marker, its summary with a carry-over, and the word to go on.
func pivot(marker, summary, tail, id string) []session.Message {
	part := func(message, name string, p session.Part) session.Part {
		p.ID, p.SessionID, p.MessageID = message+name, id, message
		return p
	}
	at := session.MessageTime{Created: 1769932900000}
	return []session.Message{
		{MessageInfo: session.MessageInfo{ID: marker, SessionID: id, Role: session.User, Time: at, Model: &session.ModelRef{ProviderID: "anthropic", ModelID: "m"}},
			Parts: []session.Part{part(marker, "p", session.Part{Type: session.CompactionPart, Auto: true, TailStartID: tail})}},
		{MessageInfo: session.MessageInfo{ID: summary, SessionID: id, Role: session.Assistant, ParentID: marker, Time: at, Finish: "stop",
			Summary: jsontext.Value("true"), Mode: "compaction", Agent: "compaction", ModelID: "m", ProviderID: "anthropic",
			Tokens: &session.Usage{Input: 900, Output: 30}},
			Parts: []session.Part{
				part(summary, "p", session.Part{Type: session.TextPart, Text: "## Goal\nThe zeppelin of the kiln."}),
				part(summary, "q", session.Part{Type: session.TextPart, Text: "Carried: nothing.", Metadata: session.Note{Carry: true}.Metadata()}),
			}},
		{MessageInfo: session.MessageInfo{ID: marker + "c", SessionID: id, Role: session.User, Time: at},
			Parts: []session.Part{part(marker+"c", "p", session.Part{Type: session.TextPart, Text: "Go on.", Synthetic: true, Metadata: session.Note{Pivot: marker}.Metadata()})}},
	}
}

func written(t testing.TB, from *format.Document, change format.Change) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := (Format{}).Write(&out, from, change); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// canonical is a log as the JSON that it is exported as.
func canonical(t testing.TB, log []session.Message) string {
	t.Helper()
	text, err := json.Marshal(log, session.ReadOptions(), jsontext.Multiline(true))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// foldAndBack writes a pivot and an elision, reads them again, and takes them back.
func foldAndBack(t *testing.T, doc *format.Document) {
	t.Helper()
	change := folded(doc)
	text := written(t, doc, change)
	again := read(t, text)
	if diff := cmp.Diff(canonical(t, change.Session.Messages), canonical(t, again.Session.Messages)); diff != "" {
		t.Errorf("messages after a pivot (-meant +read):\n%s", diff)
	}
	if diff := cmp.Diff(change.Ledger.All(), again.Ledger.All()); diff != "" {
		t.Errorf("ledger (-meant +read):\n%s", diff)
	}
	if once := written(t, again, format.Change{Session: again.Session, Ledger: again.Ledger}); !bytes.Equal(once, text) {
		t.Error("read and written again, the file changed")
	}
	back := written(t, again, format.Change{Session: doc.Session, Ledger: doc.Ledger, Undone: map[string]bool{"msg_m1": true}})
	if !bytes.Equal(bytes.TrimRight(back, "\n"), bytes.TrimRight(doc.Source, "\n")) {
		t.Errorf("undone, the file is not what it was:\n%s", cmp.Diff(string(doc.Source), string(back)))
	}
}

func TestWrite_pivotAndElisionComeBackAndGoAgain(t *testing.T) {
	for _, name := range []string{"tree.jsonl", "linear.jsonl"} {
		t.Run(name, func(t *testing.T) { foldAndBack(t, read(t, load(t, name))) })
	}
}

// lastLines parses the last lines of a file.
func lastLines(t *testing.T, text []byte, n int) []map[string]any {
	t.Helper()
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	var parsed []map[string]any
	for _, line := range lines[len(lines)-n:] {
		var v map[string]any
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, v)
	}
	return parsed
}

func TestWrite_pivotIsTheProductsCompaction(t *testing.T) {
	doc := read(t, load(t, "tree.jsonl"))
	change := folded(doc)
	text := written(t, doc, change)
	got := lastLines(t, text, 3)
	compaction, next := got[1], got[2]
	if compaction["type"] != "compaction" || compaction["parentId"] != "a0000019" || compaction["firstKeptEntryId"] != "a0000010" ||
		compaction["summary"] != "## Goal\nThe zeppelin of the kiln.\n\nCarried: nothing." || compaction["tokensBefore"] != 520.0 {
		t.Errorf("compaction: got %v", compaction)
	}
	if id, _ := compaction["id"].(string); len(id) != 8 || next["parentId"] != id {
		t.Errorf("the word to go on does not follow the compaction %v: %v", compaction["id"], next)
	}
	if diff := cmp.Diff(map[string]any{"readFiles": []any{}, "modifiedFiles": []any{"log/writer.go"}}, compaction["details"]); diff != "" {
		t.Errorf("details (-want +got):\n%s", diff)
	}
	lines, before := strings.Split(string(text), "\n"), strings.Split(string(doc.Source), "\n")
	for i, line := range before[:len(before)-1] {
		if want := line; i != 5 && lines[i] != want {
			t.Errorf("line %d was not touched and changed:\n%s\n%s", i+1, want, lines[i])
		}
	}
	if !strings.Contains(lines[5], `"content":[{"type":"text","text":"[left out]"}],"details":{"lines":3}`) {
		t.Errorf("the elided result: %s", lines[5])
	}
}

func TestWrite_oldFilesGetTheOldForm(t *testing.T) {
	doc := read(t, load(t, "linear.jsonl"))
	got := lastLines(t, written(t, doc, folded(doc)), 2)[0]
	if _, has := got["id"]; has || got["firstKeptEntryIndex"] != 7.0 || got["type"] != "compaction" {
		t.Errorf("got %v, want a compaction without id that keeps from entry 7", got)
	}
}

func TestWrite_withoutTailNothingIsKept(t *testing.T) {
	for name, member := range map[string]string{"tree.jsonl": "firstKeptEntryId", "linear.jsonl": "firstKeptEntryIndex"} {
		doc := read(t, load(t, name))
		change := format.Change{Session: doc.Session, Ledger: doc.Ledger}
		change.Session.Messages = append(change.Session.Messages[:len(doc.Session.Messages):len(doc.Session.Messages)], pivot("msg_m1", "msg_s1", "", "")...)
		text := written(t, doc, change)
		got := lastLines(t, text, 2)[0]
		self := got["id"]
		if name == "linear.jsonl" {
			self = 9.0
		}
		if got[member] != self {
			t.Errorf("%s: got %v, want the compaction itself, %v", name, got[member], self)
		}
		if tail := read(t, text).Session.Messages[len(doc.Session.Messages)].Marker().TailStartID; tail != "" {
			t.Errorf("%s: a tail was read: %q", name, tail)
		}
	}
}

func TestWrite_undoneCompactionOfTheProductIsLeftOut(t *testing.T) {
	for name, marker := range map[string]string{"tree.jsonl": "a0000013", "linear.jsonl": "pi_000007"} {
		doc := read(t, load(t, name))
		change := folded(doc)
		var kept []session.Message
		for _, m := range change.Session.Messages {
			if m.ID != marker && m.ParentID != marker {
				kept = append(kept, m)
			}
		}
		change.Session.Messages, change.Undone = kept, map[string]bool{marker: true}
		again := read(t, written(t, doc, change))
		if diff := cmp.Diff(outline(kept), outline(again.Session.Messages)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestWrite_everyFieldCanBeElidedAndComesBack(t *testing.T) {
	doc := read(t, load(t, "tree.jsonl"))
	ledger := rule.NewLedger(
		rule.Elision{Part: "call_2", Message: "a0000004", Field: rule.Error, Rule: "r", Because: "b", Shown: "FAIL", Saves: 1, Time: 7},
		rule.Elision{Part: "call_1", Message: "a0000004", Field: rule.Attachments, Rule: "r", Because: "b", Shown: "[image]", Saves: 2, Time: 7},
		rule.Elision{Part: "call_1#2", Message: "a0000011", Field: rule.Input, Rule: "r", Because: "b", Shown: `{"path":"log/writer.go"}`, Saves: 3, Time: 8},
		rule.Elision{Part: "a0000004:0", Message: "a0000004", Field: rule.Whole, Rule: "r", Because: "b", Saves: 4, Time: 8},
		rule.Elision{Part: "a0000003:0", Message: "a0000003", Field: rule.Text, Rule: "r", Because: "b", Shown: "Why?", Saves: 5, Time: 9},
		rule.Elision{Part: "a0000010:1", Message: "a0000010", Field: rule.Whole, Rule: "r", Because: "b", Shown: "[File: image]", Saves: 6, Time: 9},
		rule.Elision{Part: "a0000008:0", Message: "a0000008", Field: rule.Text, Rule: "r", Because: "b", Shown: "Ran git log", Saves: 7, Time: 9},
		rule.Elision{Part: "a0000007:0", Message: "a0000007", Field: rule.Text, Rule: "r", Because: "b", Shown: "gone", Saves: 8, Time: 9},
		rule.Elision{Part: "a0000014:0", Message: "a0000014", Field: rule.Text, Rule: "r", Because: "b", Shown: "late", Saves: 9, Time: 9},
	)
	text := written(t, doc, format.Change{Session: doc.Session, Ledger: ledger})
	again := read(t, text)
	if diff := cmp.Diff(canonical(t, doc.Session.Messages), canonical(t, again.Session.Messages)); diff != "" {
		t.Errorf("the log changed (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(ledger.All(), again.Ledger.All()); diff != "" {
		t.Errorf("ledger (-meant +read):\n%s", diff)
	}
	// What the product sees: the same file without the marks.
	seen := read(t, unmarked(t, text))
	want := []string{
		`a0000003 user | a0000003:0 text "Why?"`,
		`a0000004 assistant | a0000004:0 text "I look at the writer." | call_1 tool read {"path":"log/writer.go"} completed "package log\n\nfunc (w *Writer) Close() error { return w.file.Close() }\n\n[image]"` +
			` | call_2 tool bash {"command":"go test ./log"} error "FAIL"`,
		`a0000007 user | a0000007:0 text "Summary of a branch of this conversation that was left:\n\ngone" synthetic`,
		`a0000008 user | a0000008:0 text "Ran git log"`,
	}
	if diff := cmp.Diff(want, outline(seen.Session.Messages)[:4]); diff != "" {
		t.Errorf("what is shown (-want +got):\n%s", diff)
	}
	for _, want := range []string{`{"path":"log/writer.go"} completed`, `a0000010:1 text "[File: image]"`, `"late" synthetic`} {
		if shown := strings.Join(outline(seen.Session.Messages), "\n"); !strings.Contains(shown, want) {
			t.Errorf("%s is not shown in\n%s", want, shown)
		}
	}
	if back := written(t, again, format.Change{Session: doc.Session, Ledger: doc.Ledger}); !bytes.Equal(back, doc.Source) {
		t.Errorf("restored, the file is not what it was:\n%s", cmp.Diff(string(doc.Source), string(back)))
	}
}

// unmarked takes the marks out of a file, as if nobody but the product knew it.
func unmarked(t *testing.T, text []byte) []byte {
	t.Helper()
	return edited(t, text, func(v map[string]jsontext.Value, _ int) { delete(v, "winnow") })
}

// edited parses every line and writes it again, as the product does with old files.
func edited(t *testing.T, text []byte, edit func(v map[string]jsontext.Value, line int)) []byte {
	t.Helper()
	var out []byte
	line := 0
	for l := range bytes.Lines(text) {
		if len(bytes.TrimSpace(l)) == 0 {
			continue
		}
		var v map[string]jsontext.Value
		if err := json.Unmarshal(l, &v, session.ReadOptions()); err != nil {
			t.Fatal(err)
		}
		edit(v, line)
		raw, err := json.Marshal(v, session.ReadOptions(), json.Deterministic(true))
		if err != nil {
			t.Fatal(err)
		}
		out = append(append(out, raw...), '\n')
		line++
	}
	return out
}

func TestRead_pivotAndElisionSurviveTheProductsRewritingOfAnOldFile(t *testing.T) {
	doc := read(t, load(t, "linear.jsonl"))
	change := folded(doc)
	change.Ledger = change.Ledger.With(rule.Elision{Part: "pi_000002:0", Message: "pi_000002", Field: rule.Text, Rule: "r", Because: "b", Shown: "Count.", Saves: 2})
	// What the product does with version 1: ids, parents, and the entry in place of its index.
	id := func(line int) string { return fmt.Sprintf("c%07d", line) }
	migrated := edited(t, written(t, doc, change), func(v map[string]jsontext.Value, line int) {
		if line == 0 {
			v["version"] = jsontext.Value("3")
			return
		}
		v["id"], v["parentId"] = span.Quote(id(line)), jsontext.Value("null")
		if line > 1 {
			v["parentId"] = span.Quote(id(line - 1))
		}
		if index, ok := v["firstKeptEntryIndex"]; ok {
			n, _ := strconv.Atoi(string(index))
			v["firstKeptEntryId"] = span.Quote(id(n))
			delete(v, "firstKeptEntryIndex")
		}
	})
	again := read(t, migrated)
	log := again.Session.Messages
	if got, want := len(log), len(change.Session.Messages); got != want {
		t.Fatalf("messages: got %d, want %d", got, want)
	}
	marker := log[len(log)-3]
	if marker.ID != "msg_m1" || marker.Marker() == nil || marker.Marker().TailStartID != id(7) {
		t.Errorf("marker: got %s from %q, want msg_m1 from %s", marker.ID, marker.Marker().TailStartID, id(7))
	}
	var got []string
	for _, e := range again.Ledger.All() {
		got = append(got, e.Part+" in "+e.Message)
	}
	if diff := cmp.Diff([]string{"toolu_a in " + id(2), id(1) + ":0 in " + id(1)}, got); diff != "" {
		t.Errorf("ledger (-want +got):\n%s", diff)
	}
}

func TestWrite_aSessionFromElsewhereIsReadAsItWas(t *testing.T) {
	source := read(t, load(t, "tree.jsonl"))
	change := folded(source)
	s := &change.Session
	s.Info = session.Info{ID: "ses_1", Slug: "brave-kiln", Title: "Kiln", Directory: "/home/ada/kiln", Version: "1.2", Time: session.Lifetime{Created: 1769932000000, Updated: 1769932900000}}
	cost := 0.5
	s.Messages = append(s.Messages, session.Message{
		MessageInfo: session.MessageInfo{ID: "msg_x", SessionID: "ses_1", Role: session.Assistant, ParentID: "msg_m1c", ProviderID: "openai", ModelID: "gpt",
			Cost: &cost, Tokens: &session.Usage{Input: 5, Output: 6, Reasoning: 7}, Finish: "stop", Time: session.MessageTime{Created: 1769932901000}},
		Parts: []session.Part{
			{ID: "x1", Type: session.StepStartPart, Snapshot: "abc"},
			{ID: "x2", Type: session.ReasoningPart, Text: "Hm."},
			{ID: "x3", Type: session.ToolPart, CallID: "call_x3", Tool: "bash", State: &session.ToolState{Status: session.Completed,
				Input: jsontext.Value(`{"command":"ls"}`), Title: "List", Output: "a\nb", Metadata: jsontext.Value(`{"exit":0}`), Time: &session.Span{Start: 1, End: 2},
				Attachments: []session.Part{{ID: "x3a", Type: session.FilePart, Mime: "image/png", URL: "data:image/png;base64,aGk="}}}},
			{ID: "x4", Type: session.StepFinishPart, Reason: "tool-calls"},
			{ID: "x5", Type: session.StepStartPart},
			{ID: "x6", Type: session.TextPart, Text: "Two files."},
			{ID: "x7", Type: session.ToolPart, CallID: "call_x7", Tool: "bash", State: &session.ToolState{Status: session.Running, Input: jsontext.Value(`{}`)}},
			{ID: "x8", Type: session.StepFinishPart, Reason: "stop"},
		},
	}, session.Message{
		MessageInfo: session.MessageInfo{ID: "msg_y", SessionID: "ses_1", Role: session.User, Time: session.MessageTime{Created: 1769932902000}},
		Parts: []session.Part{
			{ID: "y1", Type: session.TextPart, Text: "shown to people", Ignored: true},
		},
	}, session.Message{
		MessageInfo: session.MessageInfo{ID: "msg_z", SessionID: "ses_1", Role: session.User, Time: session.MessageTime{Created: 1769932903000}},
		Parts: []session.Part{
			{ID: "z1", Type: session.CompactionPart, Auto: true}, // pending
		},
	}, session.Message{
		MessageInfo: session.MessageInfo{ID: "msg_w", SessionID: "ses_1", Role: session.User, Time: session.MessageTime{Created: 1769932904000}},
		Parts: []session.Part{
			{ID: "w1", Type: session.FilePart, Mime: "text/plain", Filename: "notes.txt", URL: "file:///home/ada/notes.txt"},
			{ID: "w2", Type: session.AgentPart, Name: "potter"},
			{ID: "w3", Type: session.TextPart, Text: ""},
		},
	})
	change.Ledger = change.Ledger.With(
		rule.Elision{Part: "x3", Message: "msg_x", Field: rule.Output, Rule: "r", Because: "b", Shown: "[left out too]", Saves: 3},
		rule.Elision{Part: "x6", Message: "msg_x", Field: rule.Text, Rule: "r", Because: "b", Shown: "Files.", Saves: 1},
		rule.Elision{Part: "x1", Message: "msg_x", Field: rule.Whole, Rule: "r", Because: "b", Saves: 0},
	)
	text := written(t, nil, change)
	again := read(t, text)
	if diff := cmp.Diff(canonical(t, s.Messages), canonical(t, again.Session.Messages)); diff != "" {
		t.Errorf("messages (-meant +read):\n%s", diff)
	}
	if diff := cmp.Diff(change.Ledger.All(), again.Ledger.All()); diff != "" {
		t.Errorf("ledger (-meant +read):\n%s", diff)
	}
	if diff := cmp.Diff(s.Info, again.Session.Info); diff != "" {
		t.Errorf("session (-meant +read):\n%s", diff)
	}
	if seen := read(t, unmarked(t, text)).Session.Messages; !strings.Contains(strings.Join(outline(seen), "\n"),
		`tool bash {"command":"ls"} completed "[left out too]"`) {
		t.Errorf("what the product sees:\n%s", strings.Join(outline(seen), "\n"))
	}
	if once := written(t, again, format.Change{Session: again.Session, Ledger: again.Ledger}); !bytes.Equal(once, text) {
		t.Error("read and written again, the file changed")
	}
}

func TestWrite_whatWasElidedComesBackByteForByte(t *testing.T) {
	src := `{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00Z","cwd":"/"}
{"type":"message","id":"1","parentId":null,"timestamp":"","message":{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"bash","arguments":{}}]}}
{"type":"message", "id":"2", "parentId":"1" ,"message": {"content" : [ {"type":"text","text":"\u00e9\/\ud83d` + "\xff\u2028" + `"} ],"role":"toolResult","toolCallId":"c", "n":12345678901234567890,"n":1.0 } }
`
	doc := read(t, []byte(src))
	ledger := rule.NewLedger(rule.Elision{Part: "c", Message: "1", Field: rule.Output, Rule: "r", Because: "b", Shown: "less"})
	text := written(t, doc, format.Change{Session: doc.Session, Ledger: ledger})
	again := read(t, text)
	if got, want := again.Session.Messages[0].Parts[0].State.Output, "é/\ufffd\ufffd\u2028"; got != want || again.Ledger.Len() != 1 {
		t.Errorf("the output of the log: got %q, want %q", got, want)
	}
	if again := written(t, again, format.Change{Session: again.Session, Ledger: again.Ledger.With(rule.Elision{Part: "1:0", Message: "1"})}); !bytes.Equal(again, text) {
		t.Error("an elision of a part that is not in the file changed the file")
	}
	if back := written(t, again, format.Change{Session: doc.Session}); string(back) != src {
		t.Errorf("restored:\n got %q\nwant %q", back, src)
	}
}

func TestWrite_aMarkerWithATextAndASummaryWithoutOne(t *testing.T) {
	doc := read(t, load(t, "tree.jsonl"))
	change := format.Change{Session: doc.Session, Ledger: doc.Ledger}
	added := pivot("msg_m1", "msg_s1", "", doc.Session.Info.ID)
	added[0].Parts = append([]session.Part{{ID: "prt_t", Type: session.TextPart, Text: "Fold this."}}, added[0].Parts...)
	added[1].Parts = nil
	change.Session.Messages = append(change.Session.Messages[:len(doc.Session.Messages):len(doc.Session.Messages)], added...)
	again := read(t, written(t, doc, change))
	if diff := cmp.Diff(outline(change.Session.Messages), outline(again.Session.Messages)); diff != "" {
		t.Errorf("log (-meant +read):\n%s", diff)
	}
}

func TestRead_aSummaryThatWasChangedSinceStaysReadable(t *testing.T) {
	doc := read(t, load(t, "tree.jsonl"))
	text := bytes.Replace(written(t, doc, folded(doc)), []byte("zeppelin"), []byte("balloon"), 1)
	log := read(t, text).Session.Messages
	summary := log[len(log)-2]
	if got, want := summary.Text(), "## Goal\nThe balloon of the kiln.\n\nCarried: nothing."; got != want || !summary.Completes() {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWrite_aFileThatTheProductWouldEmptyIsRefused(t *testing.T) {
	_, rest, _ := bytes.Cut(load(t, "tree.jsonl"), []byte("\n"))
	doc := read(t, rest)
	err := Format{}.Write(&bytes.Buffer{}, doc, folded(doc))
	if err == nil || !strings.Contains(err.Error(), "line 1 is not a session header") {
		t.Errorf("got %v", err)
	}
}

func TestWrite_aLastLineWithoutBreakIsEndedFirst(t *testing.T) {
	doc := read(t, bytes.TrimRight(load(t, "tree.jsonl"), "\n"))
	again := read(t, written(t, doc, folded(doc)))
	if len(again.Damaged) > 0 || len(again.Session.Messages) != len(doc.Session.Messages)+3 {
		t.Errorf("damage %v, %d messages", again.Damaged, len(again.Session.Messages))
	}
}

func TestRead_fiftyMegabytesInALine(t *testing.T) {
	if testing.Short() {
		t.Skip("large")
	}
	src := append([]byte(nil), load(t, "linear.jsonl")...)
	src = append(src, `{"type":"message","timestamp":"2025-11-02T10:02:00.000Z","message":{"role":"user","content":"`...)
	src = append(append(src, bytes.Repeat([]byte("a\\n"), 50<<20/3)...), "\"}}\n"...)
	log := read(t, src).Session.Messages
	if got, want := len(log[len(log)-1].Parts[0].Text), 50<<20/3*2; got != want {
		t.Errorf("got %d bytes of text, want %d", got, want)
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"tree.jsonl", "linear.jsonl"} {
		f.Add(load(f, name))
		doc := read(f, load(f, name))
		f.Add(written(f, doc, folded(doc)))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		Format{}.Detect(src)
		doc, err := Format{}.Read(src)
		if err != nil {
			return
		}
		var out bytes.Buffer
		if err := (Format{}).Write(&out, doc, format.Change{Session: doc.Session, Ledger: doc.Ledger}); err != nil || !bytes.Equal(out.Bytes(), src) {
			t.Fatalf("unchanged, the file was not written byte for byte: %v", err)
		}
		if bytes.Contains(src, []byte("winnow")) {
			return // the ids below may be in it
		}
		change := folded(doc)
		out.Reset()
		if err := (Format{}).Write(&out, doc, change); err != nil {
			return
		}
		again, err := Format{}.Read(out.Bytes())
		if err != nil {
			t.Fatalf("what was written is not read: %v", err)
		}
		if got, want := len(again.Session.Messages), len(change.Session.Messages); got != want {
			t.Fatalf("messages: wrote %d, read %d", want, got)
		}
		out.Reset()
		back := format.Change{Session: doc.Session, Ledger: doc.Ledger, Undone: map[string]bool{"msg_m1": true}}
		if err := (Format{}).Write(&out, again, back); err != nil || !bytes.Equal(bytes.TrimRight(out.Bytes(), " \n"), bytes.TrimRight(src, " \n")) {
			t.Fatalf("undone, the file is not what it was (%v):\n got %q\nwant %q", err, out.Bytes(), src)
		}
	})
}
