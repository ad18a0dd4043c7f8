package geminicli

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/session"
)

// reader reads one file.
type reader struct {
	doc      *format.Document
	about    conversation
	records  []record
	calls    map[string]place
	nameless []place // calls without an id and without a result
	ids      map[string]int
	lastAsk  string
	model    *session.ModelRef
}

type place struct{ message, part int }

// Read reads a chat. What the product shows to people only (info, warning, error) is no message of the log and counts as nothing but an
// entry; messages that a rewind or a compression left behind count as aside.
func (Format) Read(src []byte) (*format.Document, error) {
	r := &reader{doc: &format.Document{Format: Name, Source: src}, calls: map[string]place{}, ids: map[string]int{}}
	text := bytes.TrimPrefix(src, []byte("\xef\xbb\xbf"))
	first, _, more := bytes.Cut(bytes.TrimSpace(text), []byte("\n"))
	if first = bytes.TrimSpace(first); more && len(first) > 1 && first[0] == '{' && jsontext.Value(first).IsValid(session.ReadOptions()) || len(first) > 0 && !more && oneRecord(first) {
		r.lines(src[len(src)-len(text):])
	} else if at, err := r.object(text); err != nil {
		at += int64(len(src) - len(text))
		if len(r.records) == 0 {
			return nil, &format.SyntaxError{Format: Name, Offset: at, Expected: "a chat with messages", Err: err}
		}
		r.damaged(at, len(src)-int(at), reason(err))
	}
	if len(r.records) == 0 && r.about.SessionID == "" {
		return nil, &format.SyntaxError{Format: Name, Line: 1, Expected: "a chat with a sessionId or messages"}
	}
	r.log(src)
	return r.doc, nil
}

// oneRecord reports whether a line is the header of a recording that has no messages yet.
func oneRecord(line []byte) bool {
	var header struct {
		SessionID string         `json:"sessionId"`
		Messages  jsontext.Value `json:"messages"`
	}
	return json.Unmarshal(line, &header, session.ReadOptions()) == nil && header.SessionID != "" && len(header.Messages) == 0
}

// log makes the session of the records.
func (r *reader) log(src []byte) {
	info := &r.doc.Session.Info
	info.ID = r.about.SessionID
	if info.ID == "" {
		sum := sha256.Sum256(src)
		info.ID = "gemini_" + hex.EncodeToString(sum[:6])
	}
	info.Title = r.about.Summary
	if len(r.about.Directories) > 0 {
		info.Directory = r.about.Directories[0]
	}
	info.Time = session.Lifetime{Created: millis(r.about.StartTime), Updated: millis(r.about.LastUpdated)}
	if about, err := json.Marshal(map[string]any{"geminiCli": r.about}, session.ReadOptions()); err == nil {
		info.Unknown = about
	}
	for i := range r.records {
		m := &r.records[i]
		if m.Type == "" { // of a checkpoint
			m.Content = m.Parts
			if m.Type = "user"; m.Role == "model" {
				m.Type = "gemini"
			}
		}
		if m.spoken() {
			r.doc.Counts.Messages++
			r.message(m, i)
		}
	}
	if r.model != nil {
		info.Model = &session.ModelRef{ID: r.model.ModelID, ProviderID: r.model.ProviderID}
	}
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
		text := plain(content)
		return []part{{Text: &text}}
	case '{':
		var p part
		if json.Unmarshal(content, &p, session.ReadOptions()) == nil {
			return []part{p}
		}
	case '[':
		var list []jsontext.Value
		if json.Unmarshal(content, &list, session.ReadOptions()) == nil {
			var all []part
			for _, v := range list {
				if v.Kind() != '[' {
					all = append(all, partsOf(v)...)
				}
			}
			return all
		}
	}
	return nil
}

func (r *reader) message(rec *record, at int) {
	m := session.Message{MessageInfo: session.MessageInfo{ID: rec.ID, SessionID: r.doc.Session.Info.ID, Role: session.User,
		Time: session.MessageTime{Created: millis(rec.Timestamp)}}}
	if m.ID == "" {
		m.ID = fmt.Sprintf("gemini_%06d", at+1)
	}
	if len(rec.Unknown) > 2 {
		if kept, err := json.Marshal(map[string]jsontext.Value{"geminiCli": rec.Unknown}, session.ReadOptions()); err == nil {
			m.Unknown = kept
		}
	}
	assistant := rec.Type == "gemini"
	if assistant {
		m.Role, m.ParentID, m.Finish = session.Assistant, r.lastAsk, "stop"
		m.Tokens = rec.Tokens.usage()
		if rec.Model != "" {
			r.model = &session.ModelRef{ProviderID: "google", ModelID: rec.Model}
			m.ProviderID, m.ModelID = "google", rec.Model
		}
	}
	parts := partsOf(rec.Content)
	synthetic := false
	if !assistant {
		rest, replied := r.replies(parts)
		if replied && len(rest) == 0 {
			return // the results of calls, which are in them already
		}
		parts, synthetic = rest, replied // what goes along with results is not the user's
	}
	at = len(r.doc.Session.Messages)
	for _, t := range rec.Thoughts {
		r.add(&m, session.Part{Type: session.ReasoningPart, Text: strings.TrimSpace(t.Subject + "\n" + t.Description)})
	}
	for _, p := range parts {
		switch {
		case p.Text != nil && p.Thought:
			r.add(&m, session.Part{Type: session.ReasoningPart, Text: *p.Text})
		case p.Text != nil && *p.Text != "":
			r.add(&m, session.Part{Type: session.TextPart, Text: *p.Text, Synthetic: synthetic})
		case p.Response != nil && !assistant: // of no call that is known
			text, _ := output(p.Response.Response)
			r.add(&m, session.Part{Type: session.TextPart, Text: text, Synthetic: true})
		case p.Inline != nil:
			r.add(&m, session.Part{Type: session.FilePart, Mime: p.Inline.Mime, URL: "data:" + p.Inline.Mime + ";base64," + p.Inline.Data, Synthetic: synthetic})
		case p.File != nil:
			r.add(&m, session.Part{Type: session.FilePart, Mime: p.File.Mime, URL: p.File.URI, Synthetic: synthetic})
		case p.Call != nil && assistant && !has(rec.Calls, p.Call.ID):
			r.call(&m, at, &call{ID: p.Call.ID, Name: p.Call.Name, Args: p.Call.Args})
		}
	}
	for i := range rec.Calls {
		r.call(&m, at, &rec.Calls[i])
	}
	if assistant && m.Parts != nil && m.Parts[len(m.Parts)-1].Type == session.ToolPart {
		m.Finish = "tool-calls"
	}
	if !assistant && !synthetic {
		r.lastAsk = m.ID
	}
	r.doc.Session.Messages = append(r.doc.Session.Messages, m)
}

func has(calls []call, id string) bool {
	for i := range calls {
		if id != "" && calls[i].ID == id {
			return true
		}
	}
	return false
}

// replies gives each result of a call to its call, with the pictures behind it, and returns the other parts; replied tells whether there was a result.
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
				r.doc.Counts.ToolResults++
				call.State.Status = session.Completed
				var failed bool
				if call.State.Output, failed = output(p.Response.Response); failed {
					call.State.Status, call.State.Error, call.State.Output = session.Failed, call.State.Output, ""
				}
			}
		case p.Inline != nil && call != nil && !had:
			attach(call, p.Inline)
		case p.Inline != nil && call != nil && len(call.State.Attachments) > 0: // they are in it
		default:
			rest = append(rest, p)
		}
	}
	return rest, replied
}

// attach adds a picture to the result of a call.
func attach(call *session.Part, m *media) {
	call.State.Attachments = append(call.State.Attachments, session.Part{ID: fmt.Sprintf("%s:%d", call.ID, len(call.State.Attachments)), SessionID: call.SessionID,
		MessageID: call.MessageID, Type: session.FilePart, Mime: m.Mime, URL: "data:" + m.Mime + ";base64," + m.Data})
}

// called is the call that a result answers, nil for none. The product names a call that the model did not, and does so in the result alone: that is the
// first call of the tool which has neither a name nor a result.
func (r *reader) called(reply *functionReply) *session.Part {
	if at, ok := r.calls[reply.ID]; ok {
		return &r.doc.Session.Messages[at.message].Parts[at.part]
	}
	for i, at := range r.nameless {
		if p := &r.doc.Session.Messages[at.message].Parts[at.part]; p.Tool == reply.Name {
			r.nameless = slices.Delete(r.nameless, i, i+1)
			return p
		}
	}
	return nil
}

func (r *reader) add(m *session.Message, p session.Part) *session.Part {
	p.SessionID, p.MessageID = m.SessionID, m.ID
	if p.ID == "" {
		p.ID = m.ID + ":" + strconv.Itoa(len(m.Parts))
	}
	m.Parts = append(m.Parts, p)
	return &m.Parts[len(m.Parts)-1]
}

// call adds a call with what it gave.
func (r *reader) call(m *session.Message, at int, c *call) {
	r.doc.Counts.ToolCalls++
	id := c.ID
	if r.ids[id]++; id != "" && r.ids[id] > 1 {
		id += "#" + strconv.Itoa(r.ids[id])
	}
	state := &session.ToolState{Status: session.Running, Input: c.Args, Title: c.Description}
	if state.Input.Kind() != '{' {
		state.Input = jsontext.Value("{}")
	}
	text, failed, found := "", false, false
	results := partsOf(c.Result)
	own := func(p part) bool { return p.Response != nil && p.Response.ID == c.ID }
	several := slices.ContainsFunc(results, own) // then those of other calls may be among them, each with what goes along
	mine := true
	for _, p := range results {
		if several && p.Response != nil {
			mine = own(p)
		}
		if !mine {
			continue
		}
		piece := ""
		switch {
		case p.Response != nil:
			var bad bool
			piece, bad = output(p.Response.Response)
			failed = failed || bad
		case p.Text != nil:
			piece = *p.Text
		case p.Inline != nil:
			state.Attachments = append(state.Attachments, session.Part{ID: fmt.Sprintf("%s:%d", id, len(state.Attachments)), SessionID: m.SessionID, MessageID: m.ID,
				Type: session.FilePart, Mime: p.Inline.Mime, URL: "data:" + p.Inline.Mime + ";base64," + p.Inline.Data})
		}
		if found = true; piece != "" {
			if text != "" {
				text += "\n"
			}
			text += piece
		}
	}
	if !found && c.ResultDisplay.Kind() == '"' {
		text, found = plain(c.ResultDisplay), true
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
		r.doc.Counts.ToolResults++
	}
	if c.Status != "" || len(c.ResultDisplay) > 0 {
		about := struct {
			Status  string         `json:"status,omitzero"`
			Display jsontext.Value `json:"resultDisplay,omitzero"`
			Unknown jsontext.Value `json:",embed"`
		}{c.Status, c.ResultDisplay, c.Unknown}
		if kept, err := json.Marshal(map[string]any{"geminiCli": about}, session.ReadOptions()); err == nil {
			state.Metadata = kept
		}
	}
	r.add(m, session.Part{ID: id, Type: session.ToolPart, CallID: c.ID, Tool: c.Name, State: state})
	if c.ID != "" {
		r.calls[c.ID] = place{at, len(m.Parts) - 1}
	} else if !found {
		r.nameless = append(r.nameless, place{at, len(m.Parts) - 1})
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
			return plain(known.Output), false
		}
		if known.Error.Kind() == '"' {
			return plain(known.Error), true
		}
	}
	if response.Kind() == '"' {
		return plain(response), false
	}
	return string(response), false
}

// usage is what a request took. The product counts cached tokens as input, and thoughts beside the output.
func (t *tokens) usage() *session.Usage {
	if t == nil {
		return nil
	}
	return &session.Usage{Total: t.Total, Input: t.Input - t.Cached + t.Tool, Output: t.Output, Reasoning: t.Thoughts, Cache: session.CacheUsage{Read: t.Cached}}
}

func millis(timestamp string) session.Millis {
	at, err := time.Parse(time.RFC3339Nano, timestamp)
	if err != nil {
		return 0
	}
	return session.Millis(at.UnixMilli())
}

// plain is the text of a JSON string, "" for anything else.
func plain(v jsontext.Value) string {
	if v.Kind() != '"' {
		return ""
	}
	text, _ := jsontext.AppendUnquote(nil, bytes.TrimSpace(v)) // invalid UTF-8 becomes U+FFFD
	return string(text)
}
