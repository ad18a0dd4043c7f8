package session

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

func TestSession_roundTripKeepsEveryMember(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "every-part.json"))
	if err != nil {
		t.Fatal(err)
	}
	var s Session
	if err := json.Unmarshal(text, &s, ReadOptions()); err != nil {
		t.Fatal(err)
	}
	written, err := json.Marshal(&s)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(canonical(t, text), canonical(t, written)); diff != "" {
		t.Errorf("members changed on the way (-read +written):\n%s", diff)
	}
}

func canonical(t *testing.T, text []byte) string {
	t.Helper()
	v := jsontext.Value(append([]byte(nil), text...))
	if err := v.Canonicalize(); err != nil {
		t.Fatal(err)
	}
	if err := v.Indent(); err != nil {
		t.Fatal(err)
	}
	return string(v)
}

func user(parts ...Part) Message {
	return Message{MessageInfo: MessageInfo{Role: User}, Parts: parts}
}

func TestMessage_written(t *testing.T) {
	for name, c := range map[string]struct {
		message Message
		want    bool
	}{
		"typed text":                   {user(Part{Type: TextPart, Text: "fix it"}), true},
		"a file alone":                 {user(Part{Type: FilePart, Mime: "image/png"}), true},
		"synthetic text":               {user(Part{Type: TextPart, Text: "go on", Synthetic: true}), false},
		"ignored text":                 {user(Part{Type: TextPart, Text: "note", Ignored: true}), false},
		"typed text with synthetic":    {user(Part{Type: TextPart, Synthetic: true}, Part{Type: TextPart, Text: "a"}), true},
		"a marker":                     {user(Part{Type: CompactionPart}), false},
		"a marker with text":           {user(Part{Type: TextPart, Text: "a"}, Part{Type: CompactionPart}), false},
		"nothing":                      {user(), false},
		"an assistant's text":          {Message{MessageInfo: MessageInfo{Role: Assistant}, Parts: []Part{{Type: TextPart}}}, false},
		"a synthetic file after typed": {user(Part{Type: TextPart, Text: "see"}, Part{Type: FilePart, Synthetic: true}), true},
	} {
		if got := c.message.Written(); got != c.want {
			t.Errorf("%s: Written() = %v, want %v", name, got, c.want)
		}
	}
}

func TestTurns_startAtWrittenMessagesOnly(t *testing.T) {
	messages := []Message{
		{MessageInfo: MessageInfo{Role: Assistant}},
		user(Part{Type: TextPart, Text: "one"}),
		{MessageInfo: MessageInfo{Role: Assistant}},
		user(Part{Type: CompactionPart}),
		{MessageInfo: MessageInfo{Role: Assistant}},
		user(Part{Type: TextPart, Text: "Continue", Synthetic: true}),
		{MessageInfo: MessageInfo{Role: Assistant}},
		user(Part{Type: TextPart, Text: "two"}),
	}
	want := []Turn{{1, 7}, {7, 8}}
	if diff := cmp.Diff(want, Turns(messages)); diff != "" {
		t.Errorf("turns (-want +got):\n%s", diff)
	}
}

func TestCheck_namesWhatAProviderWouldRefuse(t *testing.T) {
	call := Part{ID: "p1", Type: ToolPart, CallID: "c1", State: &ToolState{Status: Completed}}
	again := call
	again.ID = "p2"
	messages := []Message{
		{MessageInfo: MessageInfo{ID: "m1", Role: Assistant}, Parts: []Part{call, again}},
		{MessageInfo: MessageInfo{ID: "m1", Role: User}, Parts: []Part{{ID: "p3", Type: ToolPart}}},
	}
	var got []string
	for _, p := range Check(messages) {
		got = append(got, p.String())
	}
	want := []string{
		`message m1, part p2: call id "c1" occurs twice`,
		`message m1: the id occurs twice`,
		`message m1, part p3: a tool call outside an assistant message`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestNote_survivesItsMetadata(t *testing.T) {
	m := user(Part{Type: TextPart, Metadata: Note{Pivot: "msg_1", Replay: "msg_0"}.Metadata()})
	if got := m.Companion(); got != "msg_1" {
		t.Errorf("Companion() = %q, want msg_1", got)
	}
	if n, ok := (&Part{Type: TextPart, Metadata: []byte(`{"other":1}`)}).Note(); ok {
		t.Errorf("a foreign metadata gave the note %+v", n)
	}
}

func TestFindPart_aPartsOwnIDComesBeforeACallID(t *testing.T) {
	call := func(part, call string) Message {
		return Message{Parts: []Part{{ID: part, Type: ToolPart, CallID: call}}}
	}
	log := []Message{call("c1", "c1"), call("c1#2", "c1"), call("p3", "c3"), call("p4", "c3")}
	for name, want := range map[string]string{
		"c1":   "c1", // the older part has the id of the call, the newer one another
		"c1#2": "c1#2",
		"c3":   "p4", // of a call id the newest
		"p3":   "p3",
	} {
		if _, p := FindPart(log, name); p == nil || p.ID != want {
			t.Errorf("FindPart(%q) = %v, want part %s", name, p, want)
		}
	}
	if m, p := FindPart(log, "nowhere"); m != nil || p != nil {
		t.Errorf("FindPart of a name that nothing has = %v, %v", m, p)
	}
}
