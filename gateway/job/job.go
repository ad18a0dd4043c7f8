// Package job does work that no request waits for: summaries, the search index, expiry. A Queue
// takes jobs, each at most once at a time, and gives them to handlers until they succeed, have
// failed too often, or are no longer worth doing. job/local runs them in this process, job/river in
// PostgreSQL by whichever replica is free; internal/jobtest is what both promise, as a test suite.
package job

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"time"
)

// Job is one piece of work. Its Kind and Key are its identity: a queue has it at most once.
type Job struct {
	Kind string // which handler does it: lower-case letters, digits and _
	Key  string // what it is about, such as an id; "" if there is one of its kind
	// Data is what the handler needs beside Key; of two jobs with the same identity that of the
	// first counts. It is kept where the queue keeps its jobs: no content of sessions, no secrets.
	Data string
	// Limit is how long one attempt may take; then its context ends. Default: DefaultLimit.
	Limit time.Duration
	// Attempts is how often it is tried at most. Default: DefaultAttempts.
	Attempts int
	// Until is when it is no longer worth beginning; zero: it always is.
	Until time.Time
}

// The defaults of a Job.
const (
	DefaultLimit    = 5 * time.Minute
	DefaultAttempts = 5
)

// WithDefaults is the job with defaults in place of what is not set.
func (j Job) WithDefaults() Job {
	j.Limit = cmp.Or(j.Limit, DefaultLimit)
	j.Attempts = cmp.Or(j.Attempts, DefaultAttempts)
	return j
}

// Check returns an error for a job that no queue takes.
func (j Job) Check() error {
	switch {
	case !named(j.Kind):
		return fmt.Errorf("job: %q cannot be the kind of a job: use a-z, 0-9 and _", j.Kind)
	case j.Limit < 0 || j.Attempts < 0:
		return fmt.Errorf("job: %s %q has a limit of %s and %d attempts; neither may be negative", j.Kind, j.Key,
			j.Limit, j.Attempts)
	}
	return nil
}

func named(kind string) bool {
	for _, r := range kind {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_' {
			return false
		}
	}
	return kind != ""
}

// Attempt is a job as its handler gets it.
type Attempt struct {
	Job
	Number int // from 1
}

// Last reports whether the job is given up if this attempt fails: the moment for something simpler
// that cannot fail.
func (a Attempt) Last() bool { return a.Number >= a.Attempts }

// Handler makes one attempt at a job. It returns soon after its context has ended, and does no harm
// if it is done twice: a process may end between the work and the note that it is done.
type Handler func(ctx context.Context, a Attempt) error

// Periodic is a job that is due each time that Every has passed. A queue that outlives its process
// counts from when the job was asked for last; another one begins anew with Run. If several
// processes share the queue, it is done once for all of them.
type Periodic struct {
	Job   Job
	Every time.Duration
}

// Work is what a process does of a queue's jobs.
type Work struct {
	Handlers map[string]Handler // by kind
	Periodic []Periodic
}

// Check returns an error if a periodic job has no handler, or cannot be.
func (w Work) Check() error {
	for kind := range w.Handlers {
		if !named(kind) {
			return fmt.Errorf("job: %q cannot be the kind of a job: use a-z, 0-9 and _", kind)
		}
	}
	for _, p := range w.Periodic {
		if err := p.Job.Check(); err != nil {
			return err
		}
		if w.Handlers[p.Job.Kind] == nil || p.Every <= 0 {
			return fmt.Errorf("job: the periodic job %s needs a handler and a period, and has %s", p.Job.Kind, p.Every)
		}
	}
	return nil
}

// Queue keeps jobs and runs them. It is safe for concurrent use.
type Queue interface {
	// Add asks for a job. If one of the same kind and key waits or is being done, it adds nothing,
	// and that is no error: what asks for a job while it runs must see to it that what is new is
	// found, as by asking again or by a periodic job. ErrFull if too many are waiting.
	Add(ctx context.Context, j Job) error
	// Run does jobs until the context ends; it then ends the contexts of those under way, waits for
	// their handlers, and returns nil. A job that was cut off has not used up its attempt. Run is
	// called once.
	Run(ctx context.Context, w Work) error
}

// ErrFull is how Add ends if too many jobs are waiting.
var ErrFull = fmt.Errorf("job: too many jobs are waiting")

// Backoff is how long a job waits after its attempt of this number has failed, from 1: 1 s, 16 s,
// 81 s, and so on with its fourth power, at most an hour.
func Backoff(number int) time.Duration {
	n := time.Duration(min(max(number, 1), 8)) // 8⁴ seconds are more than an hour
	return min(n*n*n*n*time.Second, time.Hour)
}

// Try makes an attempt within its limit. A handler that panics has failed.
func Try(ctx context.Context, h Handler, a Attempt) (err error) {
	ctx, stop := context.WithTimeout(ctx, a.Limit)
	defer stop()
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("job: %s panicked: %v\n%s", a.Kind, r, debug.Stack())
		}
	}()
	return h(ctx, a)
}
