package rpc

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/wire"
)

// readLines takes lines until there are none any more.
func (s *Server) readLines(ctx context.Context, in io.Reader) error {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := readLine(r)
		switch {
		case err == errLong:
			s.refuseLong(line)
			continue
		case len(bytes.TrimSpace(line)) > 0:
			s.take(ctx, line)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("the client cannot be read from: %w", err)
		}
	}
}

var errLong = errors.New("a line is too long")

// headBytes is how much of a line that is too long is looked at for its id.
const headBytes = 4 << 10

// refuseLong answers a line that was too long, of which this is the beginning: the request that
// it is, or the request of this server's that it is the answer to.
func (s *Server) refuseLong(head []byte) {
	why := failed(InvalidRequest, rule.TooLarge, "send less at a time",
		"a line is longer than %d bytes; it was skipped", MaxLine)
	id := idIn(head)
	text, _ := write(why) // texts and numbers
	if !s.client.replied(message{ID: id, Error: text}) {
		s.refuse(id, why)
	}
}

// idIn is the id that an object begins with, before a member that is not read whole; nil without.
func idIn(head []byte) jsontext.Value {
	d := jsontext.NewDecoder(bytes.NewReader(head), session.ReadOptions())
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return nil
	}
	for {
		name, err := d.ReadToken()
		if err != nil || name.Kind() != '"' {
			return nil
		}
		member := name.String()
		value, err := d.ReadValue()
		if err != nil {
			return nil
		}
		if member == "id" && (value.Kind() == '"' || value.Kind() == '0') {
			return value.Clone()
		}
	}
}

// readLine reads a line of at most MaxLine bytes. Of a longer one it returns the beginning, with
// errLong.
func readLine(r *bufio.Reader) (line []byte, err error) {
	long := false
	for {
		piece, err := r.ReadSlice('\n')
		if long = long || len(line)+len(piece) > MaxLine; long {
			line = bytes.Clone(line[:min(len(line), headBytes)])
		} else {
			line = append(line, piece...)
		}
		switch {
		case err == bufio.ErrBufferFull:
		case long && (err == nil || err == io.EOF):
			return line, errLong
		default:
			return line, err
		}
	}
}

// take takes one line.
func (s *Server) take(ctx context.Context, line []byte) {
	var m message
	if err := json.Unmarshal(line, &m, session.ReadOptions()); err != nil {
		switch text := jsontext.Value(line); {
		case !text.IsValid(session.ReadOptions()):
			s.refuse(nil, failed(ParseError, rule.BadInput, "send one JSON object a line",
				"the line is not JSON: %v", err))
		case text.Kind() == '[':
			s.refuse(nil, failed(InvalidRequest, rule.BadInput, "send one request a line", "batches are not supported"))
		default:
			s.refuse(nil, failed(InvalidRequest, rule.BadInput, "", "the line is not a request: %v", err))
		}
		return
	}
	known := len(m.ID) > 0 && (m.ID.Kind() == '"' || m.ID.Kind() == '0')
	switch {
	case m.Method == "" && known:
		s.client.replied(m)
	case m.Version != "2.0" || m.Method == "":
		s.refuse(nil, failed(InvalidRequest, rule.BadInput, "", `a request has "jsonrpc": "2.0", an id and a method`))
	case m.Method == "$/cancelRequest":
		s.abort(wire.ValueOf(m.Params).Get("id").Raw())
	case len(m.Method) > 2 && m.Method[:2] == "$/": // notifications that may be ignored
	case !known:
		s.refuse(nil, failed(InvalidRequest, rule.BadInput, "give it an id, a text or a number",
			"%s has no id, and nobody would learn what became of it: it was not done", m.Method))
	default:
		s.request(ctx, m, len(line))
	}
}

// output writes lines to the client.
type output struct {
	lost chan struct{} // closed if the client cannot be written to

	mu     sync.Mutex
	to     io.Writer
	broken error // why nothing is written any more
}

// send writes a line. It waits for a client that does not read.
func (o *output) send(m message) {
	line := m.line()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.broken != nil {
		return
	}
	if _, err := o.to.Write(line); err != nil {
		o.broken = fmt.Errorf("the client cannot be written to: %w", err)
		close(o.lost)
	}
}

// end lets nothing be written any more, and says why a line could not be.
func (o *output) end() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	err := o.broken
	o.broken = io.ErrClosedPipe
	return err
}
