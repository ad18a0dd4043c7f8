package agent_test

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/llm/providers"
	"github.com/winnowhq/winnow/model"
)

// weather is a tool of one's own.
type weather struct{}

func (weather) Name() string        { return "weather" }
func (weather) Description() string { return "Says what the weather is like in a city." }
func (weather) Schema() jsontext.Value {
	return jsontext.Value(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)
}
func (weather) Run(_ context.Context, c agent.Call) (agent.Result, error) {
	var arguments struct {
		City string `json:"city"`
	}
	if err := json.Unmarshal(c.Input, &arguments); err != nil {
		return agent.Result{}, err
	}
	return agent.Result{Title: arguments.City, Output: "Rain in " + arguments.City + ", until the evening."}, nil
}

// A tool and a provider of one's own: here a scripted upstream, elsewhere the address of a server,
// or a known provider with its key in the environment.
func Example() {
	upstream, _ := llmtest.New(llmtest.Script{Answer: llmtest.Sequence(
		llmtest.Reply{Calls: []llmtest.Call{{Name: "weather", Arguments: `{"city":"Bergen"}`}}},
		llmtest.Reply{Text: "Take an umbrella."},
	)})
	defer upstream.Close()
	set, _ := providers.New(func(string) string { return "key" }, map[string]providers.Provider{ // elsewhere os.Getenv
		"house": {BaseURL: upstream.BaseURL(llmtest.Chat), KeyEnv: "HOUSE_KEY"},
	})
	client, m, err := set.Open(model.Default(), "house/any-model")
	if err != nil {
		fmt.Println(err)
		return
	}
	engine, _ := winnow.Open(winnow.Config{Model: m.String()})
	defer engine.Close()
	loop, err := agent.New(agent.Config{
		Engine: engine, Client: client, Model: m, Protocol: set.Protocol("house"),
		System: "You advise travellers.", Tools: []agent.Tool{weather{}},
		OnEvent: func(e agent.Event) {
			if e.Type == agent.CallEnded {
				fmt.Println(e.Part.Tool, e.Part.State.Title+":", e.Part.State.Result())
			}
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	turn, err := loop.Run(context.Background(), "", "What do I need in Bergen today?")
	fmt.Println(turn.Text, turn.Steps, "steps", err)
	// Output:
	// weather Bergen: Rain in Bergen, until the evening.
	// Take an umbrella. 2 steps <nil>
}
