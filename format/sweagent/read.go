package sweagent

import (
	"cmp"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/internal/transcript"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
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

// step is an entry of the trajectory; it is read if there is no history.
type step struct {
	Response    jsontext.Value `json:"response"`
	Thought     jsontext.Value `json:"thought"`
	Observation jsontext.Value `json:"observation"`
	Query       jsontext.Value `json:"query"`
}

// about is what a session has no member for.
type about struct {
	System     []string       `json:"system,omitzero"`
	Exit       jsontext.Value `json:"exitStatus,omitzero"`
	Submission jsontext.Value `json:"submission,omitzero"`
	Stats      jsontext.Value `json:"modelStats,omitzero"`
}

// reader reads one file.
type reader struct {
	*transcript.Log
	about   about
	started bool // an assistant spoke
}

// Read reads a trajectory. Counts.Messages counts all entries of the history, the system prompt
// among them; the prompt is not a message of the log but in the session's member "sweAgent". A file
// that is cut short is read as far as it goes. Without a history, the steps of the trajectory are
// read instead.
func (Format) Read(src []byte) (*format.Document, error) {
	r := &reader{Log: transcript.New(Name, src)}
	var turns []turn
	var steps []step
	r.Object(r.Whole(), func(name string, value span.Span) {
		switch name {
		case "history":
			transcript.Elements(r.Log, value, func(t turn) { turns = append(turns, t) })
		case "trajectory":
			transcript.Elements(r.Log, value, func(s step) { steps = append(steps, s) })
		case "info":
			var info struct {
				Exit       jsontext.Value `json:"exit_status"`
				Submission jsontext.Value `json:"submission"`
				Stats      jsontext.Value `json:"model_stats"`
			}
			if unmarshal(value.Of(src), &info) {
				r.about = about{Exit: info.Exit, Submission: info.Submission, Stats: info.Stats}
			}
		case "replay_config":
			r.Model = configured(value.Of(src))
		}
	})
	if len(turns) == 0 && len(steps) > 0 {
		turns = history(steps)
	}
	if len(turns) == 0 {
		return nil, r.Syntax("a JSON object with entries of a history or steps of a trajectory")
	}
	r.Session.Info.ID = r.Hash("swe_")
	r.Counts.Messages, r.Counts.Entries = len(turns), len(turns)
	for i := range turns {
		r.turn(fmt.Sprintf("swe_%06d", i+1), &turns[i])
	}
	r.End(r.Model, "sweAgent", r.about)
	return r.Document, nil
}

// unmarshal reports whether a value has the shape that is expected. One of another shape tells
// nothing.
func unmarshal(value jsontext.Value, into any) bool {
	return len(value) > 0 && json.Unmarshal(value, into, session.ReadOptions()) == nil
}

// history makes entries of the steps of a trajectory: what the first step was asked, then each
// answer and what it gave.
func history(steps []step) []turn {
	var turns []turn
	unmarshal(steps[0].Query, &turns) // older trajectories have no query
	for _, s := range steps {
		content := s.Response
		if transcript.Text(content) == "" {
			content = s.Thought
		}
		turns = append(turns,
			turn{Role: "assistant", Content: content},
			turn{Role: "user", Content: s.Observation, Kind: jsontext.Value(`"observation"`)})
	}
	return turns
}

// configured is the model that a run's configuration names; old files hold the configuration as a
// text.
func configured(value jsontext.Value) *session.ModelRef {
	if value.Kind() == '"' {
		value = jsontext.Value(transcript.Text(value))
	}
	name := transcript.Text(span.Find(value, span.All(value), "agent", "model", "name").Of(value))
	if name == "" || !span.Valid(value) {
		return nil
	}
	return transcript.ModelOf(name)
}

// turn takes an entry of the history.
func (r *reader) turn(id string, t *turn) {
	kind := transcript.Text(t.Kind)
	if t.Role == "tool" || kind == "observation" {
		r.Counts.ToolResults++
	}
	switch t.Role {
	case "system":
		r.about.System = append(r.about.System, transcript.Text(t.Content))
	case "assistant":
		r.assistant(id, t)
	case "tool":
		if !r.result(t) {
			r.user(id, t, true) // a message that nobody wrote
		}
	default:
		// The task comes before the first answer; what a user entry says later is the
		// environment's.
		demo := string(t.Demo) == "true" || transcript.Text(t.Demo) == "True" || kind == "demonstration"
		r.user(id, t, demo || r.started && kind != "user")
	}
}

func (r *reader) user(id string, t *turn, synthetic bool) {
	m := r.Message(session.User, id, "")
	m.Agent, m.Model = transcript.Text(t.Agent), r.Model
	for _, p := range blocks(t.Content) {
		p.Synthetic = synthetic
		r.Add(m, p)
	}
}

func (r *reader) assistant(id string, t *turn) {
	r.started = true
	m := r.Message(session.Assistant, id, "")
	m.Agent = transcript.Text(t.Agent)
	var thinking []transcript.Thought
	if unmarshal(t.Thinking, &thinking) {
		r.Think(m, thinking)
	}
	said := blocks(t.Content)
	if thought := transcript.Text(t.Thought); len(said) == 0 && thought != "" {
		said = []session.Part{{Type: session.TextPart, Text: thought}}
	}
	for _, p := range said {
		r.Add(m, p)
	}
	if r.Calls(m, t.Calls) == 0 && transcript.Text(t.Kind) == "action" {
		r.Counts.ToolCalls++ // it is in the text and stays there, as the model was shown it
	}
}

// result gives a tool entry to its call, if there is one.
func (r *reader) result(t *turn) bool {
	for v := range span.Values(t.CallIDs, span.All(t.CallIDs)) {
		at, ok := r.Find(transcript.Text(v.Of(t.CallIDs)))
		if !ok || r.Part(at).State.Final() {
			continue
		}
		call := r.Part(at)
		call.State.Status, call.State.Metadata = session.Completed, jsontext.Value("{}")
		for _, b := range blocks(t.Content) {
			switch {
			case b.Type == session.FilePart:
				transcript.Attach(call, b)
			case call.State.Output == "":
				call.State.Output = b.Text
			default:
				call.State.Output += "\n" + b.Text
			}
		}
		return true
	}
	return false
}

// blocks makes parts of a content.
func blocks(content jsontext.Value) []session.Part {
	if content.Kind() == '"' {
		return []session.Part{{Type: session.TextPart, Text: transcript.Text(content)}}
	}
	var list []struct {
		Type  string         `json:"type"`
		Text  string         `json:"text"`
		Image jsontext.Value `json:"image_url"` // a URL, or an object with one
	}
	if content.Kind() != '[' || !unmarshal(content, &list) {
		return nil
	}
	var parts []session.Part
	for _, b := range list {
		part := session.Part{Type: session.TextPart, Text: b.Text}
		if b.Type == "image_url" {
			inner := span.Find(b.Image, span.All(b.Image), "url").Of(b.Image)
			part = transcript.Image(cmp.Or(transcript.Text(b.Image), transcript.Text(inner)))
		}
		parts = append(parts, part)
	}
	return parts
}
