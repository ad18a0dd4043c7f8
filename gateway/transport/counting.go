package transport

import (
	"context"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/body"
	"github.com/winnowhq/winnow/store"
)

// sized is the lineage of the conversation whose size a request asks for, in use until it is
// released. Such a request may say less than those of the conversation do, as the API takes no more
// there: genai names no tools, and Anthropic's API takes no metadata, which may be all that names
// the session. Then it is one of those at hand that begin alike, with which the request goes on.
func (t *Transport) sized(ctx context.Context, r *http.Request, p protocol, doc *format.Document,
	chain []digest) *lineage {
	d := doc.Native.(*body.Native).Decoded
	f := t.lineage(identity(r, p.kind, d, chain[0]))
	if t.has(ctx, f) {
		return f
	}
	if len(d.Tools) == 0 {
		t.release(f)
		d.Tools = jsontext.Value("[]")
		if f = t.lineage(identity(r, p.kind, d, chain[0])); t.has(ctx, f) {
			return f
		}
	}
	if sessionSignal(r.Header, d) != "" {
		return f
	}
	best, longest := f, 0
	for _, other := range t.alike(beginning(r, p.kind, chain[0])) {
		if n := t.agrees(ctx, other, doc, chain); n > longest {
			other, best, longest = best, other, n
		}
		t.release(other)
	}
	return best
}

// has reports whether a lineage has conversations.
func (t *Transport) has(ctx context.Context, f *lineage) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.load(ctx, t.engine) == nil && len(f.conversations) > 0
}

// agrees is in how many messages a request agrees with a conversation of a lineage that it goes on
// with, 0 if it goes on with none.
func (t *Transport) agrees(ctx context.Context, f *lineage, doc *format.Document, chain []digest) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.load(ctx, t.engine) != nil {
		return 0
	}
	l, n, goesOn := f.find(chain, doc.Session.Messages)
	if l == nil || !goesOn {
		return 0
	}
	return n
}

// begins notes how the conversations of a lineage begin.
func (t *Transport) begins(f *lineage, beginning string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f.beginning = beginning
}

// alike are the lineages at hand that begin like a request, in use until they are released.
func (t *Transport) alike(beginning string) (all []*lineage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, f := range t.lineages {
		if f.beginning == beginning {
			f.uses++
			all = append(all, f)
		}
	}
	return all
}

// reduced is a request for the size of a conversation, with what the conversation leaves out left
// out of it: the client is told the size of what would be sent. Nothing is recorded. nil: something
// of ours failed.
func (t *Transport) reduced(ctx context.Context, in incoming) (counted *http.Request) {
	ctx = new(store.Reading).Within(ctx)
	t.guarded("understand a request for a size", func() {
		read, err := t.read(in)
		if err != nil || t.options.Mode == Observe {
			counted = with(in.Request, in.original, false)
			return
		}
		doc, chain := read.doc, read.chain
		f := t.sized(ctx, in.Request, in.protocol, doc, chain)
		defer t.release(f)
		f.recording.wait()
		f.mu.Lock()
		defer f.mu.Unlock()
		if err := f.load(ctx, t.engine); err != nil {
			return
		}
		if l, _, goesOn := f.find(chain, doc.Session.Messages); l != nil && goesOn {
			if _, err := t.upToDate(ctx, f, l, chain, doc.Session.Messages); err != nil {
				return
			}
		}
		l, n, goesOn := f.find(chain, doc.Session.Messages)
		if l == nil || !goesOn || l.frozen != "" {
			counted = with(in.Request, in.original, false)
			return
		}
		if err := t.refill(ctx, l.id, doc.Session.Messages[:n]); err != nil {
			return
		}
		x := &exchange{request: request{protocol: in.protocol}, conversation: l}
		if x.cut, err = t.splice(ctx, l, doc, len(chain)); err != nil {
			return
		}
		if l.delegation.known { // nothing is decided for it
			t.delegate(ctx, in.Request, x, doc.Native.(*body.Native).Decoded)
		}
		counted = x.outgoing(in.Request)
		t.recent.put(read)
	})
	return counted
}
