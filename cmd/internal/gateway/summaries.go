package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/gateway/job"
	"github.com/winnowhq/winnow/gateway/shared"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/store"
)

// summary is the kind of the jobs that write a summary before it is needed: one for each tenant,
// session and pivot.
const summary = "summary"

const (
	// summaryLimit: a long summary of a slow model takes about two minutes.
	summaryLimit = 4 * time.Minute
	// summaryAttempts: 1, 16 and 81 seconds lie between them.
	summaryAttempts = 4
	// summaryUntil: by then the fold has come, or the conversation rests.
	summaryUntil = 15 * time.Minute
)

// summaryOf is the job for a summary. Its key has no content: ids alone.
func summaryOf(tenant, session, pivot string, now time.Time) job.Job {
	key := url.PathEscape(tenant) + "/" + url.PathEscape(session) + "/" + url.PathEscape(pivot)
	return job.Job{Kind: summary, Key: key, Limit: summaryLimit, Attempts: summaryAttempts,
		Until: now.Add(summaryUntil)}
}

// summaryNamed is what the key of such a job names.
func summaryNamed(key string) (tenant, session, pivot string, ok bool) {
	var names [3]string
	fields := strings.Split(key, "/")
	if len(fields) != len(names) {
		return "", "", "", false
	}
	for i := range fields {
		var err error
		if names[i], err = url.PathUnescape(fields[i]); err != nil {
			return "", "", "", false
		}
	}
	return names[0], names[1], names[2], true
}

// prepares reports whether summaries of sessions in a store are written by jobs: in `winnow serve`,
// of sessions that are in the store with all that was said.
func (r *Relay) prepares(kept store.Store) bool { return r.failsOpen && !withholds(kept) }

// preparing asks for summaries of the sessions of a tenant. The engine of its runtime is asked at
// once, and beside the work, if there are no jobs; it stays until then.
func (r *Relay) preparing(m *tenantState, f *tenantRuntime) func(ctx context.Context, session, pivot string) {
	kept := m.store
	return func(ctx context.Context, session, pivot string) {
		if w := r.work.Load(); w != nil && r.prepares(kept) {
			w.summaryWanted(ctx, m.name, session, pivot)
			return
		}
		alone := job.Attempt{Number: 1, Job: job.Job{Kind: summary, Limit: summaryLimit}}
		m.hold(f)
		r.beside.Go(func() {
			defer m.leave(f)
			err := job.Try(r.closing, func(ctx context.Context, _ job.Attempt) error {
				return r.prepare(ctx, f.engine, session, m.charge)
			}, alone)
			if err != nil && r.closing.Err() == nil {
				r.log.Error("could not prepare a summary", "session", session, "error", err)
			}
		})
	}
}

// prepare has a summary written, and tells what it cost. That there is nothing to fold is no error.
func (r *Relay) prepare(ctx context.Context, engine *winnow.Engine, session string,
	spent func(float64, time.Time)) error {
	before, err := engine.Store().State(ctx, session)
	if err != nil {
		return err
	}
	failed := engine.Prepare(ctx, session)
	after, err := engine.Store().State(context.WithoutCancel(ctx), session)
	if err == nil {
		for _, s := range after.Spent[min(len(before.Spent), len(after.Spent)):] {
			if s.Kind == "summary" {
				spent(s.Cost, time.UnixMilli(int64(s.Time)))
			}
		}
	}
	if slices.Contains(nothingToPrepare, winnow.CodeOf(failed)) {
		return nil
	}
	return failed
}

// nothingToPrepare are the codes of errors that say that no summary is wanted, or can be had
// however often it is tried.
var nothingToPrepare = []rule.Code{winnow.NothingToFold, winnow.NoProgress, winnow.Stale, winnow.Disabled,
	winnow.NotFound}

// summaryWanted asks for a job. In a database the change that says that a summary is wanted has
// asked for it: see inTransaction.
func (w *Jobs) summaryWanted(ctx context.Context, tenant, session, pivot string) {
	queue := w.current()
	if _, is := queue.(shared.Queue); is {
		return
	}
	if err := queue.Add(ctx, summaryOf(tenant, session, pivot, w.relay.app.Env.Now())); err != nil {
		w.relay.log.Warn("nobody writes the summary of a conversation before it is needed", "session", session,
			"why", err)
	}
}

// inTransaction has the store of a relay or of its tenants ask for jobs in the transactions of the
// changes that need them.
func (r *Relay) inTransaction(kept store.Store) {
	r.app.Shared.OnWish(kept, func(tenant, session, pivot string) (job.Queue, job.Job) {
		w := r.work.Load()
		if w == nil {
			return nil, job.Job{}
		}
		return w.current(), summaryOf(tenant, session, pivot, r.app.Env.Now())
	})
}

// tenantOf is the tenant whose sessions are in a store, "" for that of a person.
func tenantOf(kept store.Store) string {
	if s, ok := kept.(shared.TenantStore); ok {
		return s.Name()
	}
	return ""
}

// summarize writes a summary that is wanted. It is done with if nobody wants it any more; one that
// nobody could write is asked for again when the fold must come, where the offline summariser takes
// the model's place: of all that there is then, and at no cost.
func (w *Jobs) summarize(ctx context.Context, a job.Attempt) error {
	tenant, session, pivot, ok := summaryNamed(a.Key)
	if !ok {
		return nil // of another version
	}
	engine, spent, leave, err := w.relay.engineOf(ctx, tenant)
	if err != nil {
		return fmt.Errorf("write a summary: %w", err)
	}
	if engine == nil {
		return nil // nothing is folded
	}
	defer leave()
	state, err := engine.Store().State(ctx, session)
	switch p := state.Prepared; {
	case errors.Is(err, store.ErrNotFound):
		return nil // it was deleted meanwhile
	case err != nil:
		return fmt.Errorf("write a summary: %w", err)
	case p == nil || p.Pivot != pivot || p.Written != "":
		return nil // it was folded meanwhile, or somebody has written it
	}
	if err := w.relay.prepare(ctx, engine, session, spent); err != nil {
		return fmt.Errorf("write a summary of %s: %w", session, err)
	}
	return nil
}

// engineOf is the engine of a tenant until leave, nil if nothing is decided about its sessions;
// spent is told what is spent on them. A tenant that was removed has none.
func (r *Relay) engineOf(ctx context.Context, of string) (
	engine *winnow.Engine, spent func(float64, time.Time), leave func(), err error) {
	if r.tenants != nil {
		if t, ok := r.tenants.known.Load().OfStore(of); ok {
			m, f, err := r.tenants.open(ctx, t)
			if err != nil {
				return nil, nil, nil, err
			}
			return m.engineUntil(f)
		}
	}
	if kept := r.kept(); kept == nil || tenantOf(kept) != of {
		return nil, nil, nil, nil
	}
	return r.engineUntil(r.enter())
}

// engineUntil is the engine of a runtime that was entered, which leave leaves; nil if nothing is
// decided, or said in the store.
func (m *tenantState) engineUntil(f *tenantRuntime) (
	engine *winnow.Engine, spent func(float64, time.Time), leave func(), err error) {
	if f.engine == nil || withholds(m.store) {
		m.leave(f)
		return nil, nil, nil, nil
	}
	return f.engine, m.charge, func() { m.leave(f) }, nil
}
