package sweagent

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/session"
)

// turn is an entry of the history.
type turn struct {
	Role     string         `json:"role"`
	Content  jsontext.Value `json:"content"` // a text, or a list of blocks
	Agent    jsontext.Value `json:"agent"`
	Kind     jsontext.Value `json:"message_type"`
	Demo     jsontext.Value `json:"is_demo"`
	Thought  jsontext.Value `json:"thought"`
	Calls    jsontext.Value `json:"tool_calls"`
	CallIDs  jsontext.Value `json:"tool_call_ids"`
	Thinking jsontext.Value `json:"thinking_blocks"`
}

// step is an entry of the trajectory; it is read where there is no history.
type step struct {
	Response    jsontext.Value `json:"response"`
	Thought     jsontext.Value `json:"thought"`
	Observation jsontext.Value `json:"observation"`
	Query       jsontext.Value `json:"query"`
}

// outcome is the info of a run.
type outcome struct {
	Exit       jsontext.Value `json:"exit_status"`
	Submission jsontext.Value `json:"submission"`
	Stats      jsontext.Value `json:"model_stats"`
}

// reader reads one file.
type reader struct {
	doc     *format.Document
	turns   []turn
	steps   []step
	system  []string
	info    outcome
	model   *session.ModelRef
	calls   map[string]place
	parts   map[string]int
	lastAsk string
	started bool // an assistant spoke
}

type place struct{ message, part int }

// Read reads a trajectory. Counts.Messages counts all entries of the history, the system prompt among them; the prompt is
// no message of the log, it stands in the session's member "sweAgent". A file that is cut short is read as far as
// it goes; without a history, the steps of the trajectory are read instead.
func (Format) Read(src []byte) (*format.Document, error) {
	r := &reader{doc: &format.Document{Format: Name, Source: src}, calls: map[string]place{}, parts: map[string]int{}}
	text := bytes.TrimPrefix(src, []byte("\xef\xbb\xbf"))
	shift := int64(len(src) - len(text))
	dec := jsontext.NewDecoder(bytes.NewBuffer(text), session.ReadOptions())
	if token, err := dec.ReadToken(); err != nil || token.Kind() != '{' {
		return nil, &format.SyntaxError{Format: Name, Line: 1, Offset: shift, Expected: "a JSON object with a history", Err: err}
	}
	if at, err := r.members(dec); err != nil {
		at += shift
		r.doc.Damaged = []format.Damage{{Offset: at, Bytes: len(src) - int(at), Reason: reason(err)}}
		if len(r.turns) == 0 && len(r.steps) == 0 {
			return nil, &format.SyntaxError{Format: Name, Offset: at, Expected: "a history or a trajectory", Err: err}
		}
	}
	if len(r.turns) == 0 && len(r.steps) > 0 {
		r.turns = history(r.steps)
	}
	if len(r.turns) == 0 {
		return nil, &format.SyntaxError{Format: Name, Line: 1, Offset: shift, Expected: "a history with entries, or a trajectory with steps"}
	}
	r.log(src)
	return r.doc, nil
}

func reason(err error) string {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return "the file is cut short"
	}
	return err.Error()
}

// members reads the members of the file. On an error it returns where the value begins that could not be read.
func (r *reader) members(dec *jsontext.Decoder) (at int64, err error) {
	for {
		at = dec.InputOffset()
		if dec.PeekKind() == '}' {
			if _, err = dec.ReadToken(); err == nil {
				if _, trailing := dec.ReadToken(); trailing != io.EOF {
					return dec.InputOffset(), errors.New("something follows the JSON object")
				}
			}
			return at, err
		}
		name, err := dec.ReadToken()
		if err != nil {
			return at, err
		}
		switch name.String() {
		case "history":
			if at, err = elements(dec, &r.turns); err != nil {
				return at, err
			}
			r.doc.Counts.Entries = len(r.turns)
		case "trajectory":
			if at, err = elements(dec, &r.steps); err != nil {
				return at, err
			}
		default:
			key := name.String()
			value, err := dec.ReadValue()
			if err != nil {
				return at, err
			}
			switch key {
			case "info":
				_ = json.Unmarshal(value, &r.info, session.ReadOptions()) // an info of another shape tells nothing
			case "replay_config":
				r.model = configured(value)
			}
		}
	}
}

// elements reads an array of objects one by one, so that a cut costs one of them; what is no object is skipped.
func elements[T any](dec *jsontext.Decoder, into *[]T) (at int64, err error) {
	at = dec.InputOffset()
	if dec.PeekKind() != '[' {
		return at, dec.SkipValue()
	}
	if _, err := dec.ReadToken(); err != nil {
		return at, err
	}
	for dec.PeekKind() != ']' {
		at = dec.InputOffset()
		value, err := dec.ReadValue()
		if err != nil {
			return at, err
		}
		var element T
		if value.Kind() == '{' && json.Unmarshal(value, &element, session.ReadOptions()) == nil {
			*into = append(*into, element)
		}
	}
	_, err = dec.ReadToken()
	return dec.InputOffset(), err
}

// history makes entries of the steps of a trajectory: what the first step was asked, then each answer and what it gave.
func history(steps []step) []turn {
	var turns []turn
	if len(steps[0].Query) > 0 {
		_ = json.Unmarshal(steps[0].Query, &turns, session.ReadOptions()) // older trajectories have no query
	}
	for i := range steps {
		content := steps[i].Response
		if plain(content) == "" {
			content = steps[i].Thought
		}
		turns = append(turns,
			turn{Role: "assistant", Content: content},
			turn{Role: "user", Content: steps[i].Observation, Kind: jsontext.Value(`"observation"`)})
	}
	return turns
}

// configured is the model that a run's configuration names; old files hold the configuration as a text.
func configured(value jsontext.Value) *session.ModelRef {
	if value.Kind() == '"' {
		value = jsontext.Value(plain(value))
	}
	var config struct {
		Agent struct {
			Model struct {
				Name string `json:"name"`
			} `json:"model"`
		} `json:"agent"`
	}
	if json.Unmarshal(value, &config, session.ReadOptions()) != nil || config.Agent.Model.Name == "" {
		return nil
	}
	provider, model, ok := strings.Cut(config.Agent.Model.Name, "/")
	if !ok {
		provider, model = "", provider
	}
	return &session.ModelRef{ProviderID: provider, ModelID: model}
}

// log makes the session of the entries.
func (r *reader) log(src []byte) {
	s := &r.doc.Session
	sum := sha256.Sum256(src)
	s.Info.ID = "swe_" + hex.EncodeToString(sum[:6])
	if r.model != nil {
		s.Info.Model = &session.ModelRef{ID: r.model.ModelID, ProviderID: r.model.ProviderID}
	}
	r.doc.Counts.Messages = len(r.turns)
	r.doc.Counts.Entries = len(r.turns)
	for i := range r.turns {
		r.turn(i, &r.turns[i])
	}
	about := struct {
		System     []string       `json:"system,omitzero"`
		Exit       jsontext.Value `json:"exitStatus,omitzero"`
		Submission jsontext.Value `json:"submission,omitzero"`
		Stats      jsontext.Value `json:"modelStats,omitzero"`
	}{r.system, r.info.Exit, r.info.Submission, r.info.Stats}
	if text, err := json.Marshal(map[string]any{"sweAgent": about}, session.ReadOptions()); err == nil {
		s.Info.Unknown = text
	}
}

func (r *reader) turn(at int, t *turn) {
	kind := plain(t.Kind)
	if t.Role == "tool" || kind == "observation" {
		r.doc.Counts.ToolResults++
	}
	switch t.Role {
	case "system":
		r.system = append(r.system, plain(t.Content))
	case "assistant":
		r.assistant(at, t)
	case "tool":
		r.result(at, t)
	default:
		// The task comes before the first answer; whatever a user entry says later is the environment's.
		demo := string(t.Demo) == "true" || plain(t.Demo) == "True" || kind == "demonstration"
		r.user(at, t, demo || r.started && kind != "user")
	}
}

func (r *reader) message(at int, role session.Role, t *turn) *session.Message {
	m := session.Message{MessageInfo: session.MessageInfo{
		ID: fmt.Sprintf("swe_%06d", at+1), SessionID: r.doc.Session.Info.ID, Role: role, Agent: plain(t.Agent)}}
	r.doc.Session.Messages = append(r.doc.Session.Messages, m)
	return &r.doc.Session.Messages[len(r.doc.Session.Messages)-1]
}

// add gives a message one more part, and fills in what every part has.
func (r *reader) add(m *session.Message, p session.Part) *session.Part {
	p.SessionID, p.MessageID = m.SessionID, m.ID
	if p.ID == "" {
		p.ID = m.ID + ":" + strconv.Itoa(len(m.Parts))
	}
	m.Parts = append(m.Parts, p)
	return &m.Parts[len(m.Parts)-1]
}

func (r *reader) user(at int, t *turn, synthetic bool) {
	m := r.message(at, session.User, t)
	m.Model = r.model
	for _, p := range blocks(t.Content) {
		p.Synthetic = synthetic
		r.add(m, p)
	}
	r.lastAsk = m.ID
}

func (r *reader) assistant(at int, t *turn) {
	r.started = true
	m := r.message(at, session.Assistant, t)
	m.ParentID, m.Finish = r.lastAsk, "stop"
	if r.model != nil {
		m.ProviderID, m.ModelID = r.model.ProviderID, r.model.ModelID
	}
	var thinking []struct {
		Thinking  string `json:"thinking"`
		Signature string `json:"signature"`
	}
	if len(t.Thinking) > 0 && json.Unmarshal(t.Thinking, &thinking, session.ReadOptions()) == nil {
		for _, b := range thinking {
			p := r.add(m, session.Part{Type: session.ReasoningPart, Text: b.Thinking})
			if b.Signature != "" {
				p.Metadata, _ = json.Marshal(map[string]string{"signature": b.Signature}, session.ReadOptions())
			}
		}
	}
	said := blocks(t.Content)
	if len(said) == 0 && plain(t.Thought) != "" {
		said = []session.Part{{Type: session.TextPart, Text: plain(t.Thought)}}
	}
	for _, p := range said {
		r.add(m, p)
	}
	var calls []jsontext.Value
	if len(t.Calls) > 0 && json.Unmarshal(t.Calls, &calls, session.ReadOptions()) == nil {
		for _, raw := range calls {
			r.call(m, raw)
		}
	}
	if len(calls) == 0 && plain(t.Kind) == "action" {
		r.doc.Counts.ToolCalls++ // in its text: it stays there, as the model was shown it
	}
}

func (r *reader) call(m *session.Message, raw jsontext.Value) {
	var c struct {
		ID       string `json:"id"`
		Function struct {
			Name      string         `json:"name"`
			Arguments jsontext.Value `json:"arguments"`
		} `json:"function"`
	}
	if json.Unmarshal(raw, &c, session.ReadOptions()) != nil {
		return
	}
	r.doc.Counts.ToolCalls++
	m.Finish = "tool-calls"
	input := c.Function.Arguments
	if input.Kind() == '"' {
		text := plain(input)
		if input = jsontext.Value(text); !input.IsValid(session.ReadOptions()) || input.Kind() != '{' {
			input, _ = json.Marshal(map[string]string{"arguments": text}, session.ReadOptions())
		}
	}
	if input.Kind() != '{' {
		input = jsontext.Value("{}")
	}
	id := c.ID
	if r.parts[id]++; id != "" && r.parts[id] > 1 {
		id += "#" + strconv.Itoa(r.parts[id])
	}
	r.add(m, session.Part{ID: id, Type: session.ToolPart, CallID: c.ID, Tool: c.Function.Name,
		State: &session.ToolState{Status: session.Running, Input: input}})
	r.calls[c.ID] = place{len(r.doc.Session.Messages) - 1, len(m.Parts) - 1}
}

// result joins a tool entry with its call; without one it stays a message that nobody wrote.
func (r *reader) result(at int, t *turn) {
	var ids []string
	_ = json.Unmarshal(t.CallIDs, &ids, session.ReadOptions())
	for _, id := range ids {
		p, ok := r.calls[id]
		if !ok {
			continue
		}
		part := &r.doc.Session.Messages[p.message].Parts[p.part]
		if part.State.Final() {
			continue
		}
		part.State.Status, part.State.Metadata = session.Completed, jsontext.Value("{}")
		for _, b := range blocks(t.Content) {
			switch {
			case b.Type == session.FilePart:
				b.ID = fmt.Sprintf("%s:%d", part.ID, len(part.State.Attachments))
				b.SessionID, b.MessageID = part.SessionID, part.MessageID
				part.State.Attachments = append(part.State.Attachments, b)
			case part.State.Output == "":
				part.State.Output = b.Text
			default:
				part.State.Output += "\n" + b.Text
			}
		}
		return
	}
	r.user(at, t, true)
}
