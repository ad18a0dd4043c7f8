package openhands

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format/internal/transcript"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// arguments are what an action up to 0.x has beside the input of a tool.
type arguments struct {
	Content   string         `json:"content"`
	Images    []string       `json:"image_urls"`
	Thought   jsontext.Value `json:"thought"` // a text, or an object with text and reasoning_content
	Final     string         `json:"final_thought"`
	Summary   string         `json:"summary"`
	Forgotten []int          `json:"forgotten_event_ids"`
	First     *int           `json:"forgotten_events_start_id"`
	Last      *int           `json:"forgotten_events_end_id"`
	Unknown   jsontext.Value `json:",embed"`
}

// aside are actions that only the product reads.
var aside = []string{"recall", "change_agent_state", "pause", "resume", "null", "condensation_request"}

// old takes an event up to 0.x.
func (r *reader) old(at int, e *event) {
	var args arguments
	_ = json.Unmarshal(e.Args, &args, session.ReadOptions()) // of another shape they are input and nothing else
	if e.Observation.Kind() == '"' {
		r.oldObservation(at, e)
		return
	}
	if e.Meta != nil && e.Meta.Response.Model != "" {
		r.Model = transcript.ModelOf(e.Meta.Response.Model)
	}
	action := span.String(e.Action)
	switch {
	case action == "system":
		r.system = append(r.system, args.Content)
	case action == "condensation":
		r.condensed(at, e, args.Summary, func(id string) bool {
			n, err := strconv.Atoi(id)
			if args.First != nil && args.Last != nil {
				return err == nil && *args.First <= n && n <= *args.Last
			}
			return err == nil && slices.Contains(args.Forgotten, n)
		})
	case action == "message" && e.Source == "user":
		m := r.message(at, e, false, "")
		r.Add(m, session.Part{Type: session.TextPart, Text: cmp.Or(args.Content, e.Message)})
		r.images(m, args.Images, false)
	case action == "message":
		m := r.message(at, e, true, e.answer())
		r.meter(m, e)
		r.Add(m, session.Part{Type: session.TextPart, Text: cmp.Or(args.Content, e.Message)})
	case slices.Contains(aside, action):
		r.Counts.Aside++
	default:
		r.oldCall(at, e, action, &args)
	}
}

// answer is the id of the model's answer that an event is of.
func (e *event) answer() string {
	if e.Meta == nil {
		return ""
	}
	return e.Meta.Response.ID
}

func (r *reader) oldCall(at int, e *event, action string, args *arguments) {
	m := r.message(at, e, true, e.answer()) // a command that the user ran is a call as well
	r.meter(m, e)
	thought := textOf(args.Thought)
	if args.Thought.Kind() == '{' {
		var t struct {
			Reasoning string `json:"reasoning_content"`
		}
		if json.Unmarshal(args.Thought, &t, session.ReadOptions()) == nil {
			r.think(m, t.Reasoning, nil)
		}
	}
	// Events of one answer repeat its thought.
	if action != "think" {
		r.sayOnce(m, thought)
	}
	tool, callID, input := action, "", e.Args
	if e.Meta != nil {
		tool, callID = cmp.Or(e.Meta.Function, action), e.Meta.CallID
		for _, choice := range e.Meta.Response.Choices {
			for i := range choice.Message.Calls {
				if c := &choice.Message.Calls[i]; c.ID == callID {
					if given := c.given(); given.Kind() == '{' {
						input = given
					}
				}
			}
		}
	}
	r.call(m, e, tool, callID, input, e.Message)
	if action == "finish" || action == "reject" {
		if input.Kind() == '{' {
			r.sayOnce(m, args.Final)
		}
		r.Part(r.causes[e.id()]).State.Status = session.Completed
	}
}

// sayOnce adds a text that the message does not have yet.
func (r *reader) sayOnce(m *session.Message, text string) {
	if text != "" && !slices.ContainsFunc(m.Parts, func(p session.Part) bool { return p.Text == text }) {
		r.Add(m, session.Part{Type: session.TextPart, Text: text})
	}
}

// meter gives an answer what it took: what its provider reported, else by how much the run's sum
// grew.
func (r *reader) meter(m *session.Message, e *event) {
	if m.Role != session.Assistant || m.Tokens != nil {
		return
	}
	if e.Meta != nil && e.Meta.Response.Usage != nil {
		m.Tokens = e.Meta.Response.Usage.tokens()
	}
	if e.Metrics == nil {
		return
	}
	if now := e.Metrics.Usage; now != nil {
		if m.Tokens == nil && now.Prompt > r.before.Prompt {
			grown := usage{
				Prompt: now.Prompt - r.before.Prompt, Completion: now.Completion - r.before.Completion,
				Read: now.Read - r.before.Read, Write: now.Write - r.before.Write,
			}
			m.Tokens = grown.tokens()
		}
		r.before = *now
	}
	if cost := e.Metrics.Cost - r.cost; cost > 0 {
		m.Cost = &cost
		r.cost = e.Metrics.Cost
	}
}

func (r *reader) oldObservation(at int, e *event) {
	kind := span.String(e.Observation)
	to, known := r.causes[idOf(e.Cause)]
	if !known && e.Meta != nil && e.Meta.CallID != "" {
		to, known = r.Find(e.Meta.CallID)
	}
	if !known && (kind == "agent_state_changed" || kind == "recall" || kind == "null" || kind == "condense") {
		r.Counts.Aside++
		return
	}
	r.result(at, e, to, known, textOf(e.Content), kind == "error" || kind == "user_rejected", e.Extras)
}
