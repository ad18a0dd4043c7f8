// Package upstream answers: is the provider still there, and what does it refuse? It stands between a provider's SDK and the network
// and gives the clients of all providers the same behaviour: one HTTP request for one question, an end as soon as the caller's
// context ends, bounds on silence, time and size, and refusals of every form as one typed error.
package upstream

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/session"
)

// Idle is how long a provider may be silent unless Config says otherwise: reasoning models and cold local servers are quiet for
// a minute and more before they begin.
const Idle = 2 * time.Minute

// Longest is how long one request may take in all unless Config says otherwise: a provider that says a word every minute is never silent. The longest answers,
// 128,000 tokens of a model that writes 80 a second, take 27 minutes.
const Longest = 30 * time.Minute

// MostBytes is how many bytes an answer may have unless Config says otherwise: 128,000 tokens with an event of some 300 bytes for each are 40 MB.
const MostBytes = 128 << 20

// Config says where a provider is reached, and how. Every field may be left out.
type Config struct {
	// Provider names it in errors and answers. Default: the name that the package gives it.
	Provider string
	// BaseURL is what stands before the protocol's own path. Default: the provider's own.
	BaseURL string
	// Key is the API key. Empty: none is sent, as local servers want it.
	Key string
	// Headers are sent with every request, over the SDK's own.
	Headers map[string]string
	// Secrets are further values that must not be shown, such as those of headers whose names do not tell.
	Secrets []string
	// Body is a JSON object of members that every request body gets, over our own: settings of the provider's that nothing else
	// here speaks of, such as {"reasoning_effort":"low"}. One that is null is left out of what we would send.
	Body jsontext.Value
	// Idle is how long nothing may be received before the request is given up as stalled. Default 2 minutes.
	Idle time.Duration
	// Longest is how long a request may take in all, whatever is received. Default 30 minutes, or ten times Idle where that is longer.
	Longest time.Duration
	// MostBytes is how many bytes an answer may have, what is not handed on included. Default 128 MiB.
	MostBytes int
	// Transport carries the requests. It must end a request when its context ends, as http.DefaultTransport does, the default.
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
		c.Transport = http.DefaultTransport
	}
	return c
}

// Check reports what is wrong with a configuration, in words for the person who wrote it.
func (c Config) Check() error {
	u, err := url.Parse(c.BaseURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("%s: the base URL %q is no http or https address: write one like https://host/v1", c.Provider, c.BaseURL)
	}
	if len(c.Body) > 0 && (!c.Body.IsValid(session.ReadOptions()) || c.Body.Kind() != '{') {
		return fmt.Errorf("%s: body is not a JSON object", c.Provider)
	}
	for name, value := range c.Headers {
		if name == "" || strings.ContainsAny(name, " \t\r\n:") || strings.ContainsAny(value, "\r\n") {
			return fmt.Errorf("%s: header %q is no HTTP header", c.Provider, name)
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

// errStalled is the cause with which a silent request is cancelled.
var errStalled = errors.New("nothing was received")

// errLate is the cause with which a request is cancelled that takes too long, though something is received now and then.
var errLate = errors.New("the answer does not end")

// Call is one request and its answer, from Begin to End. It is not safe for use by several goroutines.
type Call struct {
	config Config
	model  model.Model
	names  bool

	caller context.Context
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	whole  *time.Timer
	begun  time.Time

	sent    bool       // a request was made
	status  int        // of the response, 0 before its headers
	failure *llm.Error // what the provider refused, or what could not be understood
	read    error      // why reading ended early
	bytes   int        // received
	closed  bool       // the stream said that it is complete
	body    *body
	list    *list // what the request body has beside what the SDK knows
}

// callKey finds the call in the context of its request: SDKs are made once, with one HTTP client, and hand the context through.
type callKey struct{}

// Begin begins a call. names keeps the names of events, for an SDK that tells events by them. Whoever calls Begin calls End.
func (c Config) Begin(ctx context.Context, m model.Model, names bool) *Call {
	call := &Call{config: c, model: m, names: names, caller: ctx, begun: time.Now()}
	watched, cancel := context.WithCancelCause(ctx)
	call.cancel = cancel
	call.ctx = context.WithValue(watched, callKey{}, call)
	call.timer = time.AfterFunc(c.Idle, func() { cancel(errStalled) })
	call.whole = time.AfterFunc(c.Longest, func() { cancel(errLate) })
	return call
}

// Context is the context of the request: it ends with the caller's, and when nothing is received for too long.
func (c *Call) Context() context.Context { return c.ctx }

// Closed reports whether the stream said "[DONE]": where protocols have that word, the answer is whole.
func (c *Call) Closed() bool { return c.closed }

// Client returns the HTTP client for the SDK. It follows no redirect, which would carry the key to another host.
func (c Config) Client() *http.Client {
	return &http.Client{
		Transport:     transport{c.Transport, c.Headers},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

type transport struct {
	under   http.RoundTripper
	headers map[string]string
}

// RoundTrip sends the request of a call. Refusals are read here and kept in the call, so that the SDK has none to interpret; of a
// stream it is given well-formed events only.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	call, ok := r.Context().Value(callKey{}).(*Call)
	if !ok {
		return nil, errors.New("a request outside of a call")
	}
	if call.sent {
		return nil, errors.New("a second request in one call")
	}
	call.sent = true
	r, err := call.filled(r)
	if err != nil {
		return nil, err
	}
	if len(t.headers) > 0 {
		r = r.Clone(r.Context())
		for name, value := range t.headers {
			r.Header.Set(name, value)
		}
	}
	response, err := t.under.RoundTrip(r)
	if err != nil {
		call.read = err
		return nil, err
	}
	call.status = response.StatusCode
	call.alive(0)
	call.body = newBody(call, response)
	if response.StatusCode/100 != 2 {
		call.refused(response)
		return nil, errors.New("refused") // End tells the failure
	}
	response.Body = call.body
	response.ContentLength = -1
	return response, nil
}

// refused reads a response with an error's status.
func (c *Call) refused(response *http.Response) {
	defer response.Body.Close()
	text := c.body.head(maxRefusal)
	if c.caller.Err() != nil {
		return
	}
	c.failure = c.refusal(response.StatusCode, response.Header, text)
	if response.StatusCode/100 == 3 {
		c.failure.Message = c.clean("redirected to " + response.Header.Get("Location") + ": set the base URL to the final address")
	}
}

// alive notes that something was received.
func (c *Call) alive(n int) {
	c.bytes += n
	c.timer.Reset(c.config.Idle)
	if c.bytes > c.config.MostBytes {
		c.Fail(llm.Endless, fmt.Sprintf("the answer has more than %d bytes and does not end", c.config.MostBytes))
	}
}

// Refuse ends the call with an error that the provider reported inside the stream, as JSON.
func (c *Call) Refuse(report []byte) {
	if c.failure == nil {
		c.failure = c.refusal(0, nil, report)
	}
}

// Fail ends the call with an error of our own finding.
func (c *Call) Fail(kind llm.Kind, message string) {
	if c.failure == nil {
		c.failure = &llm.Error{Kind: kind, Status: c.status, Message: c.clean(message)}
	}
}

// End ends the call. done says that the protocol's own end was seen; failed is what the SDK reported. It returns nil when the answer
// is whole.
func (c *Call) End(done bool, failed error) error {
	why := context.Cause(c.ctx)
	c.timer.Stop()
	c.whole.Stop()
	c.cancel(context.Canceled)
	if c.body != nil {
		c.body.Close()
	}
	e := c.outcome(done, why, failed)
	if e == nil {
		return nil
	}
	e.Provider, e.Model = c.config.Provider, c.model.ID
	return e
}

func (c *Call) outcome(done bool, why, failed error) *llm.Error {
	switch {
	case c.failure != nil:
		return c.failure
	case done:
		return nil
	case c.caller.Err() != nil:
		return &llm.Error{Kind: llm.Cancelled, Err: context.Cause(c.caller)}
	case errors.Is(why, errLate):
		return &llm.Error{Kind: llm.Endless, Status: c.status, Message: fmt.Sprintf("the answer was not complete after %s", c.config.Longest)}
	case errors.Is(why, errStalled):
		return &llm.Error{Kind: llm.Stalled, Status: c.status, Message: fmt.Sprintf("nothing was received for %s", c.config.Idle)}
	case c.status == 0:
		return c.network(failed)
	case c.read != nil:
		return &llm.Error{Kind: llm.Cut, Status: c.status, Message: "the connection broke before the answer's end", Err: c.safe(c.read)}
	case failed != nil:
		return &llm.Error{Kind: llm.Garbage, Status: c.status, Message: "an event that could not be understood: " + c.clean(failed.Error())}
	}
	return &llm.Error{Kind: llm.Cut, Status: c.status, Message: "the answer ended before its end"}
}

// network is the error of a request that got no response.
func (c *Call) network(failed error) *llm.Error {
	switch {
	case c.read != nil:
		return &llm.Error{Kind: llm.Network, Message: c.clean(c.read.Error()), Err: c.safe(c.read)}
	case failed != nil: // before anything was sent: the request could not be made
		return &llm.Error{Kind: llm.Rejected, Message: "the request could not be made: " + c.clean(failed.Error())}
	}
	return &llm.Error{Kind: llm.Network, Message: "no response"}
}

// safe keeps an error for errors.Is and errors.As where its words hold no secret.
func (c *Call) safe(err error) error {
	if text := err.Error(); text != c.clean(text) {
		return errors.New(c.clean(text))
	}
	return err
}

// clean takes secrets out of a text, and what a terminal would obey, and shortens it to a line of at most 500 bytes.
func (c *Call) clean(text string) string {
	for _, secret := range c.config.secrets() {
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
