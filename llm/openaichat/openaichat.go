// Package openaichat answers: who answers, behind the Chat Completions protocol? It asks OpenAI's own API or one of the many servers
// that speak it.
package openaichat

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/llm/upstream"
	wire "github.com/winnowhq/winnow/wire/openaichat"
)

// BaseURL is OpenAI's own.
const BaseURL = "https://api.openai.com/v1"

// Config says where a server is reached, and what it wants otherwise than others.
type Config struct {
	upstream.Config
	// MaxTokens is the member that bounds the answer: "max_completion_tokens", as OpenAI has it, or "max_tokens", as it was before and
	// most servers still have it. Default: by the host of the base URL, "max_tokens" for one that is not known.
	MaxTokens string
}

// newBound are the hosts, or the ends of their names, that take max_completion_tokens and give up or refuse max_tokens.
var newBound = []string{"api.openai.com", ".openai.azure.com", "api.groq.com", "api.cerebras.ai", "api.x.ai"}

// strict are the hosts that refuse stream_options. They report usage without being asked.
var strict = []string{"api.mistral.ai"}

func on(host string, hosts []string) bool {
	return slices.ContainsFunc(hosts, func(h string) bool { return host == h || h[0] == '.' && strings.HasSuffix(host, h) })
}

// Client asks through OpenAI's SDK. It is safe for use by several goroutines.
type Client struct {
	config      Config
	host        string
	completions openai.ChatCompletionService
	encoders    upstream.Encoders[wire.Encoder]
}

var _ llm.Client = (*Client)(nil)

// New returns a client.
func New(c Config) (*Client, error) {
	c.Config = c.With("openai", BaseURL)
	if err := c.Check(); err != nil {
		return nil, err
	}
	u, err := url.Parse(c.BaseURL)
	if err != nil {
		return nil, err
	}
	if c.MaxTokens == "" {
		c.MaxTokens = "max_tokens"
		if on(u.Hostname(), newBound) {
			c.MaxTokens = "max_completion_tokens"
		}
	}
	options := []option.RequestOption{option.WithBaseURL(c.BaseURL + "/"), option.WithHTTPClient(c.Client()), option.WithMaxRetries(0)}
	if c.Key != "" {
		options = append(options, option.WithAPIKey(c.Key))
	}
	// The service, unlike the SDK's client, reads nothing from the environment.
	return &Client{config: c, host: u.Hostname(), completions: openai.NewChatCompletionService(options...)}, nil
}

// Ask implements llm.Client.
func (c *Client) Ask(ctx context.Context, r llm.Request) (llm.Answer, error) {
	call := c.config.Begin(ctx, r.Model, false)
	a := answer{delta: r.Delta}
	body, err := c.body(r, call)
	if err == nil {
		stream := c.completions.NewStreaming(call.Context(), openai.ChatCompletionNewParams{}, option.WithRequestBody("application/json", body))
		for stream.Next() {
			a.take(stream.Current())
		}
		err = stream.Err()
		stream.Close()
	}
	if kind, message := a.failed(); kind != "" {
		call.Fail(kind, message)
	}
	if a.reason == "" && call.Closed() { // there are servers that say that it is complete, and not why
		a.reason = "stop"
	}
	return a.whole(r.Model), call.End(a.reason != "", err)
}

// body encodes a request and returns what is around its messages, which the call has.
func (c *Client) body(r llm.Request, call *upstream.Call) ([]byte, error) {
	encoder := c.encoders.Take(r.Conversation)
	encoded, err := encoder.Encode(r.Messages, upstream.Options(r))
	c.encoders.Keep(r.Conversation, encoder)
	if err != nil {
		return nil, err
	}
	var members []string
	if encoded.MaxTokens > 0 && c.config.MaxTokens != "max_completion_tokens" {
		members = append(members, c.config.MaxTokens, strconv.Itoa(encoded.MaxTokens))
		encoded.MaxTokens = 0
	}
	if !on(c.host, strict) {
		members = append(members, "stream_options", `{"include_usage":true}`)
	}
	if r.Cache && c.host == "api.openai.com" {
		beginning := encoded.Messages[:min(len(encoded.Messages), 1)]
		if r.System != "" {
			beginning = encoded.Messages[:min(len(encoded.Messages), 2)]
		}
		members = append(members, "prompt_cache_key", `"`+upstream.CacheKey(encoded.Tools, beginning...)+`"`)
	}
	call.Fill("messages", encoded.Messages)
	encoded.Messages = nil
	body, err := encoded.JSON()
	if err != nil {
		return nil, err
	}
	return c.config.Extend(body, members...), nil
}
