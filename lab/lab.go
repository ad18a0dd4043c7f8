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
	// Key stands for what is there now: it is another one once that changes. "" is what cannot be remembered.
	Key string
	// Size is about how many bytes it takes: not too many of them are loaded at once.
	Size int64
	// Load reads it. An error that is ErrNoSession is a file of another kind, which is passed over without a word.
	Load func(context.Context) (*Trace, error)
}

// ErrNoSession says that a source holds no session and was not said to.
var ErrNoSession = errors.New("there is no session in it")

// Lab replays many sessions under several setups.
type Lab struct {
	Setups  []Setup
	Options Options
	// MinSteps leaves out sessions that are shorter. Those in which nothing was asked of a model are always left out.
	MinSteps int
	// Jobs is how many replays run at a time, and how many sessions are held at most. 0: one for each processor.
	Jobs int
	// Bytes of sources that are held at a time; a larger one is held alone. 0: 64 MiB, of which traces take several times as much.
	Bytes int64
	// Memory of results; nil: none. It is the caller's to close.
	Memory *Memory
	// Progress is told after each session how many are done, by one goroutine at a time. It may be nil.
	Progress func(done, of int)

	// Baseline, Regrets and Prices are what the report is made with; see NewReport.
	Baseline string
	Regrets  float64
	Prices   string
}

// Run replays and reports. Sessions are in the order of their sources, whichever was done first. One that cannot be read, or that a replay stumbles
// over, is in the report's Skipped. The error is that of ctx: what was found out until then is in the memory.
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

// bench is a run on its way.
type bench struct {
	lab     *Lab
	options string   // fingerprint
	setups  []string // fingerprints
	work    *semaphore.Weighted
}

// key of what a source gave under a setup, "" for none that is remembered; setup is "" for what is known of the session itself.
func (b *bench) key(s *Source, setup string) string {
	if s.Key == "" {
		return ""
	}
	return fingerprint(s.Key, setup, b.options)
}

// recall reads what is known of the sources.
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

// session replays one under all setups, as far as the memory does not have it. What is left out without a word has a Skipped without a reason.
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

// safely does a piece of work when there is a processor for it. A panic is an error: one session that nobody thought of does not end the others.
func (b *bench) safely(ctx context.Context, work func() error) (err error) {
	if err := b.work.Acquire(ctx, 1); err != nil {
		return err
	}
	defer func() {
		b.work.Release(1)
		if p := recover(); p != nil {
			err = fmt.Errorf("the replay failed, which is a mistake in winnow: %v", p)
		}
	}()
	if err := ctx.Err(); err != nil {
		return err
	}
	return work()
}

// recorded is what a report says of a session beside its outcomes.
func (t *Trace) recorded(path string, o Options) Recorded {
	terms := o.terms(t.Model)
	rec := Recorded{ID: t.ID, Name: t.Name, Path: path, Product: t.Product, Model: t.Model.String(), Steps: t.Steps(), Tokens: t.Tokens(), Base: t.Base, Damaged: t.Damaged, Paid: t.Paid}
	if !terms.Relative {
		rec.Input = terms.Price.Input
	}
	return rec
}
