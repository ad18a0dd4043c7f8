package river

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/winnowhq/winnow/gateway/job"
)

// A weekly job is done once a week, also if all processes are started again every day.
func TestQueue_aRestartDoesNotRepeatPeriodicJobs(t *testing.T) {
	pool := database(t)
	var mu sync.Mutex
	now := time.Date(2026, 5, 31, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return now
	}
	weekly := 0
	for day := range 9 {
		q := opened(t, pool, Config{Now: clock})
		done := make(chan string, 9)
		note := func(_ context.Context, a job.Attempt) error { done <- a.Kind; return nil }
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- q.Run(ctx, job.Work{Handlers: map[string]job.Handler{"weekly": note, "daily": note},
				Periodic: []job.Periodic{{Job: job.Job{Kind: "weekly"}, Every: 7 * 24 * time.Hour},
					{Job: job.Job{Kind: "daily"}, Every: 24 * time.Hour}}})
		}()
		for kind := ""; kind != "daily"; { // it is asked for after the other one
			select {
			case kind = <-done:
			case <-time.After(time.Minute):
				t.Fatalf("on day %d the daily job is not done", day)
			}
		}
		stop()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		if err := pool.QueryRow(t.Context(), `SELECT count(*) FROM river_job WHERE kind = 'weekly'`).Scan(&weekly); err != nil {
			t.Fatal(err)
		}
		if want := 1 + day/7; weekly != want {
			t.Fatalf("on day %d the weekly job was asked for %d times, want %d", day, weekly, want)
		}
		mu.Lock()
		now = now.Add(24 * time.Hour)
		mu.Unlock()
	}
}
