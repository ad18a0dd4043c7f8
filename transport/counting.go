package transport

import (
	"context"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/body"
)

// guessTools takes it that a request for a size is about a conversation with tools, though it names
// none, if there is no such conversation without. genai asks so: the API takes no tools there.
func (t *Transport) guessTools(ctx context.Context, r *http.Request, p protocol, doc *format.Document, first digest) {
	d := doc.Native.(*body.Native).Decoded
	if len(d.Tools) > 0 {
		return
	}
	f := t.family(identity(r, p.kind, d, first))
	defer t.release(f)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.load(ctx, t.engine); err == nil && len(f.lines) == 0 {
		d.Tools = jsontext.Value("[]")
	}
}
