// Package upstream asks providers over HTTP. The clients of all providers share its behaviour: one
// request for one question, an end as soon as the caller's context ends, bounds on silence, time
// and size, and refusals of every form as one typed error.
package upstream

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
	"github.com/winnowhq/winnow/wire"
)

// Idle is how long a provider may be silent unless Config says otherwise: reasoning models and cold
// local servers are quiet for a minute and more before they begin.
const Idle = 2 * time.Minute

// Longest is how long one request may take in all unless Config says otherwise: a provider that
// says a word every minute is never silent. The longest answers, 128,000 tokens of a model that
// writes 80 a second, take 27 minutes.
const Longest = 30 * time.Minute

// MostBytes is how many bytes an answer may have unless Config says otherwise: 128,000 tokens with
// an event of some 300 bytes for each are 40 MB.
const MostBytes = 128 << 20

// Config says where a provider is reached, and how. Every field may be left out.
type Config struct {
	// Provider names it in errors and answers. Default: the name that the package gives it.
	Provider string
	// BaseURL is what precedes the protocol's own path. Default: the provider's own.
	BaseURL string
	// Key is the API key. Empty: none is sent, as local servers want it.
	Key string
	// Headers are sent with every request, in place of our own of the same name.
	Headers map[string]string
	// Secrets are further values that must not be shown, such as those of headers whose names do
	// not say that they are secret.
	Secrets []string
	// Body is a JSON object of members that every request body gets, over our own: settings of the
	// provider that nothing else here covers, such as {"reasoning_effort":"low"}. A null removes a
	// member that we would send.
	Body jsontext.Value
	// Idle is how long nothing may be received before the request is given up as stalled. Default 2
	// minutes.
	Idle time.Duration
	// Longest is how long a request may take in all, even if data keeps arriving. Default 30
	// minutes, or ten times Idle if that is longer.
	Longest time.Duration
	// MostBytes is how many bytes an answer may have, including what is not passed on. Default 128
	// MiB.
	MostBytes int
	// Transport carries the requests. It must end a request when its context ends. Default: one of
	// Connections, which all clients share.
	Transport http.RoundTripper
}

// With fills in what was left out, by the provider's own name and address.
func (c Config) With(provider, baseURL string) Config {
	if c.Provider == "" {
		c.Provider = provider
	}
	if c.BaseURL == "" {
		c.BaseURL = baseURL
	}
	c.BaseURL = strings.TrimRight(c.BaseURL, "/")
	if c.Idle <= 0 {
		c.Idle = Idle
	}
	if c.Longest <= 0 {
		c.Longest = max(Longest, 10*c.Idle)
	}
	if c.MostBytes <= 0 {
		c.MostBytes = MostBytes
	}
	if c.Transport == nil {
		c.Transport = shared()
	}
	return c
}

// Check reports what is wrong with a configuration, in words for the person who wrote it.
func (c Config) Check() error {
	u, err := url.Parse(c.BaseURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("%s: the base URL %q is not an http or https address: write one like https://host/v1",
			c.Provider, c.BaseURL)
	}
	if len(c.Body) > 0 && (!c.Body.IsValid(session.ReadOptions()) || c.Body.Kind() != '{') {
		return fmt.Errorf("%s: body is not a JSON object", c.Provider)
	}
	for name, value := range c.Headers {
		if name == "" || strings.ContainsAny(name, " \t\r\n:") || strings.ContainsAny(value, "\r\n") {
			return fmt.Errorf("%s: %q is not a valid HTTP header", c.Provider, name)
		}
	}
	if strings.ContainsAny(c.Key, " \t\r\n") {
		return fmt.Errorf("%s: the API key has white space in it: was it cut when it was copied?", c.Provider)
	}
	return nil
}

// secrets are the values that must not be shown.
func (c Config) secrets() []string {
	var secrets []string
	add := func(value string) {
		if value = strings.TrimSpace(value); len(value) >= 4 {
			secrets = append(secrets, value)
		}
	}
	add(c.Key)
	for _, value := range c.Secrets {
		add(value)
	}
	if u, err := url.Parse(c.BaseURL); err == nil {
		if password, ok := u.User.Password(); ok {
			add(password)
		}
	}
	for name, value := range c.Headers {
		lower := strings.ToLower(name)
		for _, secret := range []string{"auth", "key", "token", "cookie", "secret"} {
			if strings.Contains(lower, secret) {
				add(value)
				if _, after, ok := strings.Cut(value, " "); ok { // "Bearer …", "Basic …"
					add(after)
				}
				break
			}
		}
	}
	return secrets
}

// extend adds the members of Body to a request body.
func (c Config) extend(body []byte) []byte {
	for name, value := range wire.ValueOf(c.Body).Members() {
		if value.Kind() == 'n' {
			body = span.Remove(body, false, name)
		} else {
			body = span.Set(body, "", value.Bytes(), name)
		}
	}
	return body
}

// clean takes secrets out of a text, and what a terminal would obey, and shortens it to a line of
// at most 500 bytes.
func (c Config) clean(text string) string {
	for _, secret := range c.secrets() {
		text = strings.ReplaceAll(text, secret, "[key]")
	}
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	text = strings.Join(strings.Fields(text), " ")
	const longest = 500
	if len(text) <= longest {
		return text
	}
	cut := longest
	for cut > 0 && text[cut]&0xC0 == 0x80 {
		cut--
	}
	return text[:cut] + "…"
}
