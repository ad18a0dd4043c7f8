package local

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/winnowhq/winnow/gateway/job"
	"github.com/winnowhq/winnow/internal/jobtest"
)

func TestQueue(t *testing.T) {
	jobtest.Run(t, func(_ *testing.T, o jobtest.Options) job.Queue {
		return New(Config{Backoff: o.Backoff, Now: o.Now})
	})
}

// What waits is bounded; periodic jobs are never refused.
func TestQueue_isBounded(t *testing.T) {
	q := New(Config{Waiting: 2})
	for i := range 3 {
		err := q.Add(t.Context(), job.Job{Kind: "work", Key: strconv.Itoa(i)})
		if full := errors.Is(err, job.ErrFull); full != (i == 2) {
			t.Errorf("job %d: %v", i, err)
		}
	}
	if err := q.Add(t.Context(), job.Job{Kind: "work", Key: "1"}); err != nil {
		t.Errorf("one that waits already: %v", err)
	}
}

// At most as many jobs as there are workers are under way, in the order in which they came.
func TestQueue_keepsToItsWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Config{Workers: 2})
		under, most, order := make(chan struct{}, 100), 0, ""
		for i := range 9 {
			if err := q.Add(t.Context(), job.Job{Kind: "work", Key: strconv.Itoa(i)}); err != nil {
				t.Fatal(err)
			}
		}
		ctx, stop := context.WithCancel(t.Context())
		done, ended := make(chan string, 9), make(chan error, 1)
		go func() {
			ended <- q.Run(ctx, job.Work{Handlers: map[string]job.Handler{"work": func(_ context.Context, a job.Attempt) error {
				under <- struct{}{}
				done <- a.Key
				time.Sleep(time.Second + time.Duration(len(done))*time.Millisecond)
				<-under
				return nil
			}}})
		}()
		for range 9 {
			order += <-done
			most = max(most, len(under))
		}
		stop()
		<-ended
		if most > 2 {
			t.Errorf("%d jobs were under way", most)
		}
		if len(order) != 9 {
			t.Errorf("the order is %s", order)
		}
	})
}

// Periods and pauses pass by the clock.
func TestQueue_keepsItsTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, began := New(Config{}), time.Now()
		var mu sync.Mutex
		var times []time.Duration
		note := func() { // two jobs are done at the beginning, at a time
			mu.Lock()
			defer mu.Unlock()
			times = append(times, time.Since(began))
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		handlers := map[string]job.Handler{
			"fails": func(context.Context, job.Attempt) error {
				note()
				return errors.New("no")
			},
			"daily": func(context.Context, job.Attempt) error {
				note()
				return nil
			},
		}
		if err := q.Add(ctx, job.Job{Kind: "fails", Attempts: 3}); err != nil {
			t.Fatal(err)
		}
		go func() {
			_ = q.Run(ctx, job.Work{Handlers: handlers,
				Periodic: []job.Periodic{{Job: job.Job{Kind: "daily"}, Every: 24 * time.Hour}}})
		}()
		time.Sleep(49 * time.Hour)
		synctest.Wait()
		stop()
		synctest.Wait()
		want := []time.Duration{0, 0, time.Second, 17 * time.Second, 24 * time.Hour, 48 * time.Hour}
		if len(times) != len(want) {
			t.Fatalf("work was done at %v, want %v", times, want)
		}
		for i := range want {
			if times[i] != want[i] {
				t.Errorf("work was done at %v, want %v", times, want)
				break
			}
		}
	})
}
