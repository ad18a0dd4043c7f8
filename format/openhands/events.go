package openhands

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/internal/transcript"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// event is one of either generation.
type event struct {
	ID        jsontext.Value `json:"id"` // a number up to 0.x, a text from 1.0 on
	Timestamp string         `json:"timestamp"`
	Source    string         `json:"source"`

	// Up to 0.x.
	Message     string         `json:"message"`
	Action      jsontext.Value `json:"action"` // a text; from 1.0 on an object
	Args        jsontext.Value `json:"args"`
	Observation jsontext.Value `json:"observation"` // a text; from 1.0 on an object
	Content     jsontext.Value `json:"content"`
	Extras      jsontext.Value `json:"extras"`
	Cause       jsontext.Value `json:"cause"`
	Meta        *callMeta      `json:"tool_call_metadata"`
	Metrics     *metrics       `json:"llm_metrics"`
	Success     *bool          `json:"success"`

	// From 1.0 on.
	Kind       string               `json:"kind"`
	LLMMessage *llmMessage          `json:"llm_message"`
	Extended   []block              `json:"extended_content"`
	Thought    []block              `json:"thought"`
	Reasoning  string               `json:"reasoning_content"`
	Thinking   []transcript.Thought `json:"thinking_blocks"`
	Tool       string               `json:"tool_name"`
	CallID     string               `json:"tool_call_id"`
	Call       *toolCall            `json:"tool_call"`
	Response   string               `json:"llm_response_id"`
	Summary    string               `json:"summary"`
	Forgotten  []string             `json:"forgotten_event_ids"`
	Error      string               `json:"error"`
	Rejection  string               `json:"rejection_reason"`
	System     jsontext.Value       `json:"system_prompt"`
	Key        string               `json:"key"`
	Value      jsontext.Value       `json:"value"`
}

type block struct {
	Type string   `json:"type"`
	Text string   `json:"text"`
	URLs []string `json:"image_urls"`
}

type llmMessage struct {
	Role      string               `json:"role"`
	Content   jsontext.Value       `json:"content"` // a text or blocks
	Reasoning string               `json:"reasoning_content"`
	Thinking  []transcript.Thought `json:"thinking_blocks"`
}

type toolCall struct {
	ID        string         `json:"id"`
	Name      string         `json:"name"`
	Arguments jsontext.Value `json:"arguments"`
	Function  *struct {
		Name      string         `json:"name"`
		Arguments jsontext.Value `json:"arguments"`
	} `json:"function"`
}

// callMeta says of which answer of the model an event is, up to 0.x.
type callMeta struct {
	Function string `json:"function_name"`
	CallID   string `json:"tool_call_id"`
	Response struct {
		ID      string `json:"id"`
		Model   string `json:"model"`
		Usage   *usage `json:"usage"`
		Choices []struct {
			Message struct {
				Content   jsontext.Value `json:"content"`
				Reasoning string         `json:"reasoning_content"`
				Calls     []toolCall     `json:"tool_calls"`
			} `json:"message"`
		} `json:"choices"`
	} `json:"model_response"`
}

// usage is what a provider reported, in either way of writing it: the prompt has what was read from
// the cache in it.
type usage struct {
	Response   string `json:"response_id"`
	Model      string `json:"model"`
	Prompt     int    `json:"prompt_tokens"`
	Completion int    `json:"completion_tokens"`
	Total      int    `json:"total_tokens"`
	Read       int    `json:"cache_read_tokens"`
	Write      int    `json:"cache_write_tokens"`
	Reasoning  int    `json:"reasoning_tokens"`
	Details    *struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`

	cost *float64 // in US dollars, nil when it is not said
}

type metrics struct {
	Cost   float64 `json:"accumulated_cost"`
	Usage  *usage  `json:"accumulated_token_usage"`
	Usages []usage `json:"token_usages"`
	Costs  []struct {
		Cost float64 `json:"cost"`
	} `json:"costs"`
}

// values reads every value of a file: one after the other, or in lists. What is not JSON is damage
// up to the next line that begins an object. base is where src begins in the source.
func (r *reader) values(src []byte, base int) {
	line, counted := 1, 0
	for at := 0; ; {
		at = len(src) - len(bytes.TrimLeft(src[at:], " \t\r\n,[]"))
		if at == len(src) {
			return
		}
		value, err := jsontext.NewDecoder(bytes.NewBuffer(src[at:]), session.ReadOptions()).ReadValue()
		if err == nil {
			r.value(value, base+at)
			at += len(value)
			continue
		}
		line += bytes.Count(src[counted:at], []byte("\n"))
		counted = at
		end := len(src)
		if next := bytes.Index(src[at:], []byte("\n{\"")); next >= 0 {
			end = at + next + 1
		}
		r.Damaged = append(r.Damaged, format.Damage{
			Line: line, Offset: int64(base + at), Bytes: end - at, Reason: span.Reason(err, "the file"),
		})
		at = end
	}
}

// value takes an event, a list of them, or an object that has them.
func (r *reader) value(value jsontext.Value, at int) {
	if value.Kind() == '[' { // a pair of action and observation
		for v := range span.Values(value, span.All(value)) {
			if value[v.Start] == '{' {
				r.value(jsontext.Value(v.Of(value)), at)
			}
		}
		return
	}
	var any struct {
		event
		History    jsontext.Value `json:"history"`
		Events     jsontext.Value `json:"events"`
		Trajectory jsontext.Value `json:"trajectory"`
		State      jsontext.Value `json:"base_state"`
	}
	reason := ""
	if value.Kind() != '{' {
		reason = "not an event: it is not an object"
	} else if err := json.Unmarshal(value, &any, session.ReadOptions()); err != nil {
		reason = err.Error()
	} else if any.Kind != "" && any.Source != "" || any.Action.Kind() == '"' || any.Observation.Kind() == '"' {
		r.Counts.Entries++
		r.events = append(r.events, any.event)
	} else if lists := [][]byte{any.History, any.Events, any.Trajectory}; slices.ContainsFunc(lists, isList) {
		r.state(any.State)
		r.state(value)
		for _, list := range lists {
			for v := range span.Values(list, span.All(list)) {
				r.value(v.Of(list), at)
			}
		}
	} else if !r.state(value) {
		reason = "not an event: it has neither a kind nor an action nor an observation"
	}
	if reason != "" {
		r.Damaged = append(r.Damaged, format.Damage{Offset: int64(at), Bytes: len(value), Reason: reason})
	}
}

func isList(value []byte) bool { return span.Kind(value) == '[' }

// state takes over what is said about a conversation as a whole, and reports whether that was
// something.
func (r *reader) state(value jsontext.Value) bool {
	if value.Kind() != '{' {
		return false
	}
	var state struct {
		ID    string `json:"id"`
		Agent struct {
			LLM struct {
				Model string `json:"model"`
			} `json:"llm"`
		} `json:"agent"`
		Workspace struct {
			Dir string `json:"working_dir"`
		} `json:"workspace"`
		Status  string         `json:"execution_status"`
		Stats   jsontext.Value `json:"stats"`
		Meta    jsontext.Value `json:"metadata"`
		Problem string         `json:"instance_id"`
	}
	if json.Unmarshal(value, &state, session.ReadOptions()) != nil {
		return false
	}
	r.stats(state.Stats)
	if state.Agent.LLM.Model != "" {
		r.Model = transcript.ModelOf(state.Agent.LLM.Model)
	}
	info := &r.Session.Info
	if state.Status != "" || state.Agent.LLM.Model != "" {
		info.ID = cmp.Or(state.ID, info.ID)
	}
	info.Title = cmp.Or(state.Problem, info.Title)
	info.Directory = cmp.Or(state.Workspace.Dir, info.Directory)
	return state.Status != "" || state.Agent.LLM.Model != "" || state.Workspace.Dir != "" || len(state.Stats) > 0
}

// stats notes what each answer of the model took.
func (r *reader) stats(value jsontext.Value) {
	var stats struct {
		By map[string]metrics `json:"usage_to_metrics"`
	}
	if value.Kind() != '{' || json.Unmarshal(value, &stats, session.ReadOptions()) != nil {
		return
	}
	for _, m := range stats.By {
		for i, u := range m.Usages {
			if len(m.Costs) == len(m.Usages) { // one of each an answer; costs do not name theirs
				u.cost = &m.Costs[i].Cost
			}
			if u.Response != "" {
				r.usages[u.Response] = u
			}
		}
	}
}

func (e *event) id() string { return idOf(e.ID) }

// idOf is the id of an event: a text, or a number.
func idOf(v jsontext.Value) string {
	if v.Kind() == '"' {
		return span.String(v)
	}
	return string(v)
}

// tokens is a usage as a session has it.
func (u *usage) tokens() *session.Usage {
	read := u.Read
	if u.Details != nil && read == 0 {
		read = u.Details.Cached
	}
	return &session.Usage{
		Total: u.Total, Input: max(0, u.Prompt-read-u.Write), Output: max(0, u.Completion-u.Reasoning),
		Reasoning: u.Reasoning, Cache: session.CacheUsage{Read: read, Write: u.Write},
	}
}
