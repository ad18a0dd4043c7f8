package winnow_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/llm/providers"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/session"
	asking "github.com/winnowhq/winnow/summarize/model"
)

// A model writes the summaries: here one behind a scripted upstream, elsewhere "anthropic/claude-haiku-4-5" with its key in the environment.
func ExampleConfig_summarizerFor() {
	ctx := context.Background()
	upstream, err := llmtest.New(llmtest.Script{Answer: llmtest.Text("## Goal\n\nDraw the lamp, as `lamp/oil.go` has it.")})
	if err != nil {
		panic(err)
	}
	defer upstream.Close()
	set, err := providers.New(func(string) string { return "key" }, map[string]providers.Provider{ // elsewhere os.Getenv, and nil
		"acme": {BaseURL: upstream.BaseURL(llmtest.Chat), KeyEnv: "ACME_KEY"},
	})
	if err != nil {
		panic(err)
	}
	engine, err := winnow.Open(winnow.Config{
		Model: "acme/small", Models: smallModels(),
		SummarizerFor: func(m model.Model) (pivot.Summarizer, error) {
			client, err := set.Client(m.Provider)
			if err != nil {
				return nil, err
			}
			return asking.New(llm.Retry(client, llm.RetryOptions{}), m, asking.Options{}), nil
		},
		// What the program's own requests begin with. They go through the same client, so that the summary's is read from their cache.
		Prefix: func(context.Context, string) (winnow.Prefix, error) {
			return winnow.Prefix{System: "You are a coding agent."}, nil
		},
	})
	if err != nil {
		panic(err)
	}
	defer engine.Close()
	id, err := engine.Create(ctx, session.Info{Title: "The lamp"})
	if err != nil {
		panic(err)
	}
	for i := range 4 {
		file := fmt.Sprintf("lamp/part%d.go", i)
		turn := []session.Message{
			say(session.User, fmt.Sprintf("Draw part %d of the lamp.", i)), read(fmt.Sprintf("call_%d", i), file, strings.Repeat("a line of the lamp\n", 200)), say(session.Assistant, "Drawn."),
		}
		if err := engine.Append(ctx, id, turn...); err != nil {
			panic(err)
		}
	}
	receipt, err := engine.Compact(ctx, id, winnow.CompactOptions{Focus: "the lamp"})
	if err != nil {
		panic(err)
	}
	fmt.Println("written by", receipt.Summarizer, "in", len(receipt.Usage), "call")
	for _, s := range receipt.Struck {
		fmt.Println("made up:", s.Kind, s.Text)
	}
	// Output:
	// written by acme/small in 1 call
	// made up: path lamp/oil.go
}
