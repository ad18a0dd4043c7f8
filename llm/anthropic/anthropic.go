// Package anthropic answers: who answers, at Anthropic? It asks the Messages API, Anthropic's own or one that is compatible.
package anthropic

import (
	"context"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/llm/upstream"
	wire "github.com/winnowhq/winnow/wire/anthropic"
)

// BaseURL is Anthropic's own.
const BaseURL = "https://api.anthropic.com"

// maxTokens bounds an answer where neither the request nor the model does: the API wants a bound, and every model takes this one.
const maxTokens = 4096

// Client asks through Anthropic's SDK. It is safe for use by several goroutines.
type Client struct {
	config   upstream.Config
	messages sdk.MessageService
	encoders upstream.Encoders[wire.Encoder]
}

var _ llm.Client = (*Client)(nil)

// New returns a client. A base URL may end in /v1 or not.
func New(c upstream.Config) (*Client, error) {
	c = c.With("anthropic", BaseURL)
	c.BaseURL = strings.TrimSuffix(c.BaseURL, "/v1")
	if err := c.Check(); err != nil {
		return nil, err
	}
	options := []option.RequestOption{option.WithBaseURL(c.BaseURL + "/"), option.WithHTTPClient(c.Client()), option.WithMaxRetries(0)}
	if c.Key != "" {
		options = append(options, option.WithAPIKey(c.Key))
	}
	// The service, unlike the SDK's client, reads nothing from the environment.
	return &Client{config: c, messages: sdk.NewMessageService(options...)}, nil
}

// Ask implements llm.Client.
func (c *Client) Ask(ctx context.Context, r llm.Request) (llm.Answer, error) {
	call := c.config.Begin(ctx, r.Model, true)
	a := answer{delta: r.Delta}
	body, headers, err := c.body(r, call)
	if err == nil {
		stream := c.messages.NewStreaming(call.Context(), sdk.MessageNewParams{}, append(headers, option.WithRequestBody("application/json", body))...)
		for !a.done && stream.Next() {
			a.take(stream.Current())
		}
		err = stream.Err()
		stream.Close()
	}
	got := a.whole(r.Model)
	if a.exceeded() {
		call.Fail(llm.Overflow, "the conversation filled the model's context window before an answer began")
	}
	return got, call.End(a.done || a.reason != "", err)
}

// body encodes a request and returns what is around its messages, which the call has. The mark of the long window at the end of a model's name ("[1m]") is ours; the API knows a header.
func (c *Client) body(r llm.Request, call *upstream.Call) ([]byte, []option.RequestOption, error) {
	o := upstream.Options(r)
	if o.MaxTokens == 0 {
		o.MaxTokens = r.Model.Limits.Output
	}
	if o.MaxTokens == 0 {
		o.MaxTokens = maxTokens
	}
	encoder := c.encoders.Take(r.Conversation)
	encoded, err := encoder.Encode(r.Messages, o)
	c.encoders.Keep(r.Conversation, encoder)
	if err != nil {
		return nil, nil, err
	}
	var headers []option.RequestOption
	if id, long := strings.CutSuffix(encoded.Model, "[1m]"); long {
		encoded.Model, headers = id, append(headers, option.WithHeaderAdd("anthropic-beta", "context-1m-2025-08-07"))
	}
	var body []byte
	if r.Cache {
		var plain, newest []jsontext.Value
		body, plain, newest, err = marked(encoded)
		call.Fill("messages", plain, newest)
	} else {
		body, err = around(encoded)
		call.Fill("messages", encoded.Messages)
	}
	if err != nil {
		return nil, nil, err
	}
	return c.config.Extend(body), headers, nil
}
