package transport

import (
	"context"
	"errors"
	"slices"

	"github.com/winnowhq/winnow/store"
)

// A conversation begins in the store before its first request leaves: what is left out of that one
// must be there first. Until a provider has accepted a request of it, it is unproven: if none is
// accepted, whoever sent them may be nobody's client, such as a page in a browser, and nothing of
// it stays. A request that is refused later, in a conversation that is known, stays in its log,
// which is never shortened: the client's next one leaves it there.

// unproven is a conversation of which no request was accepted yet.
type unproven struct {
	under int // requests under way
}

// begun notes that a request begins a conversation.
func (t *Transport) begun(l *conversation) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unproven[l.id] = &unproven{}
}

// leaves notes that a request is about to be sent.
func (t *Transport) leaves(x *exchange) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if u := t.unproven[x.conversation.id]; u != nil {
		u.under++
	}
}

// accepted notes that the provider took a request.
func (t *Transport) accepted(x *exchange) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.unproven, x.conversation.id)
}

// withdraw takes back what a request began that was not accepted, unless another one goes on with
// it, here or in another process.
func (t *Transport) withdraw(x *exchange) {
	t.guarded("withdraw a request", func() {
		x.lineage.mu.Lock()
		defer x.lineage.mu.Unlock()
		if !t.lastRefused(x) {
			return
		}
		t.write(x.lineage, x.conversation)
		ctx, id := context.Background(), x.conversation.id
		kept := t.engine.Store()
		if revision, err := new(store.Reading).Revision(ctx, kept, id); err != nil || revision != x.conversation.revision {
			return
		}
		if err := kept.Delete(ctx, id); err != nil && !errors.Is(err, store.ErrNotFound) {
			t.failed(x.lineage, "withdraw a request", err)
			return
		}
		_, _, _ = t.engine.Session(ctx, id) // it has it at hand no more
		x.lineage.conversations = slices.DeleteFunc(x.lineage.conversations, func(l *conversation) bool { return l.id == id })
	})
}

// lastRefused reports whether no request of an unproven conversation is under way any more.
func (t *Transport) lastRefused(x *exchange) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	u := t.unproven[x.conversation.id]
	if u == nil {
		return false
	}
	if u.under--; u.under > 0 {
		return false
	}
	delete(t.unproven, x.conversation.id)
	return true
}
