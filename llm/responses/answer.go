package responses

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/openai/openai-go/v3/responses"

	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/llm/upstream"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/wire"
	items "github.com/winnowhq/winnow/wire/responses"
)

// answer is what has arrived.
type answer struct {
	delta    func(string)
	items    []*item // by their index
	status   responses.ResponseStatus
	response responses.Response // the last report of the whole
	refused  bool
}

// item is one item of the output.
type item struct {
	kind, id, name string
	text           strings.Builder // what came of a text, of the thoughts' summary, or of arguments
	raw            string          // the item, once it is complete
}

func (a *answer) take(event responses.ResponseStreamEventUnion) {
	switch event.Type {
	case "response.output_item.added":
		if i := a.of(event); i != nil {
			i.kind, i.id, i.name = event.Item.Type, event.Item.CallID, event.Item.Name
		}
	case "response.output_item.done":
		if i := a.of(event); i != nil {
			i.raw = event.Item.RawJSON()
			if event.Item.Type != "" {
				i.kind = event.Item.Type
			}
		}
		a.refused = a.refused || slices.ContainsFunc(event.Item.Content, func(c responses.ResponseOutputMessageContentUnion) bool { return c.Type == "refusal" })
	case "response.output_text.delta", "response.refusal.delta":
		a.refused = a.refused || event.Type == "response.refusal.delta"
		a.grow(event)
		if a.delta != nil && event.Delta != "" {
			a.delta(event.Delta)
		}
	case "response.reasoning_summary_text.delta", "response.function_call_arguments.delta", "response.custom_tool_call_input.delta":
		a.grow(event)
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled":
		a.response = event.Response
		if a.status = event.Response.Status; a.status == "" || a.status == responses.ResponseStatusInProgress {
			a.status = responses.ResponseStatus(strings.TrimPrefix(event.Type, "response."))
		}
	}
}

// of is the item that an event is about. Where another kind of item is at its index, that is damaged: what is there stays.
func (a *answer) of(event responses.ResponseStreamEventUnion) *item {
	i := a.at(event.OutputIndex)
	if i != nil && i.kind != "" && event.Item.Type != "" && i.kind != event.Item.Type {
		i = &item{}
		a.items = append(a.items, i)
	}
	return i
}

// at is the item at an index; it is made when it is not there, as servers leave out its announcement.
func (a *answer) at(index int64) *item {
	const most = 10_000 // an index beyond is damage
	if index < 0 || index > most {
		return nil
	}
	for int64(len(a.items)) <= index {
		a.items = append(a.items, &item{})
	}
	return a.items[index]
}

func (a *answer) grow(event responses.ResponseStreamEventUnion) {
	i := a.at(event.OutputIndex)
	if i == nil {
		return
	}
	kind := map[string]string{
		"response.output_text.delta": "message", "response.refusal.delta": "message", "response.reasoning_summary_text.delta": "reasoning",
	}[event.Type]
	switch {
	case i.kind == "":
		i.kind = kind
	case kind == "message" && i.kind != kind: // its index is damaged: what was heard stays
		i = &item{kind: kind}
		a.items = append(a.items, i)
	}
	i.text.WriteString(event.Delta)
}

// report is the error of a response that failed, as JSON.
func (a *answer) report() []byte {
	raw := []byte(a.response.RawJSON())
	if failure := wire.Member(raw, wire.Root(raw), "error"); wire.Kind(raw, failure) == '{' {
		return append(append([]byte(`{"error":`), failure.Of(raw)...), '}')
	}
	return []byte(`{"error":{"code":"server_error","message":"the response ended as ` + string(a.status) + `"}}`)
}

// whole is the answer as far as it arrived. Items that are complete are read as the decoder of the protocol reads them in a request,
// so that the encoder makes the same items of them again.
func (a *answer) whole(m model.Model) llm.Answer {
	if len(a.items) == 0 { // there are servers that tell of no items but in the end
		for _, output := range a.response.Output {
			a.items = append(a.items, &item{kind: output.Type, raw: output.RawJSON()})
		}
	}
	got := llm.Answer{Model: m.String()}
	for _, i := range a.items {
		got.Parts = append(got.Parts, i.parts()...)
	}
	got.Finish = a.finish(got)
	u := a.response.Usage
	got.Usage = upstream.Split(u.InputTokens, u.InputTokensDetails.CachedTokens, u.InputTokensDetails.CacheWriteTokens,
		u.OutputTokens, u.OutputTokensDetails.ReasoningTokens, u.TotalTokens)
	got.Cost = upstream.Cost(m, got.Usage)
	return got
}

func (i *item) parts() []session.Part {
	if i.raw != "" {
		decoded := items.Decode(wire.Array([]jsontext.Value{jsontext.Value(i.raw)}))
		var parts []session.Part
		for _, message := range decoded.Messages {
			parts = append(parts, message.Parts...)
		}
		// A server may leave out of the complete item what it has streamed.
		if i.kind != "message" || i.text.Len() == 0 || (llm.Answer{Parts: parts}).Text() != "" {
			return upstream.Bare(parts)
		}
	}
	switch {
	case i.kind == "function_call":
		return []session.Part{upstream.Tool(i.id, i.name, i.text.String(), nil)}
	case i.kind == "custom_tool_call":
		input := `{"input":` + string(wire.Quote(i.text.String())) + `}`
		return []session.Part{upstream.Tool(i.id, i.name, input, wire.Metadata("openai", "field", i.kind))}
	case i.text.Len() == 0:
		return nil
	case i.kind == "reasoning":
		return []session.Part{{Type: session.ReasoningPart, Text: i.text.String()}}
	}
	return []session.Part{{Type: session.TextPart, Text: i.text.String()}}
}

func (a *answer) finish(got llm.Answer) llm.Finish {
	switch {
	case a.refused:
		return llm.Refused
	case a.status == responses.ResponseStatusIncomplete && a.response.IncompleteDetails.Reason == "max_output_tokens":
		return llm.Length
	case a.status == responses.ResponseStatusIncomplete && a.response.IncompleteDetails.Reason == "content_filter":
		return llm.Refused
	case a.status == responses.ResponseStatusCompleted && got.Has(session.ToolPart):
		return llm.Calls
	case a.status == responses.ResponseStatusCompleted:
		return llm.Stop
	}
	return llm.Other
}
