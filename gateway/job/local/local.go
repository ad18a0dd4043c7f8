// Package local runs jobs in this process and keeps them in memory. They end with it: periodic jobs
// are due again when the next process begins, and what else is still wanted is asked for again by
// what it is about.
package local

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/winnowhq/winnow/gateway/job"
)

// Config says how a queue works. The zero value works.
type Config struct {
	// Workers is how many jobs are done at a time. Default 2: the work beside requests must leave
	// the machine to them.
	Workers int
	// Waiting is how many jobs may wait. Default 1,000.
	Waiting int
	// Backoff is how long a job waits after its attempt of this number has failed. Default:
	// job.Backoff.
	Backoff func(number int) time.Duration
	// Log is told of what fails. Default: nobody.
	Log *slog.Logger
	Now func() time.Time // default: time.Now
}

// Queue is a job.Queue in memory.
type Queue struct {
	config Config
	wake   chan struct{} // one is in it if the waiting jobs have changed

	mu      sync.Mutex
	waiting []*entry       // in the order in which they were asked for
	known   map[id]*entry  // waiting and running
	under   int            // how many are running
	running sync.WaitGroup // the same
}

// id is the identity of a job.
type id struct{ kind, key string }

// entry is a job that waits or runs.
type entry struct {
	job    job.Job
	tried  int // how many attempts have failed
	at     time.Time
	repeat bool // it is periodic: it is not dropped because the queue is full
}

// New makes a queue.
func New(c Config) *Queue {
	c.Workers, c.Waiting = cmp.Or(max(c.Workers, 0), 2), cmp.Or(max(c.Waiting, 0), 1000)
	if c.Backoff == nil {
		c.Backoff = job.Backoff
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Queue{config: c, wake: make(chan struct{}, 1), known: map[id]*entry{}}
}

// Add implements job.Queue.
func (q *Queue) Add(ctx context.Context, j job.Job) error {
	if err := cmp.Or(j.Check(), ctx.Err()); err != nil {
		return err
	}
	return q.add(&entry{job: j.WithDefaults()})
}

func (q *Queue) add(e *entry) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.known[e.id()] != nil {
		return nil
	}
	if len(q.waiting) >= q.config.Waiting && !e.repeat {
		return job.ErrFull
	}
	q.known[e.id()] = e
	q.waiting = append(q.waiting, e)
	q.woken()
	return nil
}

func (e *entry) id() id { return id{e.job.Kind, e.job.Key} }

func (q *Queue) woken() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// Run implements job.Queue.
func (q *Queue) Run(ctx context.Context, w job.Work) error {
	if err := w.Check(); err != nil {
		return err
	}
	defer q.running.Wait()
	due := make([]time.Time, len(w.Periodic))
	for {
		now := q.config.Now()
		wait := time.Hour
		for i, p := range w.Periodic {
			if !now.Before(due[i]) {
				due[i] = now.Add(p.Every)
				_ = q.add(&entry{job: p.Job.WithDefaults(), repeat: true}) // it is never refused
			}
			wait = min(wait, due[i].Sub(now))
		}
		wait = min(wait, q.start(ctx, w, now))
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-q.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// start begins what is due, and says after which time to look again.
func (q *Queue) start(ctx context.Context, w job.Work, now time.Time) (wait time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	wait = time.Hour
	kept := q.waiting[:0]
	for _, e := range q.waiting {
		h := w.Handlers[e.job.Kind]
		switch {
		case !e.job.Until.IsZero() && !now.Before(e.job.Until):
			delete(q.known, e.id())
			q.config.Log.Debug("a job came too late", "kind", e.job.Kind, "key", e.job.Key)
			continue
		case h == nil:
			delete(q.known, e.id())
			q.config.Log.Error("nothing here does such jobs", "kind", e.job.Kind, "key", e.job.Key)
			continue
		case now.Before(e.at):
			wait = min(wait, e.at.Sub(now))
		case q.under < q.config.Workers && ctx.Err() == nil:
			q.under++
			q.running.Go(func() { q.try(ctx, h, e) })
			continue
		}
		kept = append(kept, e)
	}
	clear(q.waiting[len(kept):])
	q.waiting = kept
	return wait
}

// try makes an attempt at a job, which waits again if it fails.
func (q *Queue) try(ctx context.Context, h job.Handler, e *entry) {
	err := job.Try(ctx, h, job.Attempt{Job: e.job, Number: e.tried + 1})
	q.mu.Lock()
	defer q.mu.Unlock()
	q.under--
	q.woken()
	cut := err != nil && ctx.Err() != nil // the process ends
	if err != nil && !cut {
		e.tried++
	}
	if err == nil || e.tried >= e.job.Attempts {
		delete(q.known, e.id())
		if err != nil {
			q.config.Log.Error("a job was given up", "kind", e.job.Kind, "key", e.job.Key, "attempts", e.tried,
				"error", err)
		}
		return
	}
	if !cut {
		e.at = q.config.Now().Add(q.config.Backoff(e.tried))
		q.config.Log.Warn("a job failed and is tried again", "kind", e.job.Kind, "key", e.job.Key, "at", e.at,
			"error", err)
	}
	q.waiting = append(q.waiting, e)
}
