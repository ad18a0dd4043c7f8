package upstream

import (
	"context"
	"io"
	"net/http"
	"net/url"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/text/span"
	"github.com/winnowhq/winnow/wire"
)

// Protocol is what the clients of different providers do differently.
type Protocol interface {
	// Write writes a request down. It is safe for concurrent use.
	Write(r llm.Request) (Message, error)
	// Read returns what puts the answer together. It calls hear with each piece of text.
	Read(hear func(text string)) wire.Stream
}

// Message is a request as it is sent.
type Message struct {
	Path   string            // behind the base URL
	Header map[string]string // the configuration's headers take precedence
	// Body is the request body with an empty list under the name List, in which Elements are sent.
	// They must not be changed.
	Body     []byte
	List     string
	Elements []jsontext.Value
	// Stream is set if the protocol asks for a stream with a member of that name.
	Stream bool
}

// Client asks through a protocol. It is safe for use by several goroutines.
type Client struct {
	config   Config
	protocol Protocol
	http     *http.Client
}

var _ llm.Client = (*Client)(nil)

// New returns a client for a configuration that is complete: see Config.With.
func New(c Config, p Protocol) (*Client, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	return &Client{c, p, &http.Client{
		Transport: c.Transport,
		// A redirect would carry the key to another host.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Ask implements llm.Client.
func (c *Client) Ask(ctx context.Context, r llm.Request) (llm.Answer, error) {
	call := c.config.begin(ctx, r.Model)
	stream := c.protocol.Read(r.Delta)
	err := c.exchange(call, r, stream)
	a := stream.Answer()
	if a.Failure != nil {
		call.refuse(a.Failure)
	}
	got := llm.Answer{
		Parts: a.Parts, Finish: a.Finish, Model: r.Model.String(), Usage: a.Usage, Cost: Cost(r.Model, a.Usage),
	}
	return got, call.end(a.Ended, err)
}

// exchange sends a request and reads the answer. An error says that the request could not be made;
// what goes wrong later, the call knows.
func (c *Client) exchange(call *call, r llm.Request, stream wire.Stream) error {
	m, err := c.protocol.Write(r)
	if err != nil {
		return err
	}
	request, err := c.request(call.ctx, m)
	if err != nil {
		return err
	}
	response, err := c.http.Do(request)
	if err != nil {
		call.read = innermost(err)
		return nil
	}
	call.receive(response, stream)
	return nil
}

// request makes the HTTP request of a message. The elements are sent as they are, without a copy.
func (c *Client) request(ctx context.Context, m Message) (*http.Request, error) {
	head := c.config.extend(m.Body)
	if m.Stream {
		head = span.Set(head, "", []byte("true"), "stream")
	}
	body := fill(head, m.List, m.Elements)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.config.BaseURL+m.Path, nil)
	if err != nil {
		return nil, err
	}
	request.ContentLength = body.size()
	request.GetBody = func() (io.ReadCloser, error) {
		again := body
		return io.NopCloser(&again), nil
	}
	request.Body, _ = request.GetBody()
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "text/event-stream")
	request.Header.Set("User-Agent", "winnow")
	for _, header := range []map[string]string{m.Header, c.config.Headers} {
		for name, value := range header {
			request.Header.Set(name, value)
		}
	}
	return request, nil
}

// filled reads a body with elements in its list, without making one text of them.
type filled struct {
	before, after []byte
	elements      []jsontext.Value

	at  int    // pieces that were begun: what is before, elements and the commas between them, what is after
	now []byte // what is left of the newest
}

// fill returns a body with elements in its list, if it has that list and it is empty: the
// configuration may have put another one in its place.
func fill(body []byte, list string, elements []jsontext.Value) filled {
	at := span.Find(body, span.All(body), list)
	if string(at.Of(body)) != "[]" || len(elements) == 0 {
		return filled{before: body}
	}
	return filled{before: body[:at.Start+1], elements: elements, after: body[at.End-1:]}
}

func (f *filled) size() int64 {
	size := len(f.before) + len(f.after) + max(len(f.elements)-1, 0)
	for _, e := range f.elements {
		size += len(e)
	}
	return int64(size)
}

var comma = []byte{','}

// Read implements io.Reader.
func (f *filled) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if len(f.now) > 0 {
			copied := copy(p[n:], f.now)
			f.now, n = f.now[copied:], n+copied
			continue
		}
		last := max(2*len(f.elements), 1) // before, n elements, n-1 commas, after
		switch {
		case f.at > last:
			if n == 0 {
				return 0, io.EOF
			}
			return n, nil
		case f.at == 0:
			f.now = f.before
		case f.at == last:
			f.now = f.after
		case f.at%2 == 0:
			f.now = comma
		default:
			f.now = f.elements[f.at/2]
		}
		f.at++
	}
	return n, nil
}

// innermost is an error of the HTTP client without the address, which may hold a password.
func innermost(err error) error {
	if e, ok := err.(*url.Error); ok {
		return e.Err
	}
	return err
}
