package stories

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/internal/soon"
	"github.com/winnowhq/winnow/plan/budget"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/memory"
)

// slow is a summariser that answers when it is told to.
type slow struct {
	mu      sync.Mutex
	asked   []pivot.Request
	begun   chan struct{} // one for each request that came in
	answers chan any      // pivot.Answer or error, one for each request
	deaf    bool          // it does not heed its context
}

func newSlow() *slow { return &slow{begun: make(chan struct{}, 16), answers: make(chan any, 16)} }

func (*slow) Name() string { return "p/scribe" }
func (*slow) Limit() int   { return 100_000 }

func (s *slow) Summarize(ctx context.Context, r pivot.Request) (pivot.Answer, error) {
	s.mu.Lock()
	s.asked = append(s.asked, r)
	s.mu.Unlock()
	s.begun <- struct{}{}
	done := ctx.Done()
	if s.deaf {
		done = nil
	}
	select {
	case a := <-s.answers:
		if err, failed := a.(error); failed {
			return pivot.Answer{Usage: session.Usage{Input: 10}, Cost: 0.5}, err
		}
		return a.(pivot.Answer), nil
	case <-time.After(3 * time.Second):
		return pivot.Answer{}, errors.New("the test did not say what it answers")
	case <-done:
		return pivot.Answer{Usage: session.Usage{Input: 10}, Cost: 0.125}, ctx.Err()
	}
}

func (s *slow) times() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.asked)
}

// ahead is a lab whose session a summary is prepared for.
type ahead struct {
	*lab
	scribe *slow
	done   chan error
	cancel context.CancelFunc
}

// prepare fills a session and begins to prepare a summary of it.
func prepare(t *testing.T, change func(c *winnow.Config)) *ahead {
	t.Helper()
	a := &ahead{scribe: newSlow(), done: make(chan error, 1)}
	c := winnow.Config{Summarizer: a.scribe, Settings: withPolicy("balanced")}
	c.Settings.Compaction.Prune = false // so that nothing but a fold helps
	if change != nil {
		change(&c)
	}
	a.lab = newLab(t, c)
	a.worked(9, 900)
	a.begin()
	return a
}

func (a *ahead) begin() {
	a.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	a.cancel = cancel
	a.t.Cleanup(cancel)
	go func() { a.done <- a.Prepare(ctx, a.id) }()
	select {
	case <-a.scribe.begun:
	case <-time.After(10 * time.Second):
		a.t.Fatal("nobody was asked")
	}
}

// written lets the summary be written, and waits for it.
func (a *ahead) written() {
	a.t.Helper()
	a.scribe.answers <- notes("The lamps are counted.")
	if err := <-a.done; err != nil {
		a.t.Fatal(err)
	}
}

func (a *ahead) state() ([]session.Message, store.State) {
	a.t.Helper()
	s, state, err := a.Session(context.Background(), a.id)
	if err != nil {
		a.t.Fatal(err)
	}
	return s.Messages, state
}

// over is a report of a prompt that was the view, which is too large.
func (a *ahead) over() session.Usage {
	u := session.Usage{Input: a.view().Tokens}
	if u.Input < 8_000 {
		a.t.Fatalf("the view has only %d tokens", u.Input)
	}
	return u
}

// bill asserts how many summaries were paid, for how much, and how many of them in vain.
func (a *ahead) bill(calls, vain int, cost float64) {
	a.t.Helper()
	_, state := a.state()
	n, failed, sum := 0, 0, 0.0
	for _, s := range state.Spent {
		if s.Kind != "summary" {
			continue
		}
		n, sum = n+1, sum+s.Cost
		if s.Failed {
			failed++
		}
	}
	if n != calls || failed != vain || sum != cost {
		a.t.Errorf("%d summaries are recorded for $%g, %d of them in vain; want %d for $%g, %d", n, sum, failed, calls,
			cost, vain)
	}
}

func TestPublish_aPreparedSummaryCountsAtABoundaryWhileTheWorkWentOn(t *testing.T) {
	for _, policy := range []string{"balanced", "classic"} {
		t.Run(policy, func(t *testing.T) {
			a := prepare(t, func(c *winnow.Config) { c.Settings.Policy = policy })
			before := a.view().Messages
			if r, err := a.Publish(context.Background(), a.id); r != nil || err != nil {
				t.Fatalf("published before it was written: %v, %v", r, err)
			}
			first := a.user("And the ninth?")
			a.reads("/src/ninth.go", 300)
			if _, state := a.state(); len(state.Spent) != 0 || len(state.Receipts) != 0 {
				t.Errorf("while it is written the store has %d calls, %d receipts", len(state.Spent),
					len(state.Receipts))
			}
			a.written()
			last := a.reads("/src/tenth.go", 300)
			with := a.view().Messages
			r, err := a.Publish(context.Background(), a.id)
			if err != nil || r == nil {
				t.Fatalf("nothing was published: %v", err)
			}
			if r.Trigger != "background" || r.Kind != pivot.Compaction || r.Cost != 0.25 || len(r.Usage) != 1 {
				t.Errorf("the receipt: %+v", r)
			}
			a.bill(1, 0, 0.25)
			view := a.view().Messages
			tail := view[len(view)-3:]
			if tail[0].ID != first.ID || tail[2].ID != last.ID {
				t.Errorf("behind the summary: %v", pivot.Transcript(tail))
			}
			if !strings.Contains(a.text(), "The lamps are counted.") || len(view) >= len(before) {
				t.Errorf("the view has %d messages of %d", len(view), len(before))
			}
			if a.scribe.times() != 1 {
				t.Errorf("%d summaries were asked for", a.scribe.times())
			}
			if _, err := a.Undo(context.Background(), a.id, r.Marker); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(with, a.view().Messages); diff != "" {
				t.Errorf("undone it is (+), and was (−):\n%s", diff)
			}
			if again, err := a.Publish(context.Background(), a.id); again != nil || err != nil {
				t.Errorf("it was published twice: %v, %v", again, err)
			}
		})
	}
}

func TestPublish_whatDoesNotFitAnyMoreIsDropped(t *testing.T) {
	ctx := context.Background()
	for name, change := range map[string]func(a *ahead){
		"a message of the fold was changed": func(a *ahead) {
			log, _ := a.state()
			m := log[1]
			m.Parts = append([]session.Part(nil), m.Parts...)
			s := *m.Parts[0].State
			s.Output = "something else"
			m.Parts[0].State = &s
			if err := a.Update(ctx, a.id, m); err != nil {
				a.t.Fatal(err)
			}
		},
		"what came since is too large": func(a *ahead) {
			a.reads("/src/huge.go", 12000)
			a.reads("/src/huge2.go", 12000)
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := prepare(t, nil)
			a.written()
			change(a)
			log, _ := a.state()
			r, err := a.Publish(ctx, a.id)
			if code := winnow.CodeOf(err); r != nil || code != winnow.Stale && code != winnow.NoProgress {
				t.Errorf("%v, %v; want that it does not fit", r, err)
			}
			a.bill(1, 1, 0.25)
			if after, _ := a.state(); len(after) != len(log) {
				t.Errorf("the log has %d messages, had %d", len(after), len(log))
			}
			if r, err := a.Publish(ctx, a.id); r != nil || err != nil {
				t.Errorf("it is still at hand: %v, %v", r, err)
			}
		})
	}
}

func TestPublish_whatWasShownWholeAgainIsNotInTheSummary(t *testing.T) {
	ctx := context.Background()
	for _, pinned := range []bool{false, true} {
		t.Run(fmt.Sprint("pinned ", pinned), func(t *testing.T) {
			a := &ahead{scribe: newSlow(), done: make(chan error, 1)}
			a.lab = newLab(t, winnow.Config{Models: small(64000, 4000), Summarizer: a.scribe})
			a.worked(1, 100)
			// An output that two newer reads of the same file show again.
			old := a.reads("/src/file0.go", 900)
			a.worked(6, 900)
			if _, err := a.Discard(ctx, a.id, old.Parts[0].ID); err != nil {
				t.Fatal(err)
			}
			a.begin()
			a.written()
			var err error
			if pinned {
				_, err = a.Pin(ctx, a.id, rule.Pin{Part: old.Parts[0].ID})
			} else {
				_, err = a.Restore(ctx, a.id, old.Parts[0].ID)
			}
			if err != nil {
				t.Fatal(err)
			}
			r, err := a.Publish(ctx, a.id)
			if got := winnow.CodeOf(err); got != map[bool]rule.Code{false: winnow.Stale, true: ""}[pinned] {
				t.Fatalf("%v, %v", r, err)
			}
			if pinned && !strings.Contains(a.text(), "wordwordword") {
				t.Error("the pin is not carried over")
			}
		})
	}
}

// Exactly one summary is paid for and read, whatever comes first.
func TestCompact_usesWhatIsBeingPrepared(t *testing.T) {
	ctx := context.Background()
	for name, c := range map[string]struct {
		trigger string
		fold    func(a *ahead) (*pivot.Receipt, error)
	}{
		"the threshold": {"threshold", func(a *ahead) (*pivot.Receipt, error) {
			out, err := a.Observe(ctx, a.id, a.over())
			return out.Compacted, err
		}},
		"a rejection": {"rejected", func(a *ahead) (*pivot.Receipt, error) {
			out, _, err := a.Rejected(ctx, a.id, budget.Rejection{Code: "context_length_exceeded"})
			return out.Compacted, err
		}},
		"somebody": {"manual", func(a *ahead) (*pivot.Receipt, error) {
			return a.Compact(ctx, a.id, winnow.CompactOptions{})
		}},
		"a marker": {"manual", func(a *ahead) (*pivot.Receipt, error) {
			if _, err := a.Schedule(ctx, a.id, true); err != nil {
				a.t.Fatal(err)
			}
			return a.Compact(ctx, a.id, winnow.CompactOptions{})
		}},
	} {
		for _, ready := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s comes first, written before: %t", name, ready), func(t *testing.T) {
				a := prepare(t, nil)
				a.reads("/src/ninth.go", 200)
				if ready {
					a.written()
				}
				type folded struct {
					r   *pivot.Receipt
					err error
				}
				got := make(chan folded, 1)
				go func() {
					r, err := c.fold(a)
					got <- folded{r, err}
				}()
				if !ready {
					select {
					case f := <-got:
						t.Fatalf("it did not wait: %v, %v", f.r, f.err)
					case <-time.After(20 * time.Millisecond):
					}
					a.written()
				}
				f := <-got
				if f.err != nil || f.r == nil {
					t.Fatalf("%v, %v", f.r, f.err)
				}
				if f.r.Trigger != c.trigger || f.r.Kind != pivot.Compaction {
					t.Errorf("a %s by %s", f.r.Kind, f.r.Trigger)
				}
				a.bill(1, 0, 0.25)
				if a.scribe.times() != 1 || !strings.Contains(a.text(), "The lamps are counted.") {
					t.Errorf("%d summaries were asked for; the view:\n%.300s", a.scribe.times(), a.text())
				}
				a.view() // it is checked
			})
		}
	}
}

func TestCompact_aFocusIsNotWhatWasPrepared(t *testing.T) {
	for _, ready := range []bool{true, false} {
		a := prepare(t, nil)
		if ready {
			a.written()
		}
		go func() {
			if !ready {
				<-a.done
			}
			<-a.scribe.begun
			a.scribe.answers <- notes("About the focus.")
		}()
		r, err := a.Compact(context.Background(), a.id, winnow.CompactOptions{Focus: "the lamp"})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(a.text(), "About the focus.") || r.Cost != 0.25 {
			t.Errorf("ready %t: %+v", ready, r)
		}
		a.bill(2, 1, map[bool]float64{true: 0.5, false: 0.375}[ready])
	}
}

func TestPrepare_aFailureIsPaidOnceAndTheFoldAsksAgain(t *testing.T) {
	ctx := context.Background()
	a := prepare(t, nil)
	events := a.Subscribe(0)
	a.scribe.answers <- errors.New("no")
	if err := <-a.done; winnow.CodeOf(err) != winnow.BadSummary {
		t.Errorf("the preparation: %v", err)
	}
	a.bill(1, 1, 0.5)
	if out, err := a.Observe(ctx, a.id, session.Usage{Input: 7_200}); err != nil || out.Prepare ||
		out.Compacted != nil {
		t.Errorf("after a failure: %+v, %v; want nothing before the fold must come", out, err)
	}
	a.scribe.answers <- notes("The lamps are counted.")
	out, err := a.Observe(ctx, a.id, a.over())
	if err != nil || out.Compacted == nil {
		t.Fatalf("%+v, %v", out, err)
	}
	a.bill(2, 1, 0.75)
	a.Close()
	var told []string
	for e := range events.C {
		switch e.Type {
		case winnow.CompactionStarted, winnow.CompactionFailed, winnow.Compacted:
			told = append(told, fmt.Sprint(e.Type, " ", e.Background))
		}
	}
	want := []string{"compaction.failed true", "compaction.started false", "session.compacted false"}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("events:\n%s", diff)
	}
}

func TestPrepare_endsWithItsContextWithin250ms(t *testing.T) {
	a := prepare(t, nil)
	stopped := soon.Start()
	a.cancel()
	if err := <-a.done; winnow.CodeOf(err) != winnow.Cancelled {
		t.Errorf("the error is %v", err)
	}
	if d := stopped.Took(); d > 250*time.Millisecond {
		t.Errorf("it took %v", d)
	}
	a.bill(1, 1, 0.125)
	if r, err := a.Publish(context.Background(), a.id); r != nil || err != nil {
		t.Errorf("%v, %v", r, err)
	}
}

func TestCompact_thatWaitsForAPreparationEndsWithItsContext(t *testing.T) {
	a := prepare(t, nil)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	began := soon.Start()
	if _, err := a.Compact(ctx, a.id, winnow.CompactOptions{}); winnow.CodeOf(err) != winnow.Cancelled ||
		began.Took() > 270*time.Millisecond {
		t.Errorf("after %v: %v", began.Took(), err)
	}
	a.written() // it goes on all the same
	if r, err := a.Publish(context.Background(), a.id); r == nil {
		t.Error(err)
	}
	a.bill(1, 0, 0.25)
}

// What is written already stays: it is in the store.
func TestClose_endsPreparationsAndRecordsWhatTheyCost(t *testing.T) {
	for _, ready := range []bool{true, false} {
		a := prepare(t, nil)
		if ready {
			a.written()
		}
		closed := soon.Start()
		a.Close()
		if d := closed.Took(); d > 250*time.Millisecond {
			t.Errorf("closing took %v", d)
		}
		a.bill(1, map[bool]int{true: 0, false: 1}[ready], map[bool]float64{true: 0.25, false: 0.125}[ready])
	}
}

func TestPrepare_onceAtATime(t *testing.T) {
	a := prepare(t, nil)
	for range 3 {
		if err := a.Prepare(context.Background(), a.id); err != nil {
			t.Error(err)
		}
	}
	if p, err := a.Preview(context.Background(), a.id, winnow.CompactOptions{}); err != nil || !p.Summary.Prepared {
		t.Errorf("the preview does not say that one is prepared: %+v, %v", p.Summary, err)
	}
	a.written()
	if err := a.Prepare(context.Background(), a.id); err != nil || a.scribe.times() != 1 {
		t.Errorf("%d were asked, %v", a.scribe.times(), err)
	}
}

// What was prepared outlives its engine: of all that open the store, whichever comes first makes it
// count, and nobody asks or pays for it again.
func TestPrepare_outlivesItsEngine(t *testing.T) {
	ctx := context.Background()
	for name, fold := range map[string]func(e *engine, id string) (*pivot.Receipt, error){
		"between two steps": func(e *engine, id string) (*pivot.Receipt, error) { return e.Publish(ctx, id) },
		"by a fold that must come": func(e *engine, id string) (*pivot.Receipt, error) {
			return e.Compact(ctx, id, winnow.CompactOptions{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			kept := memory.New()
			a := prepare(t, func(c *winnow.Config) { c.Store = kept })
			a.written()
			others := []*engine{a.engine}
			for range 2 {
				scribe := newSlow()
				scribe.answers <- errors.New("nobody was to be asked")
				others = append(others,
					open(t, winnow.Config{Store: kept, Models: small(16000, 4000), Summarizer: scribe,
						Settings: a.config.Settings, Counter: a.config.Counter}))
			}
			if err := others[1].Prepare(ctx, a.id); err != nil {
				t.Errorf("it is there already: %v", err)
			}
			var receipts []*pivot.Receipt
			for _, e := range []*engine{others[2], others[1], others[0]} {
				attempt := fold
				if len(receipts) > 0 {
					attempt = func(e *engine, id string) (*pivot.Receipt, error) { return e.Publish(ctx, id) }
				}
				r, err := attempt(e, a.id)
				if err != nil && winnow.CodeOf(err) != winnow.Busy && winnow.CodeOf(err) != winnow.Stale {
					t.Fatal(err)
				}
				if r != nil {
					receipts = append(receipts, r)
				}
			}
			if len(receipts) != 1 || receipts[0].Cost != 0.25 || receipts[0].Kind != pivot.Compaction {
				t.Errorf("the receipts are %+v", receipts)
			}
			a.bill(1, 0, 0.25)
			if _, state := a.state(); state.Prepared != nil {
				t.Errorf("%+v is still prepared", state.Prepared)
			}
			if !strings.Contains(a.text(), "The lamps are counted.") {
				t.Errorf("the view is %.300s", a.text())
			}
		})
	}
}

// Many that want to make it count at the same moment do so once.
func TestPublish_onceByMany(t *testing.T) {
	kept := memory.New()
	a := prepare(t, func(c *winnow.Config) { c.Store = kept })
	a.written()
	var counted, work = make(chan *pivot.Receipt, 8), sync.WaitGroup{}
	for range cap(counted) {
		e := open(t, winnow.Config{Store: kept, Models: small(16000, 4000), Settings: a.config.Settings})
		work.Go(func() {
			r, err := e.Publish(context.Background(), a.id)
			if code := winnow.CodeOf(err); err != nil && code != winnow.Busy && code != winnow.Stale {
				t.Error(err)
			}
			if r != nil {
				counted <- r
			}
		})
	}
	work.Wait()
	if len(counted) != 1 {
		t.Errorf("it counts %d times", len(counted))
	}
	a.bill(1, 0, 0.25)
	a.view() // it is checked
}

// A summary behind a compaction that is taken back stands for nothing.
func TestPublish_behindWhatWasUndone(t *testing.T) {
	ctx := context.Background()
	a := prepare(t, nil)
	a.written()
	r, err := a.Publish(ctx, a.id)
	if err != nil {
		t.Fatal(err)
	}
	a.worked(9, 900)
	a.begin()
	a.written()
	if _, err := a.Undo(ctx, a.id, r.Marker); err != nil {
		t.Fatal(err)
	}
	if got, err := a.Publish(ctx, a.id); got != nil || winnow.CodeOf(err) != winnow.Stale {
		t.Errorf("%v, %v; want that it does not fit", got, err)
	}
	a.bill(2, 1, 0.5)
}

// With NoteWanted it stands in the store that a summary is wanted, once for a turn, until there is
// one, or somebody has failed to write it.
func TestObserve_notesThatASummaryIsWanted(t *testing.T) {
	ctx := context.Background()
	scribe := newSlow()
	l := newLab(t, winnow.Config{Settings: withPolicy("balanced"), Summarizer: scribe, NoteWanted: true})
	user := l.user("Look.")
	l.reads("/src/a.go", 5_000)
	l.reads("/src/b.go", 100)
	near := func() winnow.Outcome {
		t.Helper()
		out, err := l.Observe(ctx, l.id, session.Usage{Input: 7_000})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	prepared := func() *store.Prepared {
		t.Helper()
		_, state, err := l.Session(ctx, l.id)
		if err != nil {
			t.Fatal(err)
		}
		return state.Prepared
	}
	if out := near(); !out.Prepare || out.Pivot != "" {
		t.Fatalf("%+v; want that a summary is to be prepared", out)
	}
	if p := prepared(); p == nil || !p.Wanted() || p.Pivot != "" || p.Turn != user.ID || p.Asked == 0 {
		t.Errorf("the store says %+v", p)
	}
	if out := near(); out.Prepare {
		t.Error("it is wanted twice in a turn")
	}
	if out, err := open(t, winnow.Config{Store: l.Store(), Models: small(16000, 4000), Summarizer: scribe}).
		Observe(ctx, l.id, session.Usage{Input: 7_000}); err != nil || !out.Prepare {
		t.Errorf("after a restart it is not found again: %+v, %v", out, err)
	}
	scribe.answers <- errors.New("no")
	if err := l.Prepare(ctx, l.id); winnow.CodeOf(err) != winnow.BadSummary {
		t.Error(err)
	}
	if p := prepared(); p == nil || !p.Failed || p.Wanted() {
		t.Errorf("after a failure the store says %+v", p)
	}
	again := open(t, winnow.Config{Store: l.Store(), Models: small(16000, 4000), Summarizer: scribe})
	if out, err := again.Observe(ctx, l.id, session.Usage{Input: 7_000}); err != nil || out.Prepare {
		t.Errorf("it is asked for again in the turn: %+v, %v", out, err)
	}
	scribe.answers <- notes("The lamps are counted.")
	if err := l.Prepare(ctx, l.id); err != nil { // the queue tries again
		t.Error(err)
	}
	if p := prepared(); p == nil || p.Written == "" || p.Failed {
		t.Errorf("the store says %.200v", p)
	}
	if r, err := again.Compact(ctx, l.id, winnow.CompactOptions{}); err != nil || r.Kind != pivot.Compaction ||
		prepared() != nil {
		t.Errorf("%+v, %v; prepared is %+v", r, err, prepared())
	}
}

func TestObserve_saysWhenASummaryIsToBePrepared(t *testing.T) {
	if testing.Short() {
		t.Skip("it does one thing after the other: -short is for the race detector")
	}
	off, on := false, true
	// 16,000 tokens, of which 4,000 are the answer's and 4,000 are in reserve: 8,000 are usable.
	for name, c := range map[string]struct {
		policy     string
		auto       bool
		background *bool
		used, step int
		offline    bool
		want       bool
	}{
		"with much room":                         {"balanced", true, nil, 6_000, 100, false, false},
		"with less than 15 %":                    {"balanced", true, nil, 7_000, 100, false, true},
		"with less than two more steps take":     {"balanced", true, nil, 6_000, 1_000, false, true},
		"with more than two more steps take":     {"balanced", true, nil, 5_800, 1_000, false, false},
		"with less than half of it free":         {"balanced", true, nil, 4_100, 2_500, false, true},
		"with more than half of it free":         {"balanced", true, nil, 3_800, 2_500, false, false},
		"when it is over already":                {"balanced", true, nil, 9_000, 100, false, false},
		"auto is off":                            {"balanced", false, nil, 7_000, 100, false, false},
		"background is off":                      {"balanced", true, &off, 7_000, 100, false, false},
		"the letter does not":                    {"classic", true, nil, 11_500, 100, false, false},
		"the letter, told to":                    {"classic", true, &on, 11_500, 100, false, true},
		"where the offline summariser writes it": {"balanced", true, nil, 7_000, 100, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := withPolicy(c.policy)
			s.Compaction.Auto, s.Compaction.Background = c.auto, c.background
			config := winnow.Config{Settings: s, Summarizer: newSlow()}
			if c.offline {
				config.Summarizer = nil
			}
			l := newLab(t, config)
			l.user("Look.")
			l.reads("/src/a.go", c.step)
			l.reads("/src/b.go", 10)
			out, err := l.Observe(context.Background(), l.id, session.Usage{Input: c.used})
			if code := winnow.CodeOf(err); code == winnow.NothingToFold || code == winnow.NoProgress {
				err = nil
			}
			if err != nil || out.Prepare != c.want {
				t.Errorf("%t, want %t (%v; %+v)", out.Prepare, c.want, err, out.Verdict)
			}
			if !c.auto {
				if err := l.Prepare(context.Background(), l.id); winnow.CodeOf(err) != winnow.Disabled {
					t.Errorf("asked to: %v", err)
				}
			}
		})
	}
}
