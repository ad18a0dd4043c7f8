package advise

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/lab"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/session"
)

// toy is a model of which a token of input costs a dollar, so that bills can be added up by hand:
// 5 for a token of an answer, 0.1 to read one from the cache, 1.25 to write it there, 2 for an hour.
var toy = model.Model{Provider: "toy", ID: "toy",
	Price: model.Price{Input: 1e6, Output: 5e6, CacheRead: 0.1e6, CacheWrite: 1.25e6, CacheWrite1h: 2e6},
	Cache: model.Cache{Lifetime: 5 * time.Minute, Explicit: true}}

// words counts words.
type words struct{}

func (words) Name() string          { return "words" }
func (words) Count(text string) int { return len(strings.Fields(text)) }

// made is a session that is made up, message by message.
type made struct {
	log   []session.Message
	clock session.Millis
}

func (d *made) add(role session.Role, parts ...session.Part) *session.Message {
	m := session.Message{MessageInfo: session.MessageInfo{ID: fmt.Sprintf("m%d", len(d.log)), Role: role,
		Time: session.MessageTime{Created: d.clock}}}
	for j := range parts {
		parts[j].ID, parts[j].MessageID = fmt.Sprintf("%s.%d", m.ID, j), m.ID
	}
	m.Parts = parts
	d.log = append(d.log, m)
	return &d.log[len(d.log)-1]
}

func (d *made) user(text string) *session.Message {
	return d.add(session.User, session.Part{Type: session.TextPart, Text: text})
}

// step answers with a usage: fresh input, read from the cache, written to it, output.
func (d *made) step(input, read, write, output int, parts ...session.Part) *session.Message {
	m := d.add(session.Assistant, parts...)
	m.ProviderID, m.ModelID = "toy", "toy"
	m.Tokens = &session.Usage{Input: input, Output: output, Cache: session.CacheUsage{Read: read, Write: write}}
	return m
}

// fold appends a summary of all that came before.
func (d *made) fold() {
	d.add(session.User, session.Part{Type: session.CompactionPart})
	m := d.add(session.Assistant, session.Part{Type: session.TextPart, Text: "What happened so far."})
	m.Summary, m.Finish = jsontext.Value("true"), "stop"
}

func say(text string) session.Part { return session.Part{Type: session.TextPart, Text: text} }

func tool(name, output string, input map[string]string) session.Part {
	text, err := json.Marshal(input)
	if err != nil {
		panic(err)
	}
	return session.Part{Type: session.ToolPart, Tool: name, CallID: "c", State: &session.ToolState{
		Status: session.Completed, Input: text, Output: output}}
}

func bash(command, output string) session.Part {
	return tool("bash", output, map[string]string{"command": command})
}

func read(path, output string) session.Part {
	return tool("read", output, map[string]string{"filePath": path})
}

// lines are n lines of ten words each that nothing else says.
func lines(word string, n int) string {
	var b strings.Builder
	for i := range n {
		for k := range 10 {
			fmt.Fprintf(&b, "%s%dx%d ", word, i, k)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// source is the session under an id.
func (d *made) source(id string) Source {
	s := session.Session{Info: session.Info{ID: id, Title: "Session " + id, Directory: "/work/app"}, Messages: d.log}
	return Source{Doc: &format.Document{Format: "claude-code", Session: s}, Count: words{}, Zone: time.UTC,
		Trace: lab.NewTrace(s, toy, words{}), Prices: bill.NewPrices(func(string) model.Model { return toy })}
}

// measure measures the session under an id.
func (d *made) measure(t *testing.T, id string) Session {
	t.Helper()
	return Measure(d.source(id))
}

// thrice are three sessions that are the same.
func thrice(t *testing.T, d *made) []Session {
	t.Helper()
	return []Session{d.measure(t, "a"), d.measure(t, "b"), d.measure(t, "c")}
}
