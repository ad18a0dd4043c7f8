package transport

import (
	"context"
	"errors"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/body"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

// request is what is known of a request that belongs to a conversation.
type request struct {
	protocol protocol
	lineage  *lineage
	model    model.Model
	client   string
	agent    string // name of the program
	person   string // who asks within a tenant
	sent     int    // messages of the client's
	newest   digest // of the newest of them
	next     string // id of the message that answers it
	from     Origin // for those who watch, as the next one
	title    string // of the session
	summary  bool   // it is the client's own compaction, which joins no log
}

// requestOf makes a request of a reading, which the next one may use up.
func (t *Transport) requestOf(p protocol, f *lineage, read *reading) request {
	info := &read.doc.Session.Info
	n := len(read.chain)
	return request{protocol: p, lineage: f, model: t.models.Lookup(info.Model.String()), client: read.client,
		agent: read.agent, sent: n, newest: read.chain[n-1], next: read.doc.Native.(*body.Native).NextID()}
}

// decision is a decision about a request, with its reasons.
type decision struct {
	began    time.Time
	added    int            // size of what is new in the request, estimated
	repeated bool           // it was asked before, and that request may be under way
	cold     bool           // the provider's cache had forgotten the conversation
	bridged  bool           // it would have, and was kept
	held     bool           // nothing that was sent may be left out
	pruned   *pivot.Receipt // of what is left out from this request on, nil without any
	unsent   int            // tokens left out of it that no request had
	untold   []*pivot.Receipt
}

// cut is what is sent of a request.
type cut struct {
	body      []byte
	edited    bool
	left      left // what the session leaves out of it
	decisions decisions
	// delegated is the context_management that is added, nil without
	delegated jsontext.Value
	resent    bool // it was refused, and sent again
}

// whole leaves nothing out.
func (c *cut) whole(original []byte) { c.body, c.edited, c.left = original, false, left{} }

// outcome is what an answer showed.
type outcome struct {
	inRound bool                      // it calls tools
	habit   map[string]jsontext.Value // of the client, to be written down
}

// joined is what became of a request that was to join its conversation.
type joined struct {
	x       *exchange // nil: it passes as it came
	failed  bool      // something of ours did
	replays bool      // it does not join: it is the client's own compaction
}

// join recognises the conversation of a request, lets it join the log, and decides what is left out
// of it.
func (t *Transport) join(ctx context.Context, in incoming) (j joined) {
	j.failed = true
	t.guarded("understand a request", func() {
		f, read, err := t.identify(ctx, in)
		if err != nil {
			j.failed = false
			return // not a conversation that we know
		}
		f.recording.wait()
		if summarizes(in.Request, read.doc) {
			f.mu.Lock()
			t.cool(f)
			f.mu.Unlock()
			t.release(f)
			t.recent.put(read)
			j = joined{replays: true}
			return
		}
		j.x, err = t.compose(ctx, in, f, read)
		j.failed = err != nil
	})
	return j
}

// identify reads a request and finds the lineage of its conversation, in use until it is released.
func (t *Transport) identify(ctx context.Context, in incoming) (*lineage, *reading, error) {
	defer t.stage(ctx, "identify")()
	read, err := t.read(in)
	if err != nil {
		return nil, nil, err
	}
	r, kind := in.Request, in.protocol.kind
	f := t.lineage(identity(r, kind, read.doc.Native.(*body.Native).Decoded, read.chain[0]))
	t.begins(f, beginning(r, kind, read.chain[0]))
	return f, read, nil
}

// compose is a request that has joined the log, with what it leaves out. Where another process is
// quicker, all is done again with what that one wrote. nil: it passes as it came, and the lineage
// is released.
func (t *Transport) compose(ctx context.Context, in incoming, f *lineage, read *reading) (x *exchange, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	decoded := read.doc.Native.(*body.Native).Decoded
	if len(f.conversations) == 0 {
		info := &read.doc.Session.Info
		info.Unknown, info.Directory = origin(in.Request, decoded), folder(decoded.Text)
		f.before = oldIdentity(in.Request, in.protocol.kind, decoded, read.chain[0])
	}
	whole := false // nothing of ours panicked in between
	defer func() {
		if f.loaded = f.loaded && whole; x == nil || !whole {
			t.release(f)
		}
	}()
	for _, l := range f.conversations {
		if !l.continues(read) {
			t.write(f, l) // another request is under way, or it goes on elsewhere
		}
	}
	ctx = new(store.Reading).Within(ctx)
	x, err = t.composeOnce(ctx, in.protocol, f, read)
	for tries := 1; tries < mostTries && isOutrun(err); tries++ {
		f.loaded = false
		x, err = t.composeOnce(ctx, in.protocol, f, read)
	}
	if err != nil {
		t.failed(f, "decide about a request", err)
	}
	if x != nil {
		x.person = in.Header.Get(personHeader)
		t.noticed(in.Request, x, read)
		t.delegate(ctx, in.Request, x, decoded)
		x.conversation.own++
		x.conversation.noted(ctx)
		f.remember(x.conversation, x.decisions, x.sent)
		t.writeSoon(f, x.conversation)
		t.leaves(x)
	}
	t.recent.put(read)
	whole = true
	return x, err
}

// composeOnce is one try of compose. The lineage's lock is held.
func (t *Transport) composeOnce(ctx context.Context, p protocol, f *lineage, read *reading) (*exchange, error) {
	l, repeated, err := t.adopt(ctx, f, read)
	if l == nil || err != nil {
		return nil, err
	}
	x := &exchange{request: t.requestOf(p, f, read), conversation: l, cut: cut{body: read.doc.Source}}
	x.repeated = repeated
	if err := t.decide(ctx, x, read); err != nil {
		return nil, err
	}
	if l.frozen != "" {
		return x, nil
	}
	defer t.stage(ctx, "splice")()
	if x.cut, err = t.splice(ctx, l, read.doc, x.sent); err != nil {
		return nil, err
	}
	return x, nil
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

// adopt lets a request join the log of its conversation, and tells whether it was asked before; nil
// if it belongs to none. The lineage's lock is held.
func (t *Transport) adopt(ctx context.Context, f *lineage, read *reading) (l *conversation, repeated bool, err error) {
	defer t.stage(ctx, "adopt")()
	doc, chain := read.doc, read.chain
	if err := f.load(ctx, t.engine); err != nil || isAside(f, doc) {
		return nil, false, err
	}
	if err := t.carryOver(ctx, f, chain, doc.Session.Messages); err != nil {
		return nil, false, err
	}
	if err := t.refresh(ctx, f, chain, doc.Session.Messages); err != nil {
		return nil, false, err
	}
	known := len(f.conversations)
	if l, repeated, err = t.goOn(ctx, f, doc, chain); err != nil {
		return nil, false, err
	}
	if len(f.conversations) > known {
		t.begun(l)
		if known > 0 {
			t.rewritten(ctx, l, doc.Session.Messages)
		}
	}
	if l.outrun(ctx) {
		return nil, false, store.ErrConflict
	}
	if err := t.offer(ctx, l, doc); err != nil {
		return nil, false, err
	}
	l.tools.look(doc, l.drop)
	if known := f.decided.of(l.id); known != nil && known.last.After(l.last) {
		l.last = known.last // while the store was away
	}
	t.follows(l, read)
	t.cool(f)
	return l, repeated, nil
}

// decide asks the engine what a request leaves out. The lineage's lock is held.
func (t *Transport) decide(ctx context.Context, x *exchange, read *reading) error {
	l := x.conversation
	x.began = t.options.Now()
	x.added = l.added(read.doc.Session.Messages)
	x.cold, x.held = x.isCold(read, t.options.Mode), x.holds(read)
	x.bridge()
	unsure := !x.cold && x.model.CacheLifetime() > 0 && x.idle() > x.model.CacheLifetime()
	x.number = t.numbers.Add(1)
	l.last, l.asking = x.began, x.number
	if l.frozen != "" {
		return nil
	}
	defer t.stage(ctx, "decide")()
	x.pruned, l.pruned = l.pruned, nil
	if err := t.starts(ctx, x, read.doc, unsure); err != nil {
		return err
	}
	if l.outrun(ctx) {
		l.pruned = x.pruned
		return store.ErrConflict
	}
	return nil
}

// read reads the conversation of a request, from where it goes on with one that was read before.
func (t *Transport) read(in incoming) (*reading, error) {
	dialect, _ := body.Of(in.protocol.kind)
	var before *format.Document
	read := &reading{client: client(in.Request, in.protocol.kind), agent: agent(in.Request)}
	known := t.recent.take(read.client, in.original)
	if known != nil {
		before = known.doc
	}
	doc, same, err := body.ReadRequest(in.original, dialect, before, known.common())
	if err != nil {
		return nil, err
	}
	if len(doc.Damaged) > 0 || len(doc.Session.Messages) == 0 || isElsewhere(doc) {
		return nil, errors.New("not whole")
	}
	if doc.Session.Info.Model == nil {
		doc.Session.Info.Model = &session.ModelRef{ID: addressed(in.URL.Path)}
	}
	ref := doc.Session.Info.Model
	ref.ProviderID, ref.ModelID = in.protocol.provider, ref.ID
	locate(doc.Session.Messages, doc.Native.(*body.Native), same)
	if read.doc = doc; same == 0 {
		read.chain, read.signs = chained(doc.Session.Messages), signsOf(doc.Native.(*body.Native), signs{})
		return read, nil
	}
	read.chain = chained(doc.Session.Messages, known.chain[:same]...)
	read.signs = signsOf(doc.Native.(*body.Native), known.signs)
	return read, nil
}
