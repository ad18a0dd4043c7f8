// Package selfprune lets an agent prune its own context. It holds the definitions of four tools
// that a loop offers to its model, and does what their calls ask (S002 "hash injection").
package selfprune

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/plan/rule"
)

// Tool is what a model is told of a tool.
type Tool struct {
	Name        string
	Description string
	// Schema of the arguments, a JSON object: input_schema for Anthropic, parameters (strict, too)
	// for OpenAI.
	Schema jsontext.Value
}

const handles = `"handles":{"type":"array","items":{"type":"string"}}`

// Tools are the four definitions, always in this order and to the byte the same. A loop that offers
// them switches strategies.handles on, so that results show their handles; without it the model
// asks for the list.
func Tools() []Tool {
	return []Tool{
		{rule.ToolList, "List the larger, older parts of your context with their handles, sizes and ages, " +
			"and those that are left out.",
			jsontext.Value(`{"type":"object","properties":{},"required":[],"additionalProperties":false}`)},
		{rule.ToolDiscard,
			"Leave out parts of your context that you are done with. " +
				"Handles stand at the end of results, as in [handle HANDLE], and in the list.",
			jsontext.Value(`{"type":"object","properties":{` + handles +
				`},"required":["handles"],"additionalProperties":false}`)},
		{rule.ToolDistill,
			"Show a summary in the place of parts that you need the substance of. " +
				"Keep the paths, names, numbers and decisions that matter.",
			jsontext.Value(`{"type":"object","properties":{` + handles +
				`,"summary":{"type":"string"}},"required":["handles","summary"],"additionalProperties":false}`)},
		{rule.ToolRestore, "Show parts whole again that were left out, summarised, or folded by a compaction.",
			jsontext.Value(`{"type":"object","properties":{` + handles +
				`},"required":["handles"],"additionalProperties":false}`)},
	}
}
