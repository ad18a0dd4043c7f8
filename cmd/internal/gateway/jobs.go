package gateway

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/desk/config"
	"github.com/winnowhq/winnow/gateway/job"
	"github.com/winnowhq/winnow/gateway/job/local"
	"github.com/winnowhq/winnow/gateway/shared"
	"github.com/winnowhq/winnow/store"
)

// The kinds of jobs: their names are in logs and metrics, and in the tables of a database.
const (
	expiry  = "expiry"       // conversations older than gateway.retention
	indexed = "search_index" // what is new is added to it
	sound   = "store_check"  // the whole store is looked through for damage
	costs   = "costs"        // what tenants have spent is summed by days
)

// How often these jobs are due, and how long they may take.
const (
	// expireEvery: an age is written in days.
	expireEvery = 24 * time.Hour
	// indexEvery: a search indexes what is new itself, so that this saves it the wait.
	indexEvery = 5 * time.Minute
	// sumEvery: a day is closed once.
	sumEvery = 24 * time.Hour
	// checkEvery: it reads all there is.
	checkEvery = 7 * 24 * time.Hour
	longest    = time.Hour
)

// Jobs is the work on a store that no request waits for.
type Jobs struct {
	relay     *Relay
	retention func() string
	close     func()

	mu       sync.Mutex
	queue    job.Queue
	replaced chan struct{}          // closed when there is another queue
	done     func(values ...string) // counts an attempt, by kind and outcome
	problems atomic.Int64           // that the newest look through the whole store has found
	indexed  atomic.Int64           // when the search index was brought up to date, in nanoseconds; 0: not yet
	without  atomic.Bool            // it was dropped then
}

// Jobs opens the queue of a relay: in PostgreSQL if the store is there, else in this process.
// retention is gateway.retention as it is in force. Close it after Run has ended.
func (r *Relay) Jobs(ctx context.Context, retention func() string) (*Jobs, error) {
	var attempts [][]string
	for _, kind := range []string{expiry, indexed, sound, costs, summary} {
		attempts = append(attempts, []string{kind, "done"}, []string{kind, "failed"})
	}
	w := &Jobs{relay: r, retention: retention, close: func() {}, replaced: make(chan struct{}),
		done: r.metrics.Counter("winnow_jobs_total", "Attempts at work beside requests, by kind and outcome.",
			[]string{"kind", "outcome"}, attempts...)}
	r.metrics.Gauge("winnow_store_problems", "Problems that the newest look through the whole store has found.",
		func() float64 { return float64(w.problems.Load()) })
	w.queue = local.New(local.Config{Workers: workers, Log: r.log, Now: r.app.Env.Now})
	if err := w.share(ctx); err != nil {
		return nil, err
	}
	r.work.Store(w)
	return w, nil
}

// workers is how many jobs a process does at a time: most of them wait for a model, and of those
// that work there is one of a kind.
const workers = 8

// current is the queue.
func (w *Jobs) current() job.Queue {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.queue
}

// share puts the queue into the database of the store, if that is in one, it is open, and the queue
// is not there yet. What waits in this process is asked for again: periodic jobs at once, summaries
// by the next step of their sessions.
func (w *Jobs) share(ctx context.Context) error {
	name := source.StoreForChild(w.relay.app)
	if _, is := w.current().(shared.Queue); is || w.relay.kept() == nil || !store.IsURL(name) {
		return nil
	}
	queue, err := w.relay.app.Shared.OpenQueue(ctx, name, shared.QueueOptions{Workers: workers, Log: w.relay.log,
		Now: w.relay.app.Env.Now})
	if err != nil {
		return err
	}
	w.relay.jobs, w.close = queue.Page(), queue.Close
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue = queue
	close(w.replaced)
	w.replaced = make(chan struct{})
	return nil
}

// kept is the store, nil while mode off needs none or it cannot be opened.
func (r *Relay) kept() store.Store {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.store
}

// Run does jobs until the context ends, and waits for those under way. If the queue is replaced it
// goes on with the other one.
func (w *Jobs) Run(ctx context.Context) error {
	work := job.Work{Handlers: map[string]job.Handler{expiry: w.counted(w.expire), indexed: w.counted(w.index),
		sound: w.counted(w.check), costs: w.counted(w.sum), summary: w.counted(w.summarize)}}
	for kind, every := range map[string]time.Duration{expiry: expireEvery, indexed: indexEvery, sound: checkEvery,
		costs: sumEvery} {
		work.Periodic = append(work.Periodic, job.Periodic{Job: job.Job{Kind: kind, Limit: longest}, Every: every})
	}
	for {
		w.mu.Lock()
		queue, replaced := w.queue, w.replaced
		w.mu.Unlock()
		running, stop := context.WithCancel(ctx)
		go func() {
			defer stop()
			select {
			case <-replaced:
			case <-running.Done():
			}
		}()
		err := queue.Run(running, work)
		stop()
		if err != nil || ctx.Err() != nil || queue == w.current() {
			return err
		}
	}
}

// Close frees what the queue holds.
func (w *Jobs) Close() {
	w.relay.work.Store(nil)
	w.close()
}

// Expire asks for the expiry now: the retention has changed.
func (w *Jobs) Expire(ctx context.Context) error {
	return w.current().Add(ctx, job.Job{Kind: expiry, Limit: longest})
}

// counted counts the attempts of a handler.
func (w *Jobs) counted(h job.Handler) job.Handler {
	return func(ctx context.Context, a job.Attempt) error {
		err := h(ctx, a)
		outcome := "done"
		if err != nil {
			outcome = "failed"
		}
		w.done(a.Kind, outcome)
		return err
	}
}

// expire deletes what is older than the retention. The job without a key is that of the gateway's
// own store; it asks for one for each tenant, by store, so that what fails for one keeps no other
// waiting.
func (w *Jobs) expire(ctx context.Context, a job.Attempt) error {
	r := w.relay
	if a.Key != "" {
		if r.tenants == nil {
			return nil // of another gateway on the same database
		}
		return r.tenants.expire(ctx, a.Key, r.app.Env.Now())
	}
	now := r.app.Env.Now()
	failed := errors.Join(w.askForEach(ctx, expiry), w.askForRemoved(ctx, now), w.expireAudit(ctx, now))
	return errors.Join(failed, r.expire(ctx, w.retention()))
}

// expire deletes what is older than the retention in the gateway's own store, if anything is kept
// and there is a limit.
func (r *Relay) expire(ctx context.Context, retention string) error {
	age, limited := config.Expires(retention)
	kept := r.kept()
	if !limited || kept == nil {
		return nil
	}
	deleted, err := expire(ctx, kept, age, r.app.Env.Now(), true)
	if deleted > 0 {
		r.log.Info("deleted old conversations", "sessions", deleted, "retention", retention)
	}
	if err != nil {
		return fmt.Errorf("delete old conversations: %w", err)
	}
	return nil
}

// Expire deletes, beside what is relayed, what is older than gateway.retention. Of a store in a
// database that is for the servers that have it, whose retention may be another one.
func (r *Relay) Expire() {
	if store.IsURL(source.StoreForChild(r.app)) {
		return
	}
	r.beside.Go(func() {
		if err := r.expire(r.closing, r.settings.Gateway.Retention); err != nil && r.closing.Err() == nil {
			r.log.Error("expiry", "why", err)
		}
	})
}

// askForEach asks for a job of a kind for each tenant.
func (w *Jobs) askForEach(ctx context.Context, kind string) (failed error) {
	if w.relay.tenants == nil {
		return nil
	}
	for _, name := range w.relay.tenants.known.Load().Stores() {
		if err := w.current().Add(ctx, job.Job{Kind: kind, Key: name, Limit: longest}); err != nil {
			failed = errors.Join(failed, fmt.Errorf("ask for %s of %s: %w", kind, name, err))
		}
	}
	return failed
}

// index adds what is new to the search index, if the store has one, and to that of each tenant, or
// drops them if gateway.searchIndex is false. A tenant whose store is a file has nothing new if
// nobody showed a token of it since the last time.
func (w *Jobs) index(ctx context.Context, _ job.Attempt) error {
	settings, _ := w.relay.inForce()
	keep := settings.Gateway.SearchIndex
	if w.without.Swap(!keep) == keep {
		w.indexed.Store(0) // for nobody it is as it was
	}
	var since time.Time
	if !store.IsURL(source.StoreForChild(w.relay.app)) {
		if last := w.indexed.Swap(w.relay.app.Env.Now().UnixNano()); last != 0 {
			since = time.Unix(0, last)
		}
	}
	return w.each(ctx, since, func(_ string, kept store.Store) error {
		if u, ok := kept.(store.Unindexer); ok {
			if err := u.KeepIndex(ctx, keep); err != nil {
				return fmt.Errorf("keep the search index, or drop it: %w", err)
			}
		}
		if searcher, ok := kept.(store.Searcher); ok && keep {
			if err := searcher.Index(ctx, nil); err != nil && !errors.Is(err, store.ErrLocked) { // a search does it
				return fmt.Errorf("index what is new: %w", err)
			}
		}
		return nil
	})
}

// each does something with the gateway's store, and with that of each tenant who asked since a
// time, by its name. An error of one keeps nothing from the others. Nothing but stores is opened,
// one at a time: who is not at hand stays so, and who is may be closed.
func (w *Jobs) each(ctx context.Context, since time.Time, do func(tenant string, kept store.Store) error) (err error) {
	if kept := w.relay.kept(); kept != nil {
		err = do("", kept)
	}
	d := w.relay.tenants
	if d == nil {
		return err
	}
	seen := d.seen()
	known := d.known.Load()
	for _, of := range known.Stores() {
		t, _ := known.OfStore(of)
		if !since.IsZero() && seen[t.Name].Add(usedEvery).Before(since) {
			continue
		}
		err = errors.Join(err, d.withStore(ctx, of, func(kept store.Store) error { return do(t.Name, kept) }))
	}
	return err
}

// withStore opens the store of a tenant for a job.
func (d *tenants) withStore(ctx context.Context, name string, do func(store.Store) error) error {
	kept, err := d.stores.Open(ctx, name)
	if err != nil {
		return fmt.Errorf("open the store of %s: %w", name, err)
	}
	defer kept.Close()
	if err := do(kept); err != nil {
		return fmt.Errorf("of %s: %w", name, err)
	}
	return nil
}

// check looks for damage. What it finds is logged and counted; it is no failure of the look.
func (w *Jobs) check(ctx context.Context, _ job.Attempt) error {
	problems, looked := 0, false
	err := w.each(ctx, time.Time{}, func(tenant string, kept store.Store) error {
		checker, ok := kept.(store.Checker)
		if !ok {
			return nil
		}
		health, err := checker.Check(ctx)
		if err != nil {
			return fmt.Errorf("look through the store: %w", err)
		}
		looked = true
		problems += len(health.Problems)
		for _, problem := range health.Problems {
			w.relay.log.Error("the store is damaged: stop winnow and restore a backup, or see winnow doctor", "problem",
				problem,
				"tenant", tenant)
		}
		return nil
	})
	if looked {
		w.problems.Store(int64(problems))
	}
	return err
}

// MigrateShared makes or upgrades the tables of tenants and of jobs in the database of a store, and
// reports whether the store is in one.
func MigrateShared(ctx context.Context, a *cli.App, address string) (bool, error) {
	if !store.IsURL(address) {
		return false, nil
	}
	b, err := source.OpenBook(ctx, a, source.Making)
	if err != nil {
		return true, err
	}
	return true, errors.Join(b.Close(), a.Shared.MigrateQueue(ctx, address))
}
