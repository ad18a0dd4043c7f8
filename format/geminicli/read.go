package geminicli

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/internal/jsonl"
	"github.com/winnowhq/winnow/format/internal/transcript"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/span"
)

// reader reads one file.
type reader struct {
	*transcript.Log
	about    conversation
	records  []record
	nameless []transcript.Place // calls without an id and without a result
}

// Read reads a chat. What the product shows to people only (info, warning, error) is not a message
// of the log and counts as nothing but an entry; messages that a rewind or a compression left
// behind count as aside.
func (Format) Read(src []byte) (*format.Document, error) {
	r := &reader{Log: transcript.New(Name, src)}
	text := span.Trim(r.Whole().Of(src))
	first, _, more := bytes.Cut(text, []byte("\n"))
	cut := false
	switch first = bytes.TrimSpace(first); {
	case len(text) == 0:
	case more && len(first) > 1 && first[0] == '{' && span.Valid(first), !more && oneRecord(first):
		r.lines()
	default:
		r.object()
		cut = len(r.Damaged) > 0
	}
	if len(r.records) == 0 && (r.about.SessionID == "" || cut) {
		return nil, r.Syntax("a chat with a sessionId or messages")
	}
	r.log()
	return r.Document, nil
}

// oneRecord reports whether a line is the header of a recording that has no messages yet.
func oneRecord(line []byte) bool {
	id := span.Find(line, span.All(line), "sessionId").Of(line)
	return span.Valid(line) && span.String(id) != "" && span.Find(line, span.All(line), "messages").Empty()
}

// log makes the session of the records.
func (r *reader) log() {
	info := &r.Session.Info
	info.ID = cmp.Or(r.about.SessionID, r.Hash("gemini_"))
	info.Title = r.about.Summary
	if len(r.about.Directories) > 0 {
		info.Directory = r.about.Directories[0]
	}
	info.Time.Created = jsonl.Millis(r.about.StartTime)
	info.Time.Updated = jsonl.Millis(r.about.LastUpdated)
	var last *session.ModelRef
	for i := range r.records {
		m := &r.records[i]
		if m.Type == "" { // of a checkpoint
			m.Content = m.Parts
			if m.Type = "user"; m.Role == "model" {
				m.Type = "gemini"
			}
		}
		if !m.spoken() {
			continue
		}
		r.Counts.Messages++
		r.Model = nil
		if m.Type == "gemini" && m.Model != "" {
			r.Model = &session.ModelRef{ProviderID: "google", ModelID: m.Model}
			last = r.Model
		}
		r.message(m, i)
	}
	r.End(last, "geminiCli", r.about)
}

// part is one of the model's parts.
type part struct {
	Text     *string        `json:"text"`
	Thought  bool           `json:"thought"`
	Inline   *media         `json:"inlineData"`
	File     *media         `json:"fileData"`
	Call     *functionCall  `json:"functionCall"`
	Response *functionReply `json:"functionResponse"`
}

type media struct {
	Mime string `json:"mimeType"`
	Data string `json:"data"`
	URI  string `json:"fileUri"`
}

type functionCall struct {
	ID   string         `json:"id"`
	Name string         `json:"name"`
	Args jsontext.Value `json:"args"`
}

type functionReply struct {
	ID       string         `json:"id"`
	Name     string         `json:"name"`
	Response jsontext.Value `json:"response"`
}

// partsOf reads a content: a text, a part, or a list of both.
func partsOf(content jsontext.Value) []part {
	switch content.Kind() {
	case '"':
		text := transcript.Text(content)
		return []part{{Text: &text}}
	case '{':
		var p part
		if json.Unmarshal(content, &p, session.ReadOptions()) == nil {
			return []part{p}
		}
	case '[':
		var all []part
		for v := range span.Values(content, span.All(content)) {
			if content[v.Start] != '[' {
				all = append(all, partsOf(v.Of(content))...)
			}
		}
		return all
	}
	return nil
}

func (r *reader) message(rec *record, at int) {
	assistant := rec.Type == "gemini"
	parts := partsOf(rec.Content)
	synthetic := false
	if !assistant {
		rest, replied := r.replies(parts)
		if replied && len(rest) == 0 {
			return // the results of calls, which are in them already
		}
		parts, synthetic = rest, replied // what goes along with results is not the user's
	}
	asked := r.LastAsk
	role := session.User
	if assistant {
		role = session.Assistant
	}
	m := r.Message(role, cmp.Or(rec.ID, fmt.Sprintf("gemini_%06d", at+1)), rec.Timestamp)
	if len(rec.Unknown) > 2 {
		m.Unknown = span.Make("geminiCli", rec.Unknown)
	}
	if assistant {
		m.Tokens = rec.Tokens.usage()
	} else if synthetic {
		r.LastAsk = asked
	}
	for _, t := range rec.Thoughts {
		r.Add(m, session.Part{Type: session.ReasoningPart, Text: strings.TrimSpace(t.Subject + "\n" + t.Description)})
	}
	for _, p := range parts {
		switch {
		case p.Text != nil && p.Thought:
			r.Add(m, session.Part{Type: session.ReasoningPart, Text: *p.Text})
		case p.Text != nil && *p.Text != "":
			r.Add(m, session.Part{Type: session.TextPart, Text: *p.Text, Synthetic: synthetic})
		case p.Response != nil && !assistant: // of no call that is known
			text, _ := output(p.Response.Response)
			r.Add(m, session.Part{Type: session.TextPart, Text: text, Synthetic: true})
		case p.Inline != nil, p.File != nil:
			file := cmp.Or(p.Inline, p.File).part()
			file.Synthetic = synthetic
			r.Add(m, file)
		case p.Call != nil && assistant:
			named := func(c call) bool { return p.Call.ID != "" && c.ID == p.Call.ID }
			if !slices.ContainsFunc(rec.Calls, named) {
				r.call(m, &call{ID: p.Call.ID, Name: p.Call.Name, Args: p.Call.Args})
			}
		}
	}
	for i := range rec.Calls {
		r.call(m, &rec.Calls[i])
	}
	if n := len(m.Parts); assistant && n > 0 && m.Parts[n-1].Type != session.ToolPart {
		m.Finish = "stop" // it said something after its calls
	}
}

// part is a picture or another file.
func (m *media) part() session.Part {
	url := m.URI
	if url == "" {
		url = "data:" + m.Mime + ";base64," + m.Data
	}
	return session.Part{Type: session.FilePart, Mime: m.Mime, URL: url}
}

// replies gives each result of a call to its call, with the pictures behind it, and returns the
// other parts. replied reports whether there was a result.
func (r *reader) replies(parts []part) (rest []part, replied bool) {
	var call *session.Part // whose result came last
	had := false           // it had its result already
	for _, p := range parts {
		switch {
		case p.Response != nil:
			replied = true
			if call = r.called(p.Response); call == nil {
				rest = append(rest, p)
				continue
			}
			if had = call.State.Final(); !had {
				r.Counts.ToolResults++
				call.State.Status = session.Completed
				var failed bool
				if call.State.Output, failed = output(p.Response.Response); failed {
					call.State.Status, call.State.Error, call.State.Output = session.Failed, call.State.Output, ""
				}
			}
		case p.Inline != nil && call != nil && !had:
			transcript.Attach(call, p.Inline.part())
		case p.Inline != nil && call != nil && len(call.State.Attachments) > 0: // they are in it
		default:
			rest = append(rest, p)
		}
	}
	return rest, replied
}

// called is the call that a result answers, nil if there is none. The product names a call that the
// model did not name, but only in the result: that is the first call of the tool which has neither
// an id nor a result.
func (r *reader) called(reply *functionReply) *session.Part {
	if at, ok := r.Find(reply.ID); ok {
		return r.Part(at)
	}
	for i, at := range r.nameless {
		if p := r.Part(at); p.Tool == reply.Name {
			r.nameless = slices.Delete(r.nameless, i, i+1)
			return p
		}
	}
	return nil
}

// call adds a call with what it gave.
func (r *reader) call(m *session.Message, c *call) {
	p, at := r.Call(m, c.ID, c.Name, c.Args)
	state := p.State
	state.Title = c.Description
	failed, found := false, false
	results := partsOf(c.Result)
	own := func(p part) bool { return p.Response != nil && p.Response.ID == c.ID }
	several := slices.ContainsFunc(results, own) // then those of other calls may be among them
	mine := true
	var texts []string
	for _, result := range results {
		if several && result.Response != nil {
			mine = own(result)
		}
		if !mine {
			continue
		}
		found = true
		switch {
		case result.Response != nil:
			text, bad := output(result.Response.Response)
			texts, failed = append(texts, text), failed || bad
		case result.Text != nil:
			texts = append(texts, *result.Text)
		case result.Inline != nil:
			transcript.Attach(p, result.Inline.part())
		}
	}
	text := strings.Join(slices.DeleteFunc(texts, func(t string) bool { return t == "" }), "\n")
	if !found && c.ResultDisplay.Kind() == '"' {
		text, found = transcript.Text(c.ResultDisplay), true
	}
	switch {
	case c.Status == "error" || c.Status == "cancelled" || failed && c.Status != "success":
		state.Status, state.Error = session.Failed, text
		found = true
	case c.Status == "success" || found:
		state.Status, state.Output = session.Completed, text
		found = true
	}
	if found {
		r.Counts.ToolResults++
	}
	if c.Status != "" || len(c.ResultDisplay) > 0 {
		state.Metadata = span.Make("geminiCli", struct {
			Status  string         `json:"status,omitzero"`
			Display jsontext.Value `json:"resultDisplay,omitzero"`
			Unknown jsontext.Value `json:",embed"`
		}{c.Status, c.ResultDisplay, c.Unknown})
	}
	if c.ID == "" && !found {
		r.nameless = append(r.nameless, at)
	}
}

// output is what a tool answered: its output, its error, or the whole answer as JSON.
func output(response jsontext.Value) (text string, failed bool) {
	var known struct {
		Output jsontext.Value `json:"output"`
		Error  jsontext.Value `json:"error"`
	}
	if response.Kind() == '{' && json.Unmarshal(response, &known, session.ReadOptions()) == nil {
		if known.Output.Kind() == '"' {
			return transcript.Text(known.Output), false
		}
		if known.Error.Kind() == '"' {
			return transcript.Text(known.Error), true
		}
	}
	if response.Kind() == '"' {
		return transcript.Text(response), false
	}
	return string(response), false
}
