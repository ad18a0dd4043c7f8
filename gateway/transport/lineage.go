package transport

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

// lineage are the conversations of one identity: the one that began it, and those that left it at
// some point, because the client rewound or edited its history. Each is a session of the store.
type lineage struct {
	id     string // of the session that began it
	before string // its id in stores from before credentials were left out of it
	uses   int    // by requests under way; guarded by the transport
	// beginning is what the conversations of all sessions have in common that begin alike: see the
	// function. Guarded by the transport.
	beginning string

	recording pending        // answers
	decided   rememberedList // decisions to replay while the store is away

	mu            sync.Mutex // held while a request joins the log and is decided about, not while it is sent
	loaded        bool
	conversations []*conversation
}

// maxFamilies is how many lineages are at hand at most, but for those in use; others are read from
// the store again.
const maxLineages = 1024

// lineage is the lineage of an identity, in use until it is released.
func (t *Transport) lineage(id string) *lineage {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.lineages[id]
	if f == nil {
		for other, idle := range t.lineages {
			if len(t.lineages) < maxLineages {
				break
			}
			if idle.uses == 0 {
				delete(t.lineages, other)
			}
		}
		f = &lineage{id: id}
		t.lineages[id] = f
	}
	f.uses++
	return f
}

func (t *Transport) release(f *lineage) {
	t.mu.Lock()
	f.uses--
	t.mu.Unlock()
}

// failed forgets what is at hand of a lineage, so that it is read from the store again.
func (t *Transport) failed(f *lineage, what string, err error) {
	f.loaded, f.conversations = false, nil
	t.options.Log.Log(context.Background(), t.gravity(err), "could not "+what, "family", f.id, "error", err)
	t.notice(Notice{Session: f.id, Failure: "could not " + what + ": what was decided before counts"})
}

// gravity is the level at which an error of the store is logged: that it takes no change is told once,
// since all requests meet it.
func (t *Transport) gravity(err error) slog.Level {
	if (errors.Is(err, store.ErrFull) || errors.Is(err, store.ErrReadOnly)) && t.outage.refused.Swap(true) {
		return slog.LevelInfo
	}
	return slog.LevelError
}

// load reads the conversations of the lineage that the store has, unless they are at hand.
func (f *lineage) load(ctx context.Context, e *winnow.Engine) error {
	if f.loaded {
		return nil
	}
	return f.reload(ctx, e, true)
}

// reload reads the conversations of the lineage that the store has. What is at hand alone of one
// that was known stays. compared: those at hand are read again where the store has another
// revision; otherwise they stay, and what is written about one tells whether the store has it so.
func (f *lineage) reload(ctx context.Context, e *winnow.Engine, compared bool) error {
	// All processes on the store see them in one order: of two that a request agrees with alike,
	// all go on with the same one.
	infos, err := store.Family(ctx, e.Store(), f.id)
	if err != nil {
		return err
	}
	var lines []*conversation
	for _, info := range infos {
		l := f.conversation(info.ID)
		if l != nil && compared {
			revision, err := store.ReadingOf(ctx).Revision(ctx, e.Store(), l.id)
			if err != nil {
				return err
			}
			if revision == l.revision {
				store.ReadingOf(ctx).Again(l.id)
			} else {
				l = nil
			}
		}
		if l == nil {
			if l, err = f.reread(ctx, e, info.ID); err != nil {
				return err
			}
		}
		lines = append(lines, l)
	}
	f.conversations, f.loaded = lines, true
	return nil
}

// conversation is that of a session, nil without one.
func (f *lineage) conversation(id string) *conversation {
	for _, l := range f.conversations {
		if l.id == id {
			return l
		}
	}
	return nil
}

// reread reads one conversation that the store has. What is at hand alone of one that was known
// stays.
func (f *lineage) reread(ctx context.Context, e *winnow.Engine, id string) (*conversation, error) {
	store.ReadingOf(ctx).Again(id)
	s, state, err := e.Session(ctx, id)
	if err != nil {
		return nil, err
	}
	return f.renewed(&conversation{id, stateOf(s, state)}), nil
}

// renewed is a conversation as it was read, in the place of the one that was at hand, if any: those
// who are at work on that one go on with it.
func (f *lineage) renewed(read *conversation) *conversation {
	l := f.conversation(read.id)
	if l == nil {
		return read
	}
	was := l.conversationState
	l.conversationState = read.conversationState // the id is read without the lock
	l.shared = read.revision != was.revision
	l.pruned, l.asking, l.asked, l.warmed, l.keeps = was.pruned, was.asking, was.asked, was.warmed, was.keeps
	l.summed, l.calls, l.from = was.summed, was.calls, was.from
	l.estimate.before, l.estimate.sent = was.estimate.before, was.estimate.sent
	l.estimate.compacted, l.estimate.cost = was.estimate.compacted, was.estimate.cost
	if was.last.After(l.last) {
		l.last = was.last
	}
	if was.tools.changed {
		l.tools = was.tools
	}
	return l
}

// carryOver lets a conversation go on that the store has from before credentials were left out of
// identities: it leaves the old one where the request does, with all that was decided. It does
// nothing for a lineage that the store has. The lineage's lock is held.
func (t *Transport) carryOver(ctx context.Context, f *lineage, chain []digest, messages []session.Message) error {
	if len(f.conversations) > 0 || f.before == "" || f.before == f.id {
		return nil
	}
	old := &lineage{id: f.before}
	f.before = ""
	if err := old.load(ctx, t.engine); err != nil {
		return err
	}
	l, n, goesOn := old.find(chain, messages)
	if l == nil {
		return nil
	}
	if goesOn {
		n = len(l.chain) // with the answer as it was streamed
	}
	until, err := t.messageAt(ctx, l, n)
	if err != nil {
		return err
	}
	if _, err := t.engine.Fork(ctx, l.id, until, f.id); err != nil {
		return err
	}
	return f.reload(ctx, t.engine, true)
}

// mostChecked is how many conversations that a request may go on with are compared with the store.
const mostChecked = 4

// refresh reads the conversations of a lineage again if another process has gone on with the one
// that a request goes on with, or may have one that it goes on with. What the request writes about the
// one tells, for it is written only about the conversation as it is at hand: nobody is asked before.
// The lineage's lock is held.
func (t *Transport) refresh(ctx context.Context, f *lineage, chain []digest, messages []session.Message) error {
	if !f.loaded {
		return f.load(ctx, t.engine)
	}
	found, _, goesOn := f.find(chain, messages)
	if found == nil {
		return f.reload(ctx, t.engine, true)
	}
	if !goesOn { // another process may have begun one that it goes on with
		if err := f.reload(ctx, t.engine, false); err != nil {
			return err
		}
	}
	// Another one may have gone on further with those that the request goes on with. A conversation
	// that says something else than the request before its end never agrees with it further, nor
	// does one that leaves it. The newest ones count: of a conversation that is repeated all the
	// others ended at the same place.
	checked := 0
	for _, l := range slices.Backward(f.conversations) {
		if n := l.agrees(chain); !l.goesOn(n, messages) {
			continue
		}
		if checked++; checked > mostChecked && l != found {
			continue
		}
		if seen, _ := store.ReadingOf(ctx).Alone(l.id); seen != 0 {
			continue // it was read for this request
		}
		store.ReadingOf(ctx).Expect(l.id, l.revision)
		if l == found && !l.shared {
			continue
		}
		if whole, err := t.upToDate(ctx, f, l, chain, messages); err != nil || whole {
			return err
		}
	}
	return nil
}

// upToDate reads a conversation again if another process has gone on with it, and notes whether it
// has. If the request does not go on with it then, it may with one that left it, and all of the
// lineage is read. The lineage's lock is held.
func (t *Transport) upToDate(ctx context.Context, f *lineage, l *conversation, chain []digest,
	messages []session.Message) (whole bool, err error) {
	revision, err := store.ReadingOf(ctx).Revision(ctx, t.engine.Store(), l.id)
	if err != nil {
		return false, err
	}
	if revision == l.revision {
		l.shared = false
		return false, nil
	}
	if _, err := f.reread(ctx, t.engine, l.id); err != nil {
		return false, err
	}
	if l.goesOn(l.agrees(chain), messages) {
		return false, nil
	}
	return true, f.reload(ctx, t.engine, true)
}
