package tools

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/agent/selfprune"
)

// SelfPruning are the tools with which the model prunes its own context, in the order of
// selfprune.Tools. k is the engine of the loop.
func SelfPruning(k *winnow.Engine) []agent.Tool {
	var all []agent.Tool
	for _, t := range selfprune.Tools() {
		all = append(all, selfPruning{t, k})
	}
	return all
}

type selfPruning struct {
	told   selfprune.Tool
	keeper *winnow.Engine
}

func (t selfPruning) Name() string           { return t.told.Name }
func (t selfPruning) Description() string    { return t.told.Description }
func (t selfPruning) Schema() jsontext.Value { return t.told.Schema }

// Serial says that what one call left out is known to the next one.
func (selfPruning) Serial() {}

// Harmless says that no file is changed.
func (selfPruning) Harmless() {}

func (t selfPruning) Run(ctx context.Context, c agent.Call) (agent.Result, error) {
	text, err := selfprune.Call(ctx, t.keeper, c.SessionID, t.told.Name, c.Input)
	return agent.Result{Output: text}, err
}
