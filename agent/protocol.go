package agent

import (
	"fmt"
	"regexp"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/wire"
)

var toolName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Declare writes tools as a provider wants them, in their order and the same bytes each time: they
// are what every prompt begins with, and what a provider's cache knows it by. No tools give
// nothing. The error names a tool that no provider would take.
func Declare(p wire.Protocol, tools []Tool) (jsontext.Value, error) {
	if len(tools) == 0 {
		return nil, nil
	}
	seen := map[string]bool{}
	declared := make([]any, 0, len(tools))
	for i, t := range tools {
		name, schema := t.Name(), t.Schema().Clone()
		switch {
		case !toolName.MatchString(name):
			return nil, fmt.Errorf("agent: tool %d is called %q: use 1 to 64 letters, digits, '_' and '-'", i+1, name)
		case seen[name]:
			return nil, fmt.Errorf("agent: two tools are called %q", name)
		case !schema.IsValid() || schema.Kind() != '{':
			return nil, fmt.Errorf("agent: the schema of %s is not a JSON object: write at least "+
				"{\"type\":\"object\",\"properties\":{}}", name)
		}
		seen[name] = true
		declared = append(declared, declaration(p, name, t.Description(), schema))
	}
	var all any = declared
	switch p {
	case wire.Anthropic, wire.Chat, wire.Responses:
	case wire.Gemini:
		all = []map[string]any{{"functionDeclarations": declared}}
	default:
		return nil, fmt.Errorf("agent: unknown protocol %q; use %s, %s, %s or %s", p, wire.Anthropic,
			wire.Chat, wire.Responses, wire.Gemini)
	}
	written, err := json.Marshal(all)
	if err != nil {
		return nil, fmt.Errorf("agent: the tools: %w", err)
	}
	return written, nil
}

// function is a tool as the protocols write it; they differ in the name of the schema. Gemini's
// "parameters" is a dialect that knows no additionalProperties; its other member takes JSON
// schemas.
type function struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Anthropic   jsontext.Value `json:"input_schema,omitzero"`
	Gemini      jsontext.Value `json:"parametersJsonSchema,omitzero"`
	OpenAI      jsontext.Value `json:"parameters,omitzero"`
}

func declaration(p wire.Protocol, name, description string, schema jsontext.Value) any {
	switch p {
	case wire.Anthropic:
		return function{Name: name, Description: description, Anthropic: schema}
	case wire.Gemini:
		return function{Name: name, Description: description, Gemini: schema}
	}
	f := function{Name: name, Description: description, OpenAI: schema}
	if p == wire.Responses {
		// Without "strict" this API takes a schema as strict, which must name all members as
		// required.
		return struct {
			Type string `json:"type"`
			function
			Strict bool `json:"strict"`
		}{"function", f, false}
	}
	return struct {
		Type     string   `json:"type"`
		Function function `json:"function"`
	}{"function", f}
}
