package sqlite

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"

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

func compress(data []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// decompress returns size bytes, or an error.
func decompress(data []byte, size int) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.Grow(min(max(size, 0), len(data)*1032) + bytes.MinRead) // deflate never does better: a wrong size takes no memory
	if _, err := io.Copy(&b, io.LimitReader(r, int64(size)+1)); err != nil {
		return nil, err
	}
	if b.Len() != size {
		return nil, errors.New("what was compressed has another size now")
	}
	return b.Bytes(), nil
}
