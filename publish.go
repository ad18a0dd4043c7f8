package winnow

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/fold"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/summarize/ask"
	"github.com/winnowhq/winnow/summarize/offline"
)

// inBackground is the trigger of a compaction for which nothing had to wait.
const inBackground = "background"

// attempt is one attempt at a compaction. Each stage adds what it has decided.
type attempt struct {
	*fold.Plan
	repeats error // why the plan would only repeat the last fold, nil when it would not

	request pivot.Request
	// extends is what is folded as the conversation itself sent it last, and idle how long the
	// session was idle if that is longer than the provider's cache lives; only for Config.Prefix.
	extends []session.Message
	idle    time.Duration

	ahead    bool        // the summary is written before it is needed: see Prepare
	record   *ask.Record // of all attempts at this compaction
	answer   pivot.Answer
	struck   []pivot.Struck
	took     time.Duration   // to write it
	assumed  int             // tokens of a summary that was not asked for: see Preview
	prepared *store.Prepared // the summary was this before it was needed, and its cost is recorded

	trigger string
	began   time.Time
}

// fold is what of the options concerns a plan.
func (o CompactOptions) fold() fold.Options {
	return fold.Options{Auto: o.Auto, Rejected: o.Rejected, Focus: o.Focus, To: o.To, KeepSecrets: o.KeepSecrets}
}

// plan looks at the session and decides what to fold. Nothing is written. Beside NothingToFold
// there is an attempt that folds nothing.
func (e *Engine) plan(ctx context.Context, id string, o CompactOptions, retry bool) (*attempt, error) {
	l, err := e.lock(ctx, "compact", id)
	if err != nil {
		return nil, err
	}
	defer e.unlock(l)
	s := e.current(l)
	options := o.fold()
	options.Retry = retry
	a := &attempt{record: &ask.Record{}}
	if a.Plan, a.repeats, err = fold.New(s, options); a.repeats != nil {
		a.repeats = e.failed("compact", id, a.repeats)
	}
	if err != nil {
		return a, e.failed("compact", id, err)
	}
	a.request = a.Request(s)
	if e.config.Prefix != nil && !a.Settings.SummaryAlone {
		a.extends = l.view.Render(a.Window[:a.Cut.End], l.state.Ledger)
		if life := l.model.Cache.Lifetime; life > 0 {
			if idle := e.idle(l); idle > life {
				a.idle = idle.Round(time.Second)
			}
		}
	}
	return a, nil
}

// summary is what was written, with what it took.
func (a *attempt) summary() fold.Summary {
	return fold.Summary{Answer: a.answer, Struck: a.struck, Notes: a.record.Notes,
		Usages: a.record.Usages, Spent: a.record.Spent, Assumed: a.assumed, Prepared: a.prepared,
		Background: a.trigger == inBackground}
}

// published is what is stored of a publication, with its receipt.
func (e *Engine) published(s *report.Session, a *attempt, p *fold.Publication) (store.Change, *pivot.Receipt, error) {
	c, r, err := p.Change(s)
	if err != nil {
		return c, nil, e.failed("compact", a.ID, err)
	}
	now := e.config.Now()
	r.ID, r.Time, r.Trigger, r.Duration = e.ids.New("rcp", now), millis(now), a.trigger, now.Sub(a.began).Seconds()
	return c, r, nil
}

// publish makes marker, summary and companions visible in one transaction, with the elisions and
// the receipt.
func (e *Engine) publish(ctx context.Context, a *attempt) (*pivot.Receipt, error) {
	id := e.identity()
	var p *fold.Publication
	err := e.locked(ctx, "compact", a.ID, func(l *live) { p = fold.Publish(e.current(l), id, a.Plan, a.summary()) })
	if err != nil {
		return nil, err
	}
	p.Follow(func(summary session.Message) bool {
		return e.config.Hooks.Continue == nil || e.config.Hooks.Continue(ctx, a.ID, summary)
	})
	var receipt *pivot.Receipt
	err = e.change(ctx, "compact", a.ID, func(l *live) (c store.Change, err error) {
		if err := alone(ctx, "compact", a.ID); err != nil {
			return c, err
		}
		c, receipt, err = e.published(e.current(l), a, p)
		return c, err
	}, func(l *live) {
		l.forgetReport()
		l.turn.prepared = 4*receipt.TokensAfter > 3*receipt.TokensBefore // the rest hardly gets smaller
		if a.prepared == nil {
			e.emitSpent(a.ID, a.record.Spent)
		}
	})
	if err != nil {
		return nil, err
	}
	return receipt, nil
}

// asks reports whether summaries are something that one waits for: a model may be asked. The
// offline summariser's is there at once.
func (e *Engine) asks() bool {
	c := &e.config
	if c.Summarizer != nil {
		return c.Summarizer.Name() != offline.Name
	}
	return c.SummarizerFor != nil &&
		(c.Settings.Compaction.Summarizer != "offline" || len(c.Settings.SummaryModels()) > 0)
}

func (e *Engine) isPreparing(id string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.preparations[id] != nil
}

// pivot is the id of the marker that the window begins with, "" without one.
func (l *live) pivot() string {
	if summary := view.Pivot(l.look().Peek()); summary != nil {
		return summary.ParentID
	}
	return ""
}

func (e *Engine) compacted(r *pivot.Receipt) {
	e.emit(r.SessionID, Event{Type: Compacted, Receipt: r, Message: r.Marker, Background: r.Trigger == inBackground})
}

// recording is a context to write down what was paid for: who wants to stop does not wait long for
// another process to let go of the store.
func recording(ctx context.Context) (context.Context, context.CancelFunc) {
	if ctx.Err() != nil {
		return context.WithTimeout(context.WithoutCancel(ctx), stopping)
	}
	return context.WithCancel(context.WithoutCancel(ctx))
}

// unpublished records what a compaction that failed cost, and returns its error.
func (e *Engine) unpublished(ctx context.Context, id string, record *ask.Record, failed error) error {
	if len(record.Spent) == 0 {
		return failed
	}
	record.Waste()
	ctx, done := recording(ctx)
	defer done()
	err := e.change(ctx, "compact", id, func(*live) (store.Change, error) {
		return store.Change{Spend: record.Spent}, nil
	}, func(*live) { e.emitSpent(id, record.Spent) })
	return notRecorded(failed, err)
}

// notRecorded is an error, with that of writing down what it cost, nil if that was written.
func notRecorded(failed, err error) error {
	switch {
	case err == nil:
		return failed
	case reason(err) == reason(failed): // the store cannot be written: one error says why
		return fmt.Errorf("%w; nor is recorded what it cost", failed)
	}
	return errors.Join(failed, fmt.Errorf("what it cost is not recorded: %w", err))
}

// stopping is how long a compaction that was stopped may take to record what it cost: a machine
// under load needs more than the milliseconds of a commit, and what is not recorded is missing from
// the bill.
const stopping = 2 * time.Second
