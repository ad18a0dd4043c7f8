// Package gemini answers: who answers, at Google? It asks the Gemini API, Google's own or one that is compatible.
package gemini

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"path"
	"strings"

	"google.golang.org/genai"

	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/llm/upstream"
	"github.com/winnowhq/winnow/wire"
	contents "github.com/winnowhq/winnow/wire/gemini"
)

// BaseURL is Google's own.
const BaseURL = "https://generativelanguage.googleapis.com"

// version of the API, unless the base URL ends in one.
const version = "v1beta"

// noKey stands where a server wants none: the SDK refuses to be without. It is not sent.
const noKey = "none"

// Client asks through Google's SDK. It is safe for use by several goroutines.
type Client struct {
	config upstream.Config
	models *genai.Models

	encoders upstream.Encoders[contents.Encoder]
}

var _ llm.Client = (*Client)(nil)

// New returns a client. A base URL may end in the version of the API ("/v1beta") or not.
func New(c upstream.Config) (*Client, error) {
	c = c.With("google", BaseURL)
	if err := c.Check(); err != nil {
		return nil, err
	}
	base, v := c.BaseURL, version
	if last := path.Base(base); last == "v1" || last == "v1alpha" || last == "v1beta" {
		base, v = strings.TrimSuffix(base, "/"+last), last
	}
	key := c.Key
	client := c.Client()
	if key == "" {
		key = noKey
		client.Transport = withoutKey{client.Transport}
	}
	made, err := genai.NewClient(context.Background(), &genai.ClientConfig{
		Backend: genai.BackendGeminiAPI, APIKey: key, HTTPClient: client, HTTPOptions: genai.HTTPOptions{BaseURL: base + "/", APIVersion: v},
	})
	if err != nil {
		return nil, errors.New(c.Provider + ": the client could not be made") // the SDK's own words have the key in them
	}
	return &Client{config: c, models: made.Models}, nil
}

// withoutKey leaves out the stand-in for a key.
type withoutKey struct{ under http.RoundTripper }

func (t withoutKey) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Del("X-Goog-Api-Key")
	return t.under.RoundTrip(r)
}

// Ask implements llm.Client.
func (c *Client) Ask(ctx context.Context, r llm.Request) (llm.Answer, error) {
	call := c.config.Begin(ctx, r.Model, false)
	a := answer{delta: r.Delta}
	body, err := c.body(r, call)
	if err == nil {
		err = c.stream(call.Context(), r.Model.ID, body, &a)
	}
	return a.whole(r.Model), call.End(a.reason != "", err)
}

// stream sends a body in the place of the SDK's own and takes what comes back.
func (c *Client) stream(ctx context.Context, model string, body map[string]any, a *answer) error {
	once := false
	config := &genai.GenerateContentConfig{
		AutomaticContinuation: &once,
		HTTPOptions:           &genai.HTTPOptions{ExtrasRequestProvider: func(map[string]any) map[string]any { return body }},
	}
	for chunk, err := range c.models.GenerateContentStream(ctx, model, nil, config) {
		if err != nil {
			return err
		}
		a.take(chunk)
	}
	return nil
}

// body encodes a request as the members of an object, each as our encoder wrote it, but for its contents, which the call has.
func (c *Client) body(r llm.Request, call *upstream.Call) (map[string]any, error) {
	encoder := c.encoders.Take(r.Conversation)
	encoded, err := encoder.Encode(r.Messages, upstream.Options(r))
	c.encoders.Keep(r.Conversation, encoder)
	if err != nil {
		return nil, err
	}
	call.Fill("contents", encoded.Contents)
	encoded.Contents = nil
	text, err := encoded.JSON()
	if err != nil {
		return nil, err
	}
	text = c.config.Extend(text)
	members := map[string]any{}
	for name, value := range wire.Members(text, wire.Root(text)) {
		members[string(name)] = json.RawMessage(value.Of(text))
	}
	return members, nil
}
