package gateway

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

// unwritable is why a store, the gateway's own or that of a tenant, cannot be written, in words
// that hold no content; nil if all can, as far as is known.
func (r *Relay) unwritable() error {
	for _, m := range r.everybody() {
		switch err := m.unwritable(); {
		case errors.Is(err, store.ErrFull):
			return errors.New("the store cannot be written: its disk is full")
		case err != nil:
			return errors.New("the store cannot be written: it is read-only")
		}
	}
	return nil
}

// everybody is the state of the person, and those of tenants that are at hand.
func (r *Relay) everybody() []*tenantState {
	all := []*tenantState{r.tenantState}
	if r.tenants != nil {
		all = append(all, r.tenants.all()...)
	}
	return all
}

// kept is the store as the engine has it, nil if it has none.
func (m *tenantState) kept() store.Store {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.now == nil || m.now.engine == nil {
		return nil
	}
	return m.now.engine.Store()
}

func (m *tenantState) unwritable() error { return store.Unwritable(m.kept()) }

// tryWriting tries to write to stores that could not be written, so that it shows without a request
// when they can be, and the log has how long that lasts. One that fails stands for the others.
func (r *Relay) tryWriting(ctx context.Context) {
	failing := r.unwritable()
	r.writing.note(r.log, r.app.Env.Now(), failing)
	if failing == nil {
		return
	}
	for _, m := range r.everybody() {
		kept := m.kept()
		if store.Unwritable(kept) != nil && tryWriting(ctx, kept) != nil {
			return
		}
	}
}

// triedBytes is how much is written to find out whether that can be done: a small row finds room in
// what a full disk has given before.
const triedBytes = 256 << 10

// tryWriting writes a session and deletes it again.
func tryWriting(ctx context.Context, kept store.Store) error {
	id := "live_try_" + rand.Text()
	noise := make([]byte, triedBytes) // it cannot be packed
	rand.Read(noise)
	said := session.Message{MessageInfo: session.MessageInfo{ID: "m0", Role: session.User},
		Parts: []session.Part{{ID: "p0", Type: session.TextPart, Text: fmt.Sprintf("%x", noise)}}}
	change := store.Change{Create: &session.Info{ID: id}, Append: []session.Message{said}}
	if _, err := kept.Apply(ctx, id, change); err != nil {
		return err
	}
	return kept.Delete(context.WithoutCancel(ctx), id)
}
