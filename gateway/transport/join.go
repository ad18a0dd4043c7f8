package transport

import (
	"bytes"
	"context"
	"errors"
	"net/http"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/body"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

// joined is what became of a request that was to join its conversation.
type joined struct {
	x       *exchange // nil: it passes as it came
	failed  bool      // something of ours did
	replays bool      // it does not join: it is the client's own compaction
}

// join recognises the conversation of a request, lets it join the log, and decides what is left out
// of it.
func (t *Transport) join(ctx context.Context, r *http.Request, p protocol, original []byte) (j joined) {
	j.failed = true
	t.guarded("understand a request", func() {
		identified := t.stage(ctx, "identify")
		defer identified()
		read, err := t.read(r, p, original)
		if err != nil {
			j.failed = false
			return // not a conversation that we know
		}
		doc, chain := read.doc, read.chain
		f := t.family(identity(r, p.kind, doc.Native.(*body.Native).Decoded, chain[0]))
		t.begins(f, beginning(r, p.kind, chain[0]))
		identified()
		f.recording.wait()
		if summarizes(r, doc) {
			f.mu.Lock()
			t.cool(f)
			f.mu.Unlock()
			t.release(f)
			t.recent.put(read)
			j = joined{replays: true}
			return
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		if len(f.lines) == 0 {
			doc.Session.Info.Unknown = origin(r, doc.Native.(*body.Native).Decoded)
			f.before = oldIdentity(r, p.kind, doc.Native.(*body.Native).Decoded, chain[0])
		}
		whole := false
		defer func() {
			if f.loaded = f.loaded && whole; j.x == nil {
				t.release(f)
			}
		}()
		ctx = new(store.Reading).Within(ctx)
		x, err := t.decide(ctx, f, p, read)
		for tries := 1; tries < mostTries && isOutrun(err); tries++ {
			f.loaded = false
			x, err = t.decide(ctx, f, p, read)
		}
		if err != nil {
			t.failed(f, "decide about a request", err)
			x = nil
		}
		if x != nil {
			x.client, x.agent = read.client, read.agent
			t.noticed(r, x, read)
			t.delegate(ctx, r, x, doc.Native.(*body.Native).Decoded)
			x.line.noted(ctx)
			f.remember(x.line, x.standing, x.sent)
			t.leaves(x)
		}
		t.recent.put(read)
		j.x, j.failed = x, err != nil
		whole = true // nothing of ours panicked in between
	})
	return j
}

// mostTries is how often a request is decided about anew at most, because another process went on
// with its conversation at that moment.
const mostTries = 16

// isOutrun reports whether another process was quicker. What it decided counts: the conversation is
// read again, with what that one wrote.
func isOutrun(err error) bool {
	code := winnow.CodeOf(err)
	return code == winnow.Already || code == winnow.Stale || code == winnow.Busy || errors.Is(err, store.ErrConflict)
}

// read reads the conversation of a request, from where it goes on with one that was read before.
func (t *Transport) read(r *http.Request, p protocol, original []byte) (*reading, error) {
	dialect, _ := body.Of(p.kind)
	var before *format.Document
	read := &reading{client: client(r, p.kind), agent: agent(r)}
	known := t.recent.take(read.client, original)
	if known != nil {
		before = known.doc
	}
	doc, same, err := body.ReadRequest(original, dialect, before, known.common())
	if err != nil {
		return nil, err
	}
	if len(doc.Damaged) > 0 || len(doc.Session.Messages) == 0 || isElsewhere(doc) {
		return nil, errors.New("not whole")
	}
	if doc.Session.Info.Model == nil {
		doc.Session.Info.Model = &session.ModelRef{ID: addressed(r.URL.Path)}
	}
	ref := doc.Session.Info.Model
	ref.ProviderID, ref.ModelID = p.provider, ref.ID
	locate(doc.Session.Messages, doc.Native.(*body.Native), same)
	if read.doc = doc; same == 0 {
		read.chain, read.signs = chained(doc.Session.Messages), signsOf(doc.Native.(*body.Native), signs{})
		return read, nil
	}
	read.chain = chained(doc.Session.Messages, known.chain[:same]...)
	read.signs = signsOf(doc.Native.(*body.Native), known.signs)
	return read, nil
}

// decide lets a request join the log, asks the engine what is to be left out of it, and leaves it
// out. The family's lock is held.
func (t *Transport) decide(ctx context.Context, f *family, p protocol, read *reading) (*exchange, error) {
	doc, chain, original := read.doc, read.chain, read.doc.Source
	ended := t.stage(ctx, "adopt")
	defer func() { ended() }()
	if err := f.load(ctx, t.engine); err != nil {
		return nil, err
	}
	if isAside(f, doc) {
		return nil, nil
	}
	if err := t.carryOver(ctx, f, chain, doc.Session.Messages); err != nil {
		return nil, err
	}
	if err := t.refresh(ctx, f, chain, doc.Session.Messages); err != nil {
		return nil, err
	}
	known := len(f.lines)
	l, repeated, err := t.adopt(ctx, f, doc, chain)
	if err != nil {
		return nil, err
	}
	if len(f.lines) > known {
		t.begun(l)
		if known > 0 {
			t.rewritten(ctx, l, doc.Session.Messages)
		}
	}
	if l.outrun(ctx) {
		return nil, store.ErrConflict
	}
	if err := t.offer(ctx, l, doc); err != nil {
		return nil, err
	}
	l.tools.look(doc, l.drop)
	if known := f.decided.of(l.id); known != nil && known.last.After(l.last) {
		l.last = known.last // while the store was away
	}
	t.follows(l, read)
	t.cool(f)
	x := &exchange{
		protocol: p, family: f, line: l, model: t.models.Lookup(doc.Session.Info.Model.String()), began: t.options.Now(),
		body: original, sent: len(chain), next: doc.Native.(*body.Native).NextID(), repeated: repeated,
	}
	x.added = l.added(doc.Session.Messages)
	x.cold, x.held = x.isCold(read, t.options.Mode), x.holds(read)
	x.bridge()
	unsure := !x.cold && x.model.CacheLifetime() > 0 && x.idle() > x.model.CacheLifetime()
	l.last, l.asking = x.began, x
	if l.frozen != "" {
		return x, nil
	}
	x.pruned, l.pruned = l.pruned, nil
	ended()
	ended = t.stage(ctx, "decide")
	if err := t.starts(ctx, x, doc, unsure); err != nil {
		return nil, err
	}
	if l.outrun(ctx) {
		l.pruned = x.pruned
		return nil, store.ErrConflict
	}
	ended()
	ended = t.stage(ctx, "splice")
	if x.standing, err = t.standing(ctx, l.id, len(chain)); err != nil {
		return nil, err
	}
	edited, left, err := edited(l, doc, x.standing)
	if err != nil {
		return nil, err
	}
	x.left = left
	if t.options.Mode != Observe && !bytes.Equal(edited, original) {
		x.body, x.edited = edited, true
	}
	return x, nil
}
