package responses

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/wire"
)

// Stream puts an answer together from its events. hear is called with each piece of text as it arrives; nil if nobody listens.
func Stream(hear func(text string)) wire.Stream { return &stream{hear: hear} }

type stream struct {
	hear     func(string)
	items    []*growing // by their index
	status   string
	response []byte // the last report of the whole
	refused  bool
}

// growing is one item of the answer.
type growing struct {
	kind, id, name string
	text           strings.Builder // what came of a text, of the thoughts' summary, or of arguments
	raw            jsontext.Value  // the item, once it is complete
}

// event holds the members of an event that matter here.
type event struct {
	kind, delta    string
	index          int
	item, response wire.Span
}

func read(text []byte) event {
	var e event
	for name, value := range wire.Members(text, wire.Root(text)) {
		switch string(name) {
		case "type":
			e.kind = wire.String(text, value)
		case "delta":
			e.delta = wire.String(text, value)
		case "output_index":
			e.index = wire.Number(text, value)
		case "item":
			e.item = value
		case "response":
			e.response = value
		}
	}
	return e
}

func (s *stream) Take(text []byte) (last bool) {
	e := read(text)
	switch kind := strings.TrimPrefix(e.kind, "response."); kind {
	case "output_item.added", "output_item.done":
		s.item(text, e)
	case "output_text.delta", "refusal.delta":
		s.refused = s.refused || kind == "refusal.delta"
		s.grow(e.index, "message", e.delta)
		if s.hear != nil && e.delta != "" {
			s.hear(e.delta)
		}
	case "reasoning_summary_text.delta":
		s.grow(e.index, "reasoning", e.delta)
	case "function_call_arguments.delta", "custom_tool_call_input.delta":
		s.grow(e.index, "", e.delta)
	case "completed", "incomplete", "failed", "cancelled":
		s.response = wire.Raw(text, e.response)
		if s.status = s.string("status"); s.status == "" || s.status == "in_progress" {
			s.status = kind
		}
	}
	return s.status != ""
}

// item takes the announcement of an item, or the item once it is complete.
func (s *stream) item(text []byte, e event) {
	f := (&decoder{text: text}).fields(e.item)
	for at := range wire.Values(text, f.content) {
		s.refused = s.refused || wire.String(text, wire.Member(text, at, "type")) == "refusal"
	}
	i := s.at(e.index)
	if i == nil {
		return
	}
	if i.kind != "" && f.kind != "" && i.kind != f.kind { // the index is damaged: what is there stays
		i = &growing{}
		s.items = append(s.items, i)
	}
	if e.kind == "response.output_item.done" {
		i.raw = wire.Raw(text, e.item)
	} else {
		i.id, i.name = f.callID, f.name
	}
	if f.kind != "" {
		i.kind = f.kind
	}
}

// at is the item at an index. It is made if it is not there, as some servers leave out its announcement.
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

// string is a text in the report of the whole, number a number.
func (s *stream) string(path ...string) string { return wire.String(s.response, s.find(path)) }
func (s *stream) number(path ...string) int    { return wire.Number(s.response, s.find(path)) }

func (s *stream) find(path []string) wire.Span {
	at := wire.Root(s.response)
	for _, name := range path {
		at = wire.Member(s.response, at, name)
	}
	return at
}

// Answer reads items that are complete as the decoder of the protocol reads them in a request, so that the encoder makes the
// same items of them again.
func (s *stream) Answer() wire.Answer {
	items := s.items
	if len(items) == 0 { // there are servers that tell of items in the end alone
		for output := range wire.Values(s.response, s.find([]string{"output"})) {
			kind := wire.String(s.response, wire.Member(s.response, output, "type"))
			items = append(items, &growing{kind: kind, raw: wire.Raw(s.response, output)})
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
	reason := s.string("incomplete_details", "reason")
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
	a.Usage = wire.SplitUsage(s.number("usage", "input_tokens"), s.number("usage", "input_tokens_details", "cached_tokens"),
		s.number("usage", "input_tokens_details", "cache_write_tokens"), s.number("usage", "output_tokens"),
		s.number("usage", "output_tokens_details", "reasoning_tokens"), s.number("usage", "total_tokens"))
	return a
}

// failure is the error of a response that failed.
func (s *stream) failure() []byte {
	if failure := s.find([]string{"error"}); wire.Kind(s.response, failure) == '{' {
		return append(append([]byte(`{"error":`), failure.Of(s.response)...), '}')
	}
	return []byte(`{"error":{"code":"server_error","message":"the response ended as ` + s.status + `"}}`)
}

func (i *growing) parts() []session.Part {
	text := i.text.String()
	if i.raw != nil {
		var parts []session.Part
		said := false
		for _, message := range Decode(wire.Array([]jsontext.Value{i.raw})).Messages {
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
func freeText(text string) string { return `{"input":` + string(wire.Quote(text)) + `}` }
