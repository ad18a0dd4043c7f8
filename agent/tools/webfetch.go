package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/net/html/charset"

	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/text/quantity"
)

const (
	pageBytes     = 5 << 20 // of one page, unpacked
	fetchTime     = 30 * time.Second
	mostFetchTime = 120 * time.Second
	mostRedirects = 10
)

// WebFetch gets a page from the web.
type WebFetch struct {
	// HTTP makes the requests, without following redirects. Nil is one for each call, which goes
	// through the proxies of the environment and connects to no other kind of address than the one
	// that permission was asked for.
	HTTP http.RoundTripper
}

func (WebFetch) Name() string           { return "webfetch" }
func (WebFetch) Description() string    { return told("webfetch").Description }
func (WebFetch) Schema() jsontext.Value { return told("webfetch").Schema }

func (t WebFetch) Run(ctx context.Context, c agent.Call) (agent.Result, error) {
	a := argumentsOf(t.Name(), c.Input)
	address := a.need("url", "uri")
	format := cmp.Or(a.text("format"), "markdown")
	seconds := a.whole("timeout", int(fetchTime/time.Second), 1)
	if format != "markdown" && format != "text" && format != "html" {
		a.fail("format", "must be markdown, text or html")
	}
	if a.err != nil {
		return agent.Result{}, a.err
	}
	u, err := addressOf(address)
	if err != nil {
		return agent.Result{}, err
	}
	limit := min(time.Duration(min(seconds, 1<<20))*time.Second, mostFetchTime)
	f := fetch{tool: t, call: c, limit: limit, accept: accepted(format)}
	got, err := f.follow(ctx, u)
	if err != nil {
		return agent.Result{}, err
	}
	text, err := got.text(format)
	if err != nil {
		return agent.Result{}, err
	}
	if err := ctx.Err(); err != nil {
		return agent.Result{}, err
	}
	r := agent.Result{
		Title: call.Cut(got.url, 120), Output: text, Failed: got.status >= 400,
		Metadata: map[string]any{"url": got.url, "status": got.status, "contentType": got.kind, "bytes": len(got.body)},
	}
	if strings.TrimSpace(r.Output) == "" {
		r.Output = "(The page has no text.)"
	}
	if r.Failed {
		r.Output = fmt.Sprintf("[HTTP %d %s]\n", got.status, http.StatusText(got.status)) + r.Output
	}
	return r, nil
}

func addressOf(text string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(text))
	switch {
	case err != nil:
		return nil, fmt.Errorf("webfetch: that is not a valid address: %w", err)
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("webfetch: %s: only addresses that begin with http:// or https:// can be fetched",
			call.Cut(u.Redacted(), 200))
	case u.Hostname() == "":
		return nil, fmt.Errorf("webfetch: %s: the address has no host", call.Cut(u.Redacted(), 200))
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

func accepted(format string) string {
	if format == "html" {
		return "text/html, application/xhtml+xml, text/*;q=0.9, */*;q=0.5"
	}
	return "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, text/*;q=0.8, */*;q=0.5"
}

// fetch is one call under way.
type fetch struct {
	tool   WebFetch
	call   agent.Call
	limit  time.Duration // of all requests together; waiting for permission does not count
	accept string
}

// fetched is what a server gave.
type fetched struct {
	url, kind string // address in the end; media type
	declared  string // Content-Type as it was sent
	status    int
	body      []byte
}

// follow gets an address, redirects too. Permission is asked for the first one and for every other
// host.
func (f *fetch) follow(ctx context.Context, u *url.URL) (*fetched, error) {
	asked := ""
	var reach reach
	for range mostRedirects + 1 {
		if origin := u.Scheme + "://" + u.Host; origin != asked {
			r, err := reachOf(ctx, u.Hostname())
			if err != nil {
				return nil, err
			}
			reach = r
			if err := ask(ctx, f.call, place{}, agent.Permission{Tool: f.tool.Name(), Action: "fetch",
				Target: call.Cut(u.Redacted(), 2000) + reach.note()}); err != nil {
				return nil, err
			}
			asked = origin
		}
		began := time.Now()
		got, next, err := f.get(ctx, u, reach)
		f.limit -= time.Since(began)
		if err != nil || next == nil {
			return got, err
		}
		u = next
	}
	return nil, fmt.Errorf("webfetch: more than %d redirects, the last one to %s", mostRedirects,
		call.Cut(u.Redacted(), 200))
}

// get makes one request. next is where it is redirected to.
func (f *fetch) get(caller context.Context, u *url.URL, reach reach) (got *fetched, next *url.URL, err error) {
	ctx, cancel := context.WithTimeoutCause(caller, f.limit,
		errors.New("webfetch: it took too long; give a larger timeout, or do without"))
	defer cancel()
	defer func() {
		if err != nil && caller.Err() == nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
	}()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, nil, err
	}
	request.Header.Set("User-Agent", "winnow-webfetch/1")
	request.Header.Set("Accept", f.accept)
	carrier := f.tool.HTTP
	if carrier == nil {
		own := reach.transport(u)
		defer own.CloseIdleConnections()
		carrier = own
	}
	response, err := carrier.RoundTrip(request)
	if err != nil {
		return nil, nil, fmt.Errorf("webfetch: %s: %w", call.Cut(u.Redacted(), 200), err)
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect,
		http.StatusPermanentRedirect:
		if to := response.Header.Get("Location"); to != "" {
			there, err := u.Parse(to)
			if err == nil {
				there, err = addressOf(there.String())
			}
			return nil, there, err
		}
	}
	got = &fetched{url: u.Redacted(), status: response.StatusCode, declared: response.Header.Get("Content-Type")}
	if response.ContentLength > pageBytes {
		return nil, nil, got.tooLong(quantity.Number(int(response.ContentLength)))
	}
	got.body, err = io.ReadAll(io.LimitReader(response.Body, pageBytes+1))
	if err != nil && len(got.body) == 0 {
		return nil, nil, fmt.Errorf("webfetch: %s: %w", call.Cut(got.url, 200), err)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("webfetch: %s: it broke off after %s: %w", call.Cut(got.url, 200),
			quantity.Count(len(got.body), "byte"), err)
	}
	if len(got.body) > pageBytes {
		return nil, nil, got.tooLong("more than " + quantity.Number(pageBytes))
	}
	got.classify()
	return got, nil, nil
}

func (g *fetched) tooLong(size string) error {
	return fmt.Errorf("webfetch: %s has %s bytes; %s are the most. Get it with a command, into a file",
		call.Cut(g.url, 200), size, quantity.Number(pageBytes))
}

// classify finds out what a body is: by what the server says, and by how it begins where that says
// nothing.
func (g *fetched) classify() {
	kind, _, err := mime.ParseMediaType(g.declared)
	if g.kind = strings.ToLower(kind); err != nil && g.kind == "" || g.kind == "application/octet-stream" ||
		g.kind == "binary/octet-stream" {
		g.kind, _, _ = strings.Cut(http.DetectContentType(g.body), ";")
	}
}

// isText reports whether a media type is one of text.
func isText(kind string) bool {
	if strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml") ||
		strings.HasSuffix(kind, "+yaml") {
		return kind != "image/svg+xml"
	}
	rest, ok := strings.CutPrefix(kind, "application/")
	if !ok {
		return false
	}
	switch strings.TrimPrefix(rest, "x-") {
	case "json", "ndjson", "jsonlines", "xml", "javascript", "ecmascript", "typescript", "yaml", "toml", "sh",
		"shellscript", "sql", "graphql", "csv", "tex", "patch", "diff",
		"www-form-urlencoded", "httpd-php", "python", "markdown":
		return true
	}
	return false
}

// text is what a model reads.
func (g *fetched) text(format string) (string, error) {
	html := g.kind == "text/html" || g.kind == "application/xhtml+xml"
	if !isText(g.kind) && !html && g.kind != "image/svg+xml" {
		return "", fmt.Errorf("webfetch: %s is %s of %s, not text. Get it with a command, into a file",
			call.Cut(g.url, 200), call.Cut(g.kind, 100), quantity.Count(len(g.body), "byte"))
	}
	text := g.decoded()
	if strings.Contains(text, "\x00") {
		return "", fmt.Errorf("webfetch: %s says that it is %s, and is binary: %s", call.Cut(g.url, 200),
			call.Cut(g.kind, 100), quantity.Count(len(g.body), "byte"))
	}
	if !html || format == "html" {
		return text, nil
	}
	if format == "markdown" {
		if text, ok := markdown(text, g.url); ok {
			return text, nil
		}
	}
	return plainText(text), nil
}

// decoded is the body as UTF-8. A page that does not say what it is in, and is UTF-8 throughout, is
// that, wherever its first such character stands.
func (g *fetched) decoded() string {
	encoding, _, certain := charset.DetermineEncoding(g.body[:min(len(g.body), 1024)], g.declared)
	if !certain && utf8.Valid(g.body) {
		return strings.TrimPrefix(string(g.body), bom)
	}
	text, err := encoding.NewDecoder().Bytes(g.body)
	if err != nil {
		text = g.body
	}
	return strings.TrimPrefix(strings.ToValidUTF8(string(text), "\uFFFD"), bom)
}
