package openhands

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
	"github.com/winnowhq/winnow/text/span"
)

// reader reads one file.
type reader struct {
	*transcript.Log
	events  []event
	usages  map[string]usage            // by the answer's id
	answers map[string]int              // messages by the answer's id
	causes  map[string]transcript.Place // calls by the event's id
	of      map[string]int              // the message that an event is in
	system  []string
	before  usage // what the run had taken until the last answer
	cost    float64
}

// Read reads a trajectory. Events that only the product reads (states, recalls, pauses) count as
// aside. A condensation becomes a pivot: its summary replaces what was before it, and the first
// event after the forgotten ones begins the tail. What the product keeps before the forgotten
// events is before the pivot here.
func (Format) Read(src []byte) (*format.Document, error) {
	r := newReader(src)
	text := bytes.TrimPrefix(src, []byte("\xef\xbb\xbf"))
	r.values(text, len(src)-len(text))
	return r.document("")
}

func newReader(src []byte) *reader {
	return &reader{
		Log: transcript.New(Name, src), usages: map[string]usage{}, answers: map[string]int{}, of: map[string]int{},
		causes: map[string]transcript.Place{},
	}
}

// document makes a session of the events. One that does not say its id has the one given, or one
// made of its content.
func (r *reader) document(id string) (*format.Document, error) {
	if len(r.events) == 0 {
		return nil, r.Syntax("a list of events")
	}
	info := &r.Session.Info
	info.ID = cmp.Or(info.ID, id, r.Hash("openhands_"))
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
	info.Time.Created = jsonl.Millis(r.events[0].Timestamp)
	info.Time.Updated = jsonl.Millis(r.events[len(r.events)-1].Timestamp)
	var about any
	if len(r.system) > 0 {
		about = map[string]any{"system": r.system}
	}
	r.End(r.Model, "openHands", about)
	return r.Document, nil
}

// event takes an event from 1.0 on.
func (r *reader) event(at int, e *event) {
	switch e.Kind {
	case "SystemPromptEvent":
		r.system = append(r.system, textOf(e.System))
	case "MessageEvent":
		if e.LLMMessage == nil {
			r.Counts.Aside++
			return
		}
		role := e.LLMMessage.Role
		m := r.message(at, e, role == "assistant" || role == "" && e.Source == "agent", e.Response)
		r.think(m, cmp.Or(e.LLMMessage.Reasoning, e.Reasoning), append(e.LLMMessage.Thinking, e.Thinking...))
		r.blocks(m, e.LLMMessage.Content, e.Source != "user" && m.Role == session.User)
		for _, b := range e.Extended {
			r.Add(m, session.Part{Type: session.TextPart, Text: b.Text, Synthetic: true})
		}
	case "ActionEvent":
		m := r.message(at, e, true, e.Response)
		r.think(m, e.Reasoning, e.Thinking)
		for _, b := range e.Thought {
			if b.Text != "" {
				r.Add(m, session.Part{Type: session.TextPart, Text: b.Text})
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
			at, _ := r.Find(e.CallID)
			r.Part(at).State.Status = session.Completed
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
		to, known := r.Find(e.CallID)
		r.result(at, e, to, known, text, failed, e.Observation)
	case "Condensation":
		r.condensed(at, e, e.Summary, func(id string) bool { return slices.Contains(e.Forgotten, id) })
	default:
		r.Counts.Aside++
	}
}

// given are the arguments of a call.
func (c *toolCall) given() jsontext.Value {
	if c.Function != nil && len(c.Arguments) == 0 {
		return transcript.Arguments(c.Function.Arguments)
	}
	return transcript.Arguments(c.Arguments)
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
			if v[one.Start] == '[' {
				continue
			}
			if text := textOf(one.Of(v)); text != "" {
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
		return &r.Session.Messages[n]
	}
	role := session.User
	u, metered := r.usages[answer]
	if metered = metered && assistant && answer != ""; metered && u.Model != "" {
		r.Model = transcript.ModelOf(u.Model)
	}
	if assistant {
		role = session.Assistant
	}
	m := r.Message(role, fmt.Sprintf("oh_%06d", at+1), e.Timestamp)
	r.Counts.Messages++
	if metered {
		m.Tokens, m.Cost = u.tokens(), u.cost
	}
	n := len(r.Session.Messages) - 1
	r.of[e.id()] = n
	if assistant && answer != "" {
		r.answers[answer] = n
	}
	return m
}

func (r *reader) think(m *session.Message, reasoning string, blocks []transcript.Thought) {
	r.Think(m, blocks)
	if reasoning != "" && len(blocks) == 0 {
		r.Add(m, session.Part{Type: session.ReasoningPart, Text: reasoning})
	}
}

// blocks adds a content: a text, or a list of texts and images.
func (r *reader) blocks(m *session.Message, content jsontext.Value, synthetic bool) {
	if content.Kind() == '"' {
		r.Add(m, session.Part{Type: session.TextPart, Text: span.String(content), Synthetic: synthetic})
		return
	}
	var list []block
	if content.Kind() != '[' || json.Unmarshal(content, &list, session.ReadOptions()) != nil {
		return
	}
	for _, b := range list {
		if b.Text != "" {
			r.Add(m, session.Part{Type: session.TextPart, Text: b.Text, Synthetic: synthetic})
		}
		r.images(m, b.URLs, synthetic)
	}
}

func (r *reader) images(m *session.Message, urls []string, synthetic bool) {
	for _, url := range urls {
		image := transcript.Image(url)
		image.Synthetic = synthetic
		r.Add(m, image)
	}
}

// call adds a call whose result is still to come.
func (r *reader) call(m *session.Message, e *event, tool, id string, input jsontext.Value, title string) {
	p, at := r.Call(m, id, tool, input)
	p.CallID = cmp.Or(id, m.ID+"-"+e.id())
	p.State.Title = title
	r.causes[e.id()] = at
}

// result gives an observation to its call. Without a call it is a message that nobody wrote.
func (r *reader) result(
	at int, e *event, to transcript.Place, known bool, text string, failed bool, raw jsontext.Value,
) {
	r.Counts.ToolResults++
	if known {
		state := r.Part(to).State
		if state.Status == session.Running || state.Output == "" && state.Error == "" {
			state.Status, state.Output = session.Completed, text
			if failed {
				state.Status, state.Output, state.Error = session.Failed, "", text
			}
			if raw.Kind() == '{' && len(raw) < 4096 {
				state.Metadata = span.Make("openHands", raw)
			}
			r.of[e.id()] = to.Message
			return
		}
	}
	m := r.message(at, e, false, "")
	r.Add(m, session.Part{Type: session.TextPart, Text: text, Synthetic: true})
}

// condensed adds a pivot.
func (r *reader) condensed(at int, e *event, summary string, forgotten func(id string) bool) {
	if summary == "" {
		r.Counts.Aside++ // it only forgot: nothing replaces what went
		return
	}
	last := -1
	for id, n := range r.of {
		if n > last && forgotten(id) {
			last = n
		}
	}
	tail := ""
	if messages := r.Session.Messages; last >= 0 && last+1 < len(messages) {
		tail = messages[last+1].ID
	}
	m := r.message(at, e, false, "")
	r.Add(m, session.Part{Type: session.CompactionPart, Auto: true, TailStartID: tail})
	answer := session.Message{MessageInfo: session.MessageInfo{
		ID: m.ID + "-summary", SessionID: m.SessionID, Role: session.Assistant, ParentID: m.ID, Time: m.Time,
		Finish: "stop", Summary: jsontext.Value("true"),
	}}
	if u, ok := r.usages[e.Response]; ok && e.Response != "" {
		answer.Tokens, answer.Cost = u.tokens(), u.cost
	}
	r.Add(&answer, session.Part{Type: session.TextPart, Text: summary})
	r.Session.Messages = append(r.Session.Messages, answer)
}
