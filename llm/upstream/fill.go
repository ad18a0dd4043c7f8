package upstream

import (
	"io"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/wire"
)

// list is what stands in a list of the request body that the SDK was given without it.
type list struct {
	name     string
	elements [][]jsontext.Value
}

// Fill writes elements into a list of the request body as it goes out, those of several lists one after the other, where the body has that list and it
// is empty. The SDK has only what is around it: it would read, copy and rewrite a conversation that is as it must be. The elements must not be changed
// afterwards.
func (c *Call) Fill(name string, elements ...[]jsontext.Value) { c.list = &list{name, elements} }

// filled is a request with the list in its body.
func (c *Call) filled(r *http.Request) (*http.Request, error) {
	if c.list == nil || r.Body == nil {
		return r, nil
	}
	text, err := io.ReadAll(r.Body)
	r.Body.Close()
	if err != nil {
		return nil, err
	}
	b := stretched{before: text}
	if at := wire.Member(text, wire.Root(text), c.list.name); string(at.Of(text)) == "[]" {
		b = stretched{before: text[:at.Start+1], elements: c.list.elements, after: text[at.End-1:]}
	}
	r = r.WithContext(r.Context())
	r.ContentLength = b.size()
	r.GetBody = func() (io.ReadCloser, error) {
		again := b
		return io.NopCloser(&again), nil
	}
	r.Body, err = r.GetBody()
	return r, err
}

// stretched reads a text with elements in the middle, commas between them, without making one text of it.
type stretched struct {
	before, after []byte
	elements      [][]jsontext.Value

	now   []byte // of what is being read
	at    int    // position in the first list of elements
	begun bool   // before was read
	some  bool   // an element was read
	comma bool   // the comma before the next one was read
	ended bool   // after was read
}

func (s stretched) size() int64 {
	size, n := len(s.before)+len(s.after), 0
	for _, elements := range s.elements {
		n += len(elements)
		for _, e := range elements {
			size += len(e)
		}
	}
	return int64(size + max(n-1, 0))
}

// Read implements io.Reader.
func (s *stretched) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		if len(s.now) == 0 && !s.turn() {
			break
		}
		copied := copy(p[n:], s.now)
		s.now, n = s.now[copied:], n+copied
	}
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

var comma = []byte{','}

// turn goes on to the next piece; ok is false behind the last.
func (s *stretched) turn() (ok bool) {
	for len(s.elements) > 0 && s.at == len(s.elements[0]) {
		s.elements, s.at = s.elements[1:], 0
	}
	switch {
	case !s.begun:
		s.now, s.begun = s.before, true
	case len(s.elements) > 0 && s.some && !s.comma:
		s.now, s.comma = comma, true
	case len(s.elements) > 0:
		s.now = s.elements[0][s.at]
		s.at, s.some, s.comma = s.at+1, true, false
	case !s.ended:
		s.now, s.ended = s.after, true
	default:
		return false
	}
	return true
}
