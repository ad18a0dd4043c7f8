package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/desk/config"
	"github.com/winnowhq/winnow/gateway/job"
	"github.com/winnowhq/winnow/gateway/serve"
	"github.com/winnowhq/winnow/gateway/tenant"
	"github.com/winnowhq/winnow/gateway/transport"
	"github.com/winnowhq/winnow/internal/pgtest"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/sqlite"
)

// noted is a queue that runs nothing.
type noted struct {
	added []job.Job
	work  job.Work
}

func (n *noted) Add(_ context.Context, j job.Job) error {
	n.added = append(n.added, j)
	return j.Check()
}

func (n *noted) Run(_ context.Context, w job.Work) error {
	n.work = w
	return w.Check()
}

// jobsOf are the jobs of a relay on a queue that runs nothing.
func jobsOf(t *testing.T, r *Relay, retention string) (*Jobs, *noted) {
	t.Helper()
	w, err := r.Jobs(t.Context(), func() string { return retention })
	if err != nil {
		t.Fatal(err)
	}
	queue := &noted{}
	w.queue = queue
	if err := w.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w, queue
}

func metricsOf(t *testing.T, r *Relay) string {
	t.Helper()
	h, err := serve.New(serve.Config{Upstreams: serve.Names(), Metrics: r.metrics})
	if err != nil {
		t.Fatal(err)
	}
	answer := httptest.NewRecorder()
	ask := httptest.NewRequest("GET", "/metrics", nil)
	ask.Host = "127.0.0.1"
	h.ServeHTTP(answer, ask)
	text, _ := io.ReadAll(answer.Body)
	return string(text)
}

// Everything that is done beside requests is done again and again, each in its time.
func TestJobs_areDueAgain(t *testing.T) {
	r := opened(t, config.Default(), transport.Full)
	defer r.Close()
	w, queue := jobsOf(t, r, "30d")
	got := map[string]time.Duration{}
	for _, p := range queue.work.Periodic {
		got[p.Job.Kind] = p.Every
	}
	want := map[string]time.Duration{"expiry": 24 * time.Hour, "costs": 24 * time.Hour, "search_index": 5 * time.Minute, "store_check": 168 * time.Hour}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := w.Expire(t.Context()); err != nil || len(queue.added) != 1 || queue.added[0].Kind != "expiry" {
		t.Errorf("a changed retention asks for %+v, %v", queue.added, err)
	}
}

// The jobs do what they are for, and each attempt is counted by its outcome.
func TestJobs_doTheirWork(t *testing.T) {
	r := opened(t, config.Default(), transport.Full)
	defer r.Close()
	month := time.Now().Add(-31 * 24 * time.Hour).UnixMilli()
	for id, at := range map[string]int64{"live_old": month, "live_new": time.Now().UnixMilli()} {
		info := session.Info{ID: id, Time: session.Lifetime{Created: session.Millis(at), Updated: session.Millis(at)}}
		said := session.Message{MessageInfo: session.MessageInfo{ID: "m1", SessionID: id, Role: session.User},
			Parts: []session.Part{{ID: "p1", SessionID: id, MessageID: "m1", Type: session.TextPart, Text: "quince"}}}
		if _, err := r.store.Apply(t.Context(), id, store.Change{Create: &info, Append: []session.Message{said}}); err != nil {
			t.Fatal(err)
		}
	}
	_, queue := jobsOf(t, r, "30d")
	atFirst := metricsOf(t, r)
	for _, kind := range slices.Sorted(maps.Keys(queue.work.Handlers)) {
		for _, outcome := range []string{"done", "failed"} { // of the first failure an alert sees nothing otherwise
			if want := fmt.Sprintf("winnow_jobs_total{kind=%q,outcome=%q} 0\n", kind, outcome); !strings.Contains(atFirst, want) {
				t.Errorf("before the first job the metrics lack %s", want)
			}
		}
		if err := queue.work.Handlers[kind](t.Context(), job.Attempt{Job: job.Job{Kind: kind}}); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
	list, err := r.store.List(t.Context())
	if err != nil || len(list) != 1 || list[0].Info.ID != "live_new" {
		t.Errorf("after the expiry there are %+v, %v", list, err)
	}
	reading, err := sqlite.Open(t.Context(), sqlite.Config{Path: r.store.(*sqlite.Store).Path(), ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer reading.Close()
	found, err := reading.Search(t.Context(), store.Search{Words: "quince"})
	if err != nil || found.Total != 1 || found.Behind != 0 {
		t.Errorf("the index finds %d, %d are not in it, %v", found.Total, found.Behind, err)
	}
	ended, stop := context.WithCancel(t.Context())
	stop()
	for kind, h := range queue.work.Handlers {
		if kind == "summary" || kind == "costs" {
			continue // without a name and without tenants there is nothing to wait for
		}
		if err := h(ended, job.Attempt{Job: job.Job{Kind: kind}}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s ended with %v, want that its context has ended", kind, err)
		}
	}
	shown := metricsOf(t, r)
	for _, want := range []string{"winnow_store_problems 0", `winnow_jobs_total{kind="expiry",outcome="done"} 1`,
		`winnow_jobs_total{kind="search_index",outcome="done"} 1`, `winnow_jobs_total{kind="store_check",outcome="failed"} 1`} {
		if !strings.Contains(shown, want+"\n") {
			t.Errorf("the metrics lack %s:\n%s", want, shown)
		}
	}
}

// In mode off there is nothing to do, and that is no failure.
func TestJobs_needNoStore(t *testing.T) {
	r := opened(t, config.Default(), transport.Off)
	defer r.Close()
	_, queue := jobsOf(t, r, "30d")
	for kind, h := range queue.work.Handlers {
		if err := h(t.Context(), job.Attempt{Job: job.Job{Kind: kind}}); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// With gateway.searchIndex false the job drops the index, of each tenant too, and makes it again once
// it is wanted.
func TestJobs_keepNoIndex(t *testing.T) {
	for _, kind := range []string{"postgres", "sqlite"} {
		t.Run(kind, func(t *testing.T) {
			at := filepath.Join(t.TempDir(), "store.db")
			if kind == "postgres" {
				at = pgtest.Start(t)
			}
			r, w := replica(t, at, &scribe{}, "ann")
			anns, err := r.tenants.stores.Open(t.Context(), "ann")
			if err != nil {
				t.Fatal(err)
			}
			defer anns.Close()
			stores := []store.Store{r.store, anns}
			for _, kept := range stores {
				said := session.Message{MessageInfo: session.MessageInfo{ID: "m", Role: session.User},
					Parts: []session.Part{{ID: "p", Type: session.TextPart, Text: "quince"}}}
				if _, err := kept.Apply(t.Context(), "live_1", store.Change{Create: &session.Info{ID: "live_1"},
					Append: []session.Message{said}}); err != nil {
					t.Fatal(err)
				}
			}
			for _, keep := range []bool{true, false, true} {
				settings := r.now.settings
				settings.Gateway.SearchIndex = keep
				r.now.settings = settings
				if err := w.index(t.Context(), job.Attempt{}); err != nil {
					t.Fatal(err)
				}
				for i, kept := range stores {
					found, err := kept.(store.Searcher).Search(t.Context(), store.Search{Words: "quince"})
					if err != nil || found.Total != 1 || (found.Scan == nil) != keep {
						t.Errorf("store %d, an index %t: %+v, %v", i, keep, found, err)
					}
				}
			}
		})
	}
}

// damaged is a store in which something is wrong.
type damaged struct{ store.Store }

func (damaged) Check(context.Context) (store.Health, error) {
	return store.Health{Problems: []string{"page 7 is missing", "page 9 is missing"}}, nil
}

// Damage is told: in the log, and as a figure on which there can be an alert.
func TestJobs_tellOfDamage(t *testing.T) {
	r := opened(t, config.Default(), transport.Full)
	defer r.Close()
	var log bytes.Buffer
	r.log = slog.New(slog.NewTextHandler(&log, nil))
	r.store = damaged{r.store}
	_, queue := jobsOf(t, r, "")
	if err := queue.work.Handlers["store_check"](t.Context(), job.Attempt{}); err != nil {
		t.Fatal(err)
	}
	if shown := metricsOf(t, r); !strings.Contains(shown, "winnow_store_problems 2\n") || !strings.Contains(log.String(), "page 9 is missing") {
		t.Errorf("the log is %s, the metrics are\n%s", &log, shown)
	}
}

// A person who only wraps agents has no server that deletes what is old. In a database others may
// keep it for longer.
func TestExpire_ofAWrappedAgent(t *testing.T) {
	for kind, left := range map[string]int{"sqlite": 1, "postgres": 2} {
		t.Run(kind, func(t *testing.T) {
			at := filepath.Join(t.TempDir(), "store.db")
			if kind == "postgres" {
				at = pgtest.Start(t)
			}
			r, _ := replica(t, at, &scribe{})
			for _, days := range []int{10, 31} {
				old := session.Millis(time.Now().Add(time.Duration(-days) * 24 * time.Hour).UnixMilli())
				info := session.Info{ID: fmt.Sprintf("live_%d", days), Time: session.Lifetime{Created: old, Updated: old}}
				if _, err := r.store.Apply(t.Context(), info.ID, store.Change{Create: &info}); err != nil {
					t.Fatal(err)
				}
			}
			r.Expire()
			r.beside.Wait()
			if list, err := r.store.List(t.Context()); err != nil || len(list) != left {
				t.Errorf("%d sessions are left, want %d: %v", len(list), left, err)
			}
		})
	}
}

// Each tenant's conversations expire by the tenant's retention, or the gateway's if it has none, by
// a job of its own.
func TestJobs_expireByTheRetentionOfEachTenant(t *testing.T) {
	for _, kind := range []string{"postgres", "sqlite"} {
		t.Run(kind, func(t *testing.T) {
			at := filepath.Join(t.TempDir(), "store.db")
			if kind == "postgres" {
				at = pgtest.Start(t)
			}
			r, w := replica(t, at, &scribe{}, "ann", "bob", "eve")
			settings := r.now.settings
			settings.Gateway.Retention = "30d"
			r.now.settings = settings
			for name, days := range map[string]int{"ann": 7, "bob": 60} {
				_, err := r.tenants.book.Load().Set(t.Context(), "test", name, func(x *tenant.Tenant) error { x.Retention = days; return nil })
				if err != nil {
					t.Fatal(err)
				}
			}
			if _, err := r.tenants.look(t.Context(), true); err != nil {
				t.Fatal(err)
			}
			stores := map[string]store.Store{"": r.store}
			for _, name := range []string{"ann", "bob", "eve"} {
				kept, err := r.tenants.stores.Open(t.Context(), name)
				if err != nil {
					t.Fatal(err)
				}
				defer kept.Close()
				stores[name] = kept
			}
			for name, kept := range stores {
				for _, days := range []int{1, 10, 40, 80} {
					old := session.Millis(time.Now().Add(time.Duration(-days) * 24 * time.Hour).UnixMilli())
					info := session.Info{ID: fmt.Sprintf("live_%s%d", name, days), Time: session.Lifetime{Created: old, Updated: old}}
					if _, err := kept.Apply(t.Context(), info.ID, store.Change{Create: &info}); err != nil {
						t.Fatal(err)
					}
				}
			}
			w.retention = func() string { return "30d" }
			works(t, w)
			left := func() (all []string) {
				for _, kept := range stores {
					list, err := kept.List(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					for _, l := range list {
						all = append(all, strings.TrimPrefix(l.Info.ID, "live_"))
					}
				}
				slices.Sort(all)
				return all
			}
			want := []string{"1", "10", "ann1", "bob1", "bob10", "bob40", "eve1", "eve10"}
			until(t, "the expiry", func() bool { return len(left()) <= len(want) })
			if diff := cmp.Diff(want, left()); diff != "" {
				t.Errorf("what is left (-want +got):\n%s", diff)
			}
		})
	}
}
