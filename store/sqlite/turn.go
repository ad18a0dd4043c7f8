package sqlite

import (
	"context"
	"strconv"
	"time"
)

// Processes take turns at writing. SQLite has no queue for them: a waiting process polls, in the
// end only ten times a second, and misses the instants between the transactions of one that has
// much to write. So a process that waits polls often, and one that has written for a while leaves a
// gap for the others.
const (
	// lookFor is how long SQLite itself polls, with pauses of at most two milliseconds; then we ask
	// it again.
	lookFor = 5 * time.Millisecond
	// stint is how long a store writes before it leaves a gap, and how long a transaction goes on
	// that may end anywhere.
	stint = 250 * time.Millisecond
	// gap is how long a gap is: longer than the pauses of a process that polls.
	gap = 5 * time.Millisecond
)

// turn holds the times of a writer's transactions. Only the holder of the one connection uses it.
type turn struct {
	wait  time.Duration // how long to wait for others
	wrote time.Duration // time spent writing since the last gap
	begun time.Time     // start of the last transaction
	ended time.Time     // end of the last transaction
}

// over reports whether the current transaction has kept others waiting long enough.
func (t *turn) over() bool { return time.Since(t.begun) >= stint }

// often makes the writer's connection poll often.
func (w *writer) often(ctx context.Context) error {
	_, err := w.conn.ExecContext(ctx, "PRAGMA busy_timeout = "+strconv.FormatInt(lookFor.Milliseconds(), 10))
	return err
}

// write runs do in one transaction. If it returns an error, nothing is written.
func (w *writer) write(ctx context.Context, do func() error) error {
	select {
	case w.taken <- struct{}{}:
		defer func() { <-w.taken }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := w.begin(ctx); err != nil {
		return err
	}
	w.turn.begun = time.Now()
	committed := false
	defer func() {
		if !committed {
			w.run("ROLLBACK") // fails if SQLite has done it already
		}
		w.turn.ended = time.Now()
		w.turn.wrote += w.turn.ended.Sub(w.turn.begun)
	}()
	err := do()
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		_, err = w.run("COMMIT")
		committed = err == nil
	}
	if committed {
		w.commits++
		w.fold()
	}
	return err
}

// begin begins a transaction once it is this writer's turn. It waits for other processes when it
// begins, not in the middle, where waiting could not help.
func (w *writer) begin(ctx context.Context) error {
	idle := time.Since(w.turn.ended)
	if w.turn.wrote >= stint && idle < gap {
		select {
		case <-ctx.Done():
		case <-time.After(gap - idle):
		}
		idle = gap
	}
	if idle >= gap {
		w.turn.wrote = 0
	}
	for deadline := time.Now().Add(w.turn.wait); ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		_, err := w.run("BEGIN IMMEDIATE")
		if err == nil || !isBusy(err) || time.Now().After(deadline) {
			return err
		}
	}
}
