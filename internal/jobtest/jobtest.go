// Package jobtest is what every job.Queue promises, as a test suite.
package jobtest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/gateway/job"
)

// Options are what a test wants of a queue.
type Options struct {
	Backoff func(number int) time.Duration
	Now     func() time.Time
}

// patience is how long a test waits for what must come, before it fails.
const patience = 60 * time.Second

// Run runs the suite. open opens an empty queue.
func Run(t *testing.T, open func(t *testing.T, o Options) job.Queue) {
	for name, test := range map[string]func(*suite){
		"gives a handler what was asked for": (*suite).givesWhatWasAskedFor,
		"has a job once":                     (*suite).hasAJobOnce,
		"tries again until it succeeds":      (*suite).triesAgain,
		"gives up after the last attempt":    (*suite).givesUp,
		"takes a panic for a failure":        (*suite).panics,
		"ends an attempt at its limit":       (*suite).limits,
		"drops what comes too late":          (*suite).dropsTheLate,
		"repeats periodic jobs":              (*suite).repeats,
		"cuts off what is under way":         (*suite).cutsOff,
		"refuses what cannot be":             (*suite).refuses,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(&suite{T: t, open: open, done: make(chan job.Attempt, 100)})
		})
	}
}

// suite is one test.
type suite struct {
	*testing.T
	open func(t *testing.T, o Options) job.Queue
	done chan job.Attempt // that notes have seen
}

// note is a handler that tells of its attempt and returns what outcome says.
func (s *suite) note(outcome func(job.Attempt) error) job.Handler {
	return func(_ context.Context, a job.Attempt) error {
		s.done <- a
		if outcome == nil {
			return nil
		}
		return outcome(a)
	}
}

func (s *suite) at(k job.Handler) job.Work {
	return job.Work{Handlers: map[string]job.Handler{"work": k}}
}

// start opens a queue and runs it until the test ends, or until it is ended.
func (s *suite) start(o Options, w job.Work, first ...job.Job) (q job.Queue, end func()) {
	s.Helper()
	if o.Backoff == nil {
		o.Backoff = func(int) time.Duration { return time.Millisecond }
	}
	q = s.open(s.T, o)
	for _, j := range first {
		s.add(q, j)
	}
	return q, s.run(q, w)
}

func (s *suite) run(q job.Queue, w job.Work) (end func()) {
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- q.Run(ctx, w) }()
	end = sync.OnceFunc(func() {
		stop()
		if err := <-ended; err != nil {
			s.Errorf("Run ended with %v", err)
		}
	})
	s.Cleanup(end)
	return end
}

func (s *suite) add(q job.Queue, j job.Job) {
	s.Helper()
	if err := q.Add(s.Context(), j); err != nil {
		s.Fatal(err)
	}
}

func (s *suite) next() job.Attempt {
	s.Helper()
	return await(s.T, s.done)
}

func await[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(patience):
		t.Fatal("nothing came")
		panic("unreachable")
	}
}

// soon asks again for a job that is over, which its queue may learn a little after its handler.
func (s *suite) soon(q job.Queue, j job.Job) job.Attempt {
	s.Helper()
	for deadline := time.After(patience); ; {
		s.add(q, j)
		select {
		case a := <-s.done:
			return a
		case <-deadline:
			s.Fatal("nothing came")
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (s *suite) givesWhatWasAskedFor() {
	asked := job.Job{Kind: "work", Key: "a/b \"c\"", Data: `{"x":1}`, Limit: time.Minute, Attempts: 3,
		Until: time.Now().Add(time.Hour).UTC().Truncate(time.Microsecond)}
	q, _ := s.start(Options{}, s.at(s.note(nil)), asked)
	got := s.next()
	got.Until = got.Until.UTC()
	if diff := cmp.Diff(job.Attempt{Job: asked, Number: 1}, got); diff != "" {
		s.Errorf("(-want +got):\n%s", diff)
	}
	s.add(q, job.Job{Kind: "work"})
	want := job.Attempt{Job: job.Job{Kind: "work"}.WithDefaults(), Number: 1}
	if diff := cmp.Diff(want, s.next()); diff != "" {
		s.Errorf("with defaults (-want +got):\n%s", diff)
	}
}

func (s *suite) hasAJobOnce() {
	hold := make(chan struct{})
	held := func(job.Attempt) error { <-hold; return nil }
	work := s.at(s.note(held))
	work.Handlers["other"] = s.note(nil)
	q, _ := s.start(Options{}, work, job.Job{Kind: "work", Key: "1", Data: "first"}, job.Job{Kind: "work", Key: "1",
		Data: "second"})
	if a := s.next(); a.Data != "first" {
		s.Errorf("%+v was done, want the first", a)
	}
	s.add(q, job.Job{Kind: "work", Key: "1", Data: "third"}) // it is running
	s.add(q, job.Job{Kind: "other", Key: "1"})
	if a := s.next(); a.Kind != "other" {
		s.Errorf("%+v was done twice at a time", a)
	}
	close(hold)
	if a := s.soon(q, job.Job{Kind: "work", Key: "1", Data: "fourth"}); a.Data != "fourth" {
		s.Errorf("%+v was done, want the fourth", a)
	}
}

func (s *suite) triesAgain() {
	failing := func(a job.Attempt) error {
		if a.Number < 3 {
			return errors.New("not yet")
		}
		return nil
	}
	s.start(Options{}, s.at(s.note(failing)), job.Job{Kind: "work", Attempts: 4})
	for n := range 3 {
		if a := s.next(); a.Number != n+1 || a.Last() {
			s.Errorf("attempt %d of 4 is number %d, last %v", n+1, a.Number, a.Last())
		}
	}
}

func (s *suite) givesUp() {
	fails := func(job.Attempt) error { return errors.New("never") }
	q, _ := s.start(Options{}, s.at(s.note(fails)), job.Job{Kind: "work", Key: "1", Attempts: 2})
	if first, second := s.next(), s.next(); first.Last() || !second.Last() {
		s.Errorf("the attempts are %+v and %+v, want the second to be the last", first, second)
	}
	if a := s.soon(q, job.Job{Kind: "work", Key: "1", Attempts: 2, Data: "anew"}); a.Number != 1 || a.Data != "anew" {
		s.Errorf("after it was given up, %+v was done", a)
	}
}

func (s *suite) panics() {
	s.start(Options{}, s.at(s.note(func(a job.Attempt) error {
		if a.Number == 1 {
			panic("at first")
		}
		return nil
	})), job.Job{Kind: "work"})
	if first, second := s.next(), s.next(); first.Number != 1 || second.Number != 2 {
		s.Errorf("the attempts are %+v and %+v", first, second)
	}
}

func (s *suite) limits() {
	ends := make(chan error, 1)
	s.start(Options{}, s.at(func(ctx context.Context, a job.Attempt) error {
		if a.Number == 1 {
			<-ctx.Done()
			ends <- ctx.Err()
			return ctx.Err()
		}
		return s.note(nil)(ctx, a)
	}), job.Job{Kind: "work", Limit: time.Millisecond})
	if err := await(s.T, ends); !errors.Is(err, context.DeadlineExceeded) {
		s.Errorf("the context ended with %v", err)
	}
	if a := s.next(); a.Number != 2 {
		s.Errorf("then came %+v", a)
	}
}

func (s *suite) dropsTheLate() {
	now := time.Now()
	o := Options{Now: func() time.Time { return now }}
	q, _ := s.start(o, s.at(s.note(nil)), job.Job{Kind: "work", Key: "late", Until: now},
		job.Job{Kind: "work", Key: "in time", Until: now.Add(time.Nanosecond * 1000)})
	if a := s.next(); a.Key != "in time" {
		s.Errorf("%+v was done", a)
	}
	if a := s.soon(q, job.Job{Kind: "work", Key: "late"}); !a.Until.IsZero() {
		s.Errorf("%+v was done, though it came too late", a)
	}
}

func (s *suite) repeats() {
	work := s.at(s.note(nil))
	work.Periodic = []job.Periodic{{Job: job.Job{Kind: "work", Key: "again"}, Every: time.Second}}
	s.start(Options{}, work)
	for range 2 {
		if a := s.next(); a.Key != "again" {
			s.Errorf("%+v was done", a)
		}
	}
}

func (s *suite) cutsOff() {
	begun := make(chan struct{}, 1)
	q, end := s.start(Options{}, s.at(func(ctx context.Context, a job.Attempt) error {
		begun <- struct{}{}
		<-ctx.Done()
		return fmt.Errorf("stopped: %s", strings.ToUpper(ctx.Err().Error()))
	}), job.Job{Kind: "work"})
	await(s.T, begun)
	end()
	if again, ok := q.(interface{ Again() job.Queue }); ok { // a queue that outlives its process
		s.run(again.Again(), s.at(s.note(nil)))
		if a := s.next(); a.Number != 1 {
			s.Errorf("after the end %+v was done, want the first attempt", a)
		}
	}
}

func (s *suite) refuses() {
	q := s.open(s.T, Options{})
	for i, j := range []job.Job{{}, {Kind: "Work"}, {Kind: "a b"}, {Kind: "work", Limit: -1}, {Kind: "work",
		Attempts: -1}} {
		if err := q.Add(s.Context(), j); err == nil {
			s.Error("job " + strconv.Itoa(i) + " was taken")
		}
	}
	for _, w := range []job.Work{
		{Periodic: []job.Periodic{{Job: job.Job{Kind: "work"}, Every: time.Hour}}},
		{Handlers: map[string]job.Handler{"work": s.note(nil)}, Periodic: []job.Periodic{{Job: job.Job{Kind: "work"}}}},
		{Handlers: map[string]job.Handler{"": s.note(nil)}},
	} {
		if err := q.Run(s.Context(), w); err == nil {
			s.Errorf("it runs %+v", w)
		}
	}
}
