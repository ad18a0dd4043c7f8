package openhands

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/internal/span"
	"github.com/winnowhq/winnow/session"
)

// reader reads one file.
type reader struct {
	doc     *format.Document
	failed  error // the first value that could not be read
	events  []event
	usages  map[string]usage // by the answer's id
	answers map[string]int   // messages by the answer's id
	causes  map[string]place // calls by the event's id
	calls   map[string]place // calls by their own id
	of      map[string]int   // the message that an event is in
	ids     map[string]int
	system  []string
	model   *session.ModelRef
	lastAsk string
	before  usage // what the run had taken until the last answer
	cost    float64
}

type place struct{ message, part int }

// Read reads a trajectory. Events that only the product reads (states, recalls, pauses) count as
// aside. A condensation becomes a pivot: its summary stands for what was before it, and the first
// event behind the forgotten ones begins the tail. What the product keeps in front of the forgotten
// events is before the pivot here.
func (Format) Read(src []byte) (*format.Document, error) {
	r := newReader(src)
	text := bytes.TrimPrefix(src, []byte("\xef\xbb\xbf"))
	r.values(text, len(src)-len(text))
	return r.document("")
}

func newReader(src []byte) *reader {
	return &reader{
		doc:    &format.Document{Format: Name, Source: src},
		usages: map[string]usage{}, answers: map[string]int{}, of: map[string]int{}, ids: map[string]int{},
		causes: map[string]place{}, calls: map[string]place{},
	}
}

// document makes a session of the events. One that does not say its id has the one given, or one
// made of its content.
func (r *reader) document(id string) (*format.Document, error) {
	if len(r.events) == 0 {
		e := &format.SyntaxError{Format: Name, Line: 1, Expected: "a list of events", Err: r.failed}
		if n := len(r.doc.Damaged); n > 0 {
			e.Line, e.Offset = r.doc.Damaged[0].Line, r.doc.Damaged[0].Offset
		}
		return nil, e
	}
	sum := sha256.Sum256(r.doc.Source)
	info := &r.doc.Session.Info
	info.ID = cmp.Or(info.ID, id, "openhands_"+hex.EncodeToString(sum[:6]))
	for i := range r.events {
		if e := &r.events[i]; e.Key == "stats" {
			r.stats(e.Value)
		} else if e.Key == "full_state" {
			r.state(e.Value)
		}
	}
	for i := range r.events {
		e := &r.events[i]
		if e.Kind != "" {
			r.event(i, e)
		} else {
			r.old(i, e)
		}
	}
	info.Time.Created = millis(r.events[0].Timestamp)
	info.Time.Updated = millis(r.events[len(r.events)-1].Timestamp)
	if r.model != nil {
		info.Model = &session.ModelRef{ID: r.model.ModelID, ProviderID: r.model.ProviderID}
	}
	if len(r.system) > 0 {
		var about, own span.Object
		own.Add("system", r.system)
		about.Raw("openHands", own.Bytes())
		info.Unknown = about.Bytes()
	}
	return r.doc, nil
}

// event takes an event from 1.0 on.
func (r *reader) event(at int, e *event) {
	switch e.Kind {
	case "SystemPromptEvent":
		r.system = append(r.system, textOf(e.System))
	case "MessageEvent":
		if e.LLMMessage == nil {
			r.doc.Counts.Aside++
			return
		}
		role := e.LLMMessage.Role
		m := r.message(at, e, role == "assistant" || role == "" && e.Source == "agent", e.Response)
		r.think(m, cmp.Or(e.LLMMessage.Reasoning, e.Reasoning), append(e.LLMMessage.Thinking, e.Thinking...))
		r.blocks(m, e.LLMMessage.Content, e.Source != "user" && m.Role == session.User)
		for _, b := range e.Extended {
			r.add(m, session.Part{Type: session.TextPart, Text: b.Text, Synthetic: true})
		}
	case "ActionEvent":
		m := r.message(at, e, true, e.Response)
		r.think(m, e.Reasoning, e.Thinking)
		for _, b := range e.Thought {
			if b.Text != "" {
				r.add(m, session.Part{Type: session.TextPart, Text: b.Text})
			}
		}
		input := e.Action
		if e.Call != nil {
			if given := e.Call.given(); given.Kind() == '{' {
				input = given
			}
			e.Tool, e.CallID = cmp.Or(e.Tool, e.Call.Name), cmp.Or(e.CallID, e.Call.ID)
		}
		r.call(m, e, e.Tool, e.CallID, input, e.Summary)
		if e.CallID != "" && (e.Tool == "finish" || e.Tool == "think") { // nothing answers these
			r.part(r.calls[e.CallID]).State.Status = session.Completed
		}
	case "ObservationEvent", "AgentErrorEvent", "UserRejectObservation":
		text, failed := observed(e.Observation)
		switch {
		case e.Error != "":
			text, failed = e.Error, true
		case e.Kind == "UserRejectObservation":
			text, failed = cmp.Or(e.Rejection, "rejected"), true
		}
		for _, b := range e.Extended {
			text += "\n" + b.Text
		}
		r.result(at, e, r.calls[e.CallID], e.CallID != "", text, failed, e.Observation)
	case "Condensation":
		r.condensed(at, e, e.Summary, func(id string) bool { return slices.Contains(e.Forgotten, id) })
	default:
		r.doc.Counts.Aside++
	}
}

// given are the arguments of a call, which are JSON in a text.
func (c *toolCall) given() jsontext.Value {
	v := c.Arguments
	if c.Function != nil && len(v) == 0 {
		v = c.Function.Arguments
	}
	if v.Kind() == '"' {
		text := span.String(v)
		if v = jsontext.Value(text); !span.Valid(v) || v.Kind() != '{' {
			var o span.Object
			o.Add("arguments", text)
			v = o.Bytes()
		}
	}
	return v
}

// observed is the text of an observation from 1.0 on.
func observed(v jsontext.Value) (text string, failed bool) {
	var o struct {
		Content jsontext.Value `json:"content"`
		Output  jsontext.Value `json:"output"`
		Error   jsontext.Value `json:"error"`
		IsError bool           `json:"is_error"`
	}
	if v.Kind() != '{' || json.Unmarshal(v, &o, session.ReadOptions()) != nil {
		return textOf(v), false
	}
	if text = cmp.Or(textOf(o.Content), textOf(o.Output)); text != "" {
		return text, o.IsError
	}
	text = textOf(o.Error)
	return text, o.IsError || text != ""
}

// textOf is the text of a JSON string, of a block, or of a list of blocks.
func textOf(v jsontext.Value) string {
	switch v.Kind() {
	case '"':
		return span.String(v)
	case '{':
		var b block
		if json.Unmarshal(v, &b, session.ReadOptions()) == nil {
			return b.Text
		}
	case '[':
		var texts []string
		for one := range span.Values(v, span.All(v)) {
			if text := textOf(one.Of(v)); text != "" && v[one.Start] != '[' {
				texts = append(texts, text)
			}
		}
		return strings.Join(texts, "\n")
	}
	return ""
}

// message returns the message that an event belongs to: events of one answer share one.
func (r *reader) message(at int, e *event, assistant bool, answer string) *session.Message {
	if n, ok := r.answers[answer]; ok && answer != "" && assistant {
		r.of[e.id()] = n
		return &r.doc.Session.Messages[n]
	}
	m := session.Message{MessageInfo: session.MessageInfo{
		ID: fmt.Sprintf("oh_%06d", at+1), SessionID: r.doc.Session.Info.ID, Role: session.User,
		Time: session.MessageTime{Created: millis(e.Timestamp)},
	}}
	r.doc.Counts.Messages++
	if !assistant {
		r.lastAsk = m.ID
	} else {
		m.Role, m.ParentID, m.Finish = session.Assistant, r.lastAsk, "stop"
		if u, ok := r.usages[answer]; ok && answer != "" {
			m.Tokens, m.Cost = u.tokens(), u.cost
			if u.Model != "" {
				r.model = modelOf(u.Model)
			}
		}
		if r.model != nil {
			m.ProviderID, m.ModelID = r.model.ProviderID, r.model.ModelID
		}
	}
	r.doc.Session.Messages = append(r.doc.Session.Messages, m)
	n := len(r.doc.Session.Messages) - 1
	r.of[e.id()] = n
	if assistant && answer != "" {
		r.answers[answer] = n
	}
	return &r.doc.Session.Messages[n]
}

func (r *reader) add(m *session.Message, p session.Part) *session.Part {
	p.SessionID, p.MessageID = m.SessionID, m.ID
	if p.ID == "" {
		p.ID = m.ID + ":" + strconv.Itoa(len(m.Parts))
	}
	m.Parts = append(m.Parts, p)
	return &m.Parts[len(m.Parts)-1]
}

func (r *reader) think(m *session.Message, reasoning string, blocks []thinking) {
	for _, b := range blocks {
		p := r.add(m, session.Part{Type: session.ReasoningPart, Text: b.Thinking})
		if b.Signature != "" {
			var about span.Object
			about.Add("signature", b.Signature)
			p.Metadata = about.Bytes()
		}
	}
	if reasoning != "" && len(blocks) == 0 {
		r.add(m, session.Part{Type: session.ReasoningPart, Text: reasoning})
	}
}

// blocks adds a content: a text, or a list of texts and images.
func (r *reader) blocks(m *session.Message, content jsontext.Value, synthetic bool) {
	if content.Kind() == '"' {
		r.add(m, session.Part{Type: session.TextPart, Text: span.String(content), Synthetic: synthetic})
		return
	}
	var list []block
	if content.Kind() != '[' || json.Unmarshal(content, &list, session.ReadOptions()) != nil {
		return
	}
	for _, b := range list {
		if b.Text != "" {
			r.add(m, session.Part{Type: session.TextPart, Text: b.Text, Synthetic: synthetic})
		}
		r.images(m, b.URLs, synthetic)
	}
}

func (r *reader) images(m *session.Message, urls []string, synthetic bool) {
	for _, url := range urls {
		mime := "image/png"
		if data, ok := strings.CutPrefix(url, "data:"); ok {
			mime, _, _ = strings.Cut(data, ";")
		}
		r.add(m, session.Part{Type: session.FilePart, Mime: mime, URL: url, Synthetic: synthetic})
	}
}

// call adds a call whose result is still to come.
func (r *reader) call(m *session.Message, e *event, tool, callID string, input jsontext.Value, title string) {
	r.doc.Counts.ToolCalls++
	if input.Kind() != '{' {
		input = jsontext.Value("{}")
	}
	id := callID
	if r.ids[id]++; id != "" && r.ids[id] > 1 {
		id += "#" + strconv.Itoa(r.ids[id])
	}
	r.add(m, session.Part{
		ID: id, Type: session.ToolPart, CallID: cmp.Or(callID, m.ID+"-"+e.id()), Tool: tool,
		State: &session.ToolState{Status: session.Running, Input: input, Title: title},
	})
	m.Finish = "tool-calls"
	at := place{r.of[e.id()], len(m.Parts) - 1}
	r.causes[e.id()] = at
	if callID != "" {
		r.calls[callID] = at
	}
}

// part is the call at a place, nil if there is none.
func (r *reader) part(at place) *session.Part {
	if at.message >= len(r.doc.Session.Messages) {
		return nil
	}
	parts := r.doc.Session.Messages[at.message].Parts
	if at.part >= len(parts) || parts[at.part].State == nil {
		return nil
	}
	return &parts[at.part]
}

// result gives an observation to its call. Without a call it is a message that nobody wrote.
func (r *reader) result(at int, e *event, to place, known bool, text string, failed bool, raw jsontext.Value) {
	r.doc.Counts.ToolResults++
	p := r.part(to)
	if known && p != nil && (p.State.Status == session.Running || p.State.Output == "" && p.State.Error == "") {
		p.State.Status, p.State.Output = session.Completed, text
		if failed {
			p.State.Status, p.State.Output, p.State.Error = session.Failed, "", text
		}
		if raw.Kind() == '{' && len(raw) < 4096 {
			var about span.Object
			about.Raw("openHands", raw)
			p.State.Metadata = about.Bytes()
		}
		r.of[e.id()] = to.message
		return
	}
	m := r.message(at, e, false, "")
	r.add(m, session.Part{Type: session.TextPart, Text: text, Synthetic: true})
}

// condensed adds a pivot.
func (r *reader) condensed(at int, e *event, summary string, forgotten func(id string) bool) {
	if summary == "" {
		r.doc.Counts.Aside++ // it only forgot: nothing replaces what went
		return
	}
	last := -1
	for id, n := range r.of {
		if n > last && forgotten(id) {
			last = n
		}
	}
	tail := ""
	if messages := r.doc.Session.Messages; last >= 0 && last+1 < len(messages) {
		tail = messages[last+1].ID
	}
	m := r.message(at, e, false, "")
	r.add(m, session.Part{Type: session.CompactionPart, Auto: true, TailStartID: tail})
	answer := session.Message{MessageInfo: session.MessageInfo{
		ID: m.ID + "-summary", SessionID: m.SessionID, Role: session.Assistant, ParentID: m.ID, Time: m.Time,
		Finish: "stop", Summary: jsontext.Value("true"),
	}}
	if u, ok := r.usages[e.Response]; ok && e.Response != "" {
		answer.Tokens, answer.Cost = u.tokens(), u.cost
	}
	r.add(&answer, session.Part{Type: session.TextPart, Text: summary})
	r.doc.Session.Messages = append(r.doc.Session.Messages, answer)
}
