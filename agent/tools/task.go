package tools

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/text/quantity"
)

// Task lets another agent work in a session of its own, with the tools of this one but for Task
// itself, and gives back what it said last.
type Task struct {
	// Tools are names of those it may use; nil: all that the session has.
	Tools []string
}

// sent is what the other agent is told of where it is.
const sent = "You work for another agent, in a session of your own. Nobody answers questions: decide yourself, and " +
	"say what you assumed. " +
	"Your last message is all that the other agent gets, so put everything into it that was asked for."

func (Task) Name() string           { return "task" }
func (Task) Description() string    { return told("task").Description }
func (Task) Schema() jsontext.Value { return told("task").Schema }

func (t Task) Run(ctx context.Context, c agent.Call) (agent.Result, error) {
	a := argumentsOf(t.Name(), c.Input)
	prompt := a.need("prompt")
	about := a.text("description")
	id := a.text("task_id", "taskId", "session_id")
	switch {
	case a.err != nil:
		return agent.Result{}, a.err
	case c.Child == nil:
		return agent.Result{}, fmt.Errorf("there is no other agent here")
	}
	title := call.Cut(strings.Join(strings.Fields(about), " "), 120)
	turn, err := c.Child(ctx, agent.Child{SessionID: strings.TrimSpace(id), Title: title, Prompt: prompt, System: sent,
		Tools: t.Tools, OnEvent: steps(c.Progress)})
	r := agent.Result{Title: title, Output: strings.TrimSpace(turn.Text)}
	if turn.SessionID == "" {
		return r, err
	}
	if r.Output != "" {
		r.Output += "\n\n"
	} else if err == nil {
		r.Output = "(It said nothing.)\n\n"
	}
	r.Output += "[task_id " + turn.SessionID + ", " + quantity.Count(turn.Steps, "step") + "]"
	r.Metadata = map[string]any{"sessionId": turn.SessionID, "steps": turn.Steps, "cost": turn.Spent.Cost,
		"tokens": turn.Spent.Usage}
	return r, err
}

// steps tells somebody what another agent is about.
func steps(progress func(string)) func(agent.Event) {
	if progress == nil {
		return nil
	}
	return func(e agent.Event) {
		what := ""
		switch e.Type {
		case agent.StepStarted:
			what = "thinks"
		case agent.CallStarted:
			what = e.Part.Tool
		case agent.CallEnded:
			what = strings.TrimSpace(e.Part.Tool + " " + e.Part.State.Title)
		default:
			return
		}
		progress(call.Cut(fmt.Sprintf("step %d: %s", e.Step, what), 200))
	}
}
