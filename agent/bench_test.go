package agent_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/sqlite"
)

// endless answers at once, with a call each time until it has made so many.
type endless struct{ asked, calls int }

func (e *endless) Ask(_ context.Context, r llm.Request) (llm.Answer, error) {
	e.asked++
	a := llm.Answer{Finish: llm.Calls, Usage: session.Usage{Input: 1000 + 20*len(r.Messages), Output: 20}}
	if e.asked > e.calls {
		a.Parts = []session.Part{{Type: session.TextPart, Text: "Done."}}
		return a, nil
	}
	a.Parts = []session.Part{{Type: session.ToolPart, Tool: "look", CallID: fmt.Sprint("call_", e.asked), State: &session.ToolState{
		Status: session.Pending, Input: []byte(fmt.Sprintf(`{"path":"f%d"}`, e.asked)),
	}}}
	return a, nil
}

// What the loop and the engine add to one step of a session of 10,000 parts.
func BenchmarkStep(b *testing.B) {
	wide := model.Model{Provider: "acme", ID: "wide", Limits: model.Limits{Context: 10_000_000, Output: 4_000}}
	kept, err := sqlite.Open(b.Context(), sqlite.Config{Path: filepath.Join(b.TempDir(), "sessions.db")})
	if err != nil {
		b.Fatal(err)
	}
	defer kept.Close()
	engine, err := winnow.Open(winnow.Config{Store: kept, Models: &model.Catalogue{Models: []model.Model{wide}}, Model: wide.String()})
	if err != nil {
		b.Fatal(err)
	}
	defer engine.Close()
	id, err := engine.Create(b.Context(), session.Info{})
	if err != nil {
		b.Fatal(err)
	}
	var log []session.Message
	for i := range 5_000 {
		log = append(log,
			session.Message{MessageInfo: session.MessageInfo{Role: session.User}, Parts: []session.Part{{Type: session.TextPart, Text: fmt.Sprint("Look at ", i)}}},
			session.Message{MessageInfo: session.MessageInfo{Role: session.Assistant, Finish: "stop"}, Parts: []session.Part{{Type: session.TextPart, Text: fmt.Sprint("I did, it is ", i)}}})
	}
	if err := engine.Append(b.Context(), id, log...); err != nil {
		b.Fatal(err)
	}
	look := tool{"look", pathSchema, func(context.Context, agent.Call) (agent.Result, error) { return agent.Result{Output: "a lamp"}, nil }}
	loop, err := agent.New(agent.Config{Engine: engine, Client: &endless{calls: b.N}, Model: wide, Tools: []agent.Tool{look}, MaxSteps: b.N + 2})
	if err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	if _, err := loop.Run(b.Context(), id, "Look at all."); err != nil {
		b.Fatal(err)
	}
}
