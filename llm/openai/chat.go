// Package openai asks over OpenAI's two protocols: Chat Completions, which many servers speak, and
// Responses.
package openai

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/llm/upstream"
	"github.com/winnowhq/winnow/text/span"
	"github.com/winnowhq/winnow/wire"
	"github.com/winnowhq/winnow/wire/openaichat"
)

// BaseURL is OpenAI's own.
const BaseURL = "https://api.openai.com/v1"

// ChatConfig says where a server of Chat Completions is reached, and what it wants otherwise than
// others.
type ChatConfig struct {
	upstream.Config
	// MaxTokens is the member that bounds the answer: "max_completion_tokens", as OpenAI has it, or
	// "max_tokens", as it was before and most servers still have it. Default: by the host of the
	// base URL, "max_tokens" for an unknown one.
	MaxTokens string
}

// newBound are the hosts, or the ends of their names, that take max_completion_tokens and give up
// or refuse max_tokens.
var newBound = []string{"api.openai.com", ".openai.azure.com", "api.groq.com", "api.cerebras.ai", "api.x.ai"}

// strict are the hosts that refuse stream_options. They report usage without being asked.
var strict = []string{"api.mistral.ai"}

func on(host string, hosts []string) bool {
	return slices.ContainsFunc(hosts, func(h string) bool {
		return host == h || h[0] == '.' &&
			strings.HasSuffix(host, h)
	})
}

// NewChat returns a client for Chat Completions.
func NewChat(c ChatConfig) (*upstream.Client, error) {
	c.Config = c.With("openai", BaseURL)
	p := &chat{maxTokens: c.MaxTokens, header: wire.Chat.Credential(c.Key)}
	if u, err := url.Parse(c.BaseURL); err == nil {
		p.host = u.Hostname()
	}
	if p.maxTokens == "" {
		p.maxTokens = "max_tokens"
		if on(p.host, newBound) {
			p.maxTokens = "max_completion_tokens"
		}
	}
	return upstream.New(c.Config, p)
}

type chat struct {
	host, maxTokens string
	header          map[string]string
	memory          upstream.Memory
}

func (p *chat) Read(hear func(string)) wire.Stream { return openaichat.Stream(hear) }

func (p *chat) Write(r llm.Request) (upstream.Message, error) {
	encoded, err := p.memory.Encode(r, upstream.Options(r), openaichat.Form)
	if err != nil {
		return upstream.Message{}, err
	}
	m := upstream.Message{Path: "/chat/completions", Header: p.header, List: "messages", Elements: encoded.Elements,
		Stream: true}
	bound := encoded.MaxTokens
	encoded.Elements, encoded.MaxTokens = nil, 0
	if m.Body, err = encoded.JSON(); err != nil {
		return upstream.Message{}, err
	}
	m.Body = upstream.WithTemperature(m.Body, r)
	if bound > 0 {
		m.Body = span.Set(m.Body, "", []byte(strconv.Itoa(bound)), p.maxTokens)
	}
	if !on(p.host, strict) {
		m.Body = span.Set(m.Body, "", []byte(`{"include_usage":true}`), "stream_options")
	}
	if r.Cache && p.host == "api.openai.com" {
		beginning := m.Elements[:min(len(m.Elements), 1)]
		if r.System != "" {
			beginning = m.Elements[:min(len(m.Elements), 2)]
		}
		m.Body = span.Set(m.Body, "", span.Quote(upstream.CacheKey(encoded.Tools, beginning...)), "prompt_cache_key")
	}
	return m, nil
}
