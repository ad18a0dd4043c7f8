package transport

import (
	"bytes"
	"io"
	"net/http"
	"strings"

	"github.com/winnowhq/winnow/text/span"
	"github.com/winnowhq/winnow/wire"
)

// streamOptions is the member of a request of Chat Completions that asks for a report at the end of
// a stream; includeUsage is within it.
const (
	streamOptions = "stream_options"
	includeUsage  = "include_usage"
)

// send sends a request, with its body as plain text. A stream that has to be paid for is asked for
// a report; if the provider does not take that, the request is sent once more as it was, and this
// provider is not asked again.
func (t *Transport) send(r *http.Request, m *meter, plain []byte) (*http.Response, error) {
	r = m.watch(r)
	asking := m.asking(r, plain)
	if asking == nil {
		return t.options.Base.RoundTrip(r)
	}
	answer, err := t.options.Base.RoundTrip(asking)
	if err != nil {
		return answer, err
	}
	if refused(answer.StatusCode) {
		answer.Body.Close()
		m.asks = false
		second, err := t.options.Base.RoundTrip(r)
		if err == nil && second.StatusCode == http.StatusOK {
			t.silent.Store(r.URL.Host, true)
			t.options.Log.Warn("the provider does not report what streams take; it is estimated", "host", r.URL.Host)
		}
		return second, err
	}
	m.asked = answer.StatusCode == http.StatusOK
	return answer, nil
}

// asking is the request with a wish for a report; nil: none is added.
func (m *meter) asking(r *http.Request, plain []byte) *http.Request {
	if m == nil || !m.asks || encoding(r.Header) != "" || !span.Valid(plain) {
		return nil
	}
	if _, silent := m.t.silent.Load(r.URL.Host); silent {
		return nil
	}
	options := wire.ValueOf(plain).Get(streamOptions)
	if options.Get(includeUsage).Kind() == 't' {
		return nil
	}
	edited := plain
	switch options.Kind() {
	case '{':
		edited = span.Replace(plain, options.Span, span.Set(options.Bytes(), "", []byte("true"), includeUsage))
	case 0:
		at := bytes.IndexByte(plain, '{') + 1
		edited = span.Replace(plain, span.Span{Start: at, End: at},
			[]byte(`"`+streamOptions+`":{"`+includeUsage+`":true},`))
	default:
		edited = span.Replace(plain, options.Span, []byte(`{"`+includeUsage+`":true}`))
	}
	r = with(r, edited, true)
	if r.Header.Get("Accept-Encoding") != "" { // what is packed cannot be taken out of
		r.Header.Set("Accept-Encoding", "identity")
	}
	return r
}

// silence takes out of an answer the report that its client did not ask for.
func (m *meter) silence(answer *http.Response) {
	if m == nil || !m.asked || encoding(answer.Header) != "" ||
		!strings.HasPrefix(answer.Header.Get("Content-Type"), "text/event-stream") {
		return
	}
	answer.Body = &unasked{ReadCloser: answer.Body}
	answer.ContentLength = -1
	answer.Header.Del("Content-Length")
}

// unasked is a stream of Chat Completions without the reports that its client did not ask for:
// without the event that has nothing else, and without the member of the others that is null.
// Everything else is as it came. An event is given out when it is complete.
type unasked struct {
	io.ReadCloser
	in, out []byte
	scanned int  // bytes of in before the line that is not complete yet
	raw     bool // the event has become too long: its rest goes out as it came
	err     error
}

// mostEvent is how many bytes an event may have that is looked into.
const mostEvent = 1 << 20

// Read implements io.Reader.
func (u *unasked) Read(p []byte) (int, error) {
	for len(u.out) == 0 {
		if u.err != nil {
			return 0, u.err
		}
		var n int
		n, u.err = u.ReadCloser.Read(p)
		u.in = append(u.in, p[:n]...)
		u.events()
	}
	n := copy(p, u.out)
	u.out = u.out[n:]
	return n, nil
}

// events moves what is complete from in to out.
func (u *unasked) events() {
	u.out = u.out[:0]
	begin := 0
	for {
		line := bytes.IndexByte(u.in[u.scanned:], '\n')
		if line < 0 {
			break
		}
		text := u.in[u.scanned : u.scanned+line]
		u.scanned += line + 1
		if len(bytes.TrimRight(text, "\r")) > 0 {
			continue
		}
		u.give(u.in[begin:u.scanned])
		begin, u.raw = u.scanned, false
	}
	switch rest := u.in[begin:]; {
	case u.err != nil:
		u.give(rest)
		begin = len(u.in)
	case u.raw, len(rest) > mostEvent:
		u.raw = true
		u.out = append(u.out, rest...)
		begin = len(u.in)
	}
	u.in = append(u.in[:0], u.in[begin:]...)
	u.scanned = max(u.scanned-begin, 0)
}

// give gives out an event.
func (u *unasked) give(event []byte) {
	if u.raw {
		u.out = append(u.out, event...)
		return
	}
	u.out = append(u.out, withoutReport(event)...)
}

// withoutReport is an event without the report that was not asked for, nil if nothing is left.
func withoutReport(event []byte) []byte {
	const data = "data:"
	if !bytes.Contains(event, []byte(`"usage"`)) {
		return event
	}
	at := 0
	for line := range bytes.Lines(event) {
		text := bytes.TrimSpace(bytes.TrimPrefix(line, []byte(data)))
		if !bytes.HasPrefix(line, []byte(data)) || !span.Valid(text) || span.Kind(text) != '{' {
			at += len(line)
			continue
		}
		var usage, choices wire.Value
		wire.ValueOf(text).Read("usage", &usage, "choices", &choices)
		empty := choices.Kind() == '['
		for range choices.Values() {
			empty = false
		}
		switch {
		case usage.Kind() == '{' && empty:
			return nil
		case usage.Kind() == 'n':
			within := bytes.Index(line, text)
			return span.Replace(event, span.Span{Start: at + within, End: at + within + len(text)},
				span.Remove(text, false, "usage"))
		}
		return event
	}
	return event
}
