// Package transport prunes what a program sends to its provider while it works. A Transport is an
// [http.RoundTripper]: it recognises the conversation that a request goes on with, keeps it as a
// session of an engine, and leaves out of the request what the engine has decided to leave out.
//
//	t := transport.New(engine, transport.Options{})
//	client := anthropic.NewClient(option.WithHTTPClient(&http.Client{Transport: t}))
//
// A request of which nothing is left out leaves as it came, byte for byte. A decision is in the
// store before it is sent, so that the same conversation has the same bytes tomorrow. Answers are
// relayed as they arrive; a copy is read. An error of the transport's own forwards the original.
package transport

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/body"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/pivot"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/wire"
)

// Mode is what a transport may do.
type Mode string

const (
	// Off relays, and records nothing.
	Off Mode = "off"
	// Observe relays and decides: sessions say what would be left out.
	Observe Mode = "observe"
	// Full leaves out what the engine decides to: whenever it pays, or only when the provider's
	// cache has forgotten the conversation, by the schedule in the engine's settings (economic,
	// cold).
	Full Mode = "full"
)

// Header is the header with which a client asks for another mode for one request. It is not sent
// on.
const Header = "X-Winnow"

// Options say how a transport works. The zero value works.
type Options struct {
	// Base sends the requests. Default: [http.DefaultTransport] with compression left to the
	// client.
	Base http.RoundTripper
	Mode Mode // default: Full
	// Models is the catalogue that says which models bind their reasoning. Default: the embedded
	// one.
	Models *model.Catalogue
	// Memory is how many bytes of requests are kept, so that the next ones need not be read as a
	// whole; what is understood of them takes about twice as much again. Default: DefaultMemory.
	Memory int
	// Log is told what fails, without content. Default: nothing is logged.
	Log *slog.Logger
	Now func() time.Time // default: time.Now
}

// DefaultMemory is the default of Options.Memory: 64 MiB.
const DefaultMemory = 64 << 20

// Transport is an http.RoundTripper. It is safe for concurrent use.
type Transport struct {
	engine *winnow.Engine
	base   http.RoundTripper
	mode   Mode
	models *model.Catalogue
	log    *slog.Logger
	now    func() time.Time

	recent recent

	mu       sync.Mutex
	families map[string]*family
	totals   Totals
	left     map[string]int // tokens left out of the newest request of each session
}

// New makes a transport that keeps its conversations in an engine. The engine should not fold by
// itself (compaction.auto off): the client has its own idea of when to.
func New(engine *winnow.Engine, o Options) *Transport {
	t := &Transport{
		engine: engine, base: o.Base, mode: cmp.Or(o.Mode, Full), models: o.Models, log: o.Log, now: o.Now,
		recent: recent{most: cmp.Or(o.Memory, DefaultMemory)}, families: map[string]*family{}, left: map[string]int{},
	}
	if t.base == nil {
		base := http.DefaultTransport.(*http.Transport).Clone()
		base.DisableCompression = true
		t.base = base
	}
	if t.models == nil {
		t.models = model.Default()
	}
	if t.log == nil {
		t.log = slog.New(slog.DiscardHandler)
	}
	if t.now == nil {
		t.now = time.Now
	}
	return t
}

// maxBody is how many bytes of a request are read to be understood; a longer one passes as it is.
const maxBody = 64 << 20

// exchange is one request that belongs to a conversation, and what became of it.
type exchange struct {
	protocol protocol
	family   *family
	line     *line
	model    model.Model
	began    time.Time
	body     []byte // that is sent
	edited   bool
	left     int            // tokens that the session leaves out of it
	cold     bool           // the provider's cache had forgotten the conversation
	pruned   *pivot.Receipt // of what is left out from this request on, nil without any
	held     bool           // nothing more may be left out
	sent     int            // messages of the client's
	next     string         // id of the message that answers it
}

// RoundTrip sends a request and returns its answer. The request is not changed, as of
// [http.RoundTripper].
//
// A request that was edited and is refused with 400 or 422 is sent once more as it came. If that is
// accepted, nothing is left out of the conversation from then on.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	p, what := route(r)
	if asked := r.Header.Get(Header); asked != "" {
		r = r.Clone(r.Context())
		r.Header.Del(Header)
		if Mode(asked) == Off {
			what = other
		}
	}
	encoded := r.Header.Get("Content-Encoding")
	if what == other || t.mode == Off || r.Body == nil || encoded != "" && encoded != "identity" {
		return t.base.RoundTrip(r)
	}
	read := bytes.NewBuffer(make([]byte, 0, min(max(r.ContentLength, 0)+bytes.MinRead, maxBody)))
	_, err := read.ReadFrom(io.LimitReader(r.Body, maxBody+1))
	original := read.Bytes()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read the request's body: %w", err), r.Body.Close())
	}
	if len(original) > maxBody {
		r = r.Clone(r.Context())
		r.Body = rest{io.MultiReader(bytes.NewReader(original), r.Body), r.Body}
		return t.base.RoundTrip(r)
	}
	r.Body.Close()
	if what == count {
		counted := t.counting(r, p, original)
		return t.base.RoundTrip(with(r, counted, len(counted) != len(original)))
	}
	x := t.begin(r, p, original)
	if x == nil {
		return t.beside(r, p, original)
	}
	answer, err := t.base.RoundTrip(with(r, x.body, x.edited))
	if err == nil && x.edited && refused(answer.StatusCode) {
		answer, err = t.resend(r, x, answer, original)
	}
	if err != nil || answer.StatusCode != http.StatusOK {
		t.release(x.family)
		return answer, err
	}
	listen(answer, func(head http.Header, copied []byte) {
		defer t.release(x.family)
		t.guarded("read an answer", func() { t.heard(x, understood(p, head, copied)) })
	})
	return answer, nil
}

// beside sends a request that belongs to no conversation, as it came, and counts what it costs.
func (t *Transport) beside(r *http.Request, p protocol, original []byte) (*http.Response, error) {
	answer, err := t.base.RoundTrip(with(r, original, false))
	if err != nil || answer.StatusCode != http.StatusOK {
		return answer, err
	}
	listen(answer, func(head http.Header, copied []byte) {
		t.guarded("read an answer", func() {
			text, _ := wire.Complete(original)
			name := cmp.Or(wire.ValueOf(text).Get("model").String(), addressed(r.URL.Path))
			t.countedBeside(t.models.Lookup(p.provider+"/"+name), understood(p, head, copied).Usage)
		})
	})
	return answer, nil
}

// rest is what is left of a body that was begun to be read.
type rest struct {
	io.Reader
	io.Closer
}

// with is the request with a body. One that came without its length goes without it, unless it was
// edited.
func with(r *http.Request, body []byte, edited bool) *http.Request {
	r = r.Clone(r.Context())
	if edited {
		r.ContentLength = int64(len(body))
	}
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	r.Body, _ = r.GetBody()
	return r
}

// refused reports whether a status may be due to what was left out of a request.
func refused(status int) bool {
	return status == http.StatusBadRequest || status == http.StatusUnprocessableEntity
}

// resend sends a request as it came, after it was refused with an edit. What the provider says then
// is the client's.
func (t *Transport) resend(r *http.Request, x *exchange, first *http.Response, original []byte) (*http.Response, error) {
	reason, _ := io.ReadAll(io.LimitReader(first.Body, 64<<10))
	first.Body.Close()
	t.count(func(all *Totals) { all.Resent++ })
	x.body, x.edited, x.left = original, false, 0
	answer, err := t.base.RoundTrip(with(r, original, false))
	if err != nil || answer.StatusCode != http.StatusOK {
		return answer, err
	}
	t.log.Warn("the provider refused a request of which something was left out, and took the original",
		"session", x.line.id, "status", first.StatusCode, "bytes", len(reason))
	t.guarded("freeze a conversation", func() { t.freeze(x, first.Status) })
	return answer, nil
}

// freeze shows a conversation whole from now on: what was pruned and folded of it is undone, which
// is in the store, too.
func (t *Transport) freeze(x *exchange, why string) {
	ctx := context.Background()
	x.family.mu.Lock()
	defer x.family.mu.Unlock()
	x.line.frozen = why
	_, state, err := t.engine.Session(ctx, x.line.id)
	if err != nil {
		t.failed(x.family, "undo what was left out", err)
		return
	}
	for _, r := range slices.Backward(state.Receipts) {
		if r.Kind != pivot.Pruning && r.Kind != pivot.Compaction {
			continue
		}
		if _, err := t.engine.Undo(ctx, x.line.id, r.ID); err != nil && winnow.CodeOf(err) != winnow.Already {
			t.log.Error("could not undo what was left out", "session", x.line.id, "receipt", r.ID, "error", err)
		}
	}
}

// begin recognises the conversation of a request, lets it join the log, and decides what is left
// out of it. nil: it passes as it came.
func (t *Transport) begin(r *http.Request, p protocol, original []byte) (x *exchange) {
	t.guarded("understand a request", func() {
		doc, chain, err := t.read(r, p, original)
		if err != nil {
			return // not a conversation that we know
		}
		f := t.family(identity(r, p.kind, doc.Native.(*body.Native).Decoded, chain[0]))
		f.mu.Lock()
		defer f.mu.Unlock()
		whole := false
		defer func() {
			if f.loaded = f.loaded && whole; x == nil {
				t.release(f)
			}
		}()
		if x, err = t.decide(r.Context(), f, p, doc, chain, original); err != nil {
			t.failed(f, "decide about a request", err)
			x = nil
		}
		t.recent.put(&reading{client: client(r, p.kind), doc: doc, chain: chain})
		whole = true // nothing of ours panicked in between
	})
	return x
}

// read reads the conversation of a request, from where it goes on with one that was read before.
func (t *Transport) read(r *http.Request, p protocol, original []byte) (*format.Document, []digest, error) {
	dialect, _ := body.Of(p.kind)
	var before *format.Document
	known := t.recent.take(client(r, p.kind), original)
	if known != nil {
		before = known.doc
	}
	doc, same, err := body.ReadRequest(original, dialect, before)
	if err != nil {
		return nil, nil, err
	}
	if len(doc.Damaged) > 0 || len(doc.Session.Messages) == 0 {
		return nil, nil, errors.New("not whole")
	}
	if doc.Session.Info.Model == nil {
		doc.Session.Info.Model = &session.ModelRef{ID: addressed(r.URL.Path)}
	}
	ref := doc.Session.Info.Model
	ref.ProviderID, ref.ModelID = p.provider, ref.ID
	if same == 0 {
		return doc, chained(doc.Session.Messages), nil
	}
	return doc, chained(doc.Session.Messages, known.chain[:same]...), nil
}

// decide lets a request join the log, asks the engine what is to be left out of it, and leaves it
// out. The family's lock is held.
func (t *Transport) decide(
	ctx context.Context, f *family, p protocol, doc *format.Document, chain []digest, original []byte,
) (*exchange, error) {
	if err := f.load(ctx, t.engine); err != nil {
		return nil, err
	}
	if isAside(f, doc) {
		return nil, nil
	}
	l, err := t.adopt(ctx, f, doc, chain)
	if err != nil {
		return nil, err
	}
	x := &exchange{
		protocol: p, family: f, line: l, model: t.models.Lookup(doc.Session.Info.Model.String()), began: t.now(),
		body: original, sent: len(chain), next: doc.Native.(*body.Native).NextID(),
	}
	x.cold, x.held = t.isCold(x, original), x.holds(doc)
	if l.frozen != "" {
		return x, nil
	}
	x.pruned, l.pruned = l.pruned, nil
	if !x.held {
		out, err := t.engine.Begin(ctx, l.id)
		if err != nil {
			return nil, err
		}
		x.began = t.now() // after the decision: a fork before the answer has it, too
		x.pruned = cmp.Or(out.Pruned, x.pruned)
	}
	edited, left, err := t.spliced(ctx, l, doc)
	if err != nil {
		return nil, err
	}
	x.left = left
	if t.mode != Observe && !bytes.Equal(edited, original) {
		x.body, x.edited = edited, true
	}
	return x, nil
}

// isAside reports whether a request is one that clients make beside their conversations, for a
// title or to sort what was said: it has no tools, and nothing was answered before. If a
// conversation begins so, it is known from its second request on.
func isAside(f *family, doc *format.Document) bool {
	d := doc.Native.(*body.Native).Decoded
	answered := slices.ContainsFunc(doc.Session.Messages, func(m session.Message) bool {
		return m.Role == session.Assistant
	})
	return len(f.lines) == 0 && !hasTools(d) && !answered
}

// holds reports whether nothing more may be left out of a conversation. Of a model that is unknown
// it is assumed that it binds its reasoning; of one that is known the engine does what can be done.
func (x *exchange) holds(doc *format.Document) bool {
	return x.line.frozen != "" || x.model.Unknown && reasons(doc.Session.Messages)
}

// margin is how much longer than a cache's lifetime a conversation must have rested to be cold.
const margin = time.Minute

// isCold reports whether the provider's cache has certainly forgotten a conversation: by our own
// clock, and by the longest lifetime that the request asks for.
func (t *Transport) isCold(x *exchange, original []byte) bool {
	lifetime := x.model.CacheLifetime()
	if x.protocol.kind == body.Anthropic && bytes.Contains(original, []byte(`"1h"`)) {
		lifetime = max(lifetime, time.Hour)
	}
	return !x.line.last.IsZero() && x.began.Sub(x.line.last) > lifetime+margin
}

// counting is a request for the size of a conversation, with what the conversation leaves out left
// out of it: the client is told the size of what would be sent. Nothing is recorded.
func (t *Transport) counting(r *http.Request, p protocol, original []byte) []byte {
	counted := original
	t.guarded("understand a request for a size", func() {
		doc, chain, err := t.read(r, p, original)
		if err != nil || t.mode == Observe {
			return
		}
		t.guessTools(r, p, doc, chain[0])
		f := t.family(identity(r, p.kind, doc.Native.(*body.Native).Decoded, chain[0]))
		defer t.release(f)
		f.mu.Lock()
		defer f.mu.Unlock()
		if err := f.load(r.Context(), t.engine); err != nil {
			return
		}
		l, _, goesOn := f.find(chain, doc.Session.Messages)
		if l == nil || !goesOn || l.frozen != "" {
			return
		}
		if edited, _, err := t.spliced(r.Context(), l, doc); err == nil {
			counted = edited
		}
	})
	return counted
}

// maxFamilies is how many families are at hand at most, but for those in use; others are read from
// the store again.
const maxFamilies = 1024

// family is the family of an identity, in use until it is released.
func (t *Transport) family(id string) *family {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.families[id]
	if f == nil {
		for other, idle := range t.families {
			if len(t.families) < maxFamilies {
				break
			}
			if idle.uses == 0 {
				delete(t.families, other)
			}
		}
		f = &family{id: id}
		t.families[id] = f
	}
	f.uses++
	return f
}

func (t *Transport) release(f *family) {
	t.mu.Lock()
	f.uses--
	t.mu.Unlock()
}

// failed forgets what is at hand of a family, so that it is read from the store again.
func (t *Transport) failed(f *family, what string, err error) {
	f.loaded, f.lines = false, nil
	t.log.Error("could not "+what, "family", f.id, "error", err)
}

// guarded runs a step of ours. If it panics, that is logged, and the request goes on without it.
func (t *Transport) guarded(what string, step func()) {
	defer func() {
		if p := recover(); p != nil {
			t.log.Error("could not "+what, "panic", fmt.Sprint(p))
		}
	}()
	step()
}
