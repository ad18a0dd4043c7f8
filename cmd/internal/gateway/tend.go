package gateway

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/winnowhq/winnow/desk/config"
	"github.com/winnowhq/winnow/gateway/live"
	"github.com/winnowhq/winnow/store"
)

// run keeps the book until the context ends: it is read again when it has changed, learns what was
// spent and which tokens were used, and states that nobody uses are closed.
func (d *tenants) run(ctx context.Context) {
	var watching sync.WaitGroup // apart: what else is done may have to wait for the book
	watching.Go(func() { d.watch(ctx) })
	defer watching.Wait()
	ticker := time.NewTicker(2 * time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.settle:
			d.save(ctx)
		case <-ticker.C:
			d.tick(ctx)
		}
	}
}

// tick does what is due now and then.
func (d *tenants) tick(ctx context.Context) {
	if d.book.Load() == nil || d.unread.Load() {
		return
	}
	now := d.r.app.Env.Now()
	settings, _ := d.r.inForce()
	d.followKeys(settings) // a file may have another key now
	d.save(ctx)
	d.renew(ctx, now)
	d.noteUse(ctx)
	_ = d.learnSpent(ctx, now, d.all()...) // other processes spend, too; if it fails it is tried again
	d.tidy(now)
	d.retryUnserved(ctx, now)
}

// noteUse writes down when tokens were used. What the book does not take is kept.
func (d *tenants) noteUse(ctx context.Context) {
	d.mu.Lock()
	used := d.unset
	d.unset = map[string]time.Time{}
	d.mu.Unlock()
	err := d.book.Load().Used(ctx, used)
	if err != nil {
		d.mu.Lock()
		maps.Copy(used, d.unset) // what came meanwhile is newer
		d.unset = used
		d.mu.Unlock()
	}
	d.failures.used.note(d.log, d.r.app.Env.Now(), err)
}

func (d *tenants) all() []*tenantState {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.AppendSeq(slices.Clone(d.leaving), maps.Values(d.states))
}

// save hands what was spent to the book. It is not broken off in the middle: then nobody would know
// what the book has.
func (d *tenants) save(ctx context.Context) {
	d.saving.Lock()
	defer d.saving.Unlock()
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer stop()
	var failed error // of one tenant: usually it is that of all
	for _, m := range d.all() {
		if err := m.save(ctx, d.book.Load()); err != nil {
			failed = fmt.Errorf("of %s: %w", m.name, err)
		}
	}
	d.failures.save.note(d.log, d.r.app.Env.Now(), failed)
}

// tidy closes the states that nobody has used for long, those of tenants that were
// removed or cleared, and of
// too many the ones that were used last.
func (d *tenants) tidy(now time.Time) {
	states := d.all()
	slices.SortFunc(states, func(a, b *tenantState) int {
		first, _ := a.idle()
		second, _ := b.idle()
		return first.Compare(second)
	})
	for i, m := range states {
		since, idle := m.idle()
		t, there := d.known.Load().OfStore(m.name)
		if !there {
			m.pages((*live.Hub).End)
		} else if t.Cleared > m.cleared {
			d.retire(m, t)
		}
		d.mu.Lock()
		replaced := slices.Contains(d.leaving, m)
		d.mu.Unlock()
		if idle && (!there || replaced || now.Sub(since) >= idleAfter || len(states)-i > mostStates) {
			d.drop(m)
		}
	}
}

// drop closes a state if nothing of it is under way. It waits for nobody.
func (d *tenants) drop(m *tenantState) {
	if !m.making.TryLock() {
		return // somebody is about to enter it
	}
	if _, idle := m.idle(); idle && !m.owes() && !m.closed {
		m.closed = true
		m.shut()
	}
	closed := m.closed
	m.making.Unlock()
	if !closed {
		return
	}
	owes := m.owes() // for what ended last
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.states[m.name] == m {
		delete(d.states, m.name)
	}
	d.leaving = slices.DeleteFunc(d.leaving, func(other *tenantState) bool { return other == m })
	if owes {
		d.leaving = append(d.leaving, m) // until that is saved
	}
}

// expire deletes the conversations of a tenant that are older than its retention, or the gateway's
// if it has none.
func (d *tenants) expire(ctx context.Context, of string, now time.Time) error {
	t, ok := d.known.Load().OfStore(of)
	if !ok {
		return d.expireRemoved(ctx, of, now)
	}
	age := time.Duration(t.Retention) * 24 * time.Hour
	if age == 0 {
		own, _ := d.r.inForce()
		var limited bool
		if age, limited = config.Expires(own.Gateway.Retention); !limited {
			return nil
		}
	}
	return d.withStore(ctx, of, func(kept store.Store) error {
		deleted, err := expire(ctx, kept, age, now, t.KeepPinned)
		if deleted > 0 {
			d.log.Info("deleted old conversations", "tenant", t.Name, "sessions", deleted)
		}
		return err
	})
}

// pages ends the streams of all pages.
func (d *tenants) pages() {
	for _, m := range d.all() {
		m.pages((*live.Hub).Close)
	}
}

// quiet ends what is sent of our own.
func (d *tenants) quiet() {
	for _, m := range d.all() {
		m.mu.Lock()
		f := m.now
		m.mu.Unlock()
		if f != nil {
			f.carrier.Close()
		}
	}
}

// close closes everything; nothing is under way.
func (d *tenants) close() {
	for _, m := range d.all() {
		m.close() // waits for what is being recorded
	}
	if err := d.stores.Close(); err != nil {
		d.r.failed(err)
	}
	if d.book.Load() == nil {
		return
	}
	ctx, stop := context.WithTimeout(context.Background(), 10*time.Second)
	defer stop()
	d.save(ctx)
	d.noteUse(ctx)
	if err := d.book.Load().Close(); err != nil {
		d.r.failed(err)
	}
}
