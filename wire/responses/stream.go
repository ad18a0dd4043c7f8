package responses

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
	"github.com/winnowhq/winnow/wire"
)

// Stream puts an answer together from its events. hear is called with each piece of text as it
// arrives; nil if nobody listens.
func Stream(hear func(text string)) wire.Stream { return &stream{hear: hear} }

type stream struct {
	hear     func(string)
	items    []*growing // by their index
	status   string
	response wire.Value // the last report of the whole
	refused  bool
}

// growing is one item of the answer.
type growing struct {
	kind, id, name string
	text           strings.Builder // what came of a text, of the thoughts' summary, or of arguments
	raw            jsontext.Value  // the item, once it is complete
}

func (s *stream) Take(event []byte) (last bool) {
	var kind, delta string
	var index int
	var item, response wire.Value
	wire.ValueOf(event).Read("type", &kind, "delta", &delta, "output_index", &index, "item", &item,
		"response", &response)
	switch kind = strings.TrimPrefix(kind, "response."); kind {
	case "output_item.added", "output_item.done":
		s.item(index, read(item), kind == "output_item.done")
	case "output_text.delta", "refusal.delta":
		s.refused = s.refused || kind == "refusal.delta"
		s.grow(index, "message", delta)
		if s.hear != nil && delta != "" {
			s.hear(delta)
		}
	case "reasoning_summary_text.delta":
		s.grow(index, "reasoning", delta)
	case "function_call_arguments.delta", "custom_tool_call_input.delta":
		s.grow(index, "", delta)
	case "completed", "incomplete", "failed", "cancelled":
		s.response = wire.ValueOf(response.Raw())
		if s.status = s.response.Get("status").String(); s.status == "" || s.status == "in_progress" {
			s.status = kind
		}
	}
	return s.status != ""
}

// item takes the announcement of an item, or the item once it is done.
func (s *stream) item(index int, f itemFields, done bool) {
	for content := range f.content.Values() {
		s.refused = s.refused || content.Get("type").String() == "refusal"
	}
	i := s.at(index)
	if i == nil {
		return
	}
	if i.kind != "" && f.kind != "" && i.kind != f.kind { // the index is damaged: what is there stays
		i = &growing{}
		s.items = append(s.items, i)
	}
	if done {
		i.raw = f.Raw()
	} else {
		i.id, i.name = f.callID, f.name
	}
	if f.kind != "" {
		i.kind = f.kind
	}
}

// at is the item at an index. It is made if it is not there, as some servers leave out its
// announcement.
func (s *stream) at(index int) *growing {
	if index > wire.MaxBlocks {
		return nil
	}
	for len(s.items) <= index {
		s.items = append(s.items, &growing{})
	}
	return s.items[index]
}

// grow adds to the item at an index, which is of this kind if it was not announced.
func (s *stream) grow(index int, kind, delta string) {
	i := s.at(index)
	if i == nil {
		return
	}
	switch {
	case i.kind == "":
		i.kind = kind
	case kind == "message" && i.kind != kind: // the index is damaged: what was heard stays
		i = &growing{kind: kind}
		s.items = append(s.items, i)
	}
	i.text.WriteString(delta)
}

// Answer reads items that are complete as the decoder of the protocol reads them in a request, so
// that the encoder makes the same items of them again.
func (s *stream) Answer() wire.Answer {
	items := s.items
	if len(items) == 0 { // some servers report items at the end only
		for output := range s.response.Get("output").Values() {
			items = append(items, &growing{kind: output.Get("type").String(), raw: output.Raw()})
		}
	}
	a := wire.Answer{Ended: s.status != "", Finish: wire.FinishOther}
	calls := false
	for _, i := range items {
		for _, p := range i.parts() {
			a.Parts = append(a.Parts, p)
			calls = calls || p.Type == session.ToolPart
		}
	}
	reason := s.response.Get("incomplete_details", "reason").String()
	switch {
	case s.refused, s.status == "incomplete" && reason == "content_filter":
		a.Finish = wire.FinishRefused
	case s.status == "incomplete" && reason == "max_output_tokens":
		a.Finish = wire.FinishLength
	case s.status == "completed" && calls:
		a.Finish = wire.FinishCalls
	case s.status == "completed":
		a.Finish = wire.FinishStop
	case s.status == "failed", s.status == "cancelled":
		a.Failure = s.failure()
	}
	number := func(path ...string) int { return s.response.Get("usage").Get(path...).Int() }
	const details = "input_tokens_details"
	a.Usage = wire.SplitUsage(number("input_tokens"), number(details, "cached_tokens"),
		number(details, "cache_write_tokens"),
		number("output_tokens"), number("output_tokens_details", "reasoning_tokens"), number("total_tokens"))
	a.Usage.Tier = wire.Service(s.response.Get("service_tier").String())
	return a
}

// failure is the error of a response that failed.
func (s *stream) failure() []byte {
	if failure := s.response.Get("error"); failure.Kind() == '{' {
		return span.Make("error", failure.Bytes())
	}
	return []byte(`{"error":{"code":"server_error","message":"the response ended as ` + s.status + `"}}`)
}

func (i *growing) parts() []session.Part {
	text := i.text.String()
	if i.raw != nil {
		var parts []session.Part
		said := false
		for _, message := range Decode(span.Array([]jsontext.Value{i.raw})).Messages {
			for _, p := range message.Parts {
				p.ID, p.MessageID = "", "" // an answer is not part of a session yet
				said = said || p.Type == session.TextPart && p.Text != ""
				parts = append(parts, p)
			}
		}
		// A server may leave out of the complete item what it has streamed.
		if i.kind != "message" || text == "" || said {
			return parts
		}
	}
	switch {
	case i.kind == "function_call":
		return []session.Part{wire.PendingCall(i.id, i.name, text, nil)}
	case i.kind == "custom_tool_call":
		return []session.Part{wire.PendingCall(i.id, i.name, freeText(text), wire.Metadata("openai", "field", i.kind))}
	case text == "":
		return nil
	case i.kind == "reasoning":
		return []session.Part{{Type: session.ReasoningPart, Text: text}}
	}
	return []session.Part{{Type: session.TextPart, Text: text}}
}

// freeText are the arguments that stand for the free text of a custom tool's call.
func freeText(text string) string { return string(span.Make("input", text)) }
