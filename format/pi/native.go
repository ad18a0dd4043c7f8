package pi

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format/internal/entries"
	"github.com/winnowhq/winnow/format/internal/jsonl"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// newMessage is a message as it is written, its members in the product's order.
type newMessage struct {
	Role    string     `json:"role"`
	CallID  string     `json:"toolCallId,omitzero"`
	Tool    string     `json:"toolName,omitzero"`
	Content []newBlock `json:"content"`

	API      string    `json:"api,omitzero"`
	Provider string    `json:"provider,omitzero"`
	Model    string    `json:"model,omitzero"`
	Usage    *newUsage `json:"usage,omitzero"`
	Stop     string    `json:"stopReason,omitzero"`
	Failure  string    `json:"errorMessage,omitzero"`

	Details jsontext.Value `json:"details,omitzero"`
	IsError *bool          `json:"isError,omitzero"`

	Timestamp float64 `json:"timestamp"`
}

type newBlock struct {
	Type      string         `json:"type"`
	Text      *string        `json:"text,omitzero"`
	Thinking  *string        `json:"thinking,omitzero"`
	Signature string         `json:"thinkingSignature,omitzero"`
	Redacted  bool           `json:"redacted,omitzero"`
	Data      *string        `json:"data,omitzero"`
	Mime      string         `json:"mimeType,omitzero"`
	ID        string         `json:"id,omitzero"`
	Name      string         `json:"name,omitzero"`
	Arguments jsontext.Value `json:"arguments,omitzero"`
}

type newUsage struct {
	Input      int     `json:"input"`
	Output     int     `json:"output"`
	CacheRead  int     `json:"cacheRead"`
	CacheWrite int     `json:"cacheWrite"`
	Hour       int     `json:"cacheWrite1h,omitzero"`
	Total      int     `json:"totalTokens"`
	Cost       newCost `json:"cost"`
}

type newCost struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cacheRead"`
	CacheWrite float64 `json:"cacheWrite"`
	Total      float64 `json:"total"`
}

func text(s string) newBlock { return newBlock{Type: textBlock, Text: &s} }

// fileBlock makes a block of a file part: the image itself, or a note of what was there.
func fileBlock(p *session.Part) newBlock {
	if mime, data, ok := jsonl.Inline(p); ok && strings.HasPrefix(mime, "image/") {
		return newBlock{Type: imageBlock, Data: &data, Mime: mime}
	}
	return text(jsonl.FileNote(p))
}

// user writes a user message.
func (a *appender) user(m *session.Message) {
	native := newMessage{Role: userRole, Timestamp: float64(int64(m.Time.Created)), Content: []newBlock{}}
	at := make([]int, len(m.Parts))
	for i := range m.Parts {
		p := &m.Parts[i]
		at[i] = -1
		switch {
		case p.Type == session.TextPart && !p.Ignored:
			at[i] = len(native.Content)
			native.Content = append(native.Content, text(p.Text))
		case p.Type == session.FilePart:
			at[i] = len(native.Content)
			native.Content = append(native.Content, fileBlock(p))
		}
	}
	a.message(m, []newMessage{native}, at)
}

// assistant writes an assistant message: an entry for every step, each followed by the results of
// its calls.
func (a *appender) assistant(m *session.Message) {
	var lines []newMessage
	at := make([]int, len(m.Parts))
	parts := 0
	begin := func() {
		lines = append(lines, newMessage{
			Role: assistantRole, Content: []newBlock{}, Usage: &newUsage{}, Stop: "stop",
			API: api(m.ProviderID), Provider: m.ProviderID, Model: m.ModelID, Timestamp: float64(int64(m.Time.Created)),
		})
	}
	begin()
	step := 0 // the entry of the step that is being written
	results := []newMessage(nil)
	end := func() {
		if len(results) > 0 {
			lines[step].Stop = "toolUse"
		}
		lines = append(lines, results...)
		results = nil
	}
	for i := range m.Parts {
		p := &m.Parts[i]
		at[i] = -1
		var b newBlock
		switch p.Type {
		case session.StepStartPart:
			if len(lines[step].Content) > 0 {
				end()
				step = len(lines)
				begin()
			}
			continue
		case session.TextPart:
			if p.Ignored {
				continue
			}
			b = text(p.Text)
		case session.ReasoningPart:
			b = newBlock{Type: thinkingBlock, Thinking: &p.Text}
			var provider signed
			if len(p.Metadata) > 0 && json.Unmarshal(p.Metadata, &provider, session.ReadOptions()) == nil {
				b.Signature, b.Redacted = provider.Signature, provider.Redacted
			}
		case session.FilePart:
			b = text("[File: " + strings.TrimSpace(p.Filename+" "+p.Mime) + "]")
		case session.ToolPart:
			if p.State == nil {
				continue
			}
			b = newBlock{Type: callBlock, ID: p.CallID, Name: p.Tool, Arguments: jsonl.Input(p.State)}
			if p.State.Final() {
				results = append(results, result(p))
			}
		default:
			continue
		}
		at[i] = parts
		parts++
		lines[step].Content = append(lines[step].Content, b)
	}
	end()
	last := &lines[step]
	if u := m.Tokens; u != nil {
		output := u.Output + u.Reasoning
		last.Usage = &newUsage{
			Input: u.Input, Output: output, Total: max(u.Total, u.Prompt()+output),
			CacheRead: u.Cache.Read, CacheWrite: u.Cache.Write, Hour: u.Cache.Write1h,
		}
	}
	if m.Cost != nil {
		last.Usage.Cost.Total = *m.Cost
	}
	if m.Finish == "length" {
		last.Stop = "length"
	}
	if m.Failed() {
		var e jsonl.Failure
		last.Stop = "error"
		if json.Unmarshal(m.Error, &e, session.ReadOptions()) == nil {
			last.Failure = e.Data.Message
			if strings.Contains(e.Name, "Abort") {
				last.Stop = "aborted"
			}
		}
	}
	a.message(m, lines, at)
}

// result writes the result of a call.
func result(p *session.Part) newMessage {
	failed := p.State.Status == session.Failed
	m := newMessage{Role: resultRole, CallID: p.CallID, Tool: p.Tool, IsError: &failed}
	m.Content = []newBlock{text(p.State.Result())}
	for i := range p.State.Attachments {
		m.Content = append(m.Content, fileBlock(&p.State.Attachments[i]))
	}
	if p.State.Metadata.Kind() == '{' {
		m.Details = p.State.Metadata
	}
	if p.State.Time != nil {
		m.Timestamp = float64(int64(p.State.Time.End))
	}
	return m
}

// api is the protocol that the product speaks with a provider. It keeps signatures only of messages
// with the same protocol.
func api(provider string) string {
	switch provider {
	case "anthropic":
		return "anthropic-messages"
	case "openai":
		return "openai-responses"
	case "google":
		return "google-generative-ai"
	}
	return "openai-completions"
}

// message writes the entries of one message, the first with the mark that gives the message back.
func (a *appender) message(m *session.Message, lines []newMessage, at []int) {
	native := a.read(lines)
	first := &entries.Mark{}
	first.Message, first.From = jsonl.Without(m, native, at)
	for i := range lines {
		raw, err := json.Marshal(lines[i], session.ReadOptions())
		if err != nil {
			a.err = err
			return
		}
		e := newEntry{Type: messageEntry, Message: raw}
		switch {
		case i == 0:
			e.Winnow = first
		case lines[i].Role == assistantRole:
			e.Winnow = &entries.Mark{Of: m.ID}
		}
		here := a.write(m.ID+"/"+strconv.Itoa(i), max(m.Time.Created, session.Millis(lines[i].Timestamp)), e)
		if i == 0 {
			a.first[m.ID] = here
		}
	}
}

// read gives the parts that entries give when they are read alone.
func (a *appender) read(lines []newMessage) []session.Part {
	f := newFile(nil, 0)
	b := newBuilder(f)
	f.lines, f.Entries = make([]entry, len(lines)), make([]entries.Entry, len(lines))
	for i := range lines {
		message, err := json.Marshal(lines[i], session.ReadOptions())
		if err == nil {
			var line span.Object
			line.Add("id", strconv.Itoa(i))
			line.Raw("message", message)
			f.lines[i], err = parse(line.Bytes())
		}
		if err != nil {
			a.err = err
			return nil
		}
		var m *entries.Mark
		if i > 0 && lines[i].Role == assistantRole {
			m = &entries.Mark{Of: "0"}
		}
		f.Entries[i].Mark = m
		before := len(b.s.Messages)
		b.message(i, &f.lines[i], m)
		f.Took(i, before)
	}
	if len(b.s.Messages) == 0 {
		return nil
	}
	return b.s.Messages[0].Parts
}
