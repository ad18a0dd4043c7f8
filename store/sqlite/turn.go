package sqlite

import (
	"context"
	"database/sql"
	"strconv"
	"time"
)

// Processes take turns at writing. SQLite has no queue for them: who waits looks from time to time whether nobody writes, in the end ten times a second, and between
// the transactions of one that has much to write there are but instants, which the others miss for as long as it goes on. So who waits looks often, and who has
// written for a while leaves the others a gap.
const (
	// lookFor is how long SQLite itself looks, with pauses of at most two milliseconds between; then it is asked again.
	lookFor = 5 * time.Millisecond
	// stint is for how long a store writes without leaving others a gap, and for how long a transaction takes up what is next where it may end anywhere.
	stint = 250 * time.Millisecond
	// gap is how long others are left: longer than the pauses of who looks.
	gap = 5 * time.Millisecond
)

// turn is what a writer knows of its own turns. It is used by who has the one connection.
type turn struct {
	wait  time.Duration // how long to wait for others
	wrote time.Duration // since others were last left a gap
	begun time.Time     // when the last transaction did
	ended time.Time     // when it did
}

// over tells the transaction under way that others have waited for it long enough.
func (t *turn) over() bool { return time.Since(t.begun) >= stint }

// often has the writer's connection look often.
func (w *writer) often(ctx context.Context) error {
	_, err := w.db.ExecContext(ctx, "PRAGMA busy_timeout = "+strconv.FormatInt(lookFor.Milliseconds(), 10))
	return err
}

// write runs what do writes in one transaction: all of it or, with an error, nothing.
func (w *writer) write(ctx context.Context, do func(*sql.Tx) error) error {
	conn, err := w.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close() // gives it back
	tx, err := w.begin(ctx, conn)
	if err != nil {
		return err
	}
	w.turn.begun = time.Now()
	defer func() {
		w.turn.ended = time.Now()
		w.turn.wrote += w.turn.ended.Sub(w.turn.begun)
	}()
	defer tx.Rollback() // does nothing after Commit
	if err := do(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// begin begins a transaction when it is this writer's turn.
func (w *writer) begin(ctx context.Context, conn *sql.Conn) (*sql.Tx, error) {
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
		tx, err := conn.BeginTx(ctx, nil)
		if err == nil || !isBusy(err) || time.Now().After(deadline) {
			return tx, err
		}
	}
}
