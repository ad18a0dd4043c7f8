package winnow_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/session"
)

// A program takes part in compactions: it adds to the request, writes the summary itself, or calls
// it off. Here it does each in turn.
func ExampleHooks() {
	ctx := context.Background()
	merging := true
	engine, _ := winnow.Open(winnow.Config{
		Model: "acme/small", Models: smallModels(),
		Hooks: winnow.Hooks{
			Compacting: func(_ context.Context, c winnow.Compacting) (winnow.CompactingResult, error) {
				fmt.Println("asked about", len(c.Request.Messages), "messages of", c.Model)
				if merging {
					return winnow.CompactingResult{}, errors.New("a merge is not finished")
				}
				return winnow.CompactingResult{
					Context: []string{"The branch is called lamp."}, // for a model, if one were asked
					Answer:  &pivot.Answer{Text: "## Goal\n\nFive changes, all made on the branch lamp."},
				}, nil
			},
			Continue: func(_ context.Context, _ string, summary session.Message) bool {
				return false // an agent does not go on by itself behind the summary
			},
		},
	})
	defer engine.Close()
	id, _ := engine.Create(ctx, session.Info{Title: "Hooks"})
	for i := range 5 {
		engine.Append(ctx, id, say(session.User, fmt.Sprintf("Change number %d, please.", i)))
		engine.Append(ctx, id, read(fmt.Sprint("call_", i), "main.go", strings.Repeat("line of code\n", 300)))
		engine.Append(ctx, id, say(session.Assistant, "Done."))
	}
	_, err := engine.Compact(ctx, id, winnow.CompactOptions{Auto: true})
	fmt.Println(winnow.CodeOf(err) == winnow.Cancelled, strings.Contains(err.Error(), "a merge is not finished"))

	merging = false
	receipt, err := engine.Compact(ctx, id, winnow.CompactOptions{Auto: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	view, _ := engine.View(ctx, id)
	fmt.Println("written by the", receipt.Summarizer+":", view.Messages[1].Parts[0].Text)
	// Output:
	// asked about 11 messages of acme/small
	// true true
	// asked about 11 messages of acme/small
	// written by the hook: ## Goal
	//
	// Five changes, all made on the branch lamp.
}
