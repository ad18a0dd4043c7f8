package postgres

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5/pgconn"
)

// loss is that of a server. The first operation that has waited for it as long as Options.Wait says
// so, and from then on all fail at once, until the server answers again: that is tried in the
// background.
type loss struct {
	mu    sync.Mutex
	err   error                    // nil while the server is there
	asked map[string]chan struct{} // what the server is being asked, see Once
	ended context.Context
	end   context.CancelFunc
}

// Lost is why operations fail at once: a wait for the server has timed out, and it has not answered
// since. nil otherwise.
func (d *Database) Lost() error {
	d.loss.mu.Lock()
	defer d.loss.mu.Unlock()
	return d.loss.err
}

// Lost is that of the database.
func (s *Store) Lost() error { return s.db.Lost() }

// Answered implements [store.Remote].
func (s *Store) Answered() (reads, writes int64) { return s.db.reads.Load(), s.db.writes.Load() }

// Once implements [store.Remote].
func (s *Store) Once(name string, ask func(context.Context)) <-chan struct{} {
	l := &s.db.loss
	l.mu.Lock()
	defer l.mu.Unlock()
	if ended := l.asked[name]; ended != nil {
		return ended
	}
	ended := make(chan struct{})
	if l.asked == nil {
		l.asked = map[string]chan struct{}{}
	}
	l.asked[name] = ended
	go func() {
		defer close(ended)
		defer func() { // before it is closed, after which it may be asked again
			l.mu.Lock()
			defer l.mu.Unlock()
			delete(l.asked, name)
		}()
		ask(l.ended)
	}()
	return ended
}

// Unwritable implements [store.Writer], for all tenants of the database.
func (s *Store) Unwritable() error { return s.db.written.Unwritable() }

// lose notes that a wait for the server has timed out.
func (d *Database) lose(err error) {
	d.loss.mu.Lock()
	defer d.loss.mu.Unlock()
	if d.loss.err != nil || d.closed.Load() {
		return
	}
	d.loss.err = err
	go d.find()
}

// find tries until the server answers, or the database is closed.
func (d *Database) find() {
	for pause(d.loss.ended, findEvery) == nil {
		ctx, stop := context.WithTimeout(d.loss.ended, connectWait)
		err := d.pool.Ping(ctx)
		stop()
		if err == nil {
			d.loss.mu.Lock()
			d.loss.err = nil
			d.loss.mu.Unlock()
			return
		}
	}
}

// findEvery is how long it is waited before a server that is lost is asked again.
const findEvery = 500 * time.Millisecond

// unreachable reports whether an error says that the server is not there, or does not take work.
func unreachable(err error) bool {
	if e := (*pgconn.PgError)(nil); errors.As(err, &e) {
		switch e.Code {
		case pgerrcode.AdminShutdown, pgerrcode.CrashShutdown, pgerrcode.CannotConnectNow:
			return true
		}
		return strings.HasPrefix(e.Code, "08") // connections
	}
	return broken(err)
}
