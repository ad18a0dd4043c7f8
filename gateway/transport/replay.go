package transport

import (
	"bytes"
	"context"
	"math"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/winnowhq/winnow/format/body"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

// What was decided about a conversation must be left out of its next requests, too, if the store
// cannot be used then, or something else of ours fails: a provider that binds reasoning to the
// exact prompt refuses the original of a folded conversation. So it is kept at hand beside what the
// steps of a request use and lock, and read from the store where nothing is at hand. Nothing is
// decided and nothing is written; the messages join the log with the next request that can.

// remembered is a conversation with what was decided about it. Nobody changes one.
type remembered struct {
	conversation
	decisions
	sent int // messages of the request that it was decided for
	// replayed is the newest request that left through it and joined no log, empty without any.
	replayed replayed
}

// replayed is a request that left with earlier decisions alone.
type replayed struct {
	sent   int              // its messages
	newest digest           // of the newest of them
	answer *session.Message // nil while it has not ended
}

// precedes reports whether a request has all messages of the replayed one.
func (r replayed) precedes(chain []digest) bool {
	return r.sent > 0 && r.sent <= len(chain) && chain[r.sent-1] == r.newest
}

// rememberedList are the conversations of a lineage with what was decided about them.
type rememberedList struct {
	mu   sync.Mutex
	list []*remembered // the newest last
}

// mostRemembered is how many conversations of a lineage are remembered.
const mostRemembered = 64

// all lists the conversations.
func (m *rememberedList) all() []*remembered {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.list)
}

// of is a conversation, nil if it is not remembered.
func (m *rememberedList) of(id string) *remembered {
	for _, known := range m.all() {
		if known.id == id {
			return known
		}
	}
	return nil
}

// answers reports whether a request repeats the answer of the replayed one, or may.
func (r replayed) answers(messages []session.Message) bool {
	return r.answer == nil || r.sent >= len(messages) || repeats(&messages[r.sent], r.answer)
}

// replays are the conversations through which requests were replayed, by id; nil without any.
func (m *rememberedList) replays() (through map[string]*remembered) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, known := range m.list {
		if known.replayed.sent == 0 {
			continue
		}
		if through == nil {
			through = map[string]*remembered{}
		}
		through[known.id] = known
	}
	return through
}

// put remembers conversations, in the place of what was known of them.
func (m *rememberedList) put(now ...*remembered) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, known := range now {
		m.list = slices.DeleteFunc(m.list, func(was *remembered) bool { return was.id == known.id })
		m.list = append(m.list, known)
	}
	m.list = slices.Delete(m.list, 0, max(0, len(m.list)-mostRemembered))
}

// remember keeps at hand what was decided about a conversation, for a request of so many messages.
// The lineage's lock is held.
func (f *lineage) remember(l *conversation, st decisions, sent int) {
	now := conversationState{chain: slices.Clone(l.chain), open: l.open, drop: l.drop}
	known := &remembered{conversation: conversation{l.id, now}, decisions: st, sent: sent}
	known.seen(l)
	f.decided.put(known)
}

// seen notes what changes of a conversation without a decision.
func (k *remembered) seen(l *conversation) {
	k.frozen, k.revision, k.last, k.without, k.delegation = l.frozen, l.revision, l.last, l.without, l.delegation
}

// seen notes what has changed of a conversation without a decision. The lineage's lock is held.
func (f *lineage) seen(l *conversation) {
	if known := f.decided.of(l.id); known != nil {
		now := *known
		now.seen(l)
		f.decided.put(&now)
	}
}

// note remembers what was decided about a conversation by now. The lineage's lock is held.
func (t *Transport) note(ctx context.Context, x *exchange, sent int) {
	if st, err := t.decisions(ctx, x.conversation.id, sent); err == nil {
		x.lineage.remember(x.conversation, st, sent)
	}
}

// replay leaves out of a request what was decided before about its conversation, and decides
// nothing. What is not at hand is read from the store until a time. nil: nothing is known of it, and
// it passes as it came.
func (t *Transport) replay(in incoming, until time.Time) (x *exchange) {
	t.guarded("replay what was decided", func() {
		read, err := t.read(in)
		if err != nil {
			return
		}
		x = t.replayed(in.Request, in.protocol, read, until)
		t.recent.put(read)
	})
	return x
}

// replayed is replay of a request that was read.
func (t *Transport) replayed(r *http.Request, p protocol, read *reading, until time.Time) (x *exchange) {
	doc := read.doc
	d := doc.Native.(*body.Native).Decoded
	f := t.lineage(identity(r, p.kind, d, read.chain[0]))
	defer func() {
		if x == nil {
			t.release(f)
		}
	}()
	known, summary := t.recalled(r.Context(), f, read, until), summarizes(r, doc)
	if known == nil {
		return nil
	}
	whole := known.frozen != "" || t.options.Mode == Observe
	if whole && !summary {
		return nil
	}
	l := known.conversation // it notes the parts left out of this request
	x = &exchange{request: t.requestOf(p, f, read), conversation: &l, cut: cut{body: doc.Source}, replayed: true}
	x.began, x.summary, x.person = t.options.Now(), summary, r.Header.Get(personHeader)
	if t.options.Watch != nil {
		x.from, x.title = originOf(r, d), doc.Session.Info.Title
	}
	if !whole {
		text, left, err := edited(&l, doc, known.decisions)
		if err != nil {
			t.options.Log.Error("could not replay what was decided", "session", l.id, "error", err)
			return nil
		}
		x.body, x.edited, x.left = text, !bytes.Equal(text, doc.Source), left
	}
	if summary {
		x.added = (&estimate{counted: known.sent}).added(doc.Session.Messages)
		x.cold = x.isCold(read, t.options.Mode)
		x.bridge()
		why := ""
		if x.edited {
			why = x.reduces(known, read)
		}
		if why == "" {
			x.whole(doc.Source)
			return x
		}
		t.options.Log.Warn("the client's own summary is made of what is left of the conversation", "session", l.id,
			"why", why)
		n := x.about()
		n.Failure = "the client's own summary is made of what is left of the conversation: " + why
		t.notice(n)
	}
	if l.delegation.known { // nothing is decided for it
		t.delegate(r.Context(), r, x, d)
	}
	return x
}

// recalled is the conversation that a request belongs to, with what of it is to be left out of the
// request: as it is at hand, or as the store has it, if that can be read until a time and has
// another one. nil without any.
func (t *Transport) recalled(ctx context.Context, f *lineage, read *reading, until time.Time) *remembered {
	known, at, goesOn := among(f.decided.all(), read)
	sure := goesOn || known != nil && known.replayed.precedes(read.chain)
	if reads, _ := t.away(); !reads {
		ctx, stop := context.WithDeadline(ctx, until)
		stored, inTime := within(time.Until(until), nil, func() (stored []*remembered) {
			defer stop()
			t.guarded("read what was decided", func() { stored = t.stored(ctx, f, known, sure, len(read.chain)) })
			return stored
		}, nil)
		if !inTime {
			go t.answers()
		}
		if stored != nil {
			f.decided.put(stored...)
			known, at, goesOn = among(stored, read)
		}
	}
	if known == nil {
		return nil
	}
	now, messages := *known, read.doc.Session.Messages
	if !goesOn { // it leaves the conversation, with what is about the messages before that
		if now.pivot != nil && at < now.folded {
			return nil
		}
		now.state.Ledger = about(now.state.Ledger, messages[:at])
	}
	if slices.ContainsFunc(messages[min(now.sent, len(messages)):], func(m session.Message) bool {
		return m.Role == session.Assistant
	}) {
		now.answered = math.MaxInt // nothing was decided since
	}
	return &now
}

// among is the one of several conversations that a request belongs to, in how many messages they
// agree, and whether it goes on with it.
func among(all []*remembered, read *reading) (known *remembered, agree int, goesOn bool) {
	var f lineage
	f.decided.list = all
	for _, k := range all {
		f.conversations = append(f.conversations, &k.conversation)
	}
	l, agree, goesOn := f.find(read.chain, read.doc.Session.Messages)
	for _, k := range all {
		if l == &k.conversation {
			known = k
		}
	}
	return known, agree, goesOn
}

// about are the elisions of a ledger that are about some messages.
func about(ledger rule.Ledger, messages []session.Message) rule.Ledger {
	parts := map[string]bool{}
	for i := range messages {
		for j := range messages[i].Parts {
			parts[messages[i].Parts[j].ID] = true
		}
	}
	return rule.NewLedger(slices.DeleteFunc(slices.Clone(ledger.All()), func(e rule.Elision) bool {
		return !parts[e.Part] || slices.ContainsFunc(e.Covers(), func(by string) bool { return !parts[by] })
	})...)
}

// stored are the conversations of a lineage as the store has them, for a request of so many messages;
// nil if it cannot be read, or has the one that the request surely goes on with as it is known. The
// engine is not asked: what holds its sessions may be waiting for the store.
func (t *Transport) stored(ctx context.Context, f *lineage, known *remembered, sure bool, sent int) (all []*remembered) {
	kept := t.engine.Store()
	if sure {
		if revision, err := kept.Revision(ctx, known.id); err != nil || revision == known.revision {
			return nil
		}
	}
	infos, err := store.Family(ctx, kept, f.id)
	for _, info := range infos {
		var s session.Session
		var state store.State
		if s, state, err = sessionIn(ctx, kept, info.ID); err != nil {
			break
		}
		now := &remembered{conversation: conversation{info.ID, stateOf(s, state)},
			decisions: decisionsOf(s.Messages, state, sent), sent: sent}
		if was := f.decided.of(info.ID); was != nil {
			now.replayed = was.replayed
			if was.last.After(now.last) {
				now.last = was.last
			}
		}
		all = append(all, now)
	}
	if err != nil {
		return nil
	}
	return all
}

// sessionIn reads a session from a store.
func sessionIn(ctx context.Context, kept store.Store, id string) (s session.Session, state store.State, err error) {
	if state, err = kept.State(ctx, id); err != nil {
		return s, state, err
	}
	for m, err := range kept.Messages(ctx, id) {
		if err != nil {
			return s, state, err
		}
		s.Messages = append(s.Messages, m)
	}
	slices.Reverse(s.Messages)
	s.Info = state.Info
	return s, state, nil
}

// lastReplayed notes a request that the provider accepted while the store was away, and its answer
// when that has ended.
func (x *exchange) lastReplayed(at time.Time, answer *session.Message) {
	if known := x.lineage.decided.of(x.conversation.id); known != nil {
		now := *known
		if now.last = at; !x.summary { // the client goes on without its own request for a summary
			now.replayed = replayed{x.sent, x.newest, answer}
		}
		x.lineage.decided.put(&now)
	}
}
