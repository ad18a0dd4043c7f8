package river

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/winnowhq/winnow/gateway/job"
)

// River's own periodic jobs count from the start of the process that leads: each restart would look
// through all stores again. So when a job was asked for last is in the database.

// periodicTable is made beside River's tables.
const periodicTable = `CREATE TABLE IF NOT EXISTS winnow_periodic (
	kind text NOT NULL, key text NOT NULL, asked timestamptz NOT NULL, PRIMARY KEY (kind, key))`

// lookEvery is how often it is looked whether a periodic job is due, unless one has a shorter
// period.
const lookEvery = time.Minute

// repeat asks for periodic jobs whenever they are due, until the context ends.
func (q *Queue) repeat(ctx context.Context, log *slog.Logger, all []job.Periodic) {
	wait := lookEvery
	for _, p := range all {
		wait = min(wait, p.Every)
	}
	for {
		for _, p := range all {
			if err := q.askIfDue(ctx, p, wait/2); err != nil && ctx.Err() == nil {
				log.Error("periodic jobs cannot be asked for", "kind", p.Job.Kind, "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// askIfDue asks for a periodic job unless it was asked for within its period, by whichever process.
// A look may be early by a slack, so that looking late does not add up.
func (q *Queue) askIfDue(ctx context.Context, p job.Periodic, slack time.Duration) error {
	a, o, err := asked(p.Job)
	if err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, q.pool, func(tx pgx.Tx) error {
		now := q.config.Now()
		// A time in the future is that of a clock that was wrong.
		done, err := tx.Exec(ctx, `INSERT INTO winnow_periodic AS p (kind, key, asked) VALUES ($1, $2, $3)
			ON CONFLICT (kind, key) DO UPDATE SET asked = excluded.asked WHERE p.asked <= $4 OR p.asked > $5`,
			p.Job.Kind, p.Job.Key, now, now.Add(slack-p.Every), now.Add(p.Every))
		if err != nil || done.RowsAffected() == 0 {
			return err
		}
		_, err = q.adding.InsertTx(ctx, tx, a, o)
		return err
	})
}

// missing reports whether the table of periodic jobs is not there.
func missing(ctx context.Context, db interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}) (is bool, err error) {
	err = db.QueryRow(ctx, `SELECT to_regclass('winnow_periodic') IS NULL`).Scan(&is)
	if err != nil {
		err = fmt.Errorf("job: look at the tables of jobs: %w", err)
	}
	return is, err
}
