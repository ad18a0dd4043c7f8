package lab

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
)

// Source is a session that can be loaded when its turn comes.
type Source struct {
	Path string // for people
	// Key identifies the present content: it changes when the content does. "" means that results
	// cannot be remembered.
	Key string
	// Size is its approximate size in bytes. It limits how many sources are loaded at once.
	Size int64
	// Load reads it. ErrNoSession marks a file of another kind, which is skipped silently.
	Load func(context.Context) (*Trace, error)
}

// ErrNoSession reports that a source holds no session, and that nobody claimed it does.
var ErrNoSession = errors.New("not a session")

// Lab replays many sessions under several setups.
type Lab struct {
	Setups  []Setup
	Options Options
	// MinSteps leaves out shorter sessions. Sessions without a model request are always left out.
	MinSteps int
	// Jobs limits how many replays run, and how many sessions are held, at a time. 0: one per
	// processor.
	Jobs int
	// Bytes limits the sources held at a time; a larger one is held alone. 0: 64 MiB. A trace takes
	// several times its size.
	Bytes int64
	// Memory keeps results; nil: no memory. The caller closes it.
	Memory *Memory
	// Progress is called after each session, by one goroutine at a time. It may be nil.
	Progress func(done, of int)

	// Baseline is the policy that ratios refer to, Regrets how many misses in 100 steps are
	// bearable, Prices the words for what is billed; see Report.
	Baseline string
	Regrets  float64
	Prices   string
}

// Run replays and reports. Sessions are in the order of their sources. One that cannot be read or
// replayed is in the report's Skipped. The only error is that of ctx; results up to then are in the
// memory.
func (l *Lab) Run(ctx context.Context, sources []Source) (Report, error) {
	jobs := l.Jobs
	if jobs <= 0 {
		jobs = runtime.GOMAXPROCS(0)
	}
	bytes := l.Bytes
	if bytes <= 0 {
		bytes = 64 << 20
	}
	b := &bench{lab: l, options: l.Options.fingerprint(), work: semaphore.NewWeighted(int64(jobs))}
	held := semaphore.NewWeighted(bytes)
	for _, s := range l.Setups {
		b.setups = append(b.setups, s.fingerprint())
	}
	b.recall(sources)

	type result struct {
		rec  Recorded
		skip *Skipped
	}
	results := make([]result, len(sources))
	var group errgroup.Group
	group.SetLimit(jobs)
	var mu sync.Mutex
	done := 0
	for i := range sources {
		size := min(sources[i].Size, bytes) // a larger source waits until nothing else is held
		if held.Acquire(ctx, size) != nil {
			break
		}
		group.Go(func() error {
			defer held.Release(size)
			results[i].rec, results[i].skip = b.session(ctx, &sources[i])
			mu.Lock()
			defer mu.Unlock()
			if done++; l.Progress != nil {
				l.Progress(done, len(sources))
			}
			return nil
		})
	}
	_ = group.Wait() // what failed is in the results
	if err := ctx.Err(); err != nil {
		return Report{}, err
	}
	var sessions []Recorded
	var skipped []Skipped
	for _, r := range results {
		switch {
		case r.skip != nil && r.skip.Why != "":
			skipped = append(skipped, *r.skip)
		case r.skip == nil:
			sessions = append(sessions, r.rec)
		}
	}
	return l.report(sessions, skipped), nil
}

// bench is a Lab while it runs.
type bench struct {
	lab     *Lab
	options string   // fingerprint
	setups  []string // fingerprints
	work    *semaphore.Weighted
}

// key names the result of a source under a setup, or under "" what is known of the session itself.
// It is "" if results of the source cannot be remembered.
func (b *bench) key(s *Source, setup string) string {
	if s.Key == "" {
		return ""
	}
	return fingerprint(s.Key, setup, b.options)
}

// recall reads what the memory has of the sources.
func (b *bench) recall(sources []Source) {
	if b.lab.Memory == nil {
		return
	}
	wanted := make(map[string]bool, len(sources)*(1+len(b.setups)))
	for i := range sources {
		wanted[b.key(&sources[i], "")] = true
		for _, s := range b.setups {
			wanted[b.key(&sources[i], s)] = true
		}
	}
	delete(wanted, "")
	b.lab.Memory.recall(wanted)
}

// session replays one source under the setups that the memory does not have. A session that is left
// out silently has a Skipped without a reason.
func (b *bench) session(ctx context.Context, s *Source) (rec Recorded, skip *Skipped) {
	known := b.lab.Memory.get(b.key(s, ""), &rec)
	if known && rec.Steps < max(1, b.lab.MinSteps) {
		return rec, &Skipped{}
	}
	known = known && rec.Bound > 0 // it was too short the last time
	outcomes := make([]Outcome, len(b.setups))
	var missing []int
	for i, setup := range b.setups {
		if !known || !b.lab.Memory.get(b.key(s, setup), &outcomes[i]) {
			missing = append(missing, i)
		}
	}
	if len(missing) > 0 {
		var t *Trace
		err := b.safely(ctx, func() (err error) {
			if t, err = s.Load(ctx); err != nil {
				return err
			}
			bound := rec.Bound
			rec = t.recorded(s.Path, b.lab.Options)
			if rec.Bound = bound; !known && rec.Steps >= max(1, b.lab.MinSteps) {
				rec.Bound = Bound(t, b.lab.Options)
			}
			return nil
		})
		switch {
		case errors.Is(err, ErrNoSession):
			return rec, &Skipped{}
		case err != nil:
			return rec, &Skipped{s.Path, err.Error()}
		}
		if !known {
			b.lab.Memory.put(b.key(s, ""), rec)
		}
		if rec.Steps < max(1, b.lab.MinSteps) {
			return rec, &Skipped{}
		}
		if err := b.replay(ctx, t, s, missing, outcomes); err != nil {
			return rec, &Skipped{s.Path, err.Error()}
		}
	}
	for i := range outcomes {
		outcomes[i].Session, outcomes[i].Policy = rec.ID, b.lab.Setups[i].Name
	}
	rec.Path, rec.Outcomes = s.Path, outcomes
	return rec, nil
}

// replay runs the setups that are missing, several at a time.
func (b *bench) replay(ctx context.Context, t *Trace, s *Source, missing []int, outcomes []Outcome) error {
	var group errgroup.Group
	for _, i := range missing {
		setup := b.lab.Setups[i]
		group.Go(func() error {
			err := b.safely(ctx, func() (err error) {
				if outcomes[i], err = Run(ctx, t, setup, b.lab.Options); err == nil {
					b.lab.Memory.put(b.key(s, b.setups[i]), outcomes[i])
				}
				return err
			})
			if err != nil {
				return fmt.Errorf("under %s: %w", setup.Name, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// safely does a piece of work when a processor is free. A panic becomes an error: one bad session
// does not end the others.
func (b *bench) safely(ctx context.Context, work func() error) (err error) {
	if err := b.work.Acquire(ctx, 1); err != nil {
		return err
	}
	defer func() {
		b.work.Release(1)
		if p := recover(); p != nil {
			err = fmt.Errorf("the replay failed; this is a bug in winnow: %v", p)
		}
	}()
	if err := ctx.Err(); err != nil {
		return err
	}
	return work()
}

// recorded is what a report says about a session besides its outcomes.
func (t *Trace) recorded(path string, o Options) Recorded {
	terms := o.terms(t.Model, o.Hour)
	rec := Recorded{ID: t.ID, Name: t.Name, Path: path, Product: t.Product, Model: t.Model.String(), Steps: t.Steps(),
		Tokens: t.Tokens(), Base: t.Base, Damaged: t.Damaged, Paid: t.Paid}
	if !terms.Relative {
		rec.Input = terms.Price.Input
	}
	return rec
}
