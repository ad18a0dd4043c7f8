// Package ruletest builds small logs for tests of the rules, and runs rules over them.
package ruletest

import (
	"fmt"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/token"
)

// Args are the arguments of a call.
type Args = map[string]any

// Log is a log that is being written. Parts get ids in their order: "p1", "p2", …; messages "m1",
// "m2", ….
type Log struct {
	Messages []session.Message
	Cwd      string // of the messages that follow
	parts    int
}

// New returns a log in /repo that begins with a request.
func New() *Log {
	l := &Log{Cwd: "/repo"}
	l.User("Please look into it.")
	return l
}

// User appends a message that the user wrote, and returns the id of its text part.
func (l *Log) User(text string) string {
	l.message(session.User)
	return l.part(session.Part{Type: session.TextPart, Text: text})
}

// Step begins a model request: what follows belongs to it until the next one.
func (l *Log) Step() *Log {
	l.message(session.Assistant)
	l.part(session.Part{Type: session.StepStartPart})
	return l
}

// Call appends a step with one call that ended well, and returns its id.
func (l *Log) Call(tool string, input any, output string) string {
	return l.Step().Beside(tool, input, output)
}

// Fail appends a step with one call that failed, and returns its id.
func (l *Log) Fail(tool string, input any, failure string) string {
	l.Step()
	return l.tool(tool, input, session.ToolState{Status: session.Failed, Error: failure})
}

// Beside appends a call that ended well to the newest step.
func (l *Log) Beside(tool string, input any, output string) string {
	return l.tool(tool, input, session.ToolState{Status: session.Completed, Output: output})
}

// Running appends a step with a call that has not ended; End ends it.
func (l *Log) Running(tool string, input any) string {
	l.Step()
	return l.tool(tool, input, session.ToolState{Status: session.Running})
}

// End ends a running call of the newest message. Like any log, it replaces the message and leaves
// the old one alone.
func (l *Log) End(part, output string) {
	m := &l.Messages[len(l.Messages)-1]
	m.Parts = append([]session.Part{}, m.Parts...)
	for j := range m.Parts {
		if m.Parts[j].ID == part {
			state := *m.Parts[j].State
			state.Status, state.Output = session.Completed, output
			m.Parts[j].State = &state
		}
	}
}

// Use appends the use of a tool, beside the newest call when there is one, else in a step of its
// own, and returns the id of its part.
func (l *Log) Use(u Use, beside bool) string {
	if !beside || l.Messages[len(l.Messages)-1].Role != session.Assistant {
		l.Step()
	}
	s := session.ToolState{Status: session.Completed, Output: u.Output}
	if u.Failed {
		s = session.ToolState{Status: session.Failed, Error: u.Output}
	} else if u.Args["command"] != nil {
		s.Metadata = fmt.Appendf(nil, `{"exit":%d}`, u.Exit)
	}
	return l.tool(u.Tool, u.Args, s)
}

// Attach appends a file part to the newest message.
func (l *Log) Attach(name, mime, url string) string {
	return l.part(session.Part{Type: session.FilePart, Filename: name, Mime: mime, URL: url})
}

// Quiet appends steps in which only the backward scan finds something.
func (l *Log) Quiet(steps int) *Log {
	for i := range steps {
		l.Call("think", Args{"about": fmt.Sprint(len(l.Messages), i)}, "Yes.")
	}
	return l
}

// Turns appends turns with nothing in them.
func (l *Log) Turns(turns int) *Log {
	for range turns {
		l.User("Go on.")
		l.Quiet(1)
	}
	return l
}

// Part of the log.
func (l *Log) Part(id string) *session.Part {
	_, p := session.FindPart(l.Messages, id)
	return p
}

func (l *Log) tool(tool string, input any, state session.ToolState) string {
	value, err := json.Marshal(input, json.Deterministic(true))
	if err != nil {
		panic(err)
	}
	state.Input = jsontext.Value(value)
	return l.part(session.Part{Type: session.ToolPart, Tool: tool, CallID: fmt.Sprintf("call_%d", l.parts+1),
		State: &state})
}

func (l *Log) message(role session.Role) {
	m := session.Message{MessageInfo: session.MessageInfo{ID: fmt.Sprintf("m%d", len(l.Messages)+1), Role: role}}
	if role == session.Assistant {
		m.Finish = "tool-calls"
		m.Path = &session.Path{Cwd: l.Cwd}
	}
	l.Messages = append(l.Messages, m)
}

func (l *Log) part(p session.Part) string {
	l.parts++
	m := &l.Messages[len(l.Messages)-1]
	p.ID, p.MessageID = fmt.Sprintf("p%d", l.parts), m.ID
	m.Parts = append(m.Parts, p)
	return p.ID
}

// Window of the log, with nothing elided.
func (l *Log) Window() rule.Window {
	return rule.Window{Messages: l.Messages, Facts: rule.NewFacts(token.Chars4{}), Guard: &rule.Guard{}}
}

// Found are the elisions of a rule over the log, by the id of the part. Two of one part fail the
// test.
func (l *Log) Found(t testing.TB, r rule.Rule) map[string]rule.Elision {
	t.Helper()
	found := map[string]rule.Elision{}
	for _, e := range r.Find(l.Window()).Elisions {
		if other, twice := found[e.Part]; twice {
			t.Errorf("%s elides %s twice: %+v and %+v", r.Name(), e.Part, other, e)
		}
		found[e.Part] = e
	}
	return found
}
