// Package responses answers: who answers, behind OpenAI's Responses API? It asks OpenAI's own or a server that speaks it, and has nothing
// stored there: what the model thought comes along encrypted, and goes back with the next request.
package responses

import (
	"context"
	"net/url"
	"regexp"
	"strings"

	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/llm/upstream"
	wire "github.com/winnowhq/winnow/wire/responses"
)

// BaseURL is OpenAI's own.
const BaseURL = "https://api.openai.com/v1"

// minTokens is the smallest bound of an answer that the API takes.
const minTokens = 16

// Client asks through OpenAI's SDK. It is safe for use by several goroutines.
type Client struct {
	config    upstream.Config
	openAI    bool
	responses responses.ResponseService
	encoders  upstream.Encoders[wire.Encoder]
}

var _ llm.Client = (*Client)(nil)

// New returns a client.
func New(c upstream.Config) (*Client, error) {
	c = c.With("openai", BaseURL)
	if err := c.Check(); err != nil {
		return nil, err
	}
	u, err := url.Parse(c.BaseURL)
	if err != nil {
		return nil, err
	}
	options := []option.RequestOption{option.WithBaseURL(c.BaseURL + "/"), option.WithHTTPClient(c.Client()), option.WithMaxRetries(0)}
	if c.Key != "" {
		options = append(options, option.WithAPIKey(c.Key))
	}
	// The service, unlike the SDK's client, reads nothing from the environment.
	return &Client{config: c, openAI: u.Hostname() == "api.openai.com", responses: responses.NewResponseService(options...)}, nil
}

// Ask implements llm.Client.
func (c *Client) Ask(ctx context.Context, r llm.Request) (llm.Answer, error) {
	call := c.config.Begin(ctx, r.Model, false)
	a := answer{delta: r.Delta}
	body, err := c.body(r, call)
	if err == nil {
		stream := c.responses.NewStreaming(call.Context(), responses.ResponseNewParams{}, option.WithRequestBody("application/json", body))
		for a.status == "" && stream.Next() {
			a.take(stream.Current())
		}
		err = stream.Err()
		stream.Close()
	}
	if a.status == responses.ResponseStatusFailed || a.status == responses.ResponseStatusCancelled {
		call.Refuse(a.report())
	}
	return a.whole(r.Model), call.End(a.status != "", err)
}

// body encodes a request and returns what is around its items, which the call has.
func (c *Client) body(r llm.Request, call *upstream.Call) ([]byte, error) {
	encoder := c.encoders.Take(r.Conversation)
	encoded, err := encoder.Encode(r.Messages, upstream.Options(r))
	c.encoders.Keep(r.Conversation, encoder)
	if err != nil {
		return nil, err
	}
	if encoded.MaxTokens > 0 {
		encoded.MaxTokens = max(encoded.MaxTokens, minTokens)
	}
	members := []string{"store", "false"}
	if thinks(r.Model.ID) {
		members = append(members, "include", `["reasoning.encrypted_content"]`)
	}
	if r.Cache && c.openAI {
		beginning := append(encoded.Input[:min(len(encoded.Input), 1):1], []byte(r.System))
		members = append(members, "prompt_cache_key", `"`+upstream.CacheKey(encoded.Tools, beginning...)+`"`)
	}
	call.Fill("input", encoded.Input)
	encoded.Input = nil
	body, err := encoded.JSON()
	if err != nil {
		return nil, err
	}
	return c.config.Extend(body, members...), nil
}

// plain are the models that do not think. They refuse to be asked for encrypted thoughts; all models since think.
var plain = regexp.MustCompile(`^(?:chatgpt-|gpt-(?:3|4)|gpt-5[0-9.]*-chat)|-chat-latest$`)

func thinks(model string) bool {
	return !plain.MatchString(model[strings.LastIndexByte(model, '/')+1:])
}
