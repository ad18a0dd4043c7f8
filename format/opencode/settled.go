package opencode

import (
	"bytes"
	"cmp"
	"errors"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// row is a settled message of the product's second generation. Which fields count is told by Type.
type row struct {
	ID   string `json:"id"`
	Type string `json:"type"`
	Time struct {
		Created   session.Millis `json:"created"`
		Completed session.Millis `json:"completed"`
	} `json:"time"`

	Text    string            `json:"text"`
	Files   []rowFile         `json:"files"`
	Agents  []rowAgent        `json:"agents"`
	ShellID string            `json:"shellID"`
	Command string            `json:"command"`
	Status  string            `json:"status"`
	Exit    *int              `json:"exit"`
	Output  string            `json:"output"`
	Agent   string            `json:"agent"`
	Model   *session.ModelRef `json:"model"`
	Content []rowContent      `json:"content"`
	Finish  string            `json:"finish"`
	Cost    *float64          `json:"cost"`
	Tokens  *session.Usage    `json:"tokens"`
	Error   *rowError         `json:"error"`
	Reason  string            `json:"reason"`
	Summary string            `json:"summary"`
	Recent  string            `json:"recent"`
}

type rowFile struct {
	URI  string `json:"uri"`
	URL  string `json:"url"`
	Mime string `json:"mime"`
	Name string `json:"name"`
}

type rowAgent struct {
	Name string `json:"name"`
}

type rowError struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// rowContent is a piece of an answer: text, reasoning or a tool call.
type rowContent struct {
	Type  string `json:"type"`
	ID    string `json:"id"`
	Text  string `json:"text"`
	Name  string `json:"name"`
	State struct {
		Status   string         `json:"status"`
		Input    jsontext.Value `json:"input"`
		Content  []rowOutput    `json:"content"`
		Metadata jsontext.Value `json:"metadata"`
		Error    *rowError      `json:"error"`
	} `json:"state"`
	Time struct {
		Created   session.Millis `json:"created"`
		Completed session.Millis `json:"completed"`
	} `json:"time"`
}

// rowOutput is a piece of what a call gave back: text or a file.
type rowOutput struct {
	Type string `json:"type"`
	Text string `json:"text"`
	rowFile
}

// other reads an element that is not a message of the first generation, and returns the position
// after it.
func (r *reader) other(s span.Span, indent string) int {
	e := entry{Span: s, at: -1}
	var w row
	_, err := r.decode(s.Start, &w)
	if err == nil && w.Type == "" {
		err = errors.New("it has neither info nor type")
	}
	if err != nil {
		if next := r.resume(s.Start, s.End, indent, err); next > 0 && next < s.End {
			s.End = next
		}
		e.End, e.broken = s.End, syntactic(err)
		r.damage(s.Start, s.End, "a message was skipped: "+reason(err))
		r.native.entries = append(r.native.entries, e)
		return s.End
	}
	r.native.shape = settled
	messages := w.messages()
	if len(messages) > 0 {
		e.at = len(r.doc.Session.Messages)
		for i := range messages {
			r.complete(&messages[i])
			r.doc.Session.Messages = append(r.doc.Session.Messages, messages[i])
		}
		r.doc.Counts.Messages -= len(messages) - 1 // a row is one, also a compaction, which is two in the log
	}
	r.native.entries = append(r.native.entries, e)
	return s.End
}

// messages is a row as messages of the log: none for rows that say nothing to the model, two for a
// compaction.
func (w *row) messages() []session.Message {
	m := session.Message{Parts: []session.Part{}}
	m.ID, m.Role, m.Agent, m.Time.Created = w.ID, session.User, w.Agent, w.Time.Created
	switch w.Type {
	case "user":
		m.Parts = append(m.Parts, session.Part{Type: session.TextPart, Text: w.Text})
		for _, f := range w.Files {
			m.Parts = append(m.Parts, f.part())
		}
		for _, a := range w.Agents {
			m.Parts = append(m.Parts, session.Part{Type: session.AgentPart, Name: a.Name})
		}
	case "synthetic", "system", "skill":
		m.Parts = append(m.Parts, session.Part{Type: session.TextPart, Text: w.Text, Synthetic: true})
	case "shell":
		m.Role = session.Assistant
		m.Time.Completed, m.Finish = w.Time.Completed, "stop"
		state := &session.ToolState{
			Status: session.Completed, Output: w.Output, Title: w.Command, Input: span.Make("command", w.Command),
			Time: &session.Span{Start: w.Time.Created, End: max(w.Time.Created, w.Time.Completed)},
		}
		if w.Exit != nil {
			state.Metadata = encode(map[string]int{"exit": *w.Exit})
		}
		m.Parts = append(m.Parts, session.Part{Type: session.ToolPart, Tool: "bash", CallID: w.ShellID, State: state})
	case "assistant":
		w.answer(&m)
	case "compaction":
		return w.compaction(m)
	default:
		return nil
	}
	return []session.Message{m}
}

func (w *row) answer(m *session.Message) {
	m.Role = session.Assistant
	m.Time.Completed, m.Finish, m.Cost, m.Tokens = w.Time.Completed, w.Finish, w.Cost, w.Tokens
	if w.Model != nil {
		m.ProviderID, m.ModelID, m.Variant = w.Model.ProviderID, w.Model.ID, w.Model.Variant
	}
	if w.Error != nil {
		m.Error = w.Error.value()
	}
	for i := range w.Content {
		m.Parts = append(m.Parts, w.Content[i].part(w.Time.Created))
	}
}

func (e *rowError) value() jsontext.Value { return failed(e.Type, e.Message) }

// compaction is a marker and its summary. The recent text, which the product keeps in place of a
// verbatim tail, is a part of the summary.
func (w *row) compaction(m session.Message) []session.Message {
	overflow := w.Reason == "overflow"
	marker := session.Part{Type: session.CompactionPart, Auto: w.Reason == "auto" || overflow, Overflow: overflow}
	m.Parts = append(m.Parts, marker)
	answer := session.Message{MessageInfo: session.MessageInfo{
		ID: derivedID(session.MessageID, w.ID, 1), Role: session.Assistant, ParentID: w.ID,
		Agent: "compaction", Mode: "compaction",
		Time:    session.MessageTime{Created: w.Time.Created, Completed: max(w.Time.Created, w.Time.Completed)},
		Summary: jsontext.Value(`true`), Cost: w.Cost, Tokens: w.Tokens,
	}, Parts: []session.Part{}}
	if w.Model != nil {
		answer.ProviderID, answer.ModelID, answer.Variant = w.Model.ProviderID, w.Model.ID, w.Model.Variant
	}
	switch w.Status {
	case "completed":
		answer.Finish = "stop"
	case "failed":
		failed := w.Error
		if failed == nil {
			failed = &rowError{Type: "UnknownError", Message: "the compaction failed"}
		}
		answer.Error = failed.value()
	}
	for _, text := range []string{w.Summary, w.Recent} {
		if strings.TrimSpace(text) != "" {
			answer.Parts = append(answer.Parts, session.Part{Type: session.TextPart, Text: text})
		}
	}
	return []session.Message{m, answer}
}

func (f rowFile) part() session.Part {
	return session.Part{Type: session.FilePart, Mime: f.Mime, Filename: f.Name, URL: cmp.Or(f.URI, f.URL)}
}

func (c *rowContent) part(created session.Millis) session.Part {
	start := max(created, c.Time.Created)
	time := &session.Span{Start: start, End: max(start, c.Time.Completed)}
	if c.Type != "tool" {
		return session.Part{Type: session.PartType(c.Type), Text: c.Text, Time: time}
	}
	state := &session.ToolState{Input: c.State.Input, Metadata: c.State.Metadata, Time: time}
	var texts []string
	for _, o := range c.State.Content {
		if o.Type == "file" {
			state.Attachments = append(state.Attachments, o.part())
		} else if o.Text != "" {
			texts = append(texts, o.Text)
		}
	}
	switch c.State.Status {
	case "completed":
		state.Status, state.Output = session.Completed, strings.Join(texts, "\n")
	case "error":
		state.Status = session.Failed
		if c.State.Error != nil {
			state.Error = c.State.Error.Message
		}
	case "running":
		state.Status, time.End = session.Running, 0
	default: // the input as far as it was received, as a string
		state.Status, state.Raw, state.Input, state.Time = session.Pending, span.String(c.State.Input), nil, nil
	}
	return session.Part{Type: session.ToolPart, Tool: c.Name, CallID: c.ID, State: state}
}

// detectShared reports whether an object is an element of a shared session's data.
func detectShared(head []byte) bool {
	data := len(span.Get(head, "data")) > 0
	switch span.String(span.Get(head, "type")) {
	case "session", "message", "part", "session_diff", "model":
		return data
	}
	return false
}

// shared reads the data of a shared session: a flat list of the session, its messages and their
// parts.
func (r *reader) shared() error {
	r.native.shape = shared
	messages := map[string]int{}
	var list []session.Message
	var parts []session.Part
	known := false
	if r.native.end = span.End(r.src, r.native.start); r.native.end < 0 {
		r.native.cut, r.native.end = true, len(r.src)
	}
	at := r.native.start + 1 // behind the last element
	for v := range span.Values(r.src, stretch(r.native.start, r.native.end)) {
		at = v.End
		r.doc.Counts.Entries++
		var item struct {
			Type string         `json:"type"`
			Data jsontext.Value `json:"data"`
		}
		_, err := r.decode(v.Start, &item)
		if err != nil {
			item.Type = ""
		}
		switch item.Type {
		case "session":
			known = true
			err = unmarshal(item.Data, &r.doc.Session.Info)
			r.sessionNote()
		case "message":
			m := session.Message{Parts: []session.Part{}}
			if err = unmarshal(item.Data, &m.MessageInfo); err != nil {
				break
			}
			known = true
			if n, again := messages[m.ID]; again {
				list[n] = m // the later write counts, as it does for the product
			} else {
				messages[m.ID] = len(list)
				list = append(list, m)
			}
		case "part":
			var p session.Part
			if err = unmarshal(item.Data, &p); err == nil {
				parts = append(parts, p)
			}
		}
		if err != nil {
			r.damage(v.Start, v.End, "an element was skipped: "+reason(err))
		}
	}
	switch rest := bytes.TrimLeft(r.src[at:r.native.end], ", \t\r\n"); {
	case len(rest) > 0 && rest[0] != ']':
		r.damage(r.native.end-len(rest), r.native.end, "the elements cannot be read from here on")
	case r.native.cut:
		r.damage(len(r.src), len(r.src), "the file ends before its JSON does")
	}
	if !known {
		return r.noExport()
	}
	for _, p := range parts {
		if n, ok := messages[p.MessageID]; ok {
			list[n].Parts = append(list[n].Parts, p)
		}
	}
	for i := range list {
		r.complete(&list[i])
		r.doc.Session.Messages = append(r.doc.Session.Messages, list[i])
	}
	return nil
}
