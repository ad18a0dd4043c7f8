package lab

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/policy"
	"github.com/winnowhq/winnow/plan/recall"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/schedule"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
)

// Asked is how many tokens the model writes to ask for something again.
const Asked = 120

// Setup is a policy to replay.
type Setup struct {
	Name   string
	Policy policy.Policy
	// Window replaces the model's context limit, in tokens. 0 keeps it; Unlimited removes it.
	Window int
	// Group joins the policies of a sweep; "" for a single policy.
	Group string
	// Bearable is how many missed steps in 100 a choice among the policies of the sweep may cause,
	// with a choice for each; nil: what Lab.Regrets says. The first policy's counts.
	Bearable []float64
	// Settings are the configuration keys, with JSON values, that make the engine do this. nil if
	// it cannot: such a policy is compared and never recommended.
	Settings map[string]string
	// Foreign: its rules are not the engine's.
	Foreign bool
	// KeepWarm is how many requests at most keep the provider's cache during a pause, as the
	// gateway's keepWarm. 0: none.
	KeepWarm int
}

// Unlimited, as a Setup's Window, removes the model's limit.
const Unlimited = -1

// output is the longest answer, in tokens, when only the window is given.
const output = 32_000

// Options are the terms under which sessions are replayed.
type Options struct {
	// Terms are the prices; nil: those of the session's model.
	Terms *Terms
	// Hour bills the provider's one-hour cache.
	Hour bool
	// Uncached bills every prompt in full, as without a cache.
	Uncached bool
	// Idle is the pause before each turn in a log without times.
	Idle time.Duration
	// Unmissed takes nothing that was left out for missed: nothing is billed or carried again for
	// it, as where a recording is played again, which asks for nothing.
	Unmissed bool
	// Unsure is how long after its lifetime nobody takes a provider's cache for cold: nothing that
	// was sent is left out then, as the gateway does it.
	Unsure time.Duration
	// FoldsFirst lets a fold come before a request, too, as in the gateway where no model writes
	// summaries: at the moment when it is known whether the cache is cold.
	FoldsFirst bool
	// Logged bills each step for the cache that the usage in its log tells of: how long it lives
	// and what is written to it. A step whose log does not tell is billed as the one before it,
	// and without any by its model.
	Logged bool
	// Regions replays a policy that misses something a second time: there a miss brings back no
	// more of an item than the needed rows with Around lines on either side. See Outcome.Region.
	Regions bool
	// FreeSummaries bills nothing for summaries, as where winnow writes them without a model.
	FreeSummaries bool
	// Detail fills in Outcome's Events, Curve and Sizes.
	Detail bool
	// Summarizer writes the summaries. It must be deterministic.
	Summarizer pivot.Summarizer
}

// Run replays a session under a policy. The error is the summariser's or of ctx.
func Run(ctx context.Context, t *Trace, s Setup, o Options) (Outcome, error) {
	r := newRun(ctx, t, s, o)
	if err := r.from(0); err != nil || !o.Regions {
		return r.out, err
	}
	region := r.out
	if first := r.first; first != nil { // up to there the two are one
		first.regions = true
		if err := first.goOn(r.missedFirst); err != nil {
			return r.out, err
		}
		region = first.out
	}
	r.out.Region = &region
	return r.out, nil
}

// from replays the steps from step k on.
func (r *run) from(k int) error {
	for ; k < len(r.trace.steps); k++ {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		if err := r.begin(k); err != nil {
			return fmt.Errorf("%s, step %d: %w", r.trace.Name, k+1, err)
		}
		r.send(k)
		if err := r.end(k); err != nil {
			return fmt.Errorf("%s, step %d: %w", r.trace.Name, k+1, err)
		}
	}
	r.left()
	r.out.Needy, r.out.Regrets = r.out.MissedSteps, r.out.MissedItems
	r.out.Assumed = r.assumed()
	return nil
}

// goOn replays what is left when the request of step k was billed, but for what it missed.
func (r *run) goOn(k int) error {
	r.receive(k)
	if err := r.end(k); err != nil {
		return fmt.Errorf("%s, step %d: %w", r.trace.Name, k+1, err)
	}
	return r.from(k + 1)
}

// clone returns a copy that goes on by itself.
func (r *run) clone() *run {
	c := *r
	c.facts, c.handles = r.facts.Fork(), rule.Handles{}
	c.log, c.window, c.entries = slices.Clip(r.log), slices.Clip(r.window), slices.Clone(r.entries)
	c.out.Events, c.out.Curve, c.out.Sizes = slices.Clip(r.out.Events), slices.Clip(r.out.Curve),
		slices.Clip(r.out.Sizes)
	c.layout = r.layout.clone()
	c.hidden, c.removed, c.back = slices.Clone(r.hidden), slices.Clone(r.removed), slices.Clone(r.back)
	c.visible, c.fetched = maps.Clone(r.visible), maps.Clone(r.fetched)
	return &c
}

// run is a replay in progress.
type run struct {
	ctx   context.Context
	trace *Trace
	setup Setup
	opts  Options
	terms *Terms // of the present step
	rates []*Terms
	model model.Model
	out   Outcome
	engineState
	promptState
	hiddenItems
	regions bool // misses bring back regions only
	// first is the replay as it was when a step, missedFirst, missed something for the first time;
	// nil if nothing was missed or nobody wants to know.
	first       *run
	missedFirst int
	ids         int
	texts       *recall.Texts // of the folds so far
}

// engineState is what the engine would know.
type engineState struct {
	log     []session.Message // up to now, with markers and summaries
	next    int               // position in the trace's log
	window  []session.Message
	ledger  rule.Ledger
	facts   *rule.Facts
	handles rule.Handles
	tries   int
	account schedule.Account
	found   policy.Found // in log with ledger: forgotten when one of them changes
}

// promptState is what is sent, and what the cache has of it.
type promptState struct {
	layout layout
	sent   int // tokens of the last request, with what was fetched again; 0 if the cache is empty
	kept   int // how many of them are unchanged since
	hit    int // how many of them were read from the cache
	// usage is what the newest step reported, zero once less is shown of what it was sent; pending
	// is what came since.
	usage   session.Usage
	pending int
	// entries are the sizes of the beginnings of a prompt that the cache has: where requests ended.
	entries  []int
	pictured bool // an image or a document was sent
	// idle is how long nothing asked for the prompt before the step, not even to keep it in the cache.
	idle time.Duration
}

// hiddenItems is what is not sent, and what came back of it.
type hiddenItems struct {
	hidden  []bool // by item
	hides   int
	removed []bool           // by item: it was hidden once
	visible map[int32]int    // how many summaries and placeholders have a gram
	back    [][]piece        // by item, what came back of it
	fetched map[string]int32 // the items of parts that brought something back
}

func newRun(ctx context.Context, t *Trace, s Setup, o Options) *run {
	r := &run{ctx: ctx, trace: t, setup: s, opts: o, model: t.Model, rates: t.rates(o), texts: &recall.Texts{},
		engineState: engineState{facts: t.facts.Fork()},
		hiddenItems: hiddenItems{hidden: make([]bool, len(t.items)), removed: make([]bool, len(t.items)),
			back: make([][]piece, len(t.items)), visible: map[int32]int{}, fetched: map[string]int32{}}}
	switch {
	case s.Window > 0:
		r.model.Limits = model.Limits{Context: s.Window, Output: min(output, s.Window/4)}
	case s.Window == Unlimited:
		r.model.Limits = model.Limits{}
	}
	r.out = Outcome{Session: t.ID, Policy: s.Name, Steps: len(t.steps)}
	return r
}

// begin appends what came before the request of step k, and lets the policy act.
func (r *run) begin(k int) error {
	for r.next < r.trace.steps[k].message {
		r.append(r.trace.log[r.next])
		r.next++
	}
	cold := !r.warm(k)
	r.terms = r.rates[k]
	r.model.Price, r.model.Cache.Lifetime, r.model.Cache.MinPrefix = r.terms.Price, r.terms.Lifetime, r.terms.MinPrefix
	if cold {
		r.sent, r.kept, r.entries = 0, 0, nil
		if k > 0 && r.terms.Lifetime > 0 {
			r.out.Cold++
			r.account.Colds++
			r.note(Event{Step: k, Kind: Idle})
		}
	}
	o := policy.Occasion{Starting: true, Cold: cold && r.terms.Lifetime > 0, Held: r.unsure(k)}
	o.Folds = (r.opts.FoldsFirst || o.Cold) && !o.Held && !(r.model.BoundReasoning && r.inRound())
	d := r.starting(o)
	if o.Folds && d.Fold {
		if err := r.folds(k, d); err != nil {
			return err
		}
		o.Folds = false
		d = r.starting(o)
	}
	sent := r.account.SinceCommit
	r.commit(k, d.Commit)
	if d.First == len(d.Commit) {
		r.account.SinceCommit = sent // what was sent stays as it was
	}
	return nil
}

// starting is what the policy does before a request.
func (r *run) starting(o policy.Occasion) policy.Decision {
	o.Usage, o.Pending = r.usage, r.pending
	return r.setup.Policy.Plan(r.state(), o)
}

// inRound reports whether the newest message is an answer whose calls have ended.
func (r *run) inRound() bool { return len(r.log) > 0 && r.log[len(r.log)-1].Role == session.Assistant }

// folds folds before step k by a plan, unless two folds in a row did not help.
func (r *run) folds(k int, d policy.Decision) error {
	if r.tries++; r.tries > 2 {
		return nil
	}
	folds := r.out.Folds
	if err := r.fold(k); err != nil {
		return err
	}
	if d.Pays && r.out.Folds == folds {
		r.account.SincePivot, r.account.Carried = 0, 0 // wait until as much was paid again
	}
	return nil
}

// end appends what step k produced and lets the policy act on it.
func (r *run) end(k int) error {
	s := &r.trace.steps[k]
	prompt := r.sent
	r.append(r.trace.log[r.next])
	r.next++
	m := &r.log[len(r.log)-1]
	r.pending = 0
	for j := range m.Parts {
		size := r.facts.Size(&m.Parts[j])
		r.pending += size.Output + size.Files
	}
	usage := session.Usage{Output: s.output}
	usage.Cache.Read, usage.Cache.Write = r.hit, prompt-r.hit
	r.usage = usage
	d := r.setup.Policy.Plan(r.state(),
		policy.Occasion{StepEnded: true, GoesOn: s.calls, Usage: usage, Pending: r.pending})
	r.commit(k+1, d.Commit)
	if !d.Verdict.Overflow || !r.setup.Policy.Budget.Check(r.model, usage, 0).Overflow {
		r.tries = 0
	}
	if d.Fold {
		if err := r.folds(k+1, d); err != nil {
			return err
		}
	}
	if s.ends {
		d := r.setup.Policy.Plan(r.state(), policy.Occasion{TurnEnded: true})
		r.commit(k+1, d.Commit)
	}
	return nil
}

func (r *run) append(m session.Message) {
	if m.Written() {
		r.tries = 0 // each turn has its own attempts
	}
	if !r.pictured && shows(&m) { // a marked cache takes the whole conversation for another one then
		r.pictured = true
		r.entries = r.entries[:min(1, len(r.entries))]
	}
	r.found = policy.Found{}
	r.log = append(r.log, m)
	r.window = append(r.window, m)
	r.layout.add(view.Message(&m, r.ledger, r.facts), m.ID)
	r.pending += messageTokens(&m, r.facts)
}

// shows reports whether a message has an image or a document.
func shows(m *session.Message) bool {
	return slices.ContainsFunc(m.Parts, func(p session.Part) bool {
		return p.IsMedia() || p.State != nil && slices.ContainsFunc(p.State.Attachments,
			func(a session.Part) bool { return a.IsMedia() })
	})
}

// state is what the planner sees.
func (r *run) state() policy.State {
	r.handles.Name(r.log)
	account := r.account
	account.Sent = max(0, r.kept-r.trace.Base)
	account.Base = r.trace.Base
	account.Before = r.before
	account.Size = r.layout.total()
	account.Left = r.ledger.Len()
	return policy.State{
		Log: r.log, Window: r.window, Ledger: r.ledger, Facts: r.facts, Model: r.model, Handles: &r.handles,
		Shown: r.layout.total(), Account: account, Found: &r.found, Unexplained: true,
	}
}

func (r *run) note(e Event) {
	if r.opts.Detail {
		r.out.Events = append(r.out.Events, e)
	}
}
