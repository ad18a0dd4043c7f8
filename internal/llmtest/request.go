package llmtest

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/klauspost/compress/zstd"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/wire"
)

// Request is what a client asked.
type Request struct {
	Number   int // 1 for the first
	Protocol Protocol
	Path     string
	Header   http.Header
	Body     []byte // without its Content-Encoding

	Model     string
	Stream    bool
	System    string
	Tools     jsontext.Value    // the provider's own JSON of the tools, as it was sent
	Messages  []session.Message // as package wire decodes them
	MaxTokens int               // the limit that the request sets to its answer; 0 without one
	Prompt    int               // the size of the whole prompt in tokens, by the estimate that usage is reported in

	prompt prompt
	binds  bool // as of Script.Binds
	json   bool // the body is JSON
	ctx    context.Context
}

// Context ends when the client has left, when the server is closed and when the request is
// answered.
func (r Request) Context() context.Context { return r.ctx }

// Contains reports whether a string somewhere in the body contains this text, escapes decoded.
func (r Request) Contains(text string) bool {
	dec := jsontext.NewDecoder(bytes.NewReader(r.Body), session.ReadOptions())
	for {
		token, err := dec.ReadToken()
		if err != nil {
			return false
		}
		if token.Kind() == '"' && strings.Contains(token.String(), text) {
			return true
		}
	}
}

// Last is the text of the last message: what the model is asked now.
func (r Request) Last() string {
	if len(r.Messages) == 0 {
		return ""
	}
	return r.Messages[len(r.Messages)-1].Text()
}

// Results counts the tool results in the conversation; scripts count their steps by it.
func (r Request) Results() int {
	n := 0
	for _, m := range r.Messages {
		for _, p := range m.Parts {
			if p.State != nil && p.State.Final() {
				n++
			}
		}
	}
	return n
}

// ToolNames are the names of the tools on offer.
func (r Request) ToolNames() []string {
	var names []string
	for at := range wire.ValueOf(r.Tools).Values() {
		for declared := range at.Get("functionDeclarations").Values() {
			names = append(names, declared.Get("name").String())
		}
		for _, object := range []wire.Value{at, at.Get("function")} {
			if name := object.Get("name").String(); name != "" {
				names = append(names, name)
			}
		}
	}
	return names
}

// maxBody is Anthropic's limit of a request's size, in bytes; the others are held to it too.
const maxBody = 32 << 20

type tooLarge struct{}

func (tooLarge) Error() string { return "the body is larger than 32 MB" }

// readBody reads a body and takes its compression off.
func readBody(r *http.Request) ([]byte, error) {
	var from io.Reader = r.Body
	switch encoding := r.Header.Get("Content-Encoding"); encoding {
	case "", "identity":
	case "gzip":
		unzipped, err := gzip.NewReader(from)
		if err != nil {
			return nil, fmt.Errorf("the body is not gzip: %w", err)
		}
		from = unzipped
	case "zstd":
		plain, err := zstd.NewReader(from, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, fmt.Errorf("the body is not zstd: %w", err)
		}
		defer plain.Close()
		from = plain
	default:
		return nil, fmt.Errorf("unknown Content-Encoding %q", encoding)
	}
	body := bytes.NewBuffer(make([]byte, 0, min(max(r.ContentLength, 0), maxBody)+bytes.MinRead))
	if _, err := body.ReadFrom(io.LimitReader(from, maxBody+1)); err != nil {
		return nil, err
	}
	if body.Len() > maxBody {
		return nil, tooLarge{}
	}
	return body.Bytes(), nil
}

// Record is what became of a request.
type Record struct {
	Request
	Reply Reply // what the script decided, completed; the zero value when it was not asked

	Status int // of HTTP; 0 when no header was sent
	// Problem is why the provider refuses the request as it is: a mistake of the client's. It was
	// answered with 400 or the like, and the script was not asked. A prompt that is too long is not
	// such a mistake.
	Problem string
	TooLong bool // the prompt did not fit into the window
	// Usage is what was reported, or would have been at the end: Input is the fresh part of the
	// prompt, Cache what was read and written. It is zero for a request that was refused.
	Usage session.Usage

	Began time.Time // by the real clock, as the times below
	Ended time.Time // zero while it is being answered
	// Aborted says that the client left before the whole answer was sent, or before a hanging one
	// was given up; Left when.
	Aborted bool
	Left    time.Time
	Events  int // events of the stream that were sent whole
}
