// Package anthropic asks Anthropic's Messages API, its own or a compatible one.
package anthropic

import (
	"bytes"
	"maps"
	"strings"

	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/llm/upstream"
	"github.com/winnowhq/winnow/text/span"
	"github.com/winnowhq/winnow/wire"
	"github.com/winnowhq/winnow/wire/anthropic"
)

// BaseURL is Anthropic's own.
const BaseURL = "https://api.anthropic.com"

// maxTokens bounds an answer if neither the request nor the model does: the API wants a bound, and
// every model accepts this one.
const maxTokens = 4096

// maxMarks is how many marks for the prompt cache the API accepts in one request.
const maxMarks = 4

// New returns a client. A base URL may end in /v1 or not.
func New(c upstream.Config) (*upstream.Client, error) {
	c = c.With("anthropic", BaseURL)
	c.BaseURL = strings.TrimSuffix(c.BaseURL, "/v1")
	return upstream.New(c, &protocol{key: c.Key})
}

type protocol struct {
	key    string
	memory upstream.Memory
}

func (p *protocol) Read(hear func(string)) wire.Stream { return anthropic.Stream(hear) }

// Write writes a request. The mark of the long window at the end of a model's name ("[1m]") is
// ours; the API knows a header.
func (p *protocol) Write(r llm.Request) (upstream.Message, error) {
	o := upstream.Options(r)
	if o.MaxTokens == 0 {
		o.MaxTokens = r.Model.Limits.Output
	}
	if o.MaxTokens == 0 {
		o.MaxTokens = maxTokens
	}
	body, err := p.memory.Encode(r, o, anthropic.Form)
	if err != nil {
		return upstream.Message{}, err
	}
	m := upstream.Message{Path: "/v1/messages", List: "messages", Stream: true}
	m.Header = map[string]string{"Anthropic-Version": "2023-06-01"}
	maps.Copy(m.Header, wire.Anthropic.Credential(p.key))
	if id, long := strings.CutSuffix(body.Model, "[1m]"); long {
		body.Model = id
		m.Header["Anthropic-Beta"] = "context-1m-2025-08-07"
	}
	left := 0
	if r.Cache {
		if left = maxMarks - bytes.Count(body.Tools, []byte(`"cache_control"`)); left >= 2 {
			body.Elements = anthropic.Cached(body.Elements)
			left -= 2
		}
	}
	m.Elements, body.Elements = body.Elements, nil
	if m.Body, err = body.JSON(); err != nil {
		return upstream.Message{}, err
	}
	m.Body = upstream.WithTemperature(marked(m.Body, left), r)
	return m, nil
}

// marked marks, for the prompt cache, the system prompt and the last tool of a body, as far as
// marks are left for them: tools may bring marks of their own.
func marked(body []byte, left int) []byte {
	var edits []span.Edit
	root := wire.ValueOf(body)
	if system := root.Get("system"); left > 0 && !system.Empty() {
		block := `[{"type":"text","text":` + string(system.Bytes()) + anthropic.CacheControl + `}]`
		edits = append(edits, span.Edit{Span: system.Span, With: []byte(block)})
		left--
	}
	var last wire.Value
	for tool := range root.Get("tools").Values() {
		last = tool
	}
	if left > 0 {
		edits = append(edits, anthropic.Mark(last)...)
	}
	return span.Splice(body, edits...)
}
