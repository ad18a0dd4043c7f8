// Package wiretest tests that the wire formats agree on what was said. It holds the random sessions
// that the tests of each format encode, and what they compare after reading a body back.
package wiretest

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/wire"
)

// Model is the model that wrote about half of the messages of a random session.
const Model = "model-a"

// Messages draws a random conversation: every kind of part, every status, empty and repeated call
// ids, several steps in a message and several assistant messages in a row.
func Messages(t *rapid.T) []session.Message {
	n := rapid.IntRange(0, 12).Draw(t, "messages")
	messages := make([]session.Message, n)
	for i := range messages {
		messages[i] = message(t, i)
	}
	return messages
}

func message(t *rapid.T, i int) session.Message {
	var m session.Message
	m.ID = fmt.Sprintf("msg_%d", i)
	m.Role = rapid.SampledFrom([]session.Role{session.User, session.Assistant, session.Assistant}).Draw(t, "role")
	parts := rapid.IntRange(0, 5).Draw(t, "parts")
	if m.Role == session.Assistant {
		m.ModelID = rapid.SampledFrom([]string{Model, "model-b"}).Draw(t, "model")
		if rapid.IntRange(0, 9).Draw(t, "failed") == 0 {
			m.Error = jsontext.Value(`{"name":"Aborted"}`)
		}
	}
	for j := range parts {
		p := part(t, m.Role)
		p.ID = fmt.Sprintf("prt_%d_%d", i, j)
		m.Parts = append(m.Parts, p)
	}
	return m
}

func text(t *rapid.T) string {
	return rapid.OneOf(rapid.SampledFrom([]string{"", " ", "\n", "plain", "\"quoted\" \\ and <b>", "two\nlines",
		"ünï – 🙂"}), rapid.String()).Draw(t, "text")
}

func part(t *rapid.T, role session.Role) session.Part {
	if role == session.User {
		switch rapid.IntRange(0, 6).Draw(t, "kind") {
		case 0:
			return session.Part{Type: session.FilePart, Mime: "image/png", Filename: "a.png",
				URL: "data:image/png;base64,iVBORw0="}
		case 1:
			return session.Part{Type: session.FilePart, Mime: "text/plain", Filename: "a.txt", URL: "file:///a.txt"}
		case 2:
			return session.Part{Type: session.AgentPart, Name: "explore"}
		case 3:
			return session.Part{Type: session.CompactionPart}
		}
		return session.Part{Type: session.TextPart, Text: text(t), Ignored: rapid.IntRange(0, 5).Draw(t,
			"ignored") == 0}
	}
	switch rapid.IntRange(0, 9).Draw(t, "kind") {
	case 0:
		return session.Part{Type: session.StepStartPart}
	case 1:
		return session.Part{Type: session.StepFinishPart, Reason: "stop"}
	case 2:
		return session.Part{Type: session.ReasoningPart, Text: text(t), Metadata: jsontext.Value(
			`{"anthropic":{"signature":"c2ln"},"openai":{"itemId":"rs_1","reasoningEncryptedContent":"ZW5j"},` +
				`"google":{"thoughtSignature":"Z29v"}}`)}
	case 3, 4, 5:
		return session.Part{Type: session.TextPart, Text: text(t)}
	}
	p := session.Part{
		Type: session.ToolPart, Tool: rapid.SampledFrom([]string{"read", "bash", "mcp-x_y"}).Draw(t, "tool"),
		CallID: rapid.SampledFrom([]string{"", "call_1", "call_2", "call_3", "a|b", "long" +
			strings.Repeat("g", 80)}).Draw(t, "call"),
	}
	if rapid.IntRange(0, 19).Draw(t, "stateless") == 0 {
		return p
	}
	p.State = &session.ToolState{
		Status: rapid.SampledFrom([]session.Status{session.Pending, session.Running, session.Completed,
			session.Completed, session.Failed}).Draw(t, "status"),
		Input: rapid.SampledFrom([]jsontext.Value{nil, jsontext.Value(`{"path":"a.go","n":1.50}`),
			jsontext.Value(`[1, 2]`), jsontext.Value(`"x"`), jsontext.Value(`{"cut`)}).Draw(t, "input"),
		Output: text(t), Error: text(t),
	}
	if rapid.IntRange(0, 5).Draw(t, "attached") == 0 {
		p.State.Attachments = []session.Part{{Type: session.FilePart, Mime: "image/png",
			URL: "data:image/png;base64,iVBORw0="}}
	}
	return p
}

// Said is what a conversation comes to, whatever a format makes of its order within a message.
type Said struct {
	User, Assistant string   // texts, blank lines between them
	Calls           []string // "name input → result"
	Media           int      // of the user
	Thoughts        []string
}

// Says collects what messages say. The placeholder that opens a conversation of the assistant's is
// not counted. Blank results count as empty: providers take no blank text. errors says whether the
// format tells failed calls from others.
func Says(messages []session.Message, o wire.Options, errors bool) Said {
	var s Said
	for _, e := range wire.Entries(messages, o, "") {
		for _, p := range e.Pieces {
			switch {
			case p.Text == wire.Beginning, p.Text == wire.Returned:
			case p.Call != nil:
				result := p.Call.Result
				if wire.Blank(result) {
					result = ""
				}
				if p.Call.Failed && errors {
					result = "failed: " + result
				}
				s.Calls = append(s.Calls, fmt.Sprintf("%s %s %s → %s", p.Call.ID, p.Call.Name, p.Call.Input, result))
			case p.Media != nil && p.Part.Synthetic: // what a tool returned
			case p.Media != nil:
				s.Media++
			case p.Thought != nil:
				s.Thoughts = append(s.Thoughts, p.Thought.Text)
			case e.Role == session.User:
				s.User += p.Text + "\n\n"
			case p.Text != "":
				s.Assistant += p.Text + "\n\n"
			}
		}
	}
	return s
}

// Long is a session of n messages with tool outputs of about 1,500 bytes, for benchmarks.
func Long(messages int) []session.Message {
	line := "func (s *Store) Get(key string) (\"value\", error) {\t// line of an output\n"
	long := make([]session.Message, messages)
	for i := range long {
		m := &long[i]
		m.ID, m.Role = fmt.Sprintf("msg_%d", i), session.Assistant
		if i%20 == 0 {
			m.Role = session.User
			m.Parts = []session.Part{{ID: m.ID + ":0", Type: session.TextPart, Text: "Please look at file " + m.ID}}
			continue
		}
		m.ModelID = Model
		m.Parts = []session.Part{
			{ID: m.ID + ":0", Type: session.TextPart, Text: "I read the next file."},
			{ID: m.ID + ":1", Type: session.ToolPart, CallID: fmt.Sprintf("call_%d", i), Tool: "read",
				State: &session.ToolState{
					Status: session.Completed, Input: jsontext.Value(fmt.Sprintf(`{"filePath":"/repo/file%d.go",`+
						`"limit":200}`, i)),
					Output: strings.Repeat(line, 20),
				}},
		}
	}
	return long
}

// Load reads messages from the JSON of a session.
func Load(text []byte) ([]session.Message, error) {
	var s session.Session
	err := json.Unmarshal(text, &s, session.ReadOptions())
	return s.Messages, err
}

// Prefix reports how the elements of a body grow: how many of before's elements stand unchanged at
// the front of after.
func Prefix(before, after []jsontext.Value) int {
	n := 0
	for n < len(before) && n < len(after) && string(before[n]) == string(after[n]) {
		n++
	}
	return n
}
