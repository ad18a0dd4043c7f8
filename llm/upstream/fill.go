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
	elements []jsontext.Value
}

// Fill writes elements into a list of the request body as it goes out, where the body has that list and it is empty. The SDK has only what is
// around it: it would read, copy and rewrite a conversation that is as it must be. The elements must not be changed afterwards.
func (c *Call) Fill(name string, elements []jsontext.Value) { c.list = &list{name, elements} }

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
	elements      []jsontext.Value

	now  []byte // of what is being read
	next int    // 0: before, 1 and on: an element with its comma, then after
	mark bool   // the comma of the next element was read
}

func (s stretched) size() int64 {
	size := len(s.before) + len(s.after) + max(len(s.elements)-1, 0)
	for _, e := range s.elements {
		size += len(e)
	}
	return int64(size)
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
	i := s.next - 1
	switch {
	case i < 0:
		s.now = s.before
	case i < len(s.elements) && i > 0 && !s.mark:
		s.now, s.mark = comma, true
		return true
	case i < len(s.elements):
		s.now = s.elements[i]
	case i == len(s.elements):
		s.now = s.after
	default:
		return false
	}
	s.next, s.mark = s.next+1, false
	return true
}
