package claudecode

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/internal/outside"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/internal/jsonl"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

func write(t testing.TB, from *format.Document, change format.Change) []byte {
	t.Helper()
	var file bytes.Buffer
	if err := (Format{}).Write(&file, from, change); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// fold appends a pivot: marker, summary in two parts, continuation.
func fold(s session.Session, name, tail string) session.Session {
	message := func(id string, role session.Role, parts ...session.Part) session.Message {
		for i := range parts {
			parts[i].ID, parts[i].MessageID, parts[i].SessionID = fmt.Sprintf("prt_%s_%d", id, i), "msg_"+id, s.Info.ID
		}
		return session.Message{MessageInfo: session.MessageInfo{ID: "msg_" + id, SessionID: s.Info.ID, Role: role}, Parts: parts}
	}
	marker := message(name, session.User, session.Part{Type: session.CompactionPart, TailStartID: tail})
	summary := message(name+"s", session.Assistant,
		session.Part{Type: session.TextPart, Text: "## Summary " + name},
		session.Part{Type: session.TextPart, Text: "## Carried " + name, Metadata: session.Note{Carry: true}.Metadata()})
	summary.Summary, summary.Finish, summary.ParentID = jsontext.Value("true"), "stop", marker.ID
	goOn := message(name+"c", session.User,
		session.Part{Type: session.TextPart, Text: "Continue " + name, Synthetic: true, Metadata: session.Note{Pivot: marker.ID}.Metadata()})
	s.Messages = append(slices.Clone(s.Messages), marker, summary, goOn)
	return s
}

// some chooses elisions of a log.
func some(messages []session.Message, random *rand.Rand) []rule.Elision {
	var found []rule.Elision
	for i := range messages {
		for _, p := range messages[i].Parts {
			if random.IntN(2) == 0 {
				continue
			}
			e := rule.Elision{Part: p.ID, Message: messages[i].ID, Rule: "test", Because: "because", Shown: "shown \"" + p.ID + "\"", Saves: 7, Time: session.Millis(len(found))}
			switch {
			case p.Type == session.ToolPart && p.State.Final():
				e.Field = []rule.Field{rule.Output, rule.Error, rule.Input, rule.Whole, rule.Attachments}[random.IntN(5)]
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

func TestWrite_everythingComesBackAndEverythingCanBeUndone(t *testing.T) {
	for _, name := range []string{"branches.jsonl", "compacted.jsonl", "damaged.jsonl"} {
		src, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasSuffix(src, []byte("\n")) {
			src = append(src, '\n')
		}
		t.Run(name, func(t *testing.T) { checkRoundTrips(t, src, 30) })
	}
}

func TestWrite_recordedSessionsRoundTrip(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(outside.Path(t, "corpus"), "claude-code*", "*.gz"))
	if err != nil || len(files) == 0 {
		t.Fatalf("recorded sessions: %v, %v", files, err)
	}
	for _, path := range append(files, outside.Path(t, filepath.Join("fixtures", "claude-code-compacted.jsonl.gz"))) {
		src := outside.Read(t, path)
		if !bytes.HasSuffix(src, []byte("\n")) {
			src = append(src, '\n')
		}
		t.Run(filepath.Base(path), func(t *testing.T) { checkRoundTrips(t, src, 1) })
	}
}

// difference compares messages by their JSON, which is quick, and tells the difference only when
// there is one.
func difference(t *testing.T, want, got []session.Message) string {
	t.Helper()
	var texts [2][]byte
	for i, messages := range [][]session.Message{want, got} {
		text, err := json.Marshal(messages, session.ReadOptions())
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = text
	}
	if bytes.Equal(texts[0], texts[1]) {
		return ""
	}
	return cmp.Diff(want, got)
}

func checkRoundTrips(t *testing.T, src []byte, times int) {
	doc := read(t, src)
	unchanged(t, doc)
	for seed := range times {
		random := rand.New(rand.NewPCG(1, uint64(seed)))
		tail := ""
		if n := random.IntN(len(doc.Session.Messages) + 1); n < len(doc.Session.Messages) {
			tail = doc.Session.Messages[n].ID
		}
		change := format.Change{Session: fold(doc.Session, "one", tail), Ledger: doc.Ledger.With(some(doc.Session.Messages, random)...)}
		if random.IntN(2) == 0 {
			change.Session = fold(change.Session, "two", change.Session.Messages[len(change.Session.Messages)-1].ID)
		}
		after := read(t, write(t, doc, change))
		if diff := difference(t, change.Session.Messages, after.Session.Messages); diff != "" {
			t.Fatalf("seed %d: messages (-changed +read):\n%s", seed, diff)
		}
		byKey := cmpopts.SortSlices(func(a, b rule.Elision) bool {
			return a.Part < b.Part || a.Part == b.Part && a.Field < b.Field
		})
		if diff := cmp.Diff(change.Ledger.All(), after.Ledger.All(), byKey, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("seed %d: ledger (-changed +read):\n%s", seed, diff)
		}
		unchanged(t, after)

		undo := format.Change{Session: after.Session, Ledger: doc.Ledger, Undone: map[string]bool{"msg_one": true, "msg_two": true}}
		if got := write(t, after, undo); !bytes.Equal(got, src) {
			t.Fatalf("seed %d: undoing everything gave another file:\n%s", seed, cmp.Diff(string(src), string(got)))
		}
	}
}

func TestWrite_theProductSeesThePlaceholderAndNotTheOriginal(t *testing.T) {
	doc := readFile(t, "branches.jsonl")
	ledger := rule.NewLedger(
		rule.Elision{Part: "toolu_till", Message: doc.Session.Messages[2].ID, Field: rule.Output, Shown: "[till.go left out]"},
		rule.Elision{Part: "toolu_queue", Message: doc.Session.Messages[2].ID, Field: rule.Input, Shown: `{"command": "cat …"}`},
		rule.Elision{Part: "toolu_queue", Message: doc.Session.Messages[2].ID, Field: rule.Error, Shown: "failed"},
		rule.Elision{Part: "toolu_shot", Message: "x", Field: rule.Attachments, Shown: "[1 picture]"},
	)
	file := write(t, doc, format.Change{Session: doc.Session, Ledger: ledger})
	contents := map[string]string{} // as a reader sees them that knows nothing of our member
	for text := range strings.Lines(string(file)) {
		var e struct {
			UUID    string `json:"uuid"`
			Message struct {
				Content jsontext.Value `json:"content"`
			} `json:"message"`
		}
		if err := json.Unmarshal([]byte(text), &e, session.ReadOptions()); err != nil {
			t.Fatal(err)
		}
		contents[strings.TrimLeft(strings.TrimPrefix(e.UUID, "00000000-0000-4000-8000-"), "0")] = string(e.Message.Content)
	}
	for uuid, want := range map[string]string{
		"7":  `[{"type":"tool_use","id":"toolu_queue","name":"Bash","input":{"command":"cat …"}}]`,
		"8":  `[{"tool_use_id":"toolu_till","type":"tool_result","content":"[till.go left out]"}]`,
		"9":  `[{"tool_use_id":"toolu_queue","type":"tool_result","content":"failed","is_error":true}]`,
		"12": `[{"tool_use_id":"toolu_shot","type":"tool_result","content":"a picture of the counter\n[1 picture]"}]`,
	} {
		if diff := cmp.Diff(want, contents[uuid]); diff != "" {
			t.Errorf("entry %s (-want +got):\n%s", uuid, diff)
		}
	}
}

func TestWrite_pivotInTheProductsOwnForm(t *testing.T) {
	doc := readFile(t, "compacted.jsonl")
	messages := doc.Session.Messages
	file := write(t, doc, format.Change{Session: fold(doc.Session, "new", messages[len(messages)-2].ID), Ledger: doc.Ledger})
	added := strings.Split(strings.TrimSpace(string(file[len(doc.Source):])), "\n")
	if len(added) != 3 {
		t.Fatalf("%d lines were added, want 3:\n%s", len(added), strings.Join(added, "\n"))
	}
	if begin := `{"parentUuid":null,"logicalParentUuid":"00000000-0000-4000-8000-000000000010","isSidechain":false,"type":"system","subtype":"compact_boundary",`; !strings.HasPrefix(added[0], begin) {
		t.Errorf("the boundary is %s", added[0])
	}
	if want := fmt.Sprintf(`"preservedMessages":{"anchorUuid":%q,"uuids":["00000000-0000-4000-8000-000000000009","00000000-0000-4000-8000-000000000010"]`, jsonl.UUIDOf("msg_news")); !strings.Contains(added[0], want) {
		t.Errorf("the boundary lacks %s:\n%s", want, added[0])
	}
	if want := `"content":"## Summary new\n\n## Carried new"},"isVisibleInTranscriptOnly":true,"isCompactSummary":true,`; !strings.Contains(added[1], want) {
		t.Errorf("the summary lacks %s:\n%s", want, added[1])
	}
	if begin := fmt.Sprintf(`{"parentUuid":%q,"isSidechain":false,"type":"user","message":{"role":"user","content":"Continue new"},"isMeta":true,`, jsonl.UUIDOf("msg_news")); !strings.HasPrefix(added[2], begin) {
		t.Errorf("the continuation is %s", added[2])
	}
}

func TestWrite_undoneCompactionOfTheProductGivesTheWholeHistory(t *testing.T) {
	doc := readFile(t, "compacted.jsonl")
	marker := doc.Session.Messages[5].ID
	file := write(t, doc, format.Change{Session: doc.Session, Ledger: doc.Ledger, Undone: map[string]bool{marker: true}})
	if bytes.Contains(file, []byte("compact_boundary")) || bytes.Contains(file, []byte("isCompactSummary")) {
		t.Error("the compaction is still in the file")
	}
	if want := `{"parentUuid":"00000000-0000-4000-8000-000000000006","isSidechain":false,"type":"user","message":{"role":"user","content":"Is it dry?"}`; !bytes.Contains(file, []byte(want)) {
		t.Errorf("what came after does not hang on what came before:\n%s", file)
	}
	want := slices.Delete(slices.Clone(doc.Session.Messages), 5, 7)
	if diff := cmp.Diff(want, read(t, file).Session.Messages); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

func TestWrite_undoneRecordOfTheProductIsTakenBack(t *testing.T) {
	doc := readFile(t, "compacted.jsonl")
	if doc.Ledger.Len() != 1 {
		t.Fatalf("%d elisions were read, want 1", doc.Ledger.Len())
	}
	after := read(t, write(t, doc, format.Change{Session: doc.Session}))
	if after.Ledger.Len() != 0 {
		t.Errorf("still there: %+v", after.Ledger.All())
	}
}

func TestWrite_pendingMarkerIsNotWritten(t *testing.T) {
	doc := readFile(t, "compacted.jsonl")
	for name, spoil := range map[string]func(s *session.Session) int{
		"no summary": func(s *session.Session) int { return len(s.Messages) - 1 },
		"a failed one": func(s *session.Session) int {
			s.Messages[len(s.Messages)-1].Error = jsontext.Value(`{"name":"x"}`)
			return 0
		},
		"an unfinished one": func(s *session.Session) int { s.Messages[len(s.Messages)-1].Finish = ""; return 0 },
	} {
		s := fold(doc.Session, "new", "")
		s.Messages = s.Messages[:len(s.Messages)-1] // without the continuation
		if n := spoil(&s); n > 0 {
			s.Messages = s.Messages[:n]
		}
		if file := write(t, doc, format.Change{Session: s, Ledger: doc.Ledger}); !bytes.Equal(file, doc.Source) {
			t.Errorf("%s: %s was added", name, file[len(doc.Source):])
		}
	}
}

func TestWrite_fromElsewhere(t *testing.T) {
	s := session.Session{Info: session.Info{ID: "ses_x", Directory: "/home/dev/shop"}}
	call := func(id, call string, state session.ToolState) session.Part {
		return session.Part{ID: id, Type: session.ToolPart, CallID: call, Tool: "read.file", State: &state}
	}
	s.Messages = []session.Message{
		{MessageInfo: session.MessageInfo{ID: "msg_1", Role: session.User}, Parts: []session.Part{
			{ID: "p1", Type: session.TextPart, Text: "Look \xff at this."}, {ID: "p2", Type: session.FilePart, Mime: "image/png", URL: "data:image/png;base64,iVBO"},
			{ID: "p2b", Type: session.FilePart, Mime: "text/plain", URL: "data:text/plain,one%0Atwo"}, {ID: "p2c", Type: session.FilePart, Mime: "application/zip", Filename: "all.zip", URL: "file:///all.zip"}}},
		{MessageInfo: session.MessageInfo{ID: "msg_2", Role: session.Assistant, ModelID: "m", ProviderID: "other", Finish: "tool-calls", Tokens: &session.Usage{Input: 5, Output: 6, Cache: session.CacheUsage{Read: 7, Write: 8}}}, Parts: []session.Part{
			{ID: "p3", Type: session.StepStartPart}, {ID: "p4", Type: session.ReasoningPart, Text: "unsigned"},
			call("p5", "c|1", session.ToolState{Status: session.Completed, Input: jsontext.Value("{\n\"path\": \"a\"\n}"), Output: "out", Attachments: []session.Part{{ID: "f", Type: session.FilePart, Mime: "image/png", URL: "data:image/png;base64,AAAA"}}}),
			call("p6", "c|1", session.ToolState{Status: session.Failed, Input: jsontext.Value(`[]`), Error: "no"}),
			call("p7", "", session.ToolState{Status: session.Running}),
			{ID: "p8", Type: session.TextPart, Text: "after"}}},
	}
	s = fold(s, "x", "msg_2")
	ledger := rule.NewLedger(rule.Elision{Part: "p5", Message: "msg_2", Field: rule.Output, Shown: "[left out]"})
	file := write(t, nil, format.Change{Session: s, Ledger: ledger})
	if again := write(t, nil, format.Change{Session: s, Ledger: ledger}); !bytes.Equal(file, again) {
		t.Error("the same session gave two files")
	}
	doc := read(t, file)
	if !(Format{}).Detect(file) || len(doc.Damaged) > 0 || !jsonl.IsUUID(doc.Session.Info.ID) {
		t.Errorf("damaged %v, session %s", doc.Damaged, doc.Session.Info.ID)
	}
	if problems := session.Check(doc.Session.Messages); problems != nil {
		t.Error(problems)
	}
	var got []string
	for _, m := range doc.Session.Messages {
		for _, p := range m.Parts {
			line := string(m.Role) + " " + string(p.Type) + " " + p.Text + p.URL
			if p.State != nil {
				line += fmt.Sprintf("%s %s %s %s %d", p.Tool, p.State.Status, p.State.Input, p.State.Result(), len(p.State.Attachments))
			}
			got = append(got, line)
		}
	}
	want := []string{
		"user text Look \uFFFD at this.", "user file data:image/png;base64,iVBO", "user text one\ntwo", "user text [File: all.zip]",
		`assistant tool read_file completed {"path":"a"} out 1`, `assistant tool read_file error {} no 0`, `assistant tool read_file running {} ` + " 0",
		"assistant text after", "user compaction ", "assistant text ## Summary x", "assistant text ## Carried x", "user text Continue x",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
	if tail := doc.Session.Messages[2].Marker().TailStartID; tail != doc.Session.Messages[1].ID {
		t.Errorf("the tail begins at %q, want %q", tail, doc.Session.Messages[1].ID)
	}
	if doc.Ledger.Len() != 1 {
		t.Errorf("%d elisions came back, want 1", doc.Ledger.Len())
	}
	unchanged(t, doc)
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestWrite_reportsWhatTheWriterSays(t *testing.T) {
	doc := readFile(t, "compacted.jsonl")
	err := Format{}.Write(brokenWriter{}, doc, format.Change{Session: fold(doc.Session, "x", "")})
	if err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("the error is %v", err)
	}
}

// long is a session of about this size.
func long(size int) []byte {
	var file bytes.Buffer
	parent, n := "", 0
	entry := func(kind, message, more string) {
		n++
		id := jsonl.UUIDOf(fmt.Sprint(n))
		p := "null"
		if parent != "" {
			p = `"` + parent + `"`
		}
		fmt.Fprintf(&file, `{"parentUuid":%s,"isSidechain":false,"type":%q,"message":%s,"uuid":%q,"timestamp":"2026-01-01T00:00:00.000Z"%s,"userType":"external","cwd":"/home/dev/shop","sessionId":"5e551011-0000-4000-8000-000000000001","version":"2.1.197","gitBranch":"main"}`+"\n",
			p, kind, message, id, more)
		parent = id
	}
	source := strings.Repeat("\tfor i := range shelves {\n\t\tcount += shelves[i].Len() // \"every\" one\n\t}\n", 60)
	entry("user", `{"role":"user","content":"Count the shelves."}`, "")
	for call := 0; file.Len() < size; call++ {
		body := `{"model":"claude-opus-4-8","id":"msg_%d","type":"message","role":"assistant","content":[%s],"stop_reason":"tool_use","usage":{"input_tokens":12,"cache_creation_input_tokens":300,"cache_read_input_tokens":4000,"output_tokens":25}}`
		entry("assistant", fmt.Sprintf(body, call, `{"type":"text","text":"The next shelf."}`), "")
		entry("assistant", fmt.Sprintf(body, call, fmt.Sprintf(`{"type":"tool_use","id":"toolu_%d","name":"Read","input":{"file_path":"/home/dev/shop/shelf%d.go"}}`, call, call)), "")
		text := span.Quote(source)
		entry("user", fmt.Sprintf(`{"role":"user","content":[{"tool_use_id":"toolu_%d","type":"tool_result","content":%s}]}`, call, text),
			fmt.Sprintf(`,"toolUseResult":{"type":"text","file":{"filePath":"/home/dev/shop/shelf%d.go","content":%s,"numLines":180}}`, call, text))
		if call%40 == 39 {
			entry("assistant", fmt.Sprintf(body, call+1_000_000, `{"type":"text","text":"All counted."}`), "")
			entry("user", `{"role":"user","content":"And the next room."}`, "")
		}
	}
	return file.Bytes()
}

func BenchmarkRead(b *testing.B) {
	src := long(9 << 20)
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		read(b, src)
	}
}

func BenchmarkWrite_fold(b *testing.B) {
	src := long(9 << 20)
	doc := read(b, src)
	var elisions []rule.Elision
	for _, m := range doc.Session.Messages {
		for _, p := range m.Parts {
			if p.Type == session.ToolPart && len(elisions) < 500 {
				elisions = append(elisions, rule.Elision{Part: p.ID, Message: m.ID, Field: rule.Output, Shown: "[left out]"})
			}
		}
	}
	change := format.Change{Session: fold(doc.Session, "x", doc.Session.Messages[len(doc.Session.Messages)/2].ID), Ledger: rule.NewLedger(elisions...)}
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		write(b, doc, change)
	}
}
