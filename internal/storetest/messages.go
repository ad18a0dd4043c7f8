package storetest

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

func order(t *testing.T, s store.Store) {
	born(t, s)
	// Ids that descend, that repeat in the session, that are empty; parts that share ids; clocks
	// that run backwards.
	messages := []session.Message{
		message("msg_9", session.User, "a", "b", "c"), message("msg_1", session.Assistant, "d"),
		message("", session.User, "e"),
		message("msg_9", session.Assistant, "f"), message("msg_5", session.User), message("", session.User, "g", ""),
	}
	for i := range messages {
		messages[i].Time.Created = session.Millis(100 - i)
	}
	apply(t, s, store.Change{Append: messages[:4]})
	apply(t, s, store.Change{Append: messages[4:]})
	want := []session.Message{messages[5], messages[4], messages[3], messages[2], messages[1], messages[0]}
	equal(t, "log, newest first", want, log(t, s))

	must(t, s.Create(t.Context(), session.Info{ID: "other"}))
	_, err := s.Apply(t.Context(), "other", store.Change{Append: []session.Message{message("msg_9", session.User,
		"elsewhere")}})
	must(t, err)
	equal(t, "log, with the same ids in another session", want, log(t, s))
	equal(t, "the other log", []session.Message{message("msg_9", session.User, "elsewhere")},
		collect(t, s.Messages(t.Context(), "other")))
}

func earlyStop(t *testing.T, s store.Store) {
	born(t, s)
	for i := range 20 {
		apply(t, s, store.Change{Append: []session.Message{message(fmt.Sprint(i), session.User, "a", "b")}})
	}
	for range 20 { // what one iteration holds on to must not run out
		var read []string
		for m, err := range s.Messages(t.Context(), "ses") {
			must(t, err)
			if read = append(read, m.ID); len(read) == 3 {
				break
			}
		}
		equal(t, "read before the stop", []string{"19", "18", "17"}, read)
	}
	apply(t, s, store.Change{Append: []session.Message{message("20", session.User)}})
	equal(t, "messages in all", 21, len(log(t, s)))
}

func oneMoment(t *testing.T, s store.Store) {
	want := []session.Message{message("a", session.User, "1"), message("b", session.Assistant, "2"),
		message("c", session.User, "3")}
	born(t, s, want...)
	var got []session.Message
	for m, err := range s.Messages(t.Context(), "ses") {
		must(t, err)
		got = append(got, m)
		if len(got) == 1 {
			decide(t, s, store.Change{
				Append: []session.Message{message("d", session.User, "4")},
				Update: []session.Message{message("a", session.User, "changed", "changed")},
			})
			must(t, s.Delete(t.Context(), "ses"))
		}
	}
	equal(t, "log of the moment", []session.Message{want[2], want[1], want[0]}, got)
}

func nestedReads(t *testing.T, s store.Store) {
	born(t, s, message("a", session.User, "1"), message("b", session.User, "2"))
	var depth func(n int) int
	depth = func(n int) int {
		if n == 0 {
			return state(t, s).Messages
		}
		total := 0
		for _, err := range s.Messages(t.Context(), "ses") {
			must(t, err)
			total += depth(n - 1)
		}
		return total
	}
	equal(t, "messages counted eight reads deep", 2*256, depth(8))
}

// strange is a message of each kind that a store may be tempted to change.
func strange(t testing.TB) []session.Message {
	read := func(text string) (m session.Message) {
		t.Helper()
		must(t, json.Unmarshal([]byte(text), &m, session.ReadOptions()))
		return m
	}
	bytes := make([]byte, 512)
	for i := range bytes {
		bytes[i] = byte(i)
	}
	messages := []session.Message{
		// Members that nobody knows, on every level; numbers that float64 does not hold; lone
		// surrogates; duplicate names.
		read(`{"info":{"id":"u","sessionID":"ses","role":"user","time":{"created":1.25,"zone":"x"},"new":{"a":[1,2]},
			"tokens":{"input":1,"output":2,"reasoning":3,"cache":{"read":4,"write":5,"ttl":"1h"},"big":12345678901234567890}},
			"parts":[{"id":"p","sessionID":"ses","messageID":"u","type":"hologram","beam":"\ud800\u00e9\/","beam":1e400,"nested":{"k":null}},
			{"id":"t","sessionID":"ses","messageID":"u","type":"tool","callID":"c","tool":"x","state":{"status":"completed",
			"input":{"a":"\ud83d","b":1.0,"b":2.50,"\u0061":[]},"output":"o","title":"","metadata":{},"time":{"start":1,"end":2},"extra":[{}]}}],
			"outer":true}`),
		// White space in raw JSON.
		read("{\"info\":{\"id\":\"w\",\"sessionID\":\"ses\",\"role\":\"assistant\",\"time\":{\"created\":1},\"error\":{\n  \"name\" : \"x\"\n}},\n" +
			"\"parts\":[{\"id\":\"w1\",\"sessionID\":\"ses\",\"messageID\":\"w\",\"type\":\"text\",\"text\":\"x\",\"metadata\":{\t\"a\": 1 },\"u\": [ 1,\r\n2 ]}]}"),
		// Text that is not UTF-8, in what has names of its own too.
		{MessageInfo: session.MessageInfo{ID: "i\xff", SessionID: "\xed\xa0\x80", Role: "\xfe", Agent: "a\x00b"},
			Parts: []session.Part{
				{ID: "\x00", Type: "\xff\xff", Text: string(bytes)},
				{ID: "", Type: session.ToolPart,
					State: &session.ToolState{Status: session.Failed, Error: string(bytes)}},
			}},
		// Absent, null and empty are three things; so are numbers that JSON does not have.
		{Parts: []session.Part{
			{Type: session.ToolPart}, {Type: session.ToolPart, State: &session.ToolState{}},
			{Type: session.ToolPart, State: &session.ToolState{Status: session.Completed,
				Attachments: []session.Part{}, Time: &session.Span{}}},
			{Type: session.StepFinishPart}, {Type: session.StepFinishPart, Cost: new(float64),
				Tokens: &session.Usage{}},
			{Type: session.PatchPart, Files: []string{}}, {Type: session.TextPart, Metadata: []byte("null")},
			{Type: session.RetryPart, Attempt: math.MinInt64, Error: []byte(`{"message":"\u0000"}`)},
			{Type: session.TextPart, Metadata: []byte(`not JSON`), Unknown: []byte(`{`)},
			{Type: session.TextPart, Unknown: []byte(`{}`)},
			{Type: session.StepFinishPart, Cost: ptr(math.Inf(1))},
			{Type: session.StepFinishPart, Cost: ptr(math.Copysign(0, -1))},
		}},
		// Deep JSON.
		{MessageInfo: session.MessageInfo{ID: "deep"}, Parts: []session.Part{{
			Type: session.ToolPart, State: &session.ToolState{Input: jsontext.Value(strings.Repeat("[", 9000) +
				strings.Repeat("]", 9000))}}}},
	}
	// Large outputs of any bytes, the same one more than once, at every size around where a store
	// may begin to treat them otherwise; with attachments; in a call that is still running or
	// failed.
	for _, size := range []int{4095, 4096, 4097, 100_000} {
		messages = append(messages, result(fmt.Sprint("large-", size),
			strings.Repeat(string(bytes), size/512+1)[:size]))
	}
	for _, status := range []session.Status{session.Pending, session.Running, session.Failed, session.Completed} {
		m := result("status-"+string(status), strings.Repeat("\x00same\xff", 2000))
		m.Parts[0].State.Status, m.Parts[0].State.Error = status, strings.Repeat("trace\n", 2000)
		m.Parts[0].State.Attachments = []session.Part{{ID: "att", Type: session.FilePart,
			URL: "data:," + strings.Repeat("x", 9000)}}
		m.Parts = append(m.Parts, m.Parts[0])
		messages = append(messages, m)
	}
	return messages
}

func ptr[T any](v T) *T { return &v }

func exact(t *testing.T, s store.Store) {
	want := strange(t)
	born(t, s)
	for _, m := range want { // one by one, so that a failure names its message
		if _, err := s.Apply(t.Context(), "ses", store.Change{Append: []session.Message{m}}); err != nil {
			t.Fatalf("message %q: %v", m.ID, err)
		}
	}
	got := log(t, s)
	if len(got) != len(want) {
		t.Fatalf("read %d messages of %d", len(got), len(want))
	}
	for i, m := range want {
		equal(t, fmt.Sprintf("message %d, %q", i, m.ID), m, got[len(got)-1-i])
	}
	if c := got[len(got)-4].Parts[11].Cost; !math.Signbit(*c) {
		t.Error("-0 lost its sign")
	}
	// Updates take the same way.
	for i, m := range want {
		if m.ID == "" {
			want[i].ID, m.ID = "named", "named"
			apply(t, s, store.Change{Append: []session.Message{message("named", session.User)}})
		}
		decide(t, s, store.Change{Update: []session.Message{m}})
	}
	updated := map[string]session.Message{}
	for _, m := range log(t, s) {
		updated[m.ID] = m
	}
	for _, m := range want {
		equal(t, fmt.Sprintf("updated message %q", m.ID), m, updated[m.ID])
	}
}

func fiftyMegabytes(t *testing.T, s store.Store) {
	if testing.Short() {
		t.Skip("writes 100 MB")
	}
	const size = 50 << 20
	text := strings.Repeat("all work and no play \x01 \"quoted\"\n", size/32+1)[:size]
	output := strings.Repeat("a line of output\x00\n", size/18+1)[:size]
	born(t, s, message("text", session.User, text), result("output", output))
	got := log(t, s)
	// Not by equal: a difference of this size is not for people.
	if got[0].Parts[0].State.Output != output {
		t.Error("the output changed on the way")
	}
	if got[1].Parts[0].Text != text {
		t.Error("the text changed on the way")
	}
}

func shareNothing(t *testing.T, s store.Store) {
	mine, want := result("m", "output"), result("m", "output")
	spoil := func(m *session.Message) {
		p := &m.Parts[0]
		p.State.Output, p.State.Input[2], p.State.Time.Start, p.Tool = "spoiled", '!', 9, "spoiled"
		m.Parts = append(m.Parts[:0], session.Part{ID: "spoiled"})
	}
	e := []string{"undone"}
	born(t, s, mine)
	decide(t, s, store.Change{Undo: e})
	spoil(&mine)
	for range 2 {
		got := log(t, s)
		equal(t, "log after the others changed theirs", []session.Message{want}, got)
		spoil(&got[0])
	}
	st := state(t, s)
	st.Undone["another"] = true
	delete(st.Undone, "undone")
	st.Info.Title = "spoiled"
	equal(t, "undone after a reader changed his", map[string]bool{"undone": true}, state(t, s).Undone)
}

func reopen(t *testing.T, u Suite) {
	s := u.Open(t)
	defer func() { s.Close() }()
	born(t, s, strange(t)...)
	decide(t, s, store.Change{Undo: []string{"m"}, Receipt: &sampleReceipt, Spend: []store.Spend{{Kind: "step"}}})
	must(t, s.SetSource(t.Context(), "ses", store.Source{Format: "opencode", Path: "x", Data: []byte("\x00\xff")}))
	keeper, keeps := s.(store.Keeper)
	if keeps {
		must(t, keeper.Keep(t.Context(), "ses", "part", "\x00\xff kept"))
	}
	before, messages := state(t, s), log(t, s)
	src, err := s.Source(t.Context(), "ses")
	must(t, err)

	s = u.Reopen(t, s)
	equal(t, "state", before, state(t, s))
	equal(t, "log", messages, log(t, s))
	again, err := s.Source(t.Context(), "ses")
	must(t, err)
	equal(t, "source", src, again)
	if keeps {
		text, err := s.(store.Keeper).Kept(t.Context(), "ses", "part")
		must(t, err)
		equal(t, "what was kept", "\x00\xff kept", text)
	}
	equal(t, "the next revision", before.Revision+1,
		apply(t, s, store.Change{Append: []session.Message{message("n", session.User)}}))
	if u.Sound != nil {
		u.Sound(t, s)
	}
}

// A session in the place of one that was read has nothing of it, however far both came.
func readAnother(t *testing.T, s store.Store) {
	grow := func(text string) {
		t.Helper()
		for i := range 3 {
			_, err := s.Apply(t.Context(), "ses", store.Change{Append: []session.Message{
				message(fmt.Sprint(text, i), session.User, text)}})
			must(t, err)
		}
	}
	read := func(before store.Copy) (now store.Copy) {
		t.Helper()
		now, _, err := new(store.Reading).Read(t.Context(), s, "ses", before)
		must(t, err)
		return now
	}
	must(t, s.Create(t.Context(), session.Info{ID: "ses"}))
	grow("first")
	first := read(store.Copy{})
	must(t, s.Delete(t.Context(), "ses"))
	must(t, s.Create(t.Context(), session.Info{ID: "ses"}))
	grow("second")
	second := read(first)
	equal(t, "the log of a session made anew", read(store.Copy{}).Log, second.Log)
	_, err := s.Apply(t.Context(), "ses", store.Change{Create: &session.Info{ID: "ses"}, Aside: "aside"})
	must(t, err)
	grow("third")
	equal(t, "the log beside one that was set aside", read(store.Copy{}).Log, read(second).Log)
}
