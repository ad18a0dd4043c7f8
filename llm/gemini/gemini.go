// Package gemini asks the Gemini API, Google's own or a compatible one.
package gemini

import (
	"fmt"
	"net/url"
	"path"
	"strings"

	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/llm/upstream"
	"github.com/winnowhq/winnow/wire"
	"github.com/winnowhq/winnow/wire/gemini"
)

// BaseURL is Google's own.
const BaseURL = "https://generativelanguage.googleapis.com"

// version of the API, unless the base URL ends in one.
const version = "v1beta"

// New returns a client. A base URL may end in the version of the API ("/v1beta") or not.
func New(c upstream.Config) (*upstream.Client, error) {
	c = c.With("google", BaseURL)
	if last := path.Base(c.BaseURL); last != "v1" && last != "v1alpha" && last != "v1beta" {
		c.BaseURL += "/" + version
	}
	return upstream.New(c, &protocol{key: c.Key})
}

type protocol struct {
	key    string
	memory upstream.Memory
}

func (p *protocol) Read(hear func(string)) wire.Stream { return gemini.Stream(hear) }

func (p *protocol) Write(r llm.Request) (upstream.Message, error) {
	name := r.Model.ID
	if name == "" || strings.ContainsAny(name, "?&#") || strings.Contains(name, "..") {
		return upstream.Message{}, fmt.Errorf("%q cannot be the name of a model", name)
	}
	if !strings.HasPrefix(name, "models/") && !strings.HasPrefix(name, "tunedModels/") {
		name = "models/" + name
	}
	encoded, err := p.memory.Encode(r, upstream.Options(r), gemini.Form)
	if err != nil {
		return upstream.Message{}, err
	}
	m := upstream.Message{Header: wire.Gemini.Credential(p.key), List: "contents", Elements: encoded.Elements}
	m.Path = (&url.URL{Path: "/" + name}).EscapedPath() + ":streamGenerateContent?alt=sse"
	encoded.Elements = nil
	if m.Body, err = encoded.JSON(); err != nil {
		return upstream.Message{}, err
	}
	m.Body = upstream.WithTemperature(m.Body, r, "generationConfig")
	return m, nil
}
