package upstream

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/wire"
)

// maxRefusal is how much of a refusal is read: it says what it has to say at once.
const maxRefusal = 64 << 10

var (
	// errStalled is the cause with which a silent request is cancelled.
	errStalled = errors.New("nothing was received")
	// errLate is the cause with which a request is cancelled that takes too long, though something
	// is received now and then.
	errLate = errors.New("the answer does not end")
)

// call is one request and its answer, from begin to end. It is not safe for use by several
// goroutines.
type call struct {
	Config
	model model.Model

	caller context.Context
	ctx    context.Context // of the request: it ends with the caller's, and when nothing is received for too long
	cancel context.CancelCauseFunc
	idle   *time.Timer
	whole  *time.Timer

	under   io.ReadCloser // the body of the response
	status  int           // of the response, 0 before its headers
	bytes   int           // received
	failure *llm.Error    // what the provider refused, or what could not be understood
	read    error         // why reading ended early
}

// begin begins a call. The caller of begin calls end.
func (c Config) begin(ctx context.Context, m model.Model) *call {
	watched, cancel := context.WithCancelCause(ctx)
	return &call{
		Config: c, model: m, caller: ctx, ctx: watched, cancel: cancel,
		idle:  time.AfterFunc(c.Idle, func() { cancel(errStalled) }),
		whole: time.AfterFunc(c.Longest, func() { cancel(errLate) }),
	}
}

// receive reads a response and hands its events to the stream.
func (c *call) receive(response *http.Response, stream wire.Stream) {
	c.under, c.status = response.Body, response.StatusCode
	defer c.under.Close()
	c.alive(0)
	if c.status/100 != 2 {
		c.refused(response)
		return
	}
	body := bufio.NewReaderSize(c, 16<<10)
	if !c.streams(body) {
		return
	}
	events := wire.NewEventReader(body)
	for c.ctx.Err() == nil && c.failure == nil {
		event, err := events.Next()
		if err != nil {
			c.broke(err)
			return
		}
		if !c.good(&event) || stream.Take(event.Data) {
			return
		}
	}
}

// Read reads from the connection. Each read is a sign of life.
func (c *call) Read(p []byte) (int, error) {
	n, err := c.under.Read(p)
	if n > 0 {
		c.alive(n)
	}
	if c.failure != nil { // there are too many bytes
		return 0, io.EOF
	}
	return n, err
}

// alive notes that something was received.
func (c *call) alive(n int) {
	c.bytes += n
	c.idle.Reset(c.Idle)
	if c.bytes > c.MostBytes {
		c.fail(llm.Endless, fmt.Sprintf("the answer has more than %d bytes and does not end", c.MostBytes))
	}
}

// refused reads a response with an error's status.
func (c *call) refused(response *http.Response) {
	text := c.head(c)
	if c.caller.Err() != nil {
		return
	}
	c.failure = c.refusal(response.StatusCode, response.Header, text)
	if response.StatusCode/100 == 3 {
		location := response.Header.Get("Location")
		c.failure.Message = c.clean("redirected to " + location + ": set the base URL to the final address")
	}
}

// head reads the beginning of a body that is not a stream.
func (c *call) head(body io.Reader) []byte {
	text, err := io.ReadAll(io.LimitReader(body, maxRefusal))
	if err != nil && len(text) == 0 {
		c.read = err
	}
	return text
}

// streams looks at how the body begins: a page or a document of JSON is not a stream, whatever its
// Content-Type says.
func (c *call) streams(body *bufio.Reader) bool {
	first, err := body.ReadByte()
	for err == nil && strings.IndexByte(" \t\r\n\xEF\xBB\xBF", first) >= 0 { // the last three are a byte order mark
		first, err = body.ReadByte()
	}
	if err != nil {
		c.broke(err)
		return false
	}
	body.UnreadByte()
	if first != '<' && first != '{' && first != '[' {
		return true
	}
	text := c.head(body)
	if c.ctx.Err() != nil {
		return false
	}
	switch {
	case first == '<':
		c.fail(llm.Garbage, "the answer is a page, not a stream of events: "+page(text))
	case reportsError(text):
		c.refuse(text)
	default:
		c.fail(llm.Garbage, "the answer is a document of JSON, not a stream of events")
	}
	return false
}

// good reports whether an event is a piece of an answer. Reports of errors and damage end the call.
func (c *call) good(e *wire.Event) bool {
	if strings.HasPrefix(string(e.Data[:min(len(e.Data), len(wire.Done))]), wire.Done) {
		e.Data = []byte(wire.Done)
		return true
	}
	if !jsontext.Value(e.Data).IsValid(session.ReadOptions()) || wire.ValueOf(e.Data).Kind() != '{' {
		c.fail(llm.Garbage, "an event is not JSON: "+string(e.Data[:min(len(e.Data), 100)]))
		return false
	}
	if e.Name == "error" || reportsError(e.Data) {
		c.refuse(e.Data)
		return false
	}
	return true
}

// broke notes why reading ended.
func (c *call) broke(err error) {
	var not *wire.NotEventsError
	switch {
	case errors.Is(err, io.EOF):
	case errors.Is(err, wire.ErrEndless):
		c.fail(llm.Endless, err.Error())
	case errors.As(err, &not):
		c.fail(llm.Garbage, err.Error())
	default:
		c.read = err
	}
}

// refuse ends the call with an error that the provider reported inside the stream, as JSON.
func (c *call) refuse(report []byte) {
	if c.failure == nil {
		c.failure = c.refusal(0, nil, report)
	}
}

// fail ends the call with an error of our own finding.
func (c *call) fail(kind llm.Kind, message string) {
	if c.failure == nil {
		c.failure = &llm.Error{Kind: kind, Status: c.status, Message: c.clean(message)}
	}
}

// end ends the call. ended says that the protocol's own end was seen; failed is why the request
// could not be made. It returns nil if the answer is whole.
func (c *call) end(ended bool, failed error) error {
	why := context.Cause(c.ctx)
	c.idle.Stop()
	c.whole.Stop()
	c.cancel(context.Canceled)
	e := c.outcome(ended, why, failed)
	if e == nil {
		return nil
	}
	e.Provider, e.Model = c.Provider, c.model.ID
	return e
}

func (c *call) outcome(ended bool, why, failed error) *llm.Error {
	switch {
	case c.failure != nil:
		return c.failure
	case ended:
		return nil
	case c.caller.Err() != nil:
		return &llm.Error{Kind: llm.Cancelled, Err: context.Cause(c.caller)}
	case errors.Is(why, errLate):
		message := fmt.Sprintf("the answer was not complete after %s", c.Longest)
		return &llm.Error{Kind: llm.Endless, Status: c.status, Message: message}
	case errors.Is(why, errStalled):
		message := fmt.Sprintf("nothing was received for %s", c.Idle)
		return &llm.Error{Kind: llm.Stalled, Status: c.status, Message: message}
	case failed != nil:
		return &llm.Error{Kind: llm.Rejected, Message: "the request could not be made: " + c.clean(failed.Error())}
	case c.status == 0:
		return &llm.Error{Kind: llm.Network, Message: c.clean(c.read.Error()), Err: c.safe(c.read)}
	case c.read != nil:
		return &llm.Error{
			Kind: llm.Cut, Status: c.status, Message: "the connection broke before the answer's end",
			Err: c.safe(c.read),
		}
	}
	return &llm.Error{Kind: llm.Cut, Status: c.status, Message: "the answer ended before its end"}
}

// safe keeps an error for errors.Is and errors.As if its words hold no secret.
func (c *call) safe(err error) error {
	if text := err.Error(); text != c.clean(text) {
		return errors.New(c.clean(text))
	}
	return err
}
