package river

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/winnowhq/winnow/gateway/job"
	"github.com/winnowhq/winnow/internal/jobtest"
	"github.com/winnowhq/winnow/internal/pgtest"
)

// database is an empty one.
func database(t *testing.T) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), pgtest.Start(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

func opened(t *testing.T, pool *pgxpool.Pool, c Config) *Queue {
	t.Helper()
	if err := Migrate(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	q, err := New(t.Context(), pool, c)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// lasting is a queue of which there may be another one, as after a restart.
type lasting struct {
	*Queue
	again func() job.Queue
}

func (l lasting) Again() job.Queue { return l.again() }

func TestQueue(t *testing.T) {
	jobtest.Run(t, func(t *testing.T, o jobtest.Options) job.Queue {
		pool := database(t)
		c := Config{Backoff: o.Backoff, Now: o.Now}
		return lasting{opened(t, pool, c), func() job.Queue { return opened(t, pool, c) }}
	})
}

// A job of a transaction is there if the transaction is committed, and otherwise not.
func TestQueue_belongsToItsTransaction(t *testing.T) {
	pool := database(t)
	q := opened(t, pool, Config{})
	for _, key := range []string{"rolled back", "committed"} {
		tx, err := pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := q.AddTx(t.Context(), tx, job.Job{Kind: "work", Key: key}); err != nil {
			t.Fatal(err)
		}
		if key == "committed" {
			err = tx.Commit(t.Context())
		} else {
			err = tx.Rollback(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	keys := make(chan string, 9)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- q.Run(ctx, job.Work{Handlers: map[string]job.Handler{"work": func(_ context.Context, a job.Attempt) error {
			keys <- a.Key
			return nil
		}}})
	}()
	if key := <-keys; key != "committed" {
		t.Errorf("%q was done", key)
	}
	stop()
	if err := <-ended; err != nil || len(keys) > 0 {
		t.Errorf("%v; %d more were done", err, len(keys))
	}
}

// A process that begins to do jobs while its database is away does them when that is back.
func TestQueue_beginsWithoutItsDatabase(t *testing.T) {
	cluster := pgtest.NewCluster(t, false)
	pool, err := pgxpool.New(t.Context(), cluster.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	log := &firstLine{said: make(chan string, 1)}
	q := opened(t, pool, Config{Log: slog.New(slog.NewTextHandler(log, nil))})
	if err := q.Add(t.Context(), job.Job{Kind: "work"}); err != nil {
		t.Fatal(err)
	}
	if err := cluster.Down("fast"); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done, ended := make(chan struct{}, 9), make(chan error, 1)
	go func() {
		ended <- q.Run(ctx, job.Work{Handlers: map[string]job.Handler{"work": func(context.Context, job.Attempt) error {
			done <- struct{}{}
			return nil
		}}})
	}()
	select {
	case line := <-log.said:
		t.Log(line)
	case err := <-ended:
		t.Fatalf("it does not wait for the database: %v", err)
	}
	if err := cluster.Up(); err != nil {
		t.Fatal(err)
	}
	<-done
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// firstLine is a log of which the first line is heard.
type firstLine struct{ said chan string }

func (l *firstLine) Write(line []byte) (int, error) {
	select {
	case l.said <- string(line):
	default:
	}
	return len(line), nil
}

// Two processes on one database do each job once; nothing is done of kinds that a process does not
// know, so that an old version leaves what is new to the new one.
func TestQueue_isSharedByProcesses(t *testing.T) {
	pool := database(t)
	var mu sync.Mutex
	times := map[string]int{}
	done := make(chan string, 200)
	note := func(_ context.Context, a job.Attempt) error {
		mu.Lock()
		times[a.Kind+a.Key]++
		mu.Unlock()
		done <- a.Key
		return nil
	}
	asking := opened(t, pool, Config{})
	for i := range 50 {
		for _, kind := range []string{"old", "new"} {
			if err := asking.Add(t.Context(), job.Job{Kind: kind, Key: string(rune('A' + i))}); err != nil {
				t.Fatal(err)
			}
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for _, kinds := range [][]string{{"old"}, {"old", "new"}} {
		handlers := map[string]job.Handler{}
		for _, kind := range kinds {
			handlers[kind] = note
		}
		q := opened(t, pool, Config{})
		running.Go(func() {
			if err := q.Run(ctx, job.Work{Handlers: handlers}); err != nil {
				t.Error(err)
			}
		})
	}
	for range 100 {
		<-done
	}
	stop()
	running.Wait()
	for key, n := range times {
		if n != 1 {
			t.Errorf("%s was done %d times", key, n)
		}
	}
	if len(times) != 100 {
		t.Errorf("%d jobs were done, want 100", len(times))
	}
}

// Processes that begin at the same time upgrade the tables once; without tables nothing begins.
func TestMigrate(t *testing.T) {
	pool := database(t)
	if _, err := New(t.Context(), pool, Config{}); !errors.Is(err, ErrTables) {
		t.Errorf("without tables: %v", err)
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if err := Migrate(t.Context(), pool); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if _, err := New(t.Context(), pool, Config{}); err != nil {
		t.Errorf("with tables: %v", err)
	}
	// A newer version's tables do not keep an older version from its work.
	if _, err := pool.Exec(t.Context(), `INSERT INTO river_migration (line, version) VALUES ('main', 999)`); err != nil {
		t.Fatal(err)
	}
	if _, err := New(t.Context(), pool, Config{}); err != nil {
		t.Errorf("with newer tables: %v", err)
	}
	if err := Migrate(t.Context(), pool); err != nil {
		t.Errorf("migrate with newer tables: %v", err)
	}
}

// A job whose process was killed is done by another one, soon after its limit.
func TestQueue_takesUpJobsOfAKilledProcess(t *testing.T) {
	pool := database(t)
	q := opened(t, pool, Config{Backoff: func(int) time.Duration { return 0 }})
	for key, limit := range map[string]time.Duration{"killed": time.Minute, "under way": time.Hour} {
		if err := q.Add(t.Context(), job.Job{Kind: "work", Key: key, Limit: limit}); err != nil {
			t.Fatal(err)
		}
	}
	// What a process leaves that ended in the middle.
	if _, err := pool.Exec(t.Context(), `UPDATE river_job SET state = 'running', attempt = 1, attempted_at = now() - interval '2 minutes',
		attempted_by = ARRAY['killed']`); err != nil {
		t.Fatal(err)
	}
	done := make(chan job.Attempt, 9)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- q.Run(ctx, job.Work{Handlers: map[string]job.Handler{"work": func(_ context.Context, a job.Attempt) error {
			done <- a
			return nil
		}}})
	}()
	if a := <-done; a.Key != "killed" || a.Number != 2 {
		t.Errorf("%q was done, as attempt %d", a.Key, a.Number)
	}
	stop()
	if err := <-ended; err != nil || len(done) > 0 {
		t.Errorf("%v; %d more were done", err, len(done))
	}
}
