// Package river keeps jobs in PostgreSQL and runs them by whichever process is free, over
// riverqueue/river. A job can be asked for in the transaction of the decision that needs it.
package river

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	queue "github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"

	"github.com/winnowhq/winnow/gateway/job"
	"github.com/winnowhq/winnow/store/postgres"
)

// Config says how a queue works. The zero value works.
type Config struct {
	// Workers is how many jobs this process does at a time. Default 2: the work beside requests
	// must leave the machine to them.
	Workers int
	// Backoff is how long a job waits after its attempt of this number has failed. Default:
	// job.Backoff.
	Backoff func(number int) time.Duration
	// Log is told of what fails. Default: nobody.
	Log *slog.Logger
	Now func() time.Time // default: time.Now
	// Polls: nothing can be listened to, as a pooler stands before the database. What is asked for
	// is found a second later.
	Polls bool
}

// Queue is a job.Queue in PostgreSQL.
type Queue struct {
	config Config
	pool   *pgxpool.Pool
	adding *queue.Client[pgx.Tx] // it runs nothing
}

// Migrate makes or upgrades River's tables. Several processes may do it at the same time. A version
// of winnow works beside the tables of a newer one.
func Migrate(ctx context.Context, pool *pgxpool.Pool) error {
	err := postgres.Alone(ctx, pool.Config().ConnConfig, migrating, func() error { return upgrade(ctx, pool) })
	if err != nil {
		return fmt.Errorf("job: upgrade the tables of jobs: %w", err)
	}
	return nil
}

// upgrade runs the migrations that are missing.
func upgrade(ctx context.Context, pool *pgxpool.Pool) error {
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return fmt.Errorf("job: upgrade the tables of jobs: %w", err)
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return fmt.Errorf("job: upgrade the tables of jobs: %w", err)
	}
	// Not where it is there: to ask for a table takes the right to make one.
	none, err := missing(ctx, pool)
	if err == nil && none {
		_, err = pool.Exec(ctx, periodicTable)
	}
	if err != nil {
		return fmt.Errorf("job: upgrade the tables of jobs: %w", err)
	}
	return nil
}

// migrating is the advisory lock under which the tables of jobs are upgraded.
const migrating int64 = 0x77696e6e6f770001

// ErrTables is how New ends if the tables of jobs are missing or older than this version needs.
var ErrTables = errors.New("job: the tables of jobs are missing or old; `winnowd store migrate` makes them")

// New makes a queue on a pool of connections, which stays the caller's. ErrTables.
func New(ctx context.Context, pool *pgxpool.Pool, c Config) (*Queue, error) {
	c.Workers = cmp.Or(max(c.Workers, 0), 2)
	if c.Backoff == nil {
		c.Backoff = job.Backoff
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	driver := riverpgxv5.New(pool)
	migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, fmt.Errorf("job: %w", err)
	}
	valid, err := migrator.Validate(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("job: look at the tables of jobs: %w", err)
	}
	if !valid.OK {
		return nil, ErrTables
	}
	if none, err := missing(ctx, pool); err != nil {
		return nil, err
	} else if none {
		return nil, ErrTables
	}
	adding, err := queue.NewClient(driver, &queue.Config{Logger: quietly(c.Log, c.Now), SkipUnknownJobCheck: true})
	if err != nil {
		return nil, fmt.Errorf("job: %w", err)
	}
	return &Queue{config: c, pool: pool, adding: adding}, nil
}

// args are a job as River keeps it.
type args struct {
	kind     string
	Name     string        `json:"key" river:"unique"`
	Data     string        `json:"data,omitempty"`
	Limit    time.Duration `json:"limit"` // nanoseconds
	Deadline time.Time     `json:"until,omitzero"`
}

// Kind implements river.JobArgs.
func (a args) Kind() string { return a.kind }

// asked is a job as River is asked for it: one of a kind and key until it is done or given up.
func asked(j job.Job) (args, *queue.InsertOpts, error) {
	if err := j.Check(); err != nil {
		return args{}, nil, err
	}
	j = j.WithDefaults()
	states := []rivertype.JobState{rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRunning,
		rivertype.JobStateRetryable, rivertype.JobStateScheduled}
	return args{j.Kind, j.Key, j.Data, j.Limit, j.Until}, &queue.InsertOpts{MaxAttempts: j.Attempts,
		UniqueOpts: queue.UniqueOpts{ByArgs: true, ByState: states}}, nil
}

// Add implements job.Queue.
func (q *Queue) Add(ctx context.Context, j job.Job) error {
	a, o, err := asked(j)
	if err != nil {
		return err
	}
	if _, err := q.adding.Insert(ctx, a, o); err != nil {
		return fmt.Errorf("job: ask for %s: %w", j.Kind, err)
	}
	return nil
}

// AddTx is Add within a transaction: the job is there if the transaction is committed.
func (q *Queue) AddTx(ctx context.Context, tx pgx.Tx, j job.Job) error {
	a, o, err := asked(j)
	if err != nil {
		return err
	}
	if _, err := q.adding.InsertTx(ctx, tx, a, o); err != nil {
		return fmt.Errorf("job: ask for %s: %w", j.Kind, err)
	}
	return nil
}

// Run implements job.Queue.
func (q *Queue) Run(ctx context.Context, w job.Work) error {
	if err := w.Check(); err != nil {
		return err
	}
	workers := queue.NewWorkers()
	for kind, h := range w.Handlers {
		queue.AddWorkerArgs(workers, args{kind: kind}, &worker{q: q, handler: h})
	}
	log := quietly(q.config.Log, q.config.Now)
	client, err := q.begin(ctx, &queue.Config{
		Queues:  map[string]queue.QueueConfig{queue.QueueDefault: {MaxWorkers: q.config.Workers}},
		Workers: workers, Logger: log,
		PollOnly: q.config.Polls, FetchOnlyKnownKinds: true, ErrorHandler: failing{q.config.Log},
		JobTimeout: -1, RescueStuckJobsAfter: late, // each has its own limit
	})
	if client == nil {
		return err
	}
	q.repeat(ctx, log, w.Periodic)
	ending, stop := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer stop()
	if err := client.StopAndCancel(ending); err != nil {
		return fmt.Errorf("job: end the jobs under way: %w", err)
	}
	return nil
}

// begin starts a client, and waits for a database that is away until ctx is over: nil then.
func (q *Queue) begin(ctx context.Context, c *queue.Config) (*queue.Client[pgx.Tx], error) {
	for {
		client, err := queue.NewClient(riverpgxv5.New(q.pool), c)
		if err != nil {
			return nil, fmt.Errorf("job: %w", err)
		}
		err = client.Start(context.WithoutCancel(ctx))
		if err == nil {
			return client, nil
		}
		c.Logger.Warn("jobs cannot be begun yet; it is tried again", "error", err)
		select {
		case <-ctx.Done():
			return nil, nil
		case <-time.After(beginEvery):
		}
	}
}

// beginEvery is how long it is waited before jobs are begun again.
const beginEvery = time.Second

// worker does jobs of one kind.
type worker struct {
	queue.WorkerDefaults[args]
	q       *Queue
	handler job.Handler
}

// NextRetry implements river.Worker.
func (w *worker) NextRetry(j *queue.Job[args]) time.Time {
	return w.q.config.Now().Add(w.q.config.Backoff(j.Attempt))
}

// late is how long after its limit a job is taken to be one of a process that was killed, and done
// by another one.
const late = 30 * time.Second

// Timeout implements river.Worker: job.Try keeps to the limit. Without it a job whose process was
// killed would be running for ever.
func (w *worker) Timeout(j *queue.Job[args]) time.Duration {
	return cmp.Or(max(j.Args.Limit, 0), job.DefaultLimit) + late
}

// Work implements river.Worker.
func (w *worker) Work(ctx context.Context, j *queue.Job[args]) error {
	a := j.Args
	if !a.Deadline.IsZero() && !w.q.config.Now().Before(a.Deadline) {
		return queue.JobCancel(errors.New("it came too late"))
	}
	err := job.Try(ctx, w.handler, job.Attempt{Number: j.Attempt, Job: job.Job{Kind: j.Kind, Key: a.Name, Data: a.Data,
		Limit: a.Limit, Attempts: j.MaxAttempts, Until: a.Deadline}})
	if err != nil && ctx.Err() != nil && !errors.Is(context.Cause(ctx), queue.ErrJobCancelledRemotely) {
		return queue.JobSnooze(0) // this process ends; another one does it
	}
	return err
}

// failing tells the log what fails. What River itself logs of that is for its developers.
type failing struct{ log *slog.Logger }

// HandleError implements river.ErrorHandler.
func (f failing) HandleError(_ context.Context, j *rivertype.JobRow, err error) *queue.ErrorHandlerResult {
	if j.Attempt >= j.MaxAttempts {
		f.log.Error("a job was given up", "kind", j.Kind, "id", j.ID, "attempts", j.Attempt, "error", err)
	} else {
		f.log.Warn("a job failed and is tried again", "kind", j.Kind, "id", j.ID, "error", err)
	}
	return nil
}

// HandlePanic implements river.ErrorHandler. job.Try makes errors of panics.
func (f failing) HandlePanic(context.Context, *rivertype.JobRow, any, string) *queue.ErrorHandlerResult {
	return nil
}
