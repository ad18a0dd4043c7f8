package opencode

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
)

func testdata(tb testing.TB, name string) []byte {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

// outline is a log in a few words: a line for each message, with its parts.
func outline(s *session.Session) string {
	var b strings.Builder
	for i := range s.Messages {
		m := &s.Messages[i]
		fmt.Fprintf(&b, "%s %s:", m.Role, short(m.ID))
		for _, p := range m.Parts {
			fmt.Fprintf(&b, " %s", p.Type)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func short(id string) string { return strings.TrimSuffix(id, "Testdata000001") }

func TestRead_export(t *testing.T) {
	doc := read(t, testdata(t, "session.json"))
	want := `user msg_d00000000001: text file
assistant msg_d00000000002: step-start tool tool tool hologram text step-finish
user msg_d00000000003: compaction
assistant msg_d00000000004: text
`
	if diff := cmp.Diff(want, outline(&doc.Session)); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(format.Counts{Entries: 4, Messages: 4, ToolCalls: 3, ToolResults: 3}, doc.Counts); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	m := doc.Session.Messages
	if m[2].Marker() == nil || m[2].Marker().TailStartID != m[1].ID || !m[3].Completes() || m[3].ParentID != m[2].ID {
		t.Error("the pivot is not one")
	}
	if got := m[0].Time.Created; got != 1795000000000.25 {
		t.Errorf("the fraction of a time is lost: %v", got)
	}
	if m[0].Variant != "high" || !bytes.Contains(m[0].Summary, []byte(`"before"`)) {
		t.Error("what older releases wrote is lost")
	}
	if got := string(m[1].Parts[4].Unknown); got != `{"depth":3}` && got != `{"depth": 3}` {
		t.Errorf("the members of an unknown part: %s", got)
	}
	wantLedger := []rule.Elision{{
		Part: m[1].Parts[1].ID, Message: m[1].ID, Field: rule.Output, Rule: rule.Mark, Shown: rule.Cleared,
		Because: "it was already marked in the file that it was read from", Time: 1795000008000,
	}}
	if diff := cmp.Diff(wantLedger, doc.Ledger.All()); diff != "" {
		t.Errorf("ledger (-want +got):\n%s", diff)
	}
	if len(doc.Damaged) > 0 {
		t.Errorf("damaged: %v", doc.Damaged)
	}
}

const (
	head = `{"info":{"id":"ses_1","slug":"s","projectID":"p","directory":"/","title":"t","version":"1","time":{"created":1,"updated":2}},"messages":[`
	one  = `{"info":{"id":"msg_1","sessionID":"ses_1","role":"user","time":{"created":1},"agent":"a","model":{"providerID":"p","modelID":"m"}},"parts":[{"id":"prt_1","sessionID":"ses_1","messageID":"msg_1","type":"text","text":"one"}]}`
)

// answer is an assistant message with these parts.
func answer(id, parts string) string {
	return `{"info":{"id":"` + id + `","sessionID":"ses_1","role":"assistant","time":{"created":2}},"parts":[` + parts + `]}`
}

func part(id, members string) string {
	return `{"id":"` + id + `","sessionID":"ses_1","messageID":"msg_2","type":"text",` + members + `}`
}

// damage is a piece that is expected to be listed: how it begins, and how the reason does.
type damage struct{ at, reason string }

func TestRead_damageCostsOnePiece(t *testing.T) {
	deep := strings.Repeat(`[`, 10_001) + strings.Repeat(`]`, 10_001)
	good := part("prt_3", `"text":"good"`)
	for name, c := range map[string]struct {
		src     string
		log     string
		damaged []damage
	}{
		"a status line before":             {"Exporting session: ses_1\n" + head + one + `]}`, "user msg_1: text\n", nil},
		"a status line on the same line":   {"Exporting session: ses_1" + head + one + `]}`, "user msg_1: text\n", nil},
		"a byte order mark and text after": {"\ufeff" + head + one + "]}\nDone\n", "user msg_1: text\n", nil},
		"a part that does not fit": {head + answer("msg_2", part("prt_2", `"text":5`)+","+good) + `]}`,
			"assistant msg_2: text\n", []damage{{`{"id":"prt_2"`, `a part was skipped: a JSON number does not fit at /text`}}},
		"a part without a type": {head + answer("msg_2", `{"id":"x"},`+good) + `]}`,
			"assistant msg_2: text\n", []damage{{`{"id":"x"}`, `a part was skipped: a part has a type`}}},
		"a part that is no JSON": {head + answer("msg_2", `{"id":nope},`+good) + `]}`,
			"assistant msg_2: text\n", []damage{{`{"id":nope}`, `a part was skipped: invalid character`}}},
		"a part that is nested too deep": {head + answer("msg_2", part("prt_2", `"x":`+deep)+","+good) + `]}`,
			"assistant msg_2: text\n", []damage{{`{"id":"prt_2"`, `a part was skipped: it is nested deeper than 10,000 levels`}}},
		"a message that is nested too deep": {head + `{"info":{"x":` + deep + `}},` + one + `]}`,
			"user msg_1: text\n", []damage{{`{"info":{"x"`, `a message was skipped: the message has no info`}, {`"x":`, `a message's info: the member "x" does not fit: it is nested deeper`}}},
		"a message that is a number": {head + `5,` + one + `]}`, "user msg_1: text\n", []damage{{`5,`, `a message was skipped: a message is a JSON object`}}},
		"a message without info":     {head + `{"parts":[]},` + one + `]}`, "user msg_1: text\n", []damage{{`{"parts"`, `a message was skipped: the message has no info`}}},
		"a member of info that does not fit": {head + `{"info":{"id":"msg_1","role":"user","time":{"created":"x"},"agent":"a"},"parts":[]}]}`,
			"user msg_1:\n", []damage{{`"time":{"created":"x"}`, `a message's info: the member "time" does not fit`}}},
		"usage with a fraction": {head + `{"info":{"id":"msg_2","role":"assistant","tokens":{"input":1.5}},"parts":[]},` + one + `]}`,
			"assistant msg_2:\nuser msg_1: text\n", []damage{{`"tokens":`, `a message's info: the member "tokens" does not fit`}}},
		"info of the session that does not fit": {`{"info":{"id":"ses_1","title":5},"messages":[` + one + `]}`,
			"user msg_1: text\n", []damage{{`"title":5`, `info: the member "title" does not fit`}}},
		"parts that are no list": {head + `{"info":{"id":"msg_1","role":"user"},"parts":7}]}`,
			"user msg_1:\n", []damage{{`7}`, `parts is not a list`}}},
		"the end inside a part": {head + one + "," + answer("msg_2", good+`,`+part("prt_9", `"text":"cut`)),
			"user msg_1: text\nassistant msg_2: text\n", []damage{{`{"id":"prt_9"`, `the file ends inside a message`}}},
		"the end inside a message's info":   {head + one + `,{"info":{"id":"msg_2","ro`, "user msg_1: text\n", []damage{{`"info":{"id":"msg_2"`, `the file ends inside a message`}}},
		"the end between messages":          {head + one + `,`, "user msg_1: text\n", []damage{{``, `the file ends before its JSON does`}}},
		"the end inside the session's info": {`{"info":{"id":"ses_1","title":"a`, "", []damage{{`,"title":"a`, `info: the file ends inside it`}}},
		"a list that is not closed":         {head + one + `}`, "user msg_1: text\n", []damage{{`}`, `the list of messages is not closed`}}},
		"a broken string on lines of their own": {"{\"info\":{\"id\":\"ses_1\"},\"messages\":[\n  " + one + ",\n  " +
			answer("msg_2", good+`,{"id":"prt_9","type":"text","text":"broken}`) + ",\n  " + strings.ReplaceAll(one, "msg_1", "msg_3") + "\n]}",
			"user msg_1: text\nassistant msg_2: text\nuser msg_3: text\n", []damage{{`{"id":"prt_9"`, `the text breaks off inside a message`}}},
	} {
		t.Run(name, func(t *testing.T) {
			src := []byte(c.src)
			doc := read(t, src)
			if diff := cmp.Diff(c.log, outline(&doc.Session)); diff != "" {
				t.Errorf("log (-want +got):\n%s", diff)
			}
			if len(doc.Damaged) != len(c.damaged) {
				t.Errorf("damaged: %+v, want %+v", doc.Damaged, c.damaged)
			}
			for i, d := range doc.Damaged[:min(len(doc.Damaged), len(c.damaged))] {
				if d.Offset+int64(d.Bytes) > int64(len(src)) || d.Bytes < 0 {
					t.Fatalf("damage outside the file: %+v", d)
				}
				at := src[d.Offset : d.Offset+int64(d.Bytes)]
				if want := c.damaged[i]; !strings.HasPrefix(string(at), want.at) && !strings.HasPrefix(want.at, string(at)) || !strings.HasPrefix(d.Reason, want.reason) {
					t.Errorf("damage %d: %q at %.40q, want %q at %q", i, d.Reason, at, want.reason, want.at)
				}
				if want := 1 + strings.Count(c.src[:d.Offset], "\n"); d.Line != want {
					t.Errorf("damage %d: line %d, want %d", i, d.Line, want)
				}
			}
			staysReadable(t, doc)
		})
	}
}

// staysReadable holds that a document is written as it was read without a change, and as JSON with the same log and one more
// message with one.
func staysReadable(t failer, doc *format.Document) {
	t.Helper()
	if got := write(t, doc, unchanged(doc)); !bytes.Equal(got, doc.Source) {
		t.Errorf("written without change, the file differs:\n%s", got)
	}
	change := oneMore(doc)
	text := write(t, doc, change)
	if !sound(text) {
		t.Fatalf("with a message more the file is no JSON:\n%s", text)
	}
	again := read(t, text)
	want := outline(&change.Session)
	if got := outline(&again.Session); got != want {
		t.Errorf("with a message more (-want +got):\n%s\n%s", cmp.Diff(want, got), text)
	}
	if diff := cmp.Diff(doc.Ledger.All(), again.Ledger.All()); diff != "" {
		t.Errorf("with a message more the ledger changed (-want +got):\n%s", diff)
	}
}

// oneMore is the change that appends a message.
func oneMore(doc *format.Document) format.Change {
	change := unchanged(doc)
	change.Session.Messages = append(slices.Clone(doc.Session.Messages), session.Message{
		MessageInfo: session.MessageInfo{ID: "msg_zzzz_appended", Role: session.User, Time: session.MessageTime{Created: 1}},
		Parts:       []session.Part{{ID: "prt_zzzz_appended", Type: session.TextPart, Text: "one more"}},
	})
	return change
}

func TestRead_everyCutKeepsWhatIsBeforeIt(t *testing.T) {
	src := testdata(t, "session.json")
	whole := read(t, src)
	parts := 0
	for n := range len(src) - 1 {
		doc, err := Format{}.Read(src[:n])
		if err != nil {
			var syntax *format.SyntaxError
			if !errors.As(err, &syntax) || n > 20 {
				t.Fatalf("cut after %d bytes: %v", n, err)
			}
			continue
		}
		if len(doc.Damaged) == 0 && n < len(bytes.TrimSpace(src)) {
			t.Fatalf("cut after %d bytes: no damage", n)
		}
		now := 0
		for i, m := range doc.Session.Messages {
			now += len(m.Parts)
			if n%31 != 0 {
				continue
			}
			if diff := cmp.Diff(whole.Session.Messages[i].Parts[:len(m.Parts)], m.Parts, samePart()); diff != "" {
				t.Fatalf("cut after %d bytes, message %d (-want +got):\n%s", n, i, diff)
			}
		}
		if now < parts {
			t.Fatalf("cut after %d bytes: %d parts, %d before", n, now, parts)
		}
		parts = now
		if n%31 == 0 {
			staysReadable(t, doc)
		}
		if t.Failed() {
			t.Fatalf("cut after %d bytes", n)
		}
	}
	if parts != 11 {
		t.Errorf("%d parts at the end, want 11", parts)
	}
}

// samePart lets parts be compared that were read from bytes with different white space.
func samePart() cmp.Option {
	return cmp.Comparer(func(a, b jsontext.Value) bool {
		a, b = slices.Clone(a), slices.Clone(b)
		return a.Compact(session.ReadOptions()) == nil && b.Compact(session.ReadOptions()) == nil && bytes.Equal(a, b) || bytes.Equal(a, b)
	})
}

func TestRead_whatIsNoExport(t *testing.T) {
	for _, src := range []string{"", " \n", "hello", "{}", "[]", "null", "[1,2]", `{"a":1}`, "{", "\x00\x01", `{"type":"user"}` + "\n", `{"model":"m","messages":[{"role":"user","content":"hi"}]}`, "Exporting session: x"} {
		_, err := Format{}.Read([]byte(src))
		var syntax *format.SyntaxError
		if !errors.As(err, &syntax) || syntax.Format != Name || syntax.Expected == "" {
			t.Errorf("%q: %v, want a syntax error that says what was expected", src, err)
		}
	}
}

func TestRead_completesWhatIsMissing(t *testing.T) {
	src := []byte(`{"info":{},"messages":[{"info":{"role":"user"},"parts":[{"type":"text"},{"type":"text"}]},{"info":{"role":"user"},"parts":[]}]}`)
	doc, again := read(t, src), read(t, src)
	if diff := cmp.Diff(doc.Session, again.Session); diff != "" {
		t.Errorf("two readings differ:\n%s", diff)
	}
	ids := map[string]bool{doc.Session.Info.ID: true}
	for _, m := range doc.Session.Messages {
		if m.SessionID != doc.Session.Info.ID || ids[m.ID] || !proper(session.MessageID, m.ID) {
			t.Errorf("message %q of %q", m.ID, m.SessionID)
		}
		ids[m.ID] = true
		for _, p := range m.Parts {
			if p.MessageID != m.ID || p.SessionID != m.SessionID || ids[p.ID] || !proper(session.PartID, p.ID) {
				t.Errorf("part %q of %q of %q", p.ID, p.MessageID, p.SessionID)
			}
			ids[p.ID] = true
		}
	}
	if len(ids) != 5 {
		t.Errorf("%d ids, want 5", len(ids))
	}
}

func TestRead_oddTextIsNotLost(t *testing.T) {
	src := head + answer("msg_2", part("prt_2", `"text":"a\ud800b\u0000c`+"\xff"+`"`)+`,`+part("prt_2", `"text":"same id"`)) + `,` + one + `]}`
	doc := read(t, []byte(src))
	if got, want := doc.Session.Messages[0].Parts[0].Text, "a\ufffdb\x00c\ufffd"; got != want || len(doc.Session.Messages[0].Parts) != 2 {
		t.Errorf("text %q, want %q", got, want)
	}
	staysReadable(t, doc)
}

func TestRead_fiftyMegabytesInOnePart(t *testing.T) {
	if testing.Short() {
		t.Skip("takes memory")
	}
	big := strings.Repeat(`x\n`, 50<<20/3)
	doc := read(t, []byte(head+answer("msg_2", part("prt_2", `"text":"`+big+`"`))+`]}`))
	if got := len(doc.Session.Messages[0].Parts[0].Text); got != 50<<20/3*2 {
		t.Errorf("%d characters", got)
	}
}

func TestRead_sanitizedExport(t *testing.T) {
	src := strings.Replace(head, `"title":"t"`, `"title":"[redacted:session-title:ses_1]"`, 1) + one + `]}`
	if doc := read(t, []byte(src)); doc.Counts.Messages != 1 || len(doc.Damaged) > 0 {
		t.Errorf("counts %+v, damaged %v", doc.Counts, doc.Damaged)
	}
}

func TestRead_whatTheUserTookBackIsAside(t *testing.T) {
	src := string(testdata(t, "session.json"))
	for name, c := range map[string]struct {
		revert, log string
		aside       int
	}{
		"a message and what follows": {`{"messageID":"msg_d00000000003Testdata000001"}`,
			"user msg_d00000000001: text file\nassistant msg_d00000000002: step-start tool tool tool hologram text step-finish\n", 2},
		"parts of a message": {`{"messageID":"msg_d00000000002Testdata000001","partID":"prt_d00000000005Testdata000001"}`,
			"user msg_d00000000001: text file\nassistant msg_d00000000002: step-start tool\n", 2},
		"a message that is not there": {`{"messageID":"msg_gone"}`, outline(&read(t, []byte(src)).Session), 0},
	} {
		t.Run(name, func(t *testing.T) {
			doc := read(t, []byte(strings.Replace(src, `"time": {`, `"revert": `+c.revert+`, "time": {`, 1)))
			if got := outline(&doc.Session); got != c.log || doc.Counts.Aside != c.aside || doc.Counts.Messages != 4 {
				t.Errorf("counts %+v, log (-want +got):\n%s", doc.Counts, cmp.Diff(c.log, got))
			}
			staysReadable(t, doc)
			marked := unchanged(doc)
			marked.Ledger = rule.Ledger{}
			if text := string(write(t, doc, marked)); !strings.Contains(text, `"revert"`) || !strings.Contains(text, "The clock ticks.") {
				t.Error("with a mark restored, what was taken back is gone")
			}
			text := string(write(t, doc, oneMore(doc)))
			if c.aside > 0 && (strings.Contains(text, `"revert"`) || strings.Contains(text, "The clock ticks.") || strings.Contains(text, "prt_d00000000009") == (name == "parts of a message")) {
				t.Errorf("with a message more, what was taken back is left:\n%s", text)
			}
		})
	}
}

func TestDetect(t *testing.T) {
	src := testdata(t, "session.json")
	for name, c := range map[string]struct {
		head []byte
		want bool
	}{
		"an export":               {src, true},
		"its beginning":           {src[:200], true},
		"after a status line":     {append([]byte("Exporting session: ses_1\n"), src...), true},
		"a foreign session's id":  {[]byte(`{"info":{"id":"x"},"messages":[`), true},
		"a shared session":        {[]byte(`[{"type":"session","data":{"id":"ses_1"}}`), true},
		"the second generation":   {[]byte(`{"info":{"id":"ses_1"},"messages":[{"id":"msg_1","type":"user"`), true},
		"a request body":          {[]byte(`{"model":"m","messages":[{"role":"user","content":"x"}]}`), false},
		"lines of another":        {[]byte(`{"type":"user","message":{"role":"user"}}` + "\n"), false},
		"a list of other objects": {[]byte(`[{"role":"user","content":"x"}]`), false},
		"nothing":                 {nil, false},
		"prose":                   {[]byte("Once upon a time {"), false},
	} {
		if got := (Format{}).Detect(c.head); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
