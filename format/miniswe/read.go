package miniswe

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/internal/transcript"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
	"github.com/winnowhq/winnow/wire"
)

// entry is an entry of messages.
type entry struct {
	Role    string         `json:"role"`
	Content jsontext.Value `json:"content"` // a text, or a list of blocks
	Calls   jsontext.Value `json:"tool_calls"`
	CallID  string         `json:"tool_call_id"`
	Extra   struct {
		Response response `json:"response"`
		Cost     *float64 `json:"cost"`
	} `json:"extra"`
}

// response is the provider's answer, of which the program keeps all.
type response struct {
	Model   string `json:"model"`
	Created int64  `json:"created"` // seconds
	Usage   *usage `json:"usage"`
}

// usage is the provider's report, in the form of OpenRouter and LiteLLM.
type usage struct {
	Prompt  int      `json:"prompt_tokens"`
	Answer  int      `json:"completion_tokens"`
	Total   int      `json:"total_tokens"`
	Write   int      `json:"cache_creation_input_tokens"`
	Cost    *float64 `json:"cost"`
	Details struct {
		Read  int `json:"cached_tokens"`
		Write int `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	Thought struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// about holds the facts that a session has no member for.
type about struct {
	System     []string       `json:"system,omitzero"`
	Exit       jsontext.Value `json:"exitStatus,omitzero"`
	Submission jsontext.Value `json:"submission,omitzero"`
	Stats      jsontext.Value `json:"modelStats,omitzero"`
	Instance   string         `json:"instance,omitzero"`
}

// info describes the whole run.
type info struct {
	Exit       jsontext.Value `json:"exit_status"`
	Submission jsontext.Value `json:"submission"`
	Stats      jsontext.Value `json:"model_stats"`
	Config     struct {
		Model struct {
			Name string `json:"model_name"`
		} `json:"model"`
	} `json:"config"`
}

// reader reads one file.
type reader struct {
	*transcript.Log
	about   about
	waiting string // id of the call in a text whose output is the next entry; "" for none
}

// Read reads a trajectory. Counts.Messages counts all entries of messages, the system prompt among
// them; the prompt is not a message of the log but in the session's member "miniSweAgent". A command
// in the text of an answer becomes a call of the tool bash, and the entry after it its output. A file
// that is cut short is read as far as it goes.
func (Format) Read(src []byte) (*format.Document, error) {
	r := &reader{Log: transcript.New(Name, src)}
	var entries []entry
	r.Object(r.Whole(), func(name string, value span.Span) {
		switch name {
		case "messages":
			transcript.Elements(r.Log, value, func(e entry) { entries = append(entries, e) })
		case "instance_id":
			r.about.Instance = transcript.Text(value.Of(src))
		case "info":
			var i info
			if json.Unmarshal(value.Of(src), &i, session.ReadOptions()) == nil {
				r.about.Exit, r.about.Submission, r.about.Stats = i.Exit, i.Submission, i.Stats
				if i.Config.Model.Name != "" {
					r.Model = transcript.ModelOf(i.Config.Model.Name)
				}
			}
		}
	})
	if len(entries) == 0 {
		return nil, r.Syntax("a JSON object with messages")
	}
	r.Session.Info.ID = r.Hash("mini_")
	r.Counts.Messages, r.Counts.Entries = len(entries), len(entries)
	for i := range entries {
		r.entry(fmt.Sprintf("mini_%06d", i+1), &entries[i])
	}
	r.End(r.Model, "miniSweAgent", r.about)
	return r.Document, nil
}

// entry takes an entry of messages.
func (r *reader) entry(id string, e *entry) {
	call := cmp.Or(e.CallID, r.waiting)
	r.waiting = ""
	switch e.Role {
	case "system":
		r.about.System = append(r.about.System, transcript.Text(e.Content))
	case "exit": // it is in info, too
	case "assistant":
		r.assistant(id, e)
	default:
		text := transcript.Text(e.Content)
		if r.output(call, text) {
			return
		}
		later := len(r.Session.Messages) > 0 // after the task only the program writes
		r.Add(r.Message(session.User, id, ""), session.Part{Type: session.TextPart, Text: text, Synthetic: later})
	}
}

// action is a command in the text of an answer. An answer has exactly one, or it is refused.
var action = regexp.MustCompile("(?s)```(?:bash|mswea_bash_command)\\s*\\n(.*?)\\n```")

func (r *reader) assistant(id string, e *entry) {
	answer := &e.Extra.Response
	created := ""
	if answer.Created > 0 {
		created = time.Unix(answer.Created, 0).UTC().Format(time.RFC3339)
	}
	m := r.Message(session.Assistant, id, created)
	if m.Cost = e.Extra.Cost; answer.Usage != nil {
		u := answer.Usage
		tokens := wire.SplitUsage(u.Prompt, u.Details.Read, max(u.Write, u.Details.Write), u.Answer, u.Thought.Reasoning, u.Total)
		m.Tokens, m.Cost = &tokens, cmp.Or(u.Cost, m.Cost)
	}
	text := transcript.Text(e.Content)
	if len(e.Calls) == 0 {
		if found := action.FindAllStringSubmatchIndex(text, -1); len(found) == 1 {
			r.waiting = id + ":bash"
			r.say(m, text[:found[0][0]])
			r.Call(m, r.waiting, "bash", span.Make("command", text[found[0][2]:found[0][3]]))
			r.say(m, text[found[0][1]:])
			return
		}
	}
	r.say(m, text)
	r.Calls(m, e.Calls)
}

// say adds a text, if there is any.
func (r *reader) say(m *session.Message, text string) {
	if text = strings.TrimSpace(text); text != "" {
		r.Add(m, session.Part{Type: session.TextPart, Text: text})
	}
}

// code is the exit code with which an observation begins.
var code = regexp.MustCompile(`^\s*<returncode>(-?[0-9]{1,9})</returncode>`)

// output stores the output of a call, if there is such a call.
func (r *reader) output(id, text string) bool {
	at, ok := r.Find(id)
	if !ok || id == "" || r.Part(at).State.Final() {
		return false
	}
	r.Counts.ToolResults++
	state := r.Part(at).State
	state.Status, state.Output, state.Metadata = session.Completed, text, jsontext.Value("{}")
	if found := code.FindStringSubmatch(text); found != nil {
		state.Metadata = jsontext.Value(`{"exit":` + found[1] + `}`)
	}
	return true
}
