package mcp

import (
	"bytes"
	"context"
	"io"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/winnowhq/winnow/wire"
)

// Serve runs a server over a reader and a writer, a message a line, until the reader ends or the
// context does. What was asked before the end is answered first.
func Serve(ctx context.Context, s *sdk.Server, in io.Reader, out io.Writer) error {
	p := &pipe{in: in, out: out, done: ctx.Done(), changed: make(chan struct{}, 1)}
	return s.Run(ctx, &sdk.IOTransport{Reader: p, Writer: p})
}

// patience is how long answers may take after the input has ended.
const patience = 10 * time.Second

// pipe is the two of them. It holds the end of the input back until every request has its answer:
// the server would drop what it is at.
type pipe struct {
	in      io.Reader
	out     io.Writer
	done    <-chan struct{}
	changed chan struct{} // the number of open requests is another one

	mu   sync.Mutex
	line []byte // that has begun
	open int    // requests without an answer
}

// Read implements io.Reader.
func (p *pipe) Read(data []byte) (int, error) {
	n, err := p.in.Read(data)
	p.count(data[:n])
	if err == nil || n > 0 {
		return n, nil // the end comes again
	}
	p.count([]byte("\n"))
	enough := time.NewTimer(patience)
	defer enough.Stop()
	for p.waits() {
		select {
		case <-p.changed:
		case <-p.done:
			return 0, err
		case <-enough.C:
			return 0, err
		}
	}
	return 0, err
}

// Write implements io.Writer. Each message of the server's is one call.
func (p *pipe) Write(message []byte) (int, error) {
	n, err := p.out.Write(message)
	if hasID(message) {
		p.mu.Lock()
		p.open--
		p.mu.Unlock()
		select {
		case p.changed <- struct{}{}:
		default:
		}
	}
	return n, err
}

// Close implements io.Closer. Reader and writer belong to others.
func (p *pipe) Close() error { return nil }

// count counts the requests among the lines that came.
func (p *pipe) count(data []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		line, rest, whole := bytes.Cut(data, []byte("\n"))
		p.line = append(p.line, line...)
		if !whole {
			return
		}
		if hasID(p.line) && wire.ValueOf(p.line).Get("method").Kind() == '"' {
			p.open++
		}
		p.line, data = p.line[:0], rest
	}
}

func (p *pipe) waits() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.open > 0
}

// hasID reports whether a message is a request or an answer. Others expect none.
func hasID(message []byte) bool {
	kind := wire.ValueOf(message).Get("id").Kind()
	return kind == '"' || kind == '0'
}
