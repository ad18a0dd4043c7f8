package upstream

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/wire"
)

// done is what streams of OpenAI's protocols end with.
const done = "[DONE]"

const (
	maxRefusal = 64 << 10 // of a refusal, which says what it has to say at once
	maxEvent   = 32 << 20 // of one event
)

// body reads a response as server-sent events and hands them on rewritten: one line of data each, well-formed JSON, comments and
// unknown fields left out. What is no such event ends it, and so does a report of an error. It never returns another error than
// io.EOF: SDKs log those, or wrap them beyond recognition; the call has the true one.
type body struct {
	call     *Call
	under    io.ReadCloser
	lines    *bufio.Reader
	pending  []byte // of the event that is handed on
	started  bool
	finished bool
}

func newBody(call *Call, response *http.Response) *body {
	b := &body{call: call, under: response.Body}
	b.lines = bufio.NewReaderSize(received{b}, 16<<10)
	return b
}

// received is the connection: each read is a sign of life.
type received struct{ *body }

func (r received) Read(p []byte) (int, error) {
	n, err := r.under.Read(p)
	if n > 0 {
		r.call.alive(n)
	}
	if r.call.failure != nil { // it has too many bytes
		return 0, io.EOF
	}
	return n, err
}

// head reads the beginning of a body that is no stream.
func (b *body) head(most int64) []byte {
	text, err := io.ReadAll(io.LimitReader(b.lines, most))
	if err != nil && len(text) == 0 {
		b.call.read = err
	}
	return text
}

// Close never fails: there is nothing that a caller could do about it.
func (b *body) Close() error {
	b.finished = true
	b.under.Close()
	return nil
}

// Read hands on the next event, or a piece of it.
func (b *body) Read(p []byte) (int, error) {
	for len(b.pending) == 0 {
		if b.finished || b.call.ctx.Err() != nil || b.call.failure != nil {
			return 0, io.EOF
		}
		if !b.started && !b.stream() {
			b.finished = true
			continue
		}
		name, data, err := b.event()
		if err != nil {
			b.finished = true
			if !errors.Is(err, io.EOF) {
				b.call.read = err
			}
			continue
		}
		b.hand(name, data)
	}
	n := copy(p, b.pending)
	b.pending = b.pending[n:]
	return n, nil
}

// stream looks at how the body begins: a page or a document of JSON is no stream, whatever its Content-Type says.
func (b *body) stream() bool {
	b.started = true
	var first byte
	for {
		c, err := b.lines.ReadByte()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				b.call.read = err
			}
			return false
		}
		if c != ' ' && c != '\t' && c != '\r' && c != '\n' && c != 0xEF && c != 0xBB && c != 0xBF { // the last three: a byte order mark
			first = c
			break
		}
	}
	b.lines.UnreadByte()
	if first != '<' && first != '{' && first != '[' {
		return true
	}
	text := b.head(maxRefusal)
	if b.call.ctx.Err() != nil {
		return false
	}
	if first != '<' && reportsError(text) {
		b.call.Refuse(text)
		return false
	}
	message := "the answer is a document of JSON, not a stream of events"
	if first == '<' {
		message = "the answer is a page, not a stream of events: " + page(text)
	}
	b.call.Fail(llm.Garbage, message)
	return false
}

// event reads the next event that has data. An event that the end of the stream cuts off is none, but there are servers that leave out the line breaks behind
// their last: what is whole counts.
func (b *body) event() (name string, data []byte, err error) {
	for {
		line, err := b.line()
		if err != nil {
			if !begins(line) {
				b.garbage(line)
			}
			if value, ok := bytes.CutPrefix(line, []byte("data:")); ok && len(data) == 0 {
				data = bytes.TrimSpace(value)
			}
			if errors.Is(err, io.EOF) && whole(data) {
				return name, data, nil
			}
			return "", nil, err
		}
		if len(line) == 0 {
			if len(data) > 0 {
				return name, data, nil
			}
			name = ""
			continue
		}
		if len(data) > maxEvent {
			b.call.Fail(llm.Endless, "an event without end")
			return "", nil, io.EOF
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "event":
			name = string(value)
		case "data":
			if len(data) > 0 {
				data = append(data, ' ') // a line break in JSON is white space
			}
			data = append(data, value...)
		case "", "id", "retry":
		default:
			b.garbage(line)
			return "", nil, io.EOF
		}
	}
}

// whole reports whether the data of an event that the stream ended in is all there.
func whole(data []byte) bool {
	return string(data) == done || len(data) > 0 && data[0] == '{' && jsontext.Value(data).IsValid(session.ReadOptions())
}

// begins reports whether a line that was cut off may be the beginning of one of a stream's.
func begins(line []byte) bool {
	field, _, _ := bytes.Cut(line, []byte(":"))
	return slices.ContainsFunc([]string{"event", "data", "id", "retry"}, func(name string) bool { return strings.HasPrefix(name, string(field)) })
}

func (b *body) garbage(line []byte) {
	b.call.Fail(llm.Garbage, "the answer is no stream of events: "+string(line[:min(len(line), 100)]))
}

// line reads a line without its end. What the end of the stream cuts off comes with the error.
func (b *body) line() ([]byte, error) {
	var line []byte
	for {
		piece, err := b.lines.ReadSlice('\n')
		line = append(line, piece...)
		switch {
		case err == nil:
			return bytes.TrimRight(line, "\r\n"), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return line, err
		case len(line) > maxEvent:
			b.call.Fail(llm.Endless, "a line without end")
			return nil, io.EOF
		}
	}
}

// hand rewrites an event for the SDK, or ends the stream with what it reports.
func (b *body) hand(name string, data []byte) {
	if bytes.HasPrefix(data, []byte(done)) {
		b.pending, b.call.closed = []byte("data: "+done+"\n\n"), true
		return
	}
	if !jsontext.Value(data).IsValid(session.ReadOptions()) || wire.Kind(data, wire.Root(data)) != '{' {
		b.call.Fail(llm.Garbage, "an event is not JSON: "+string(data[:min(len(data), 100)]))
		return
	}
	if name == "error" || reportsError(data) {
		b.call.Refuse(data)
		return
	}
	var event []byte
	if b.call.names {
		if name == "" {
			name = wire.String(data, wire.Member(data, wire.Root(data), "type"))
		}
		event = append(append(append(event, "event: "...), name...), '\n')
	}
	// An "error" that says nothing goes: SDKs take the name alone for a failure.
	event = append(append(event, "data: "...), without(data, "error")...)
	b.pending = append(event, "\n\n"...)
}
