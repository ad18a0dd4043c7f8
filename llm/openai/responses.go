package openai

import (
	"net/url"
	"regexp"
	"strings"

	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/llm/upstream"
	"github.com/winnowhq/winnow/text/span"
	"github.com/winnowhq/winnow/wire"
	"github.com/winnowhq/winnow/wire/responses"
)

// minTokens is the smallest bound of an answer that the API accepts.
const minTokens = 16

// NewResponses returns a client for Responses, of OpenAI or a server that speaks it. It has nothing
// stored: what the model thought arrives encrypted, and goes back with the next request.
func NewResponses(c upstream.Config) (*upstream.Client, error) {
	c = c.With("openai", BaseURL)
	u, err := url.Parse(c.BaseURL)
	return upstream.New(c, &items{openAI: err == nil && u.Hostname() == "api.openai.com",
		header: wire.Responses.Credential(c.Key)})
}

type items struct {
	openAI bool
	header map[string]string
	memory upstream.Memory
}

func (p *items) Read(hear func(string)) wire.Stream { return responses.Stream(hear) }

func (p *items) Write(r llm.Request) (upstream.Message, error) {
	encoded, err := p.memory.Encode(r, upstream.Options(r), responses.Form)
	if err != nil {
		return upstream.Message{}, err
	}
	if encoded.MaxTokens > 0 {
		encoded.MaxTokens = max(encoded.MaxTokens, minTokens)
	}
	m := upstream.Message{Path: "/responses", Header: p.header, List: "input", Elements: encoded.Elements, Stream: true}
	encoded.Elements = nil
	if m.Body, err = encoded.JSON(); err != nil {
		return upstream.Message{}, err
	}
	m.Body = span.Set(upstream.WithTemperature(m.Body, r), "", []byte("false"), "store")
	if thinks(r.Model.ID) {
		m.Body = span.Set(m.Body, "", []byte(`["reasoning.encrypted_content"]`), "include")
	}
	if r.Cache && p.openAI {
		beginning := append(m.Elements[:min(len(m.Elements), 1):1], []byte(r.System))
		m.Body = span.Set(m.Body, "", span.Quote(upstream.CacheKey(encoded.Tools, beginning...)), "prompt_cache_key")
	}
	return m, nil
}

// plain are the models that do not think. They refuse requests for encrypted thoughts; all newer
// models think.
var plain = regexp.MustCompile(`^(?:chatgpt-|gpt-(?:3|4)|gpt-5[0-9.]*-chat)|-chat-latest$`)

func thinks(model string) bool {
	return !plain.MatchString(model[strings.LastIndexByte(model, '/')+1:])
}
