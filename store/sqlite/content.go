package sqlite

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"sync"

	"github.com/winnowhq/winnow/session"
)

// large is the size in bytes from which on the text of a tool's result is kept apart, once by content and compressed. Below
// one page of the database, compression and a second row cost more than they save.
const large = 4096

// Fields of a part that may be kept apart.
const (
	outputField = "output"
	errorField  = "error"
)

// split takes the large text out of a part: the rest, which field it was, and the text. The part handed in stays as it is.
func split(p session.Part) (rest session.Part, field, text string) {
	if p.State == nil {
		return p, "", ""
	}
	state := *p.State
	switch {
	case len(state.Output) >= large:
		field, text, state.Output = outputField, state.Output, ""
	case len(state.Error) >= large:
		field, text, state.Error = errorField, state.Error, ""
	default:
		return p, "", ""
	}
	p.State = &state
	return p, field, text
}

// join puts the text back.
func join(p *session.Part, field, text string) error {
	switch {
	case p.State == nil:
		return errors.New("a part that is no tool call has a large output")
	case field == outputField:
		p.State.Output = text
	case field == errorField:
		p.State.Error = text
	default:
		return errors.New("a part has a large text of an unknown kind: " + field)
	}
	return nil
}

// compressor compresses with gzip at its fastest. Source text becomes a third to a half; other libraries were twice as fast
// at the same size, which does not pay for a dependency. Its state is larger than most of what it compresses, so it is kept
// for the next. The zero value is ready.
type compressor struct{ writers, readers sync.Pool }

func (c *compressor) compress(data []byte) ([]byte, error) {
	var b bytes.Buffer
	w, _ := c.writers.Get().(*gzip.Writer)
	if w == nil {
		var err error
		if w, err = gzip.NewWriterLevel(&b, gzip.BestSpeed); err != nil {
			return nil, err
		}
	} else {
		w.Reset(&b)
	}
	defer c.writers.Put(w)
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// decompress returns size bytes, or an error.
func (c *compressor) decompress(data []byte, size int) ([]byte, error) {
	r, _ := c.readers.Get().(*gzip.Reader)
	if r == nil {
		r = new(gzip.Reader)
	}
	defer c.readers.Put(r)
	if err := r.Reset(bytes.NewReader(data)); err != nil {
		return nil, err
	}
	// deflate never does better than 1032 to one: a damaged size takes no memory. One byte more than there should be: the
	// reader compares its checksum only when it comes to the end.
	text := make([]byte, min(max(size, 0), len(data)*1032)+1)
	n, err := io.ReadFull(r, text)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if n != size || err == nil {
		return nil, errors.New("what was compressed has another size now")
	}
	return text[:n], nil
}
