// Package providers finds the provider that a model's name means. It knows where the well-known
// providers are reached, adds the ones in the configuration, and makes the client that asks the one
// before the slash in "provider/model".
package providers

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/llm/anthropic"
	"github.com/winnowhq/winnow/llm/gemini"
	"github.com/winnowhq/winnow/llm/openai"
	"github.com/winnowhq/winnow/llm/upstream"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/wire"
)

// Provider says how a provider is reached. It is an entry of "providers" in the configuration, by
// the provider's name:
//
//	"providers": {"house": {"protocol": "openai-chat", "baseURL": "http://localhost:8000/v1"}}
//
// An entry with the name of a well-known provider changes what it says and leaves the rest as it is
// known.
type Provider struct {
	// Protocol is what it speaks. Default: openai-chat.
	Protocol wire.Protocol `json:"protocol,omitzero"`
	// BaseURL is what stands before the protocol's own path, the version included:
	// "https://host/v1".
	BaseURL string `json:"baseURL,omitzero"`
	// KeyEnv is the environment variable that holds the key; no file holds keys. If it is empty, no
	// key is sent.
	KeyEnv string `json:"keyEnv,omitzero"`
	// Headers are sent with every request. "$NAME" as a whole value is the environment variable of
	// that name.
	Headers map[string]string `json:"headers,omitempty"`
	// Idle is how long it may be silent before a request is given up, in seconds. Default 120.
	Idle int `json:"idle,omitzero"`
	// Longest is how long a request may take in all, in seconds, whatever is received. Default
	// 1,800; of a summary 600.
	Longest int `json:"longest,omitzero"`
	// MaxTokens is the member that bounds an answer of openai-chat, "max_tokens" or
	// "max_completion_tokens". Default: by host.
	MaxTokens string `json:"maxTokens,omitzero"`
	// Body is a JSON object of members that every request gets besides, such as
	// {"reasoning_effort":"low"}; null leaves one out.
	Body jsontext.Value `json:"body,omitzero"`
}

// Wrong tells what cannot be meant, by the member of the configuration.
func (p Provider) Wrong(bad func(member, format string, args ...any)) {
	if p.Protocol != "" && !slices.Contains(wire.Protocols(), p.Protocol) {
		bad("protocol", "unknown protocol %q; use openai-chat, openai-responses, anthropic or gemini", p.Protocol)
	}
	if p.MaxTokens != "" && p.MaxTokens != "max_tokens" && p.MaxTokens != "max_completion_tokens" {
		bad("maxTokens", "unknown member %q; use max_tokens or max_completion_tokens", p.MaxTokens)
	}
	if p.Idle < 0 {
		bad("idle", "%d: give 1 or more seconds, or leave it out for 120", p.Idle)
	}
	if p.Longest < 0 {
		bad("longest", "%d: give 1 or more seconds, or leave it out for 1800", p.Longest)
	}
}

// over returns the provider with what another one says in place of its own.
func (p Provider) over(other Provider) Provider {
	p.Protocol = cmp.Or(other.Protocol, p.Protocol)
	p.BaseURL = cmp.Or(other.BaseURL, p.BaseURL)
	p.KeyEnv = cmp.Or(other.KeyEnv, p.KeyEnv)
	p.MaxTokens = cmp.Or(other.MaxTokens, p.MaxTokens)
	p.Idle = cmp.Or(other.Idle, p.Idle)
	p.Longest = cmp.Or(other.Longest, p.Longest)
	if len(other.Body) > 0 {
		p.Body = other.Body
	}
	headers := maps.Clone(p.Headers)
	if headers == nil {
		headers = map[string]string{}
	}
	maps.Copy(headers, other.Headers)
	p.Headers = headers
	return p
}

// Set is the providers that can be asked: the well-known ones and those of the configuration.
type Set struct {
	getenv  func(string) string
	defined map[string]Provider
	// Transport carries the requests of the clients. Default: that of upstream.Config.
	Transport http.RoundTripper
}

// New returns the well-known providers and the defined ones, and checks what is defined. getenv
// reads the environment.
func New(getenv func(string) string, defined map[string]Provider) (*Set, error) {
	s := &Set{getenv: getenv, defined: defined}
	for _, name := range slices.Sorted(maps.Keys(defined)) {
		if err := s.check(name, defined[name]); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *Set) check(name string, p Provider) error {
	if name == "" || strings.ContainsAny(name, "/ \t\n") {
		return fmt.Errorf("providers: %q cannot name a provider: use one word without a slash", name)
	}
	var all []error
	p.Wrong(func(member, format string, args ...any) {
		all = append(all, fmt.Errorf("providers.%s.%s: %w", name, member, fmt.Errorf(format, args...)))
	})
	if all != nil {
		return errors.Join(all...)
	}
	merged, _ := s.provider(name)
	if merged.BaseURL == "" {
		return fmt.Errorf("providers.%s: baseURL is missing: where is it reached? For example https://host/v1", name)
	}
	c := upstream.Config{Provider: "providers." + name, BaseURL: merged.BaseURL, Headers: p.Headers, Body: p.Body}
	return c.Check()
}

// Names are the providers that can be asked, in order.
func (s *Set) Names() []string {
	names := slices.Collect(maps.Keys(known))
	for name := range s.defined {
		if _, ok := known[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// provider is what is known and defined of a provider.
func (s *Set) provider(name string) (p Provider, ok bool) {
	k, ok := known[name]
	if ok {
		p = k.Provider
		if base := s.getenv(k.baseEnv); k.baseEnv != "" && base != "" {
			p.BaseURL = base
		}
	}
	if defined, also := s.defined[name]; also {
		return p.over(defined), true
	}
	return p, ok
}

// Open returns the client that asks a model, and the model. A name without a provider is looked up
// in the catalogue.
func (s *Set) Open(catalogue *model.Catalogue, name string) (llm.Client, model.Model, error) {
	provider, id, slashed := strings.Cut(strings.TrimSpace(name), "/")
	if alias, ok := aliases[provider]; ok && slashed {
		if _, defined := s.defined[provider]; !defined {
			provider = alias
		}
	}
	if _, ok := s.provider(provider); slashed && ok {
		if strings.TrimSpace(id) == "" {
			return nil, model.Model{}, fmt.Errorf("%q names no model: write %s/ and the model's id", name, provider)
		}
		m := catalogue.At(provider, id)
		client, err := s.Client(m.Provider)
		return client, m, err
	}
	m := catalogue.Lookup(name)
	if m.Provider == "" {
		return nil, m, fmt.Errorf("which provider has the model %q? Write provider/model; known are %s", name,
			strings.Join(s.Names(), ", "))
	}
	client, err := s.Client(m.Provider)
	return client, m, err
}

// Protocol is what a provider speaks. Of one that is not known it is openai-chat, as Client would
// refuse it.
func (s *Set) Protocol(name string) wire.Protocol {
	if p, _ := s.provider(name); p.Protocol != "" {
		return p.Protocol
	}
	return wire.Chat
}

// Own reports whether a name is that of a well-known provider on the internet that is reached at
// its own address: neither the configuration nor the environment has put another server in its
// place.
func (s *Set) Own(name string) bool {
	k, ok := known[name]
	p, _ := s.provider(name)
	return ok && !local(k.BaseURL) && p.BaseURL == k.BaseURL && p.Protocol == k.Protocol
}

// Client returns the client that asks a provider. The error of a missing key says which variable to
// set.
func (s *Set) Client(name string) (llm.Client, error) {
	p, ok := s.provider(name)
	if !ok {
		return nil, fmt.Errorf("the provider %q is not known: known are %s; "+
			"define another under \"providers\" with its protocol and baseURL", name, strings.Join(s.Names(), ", "))
	}
	c := upstream.Config{
		Provider: name, BaseURL: p.BaseURL, Body: p.Body, Idle: time.Duration(p.Idle) * time.Second,
		Longest: time.Duration(p.Longest) * time.Second, Transport: s.Transport,
	}
	if err := s.headers(&c, name, p); err != nil {
		return nil, err
	}
	if err := s.key(&c, name, p); err != nil {
		return nil, err
	}
	switch p.Protocol {
	case wire.Anthropic:
		return made(anthropic.New(c))
	case wire.Responses:
		return made(openai.NewResponses(c))
	case wire.Gemini:
		return made(gemini.New(c))
	}
	return made(openai.NewChat(openai.ChatConfig{Config: c, MaxTokens: p.MaxTokens}))
}

// made hands on a client, and no client that is a nil pointer.
func made[C llm.Client](client C, err error) (llm.Client, error) {
	if err != nil {
		return nil, err
	}
	return client, nil
}

func (s *Set) headers(c *upstream.Config, name string, p Provider) error {
	for header, value := range p.Headers {
		if variable, ok := strings.CutPrefix(value, "$"); ok {
			if value = s.getenv(variable); value == "" {
				return fmt.Errorf("%s: the header %s wants the environment variable %s, which is not set", name, header,
					variable)
			}
			c.Secrets = append(c.Secrets, value) // what no file holds must not be shown in an error either
		}
		if c.Headers == nil {
			c.Headers = map[string]string{}
		}
		c.Headers[header] = value
	}
	return nil
}

// KeyEnv is the environment variable from which the key of a provider is taken, "" if there is
// none.
func (s *Set) KeyEnv(name string) string {
	p, _ := s.provider(name)
	variables := keyVariables(name, p)
	if k := known[name]; p.KeyEnv == k.KeyEnv {
		variables = append(variables, k.tokenEnv)
	}
	for _, variable := range variables {
		if variable != "" && strings.TrimSpace(s.getenv(variable)) != "" {
			return variable
		}
	}
	return p.KeyEnv
}

// keyVariables are the variables that may hold the key of a provider, in the order in which they
// are looked at.
func keyVariables(name string, p Provider) []string {
	if k := known[name]; p.KeyEnv != "" && p.KeyEnv == k.KeyEnv { // no other variable was defined
		return append([]string{p.KeyEnv}, k.keyEnvs...)
	}
	return []string{p.KeyEnv}
}

// KeyEnvs are all the variables of the environment that hold keys of providers: of the known ones,
// and what the defined ones name, in headers too.
func (s *Set) KeyEnvs() []string {
	var all []string
	add := func(p Provider, others ...string) {
		all = append(append(all, p.KeyEnv), others...)
		for _, value := range p.Headers {
			if variable, ok := strings.CutPrefix(value, "$"); ok {
				all = append(all, variable)
			}
		}
	}
	for _, k := range known {
		add(k.Provider, append(slices.Clone(k.keyEnvs), k.tokenEnv)...)
	}
	for _, p := range s.defined {
		add(p)
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(name string) bool { return name == "" })
}

// key finds the key. A server on this computer may do without the key of the provider whose place
// it takes.
func (s *Set) key(c *upstream.Config, name string, p Provider) error {
	k := known[name]
	variables := keyVariables(name, p)
	for _, variable := range variables {
		if variable == "" {
			continue
		}
		if c.Key = strings.TrimSpace(s.getenv(variable)); c.Key != "" {
			return nil
		}
	}
	if token := s.getenv(k.tokenEnv); k.tokenEnv != "" && token != "" {
		c.Headers = maps.Clone(c.Headers)
		if c.Headers == nil {
			c.Headers = map[string]string{}
		}
		c.Headers["Authorization"] = "Bearer " + strings.TrimSpace(token)
		return nil
	}
	if p.KeyEnv == "" || local(p.BaseURL) || authorizes(c.Headers) {
		return nil
	}
	advice := fmt.Sprintf("set %s", strings.Join(variables, " or "))
	if k.tokenEnv != "" {
		advice += " (or " + k.tokenEnv + ")"
	}
	return fmt.Errorf("%s: there is no key: %s, or name another variable in providers.%s.keyEnv", name, advice, name)
}

func authorizes(headers map[string]string) bool {
	known := map[string]string{"Api-Key": ""} // Azure's
	for _, p := range wire.Protocols() {
		maps.Copy(known, p.Credential("key"))
	}
	for name := range headers {
		if _, ok := known[http.CanonicalHeaderKey(name)]; ok {
			return true
		}
	}
	return false
}

// local reports whether an address is on this computer.
func local(base string) bool {
	u, err := url.Parse(base)
	if err != nil {
		return false
	}
	host := u.Hostname()
	ip := net.ParseIP(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || ip != nil && ip.IsLoopback()
}
