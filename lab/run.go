package lab

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/pivot"
	"github.com/winnowhq/winnow/policy"
	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/schedule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/view"
)

// Asked is how many tokens a request for something that was needed again produces.
const Asked = 120

// Setup is a policy as it is replayed.
type Setup struct {
	Name   string
	Policy policy.Policy
	// Window replaces the model's limits where it is not 0; Unlimited takes them away.
	Window int
	// Group joins the policies of a sweep, "" for one by itself.
	Group string
	// Settings are what makes the engine do this, where all else is at its default: keys of the configuration, values as JSON. nil for what it cannot
	// do, which is compared and never recommended.
	Settings map[string]string
}

// Unlimited as a Setup's Window is a model that takes everything.
const Unlimited = -1

// output is what a model may answer at most where only the window is chosen, in tokens.
const output = 32_000

// Options of a replay.
type Options struct {
	// Terms are what is billed; nil: those of the session's model.
	Terms *Terms
	// Hour takes the hour's cache of the model's terms.
	Hour bool
	// Uncached is a provider without a cache: each prompt is paid in full.
	Uncached bool
	// Idle is how long each turn waits for the user in a log without a clock.
	Idle time.Duration
	// Detail fills in Events, Curve and Sizes.
	Detail bool
	// Summarizer writes the summaries; it must answer the same each time.
	Summarizer pivot.Summarizer
}

// Run replays a session under a policy. The error is the summariser's or of ctx.
func Run(ctx context.Context, t *Trace, s Setup, o Options) (Outcome, error) {
	r := newRun(ctx, t, s, o)
	for k := range t.steps {
		if err := ctx.Err(); err != nil {
			return r.out, err
		}
		r.begin(k)
		r.send(k)
		if err := r.end(k); err != nil {
			return r.out, fmt.Errorf("%s, step %d: %w", t.Name, k+1, err)
		}
	}
	return r.out, nil
}

// run is a replay on its way.
type run struct {
	ctx   context.Context
	trace *Trace
	setup Setup
	opts  Options
	terms Terms
	model model.Model
	out   Outcome

	// What the engine would have at hand.
	log     []session.Message // as far as it has come, with markers and summaries
	next    int               // of the trace's log
	window  []session.Message
	ledger  rule.Ledger
	facts   *rule.Facts
	handles rule.Handles
	tries   int
	account schedule.Account

	// prompt is the window as it is sent: each message's size, and what was fetched again before it.
	layout layout
	sent   int // tokens of the last request, with what was fetched again; 0 when the cache has nothing
	kept   int // of them before the first position that changed since
	hit    int // of them read from the cache

	hidden  []bool // by item
	hides   int
	visible map[int32]bool   // grams that stand in summaries and placeholders
	fetched map[int32]string // items that were fetched again and stand in the window since, and the message behind which they do
	ids     int
}

func newRun(ctx context.Context, t *Trace, s Setup, o Options) *run {
	r := &run{ctx: ctx, trace: t, setup: s, opts: o, model: t.Model, facts: rule.NewFacts(t.counter), hidden: make([]bool, len(t.items)), visible: map[int32]bool{}, fetched: map[int32]string{}}
	switch {
	case s.Window > 0:
		r.model.Limits = model.Limits{Context: s.Window, Output: min(output, s.Window/4)}
	case s.Window == Unlimited:
		r.model.Limits = model.Limits{}
	}
	r.terms = o.terms(t.Model)
	r.model.Price, r.model.Cache.Lifetime, r.model.Cache.MinPrefix = r.terms.Price, r.terms.Lifetime, r.terms.MinPrefix
	r.out = Outcome{Session: t.ID, Policy: s.Name, Steps: len(t.steps)}
	return r
}

// begin brings the log up to the request of step k, and lets the policy act before it is sent.
func (r *run) begin(k int) {
	for r.next < r.trace.steps[k].message {
		r.append(r.trace.log[r.next])
		r.next++
	}
	cold := k == 0 || r.terms.Lifetime <= 0 || r.trace.idle(k, r.opts.Idle) > r.terms.Lifetime
	if cold {
		r.sent, r.kept = 0, 0
		if k > 0 && r.terms.Lifetime > 0 {
			r.out.Cold++
			r.note(Event{Step: k, Kind: Idle})
		}
	}
	d := r.setup.Policy.Plan(r.state(), policy.Occasion{Starting: true, Cold: cold && r.terms.Lifetime > 0})
	r.commit(k, d.Commit)
}

// send bills the request of step k, and what it needed.
func (r *run) send(k int) {
	s := &r.trace.steps[k]
	prompt := r.trace.Base + r.layout.total()
	read, write, output := r.terms.at(prompt)
	cached := min(r.kept, prompt)
	if cached < r.terms.MinPrefix {
		cached = 0
	}
	r.out.Bill.Read += float64(cached) * read
	r.out.Bill.Write += float64(prompt-cached) * write
	r.out.Bill.Output += float64(s.output) * output
	r.out.Tokens.Sent += prompt
	r.out.Tokens.Cached += cached
	r.out.Tokens.Output += s.output
	r.out.Tokens.Largest = max(r.out.Tokens.Largest, prompt)
	if w := r.model.Limits.Context; w > 0 && prompt > w {
		r.out.Over++
	}
	r.account.Steps++
	r.account.SinceCommit++
	r.account.SincePivot++
	r.account.Carried += r.layout.total()
	r.account.Bill += r.inputs(float64(cached)*read + float64(prompt-cached)*write + float64(s.output)*output)
	r.sent, r.kept, r.hit = prompt, prompt, cached

	needed := r.needed(k)
	if len(needed) > 0 {
		r.out.Needy++
	}
	for _, at := range needed {
		x := &r.trace.items[at]
		cost := float64(prompt)*read + Asked*output + float64(x.tokens)*write
		r.out.Bill.Regret += cost
		r.out.Tokens.Sent += prompt + x.tokens
		r.out.Tokens.Cached += prompt
		r.out.Tokens.Output += Asked
		r.out.Regrets++
		r.hidden[at] = false
		r.hides--
		r.layout.fetch(x.tokens)
		r.fetched[at] = r.window[len(r.window)-1].ID
		r.sent += x.tokens
		r.kept += x.tokens
		r.note(Event{Step: k, Kind: Regretted, N: 1, Tokens: x.tokens, Cost: cost, Parts: []string{x.part}})
	}
	if r.opts.Detail {
		r.out.Curve = append(r.out.Curve, r.out.Bill.Total())
		r.out.Sizes = append(r.out.Sizes, prompt)
	}
}

// inputs is a cost in tokens at the input price.
func (r *run) inputs(cost float64) float64 {
	if in := r.terms.Price.Input; in > 0 {
		return cost * 1e6 / in
	}
	return 0
}

// needed are the hidden items that step k quotes, if it quotes enough of what is hidden: of each quotation the newest.
func (r *run) needed(k int) []int32 {
	if r.hides == 0 {
		return nil
	}
	q := &r.trace.quotes
	var items []int32
	n := 0
	for _, need := range q.needs[k] {
		if r.visible[need.gram] || !r.allHidden(need.newest) {
			continue
		}
		n++
		if at := q.chain[need.newest].item; !slices.Contains(items, at) {
			items = append(items, at)
		}
	}
	if n < Quotations {
		return nil
	}
	slices.Sort(items)
	return items
}

func (r *run) allHidden(at int32) bool {
	for ; at >= 0; at = r.trace.quotes.chain[at].before {
		if !r.hidden[r.trace.quotes.chain[at].item] {
			return false
		}
	}
	return true
}

// end appends what step k produced and lets the policy act on it.
func (r *run) end(k int) error {
	s := &r.trace.steps[k]
	prompt := r.sent
	r.append(r.trace.log[r.next])
	r.next++
	m := &r.log[len(r.log)-1]
	pending := 0
	for j := range m.Parts {
		size := r.facts.Size(&m.Parts[j])
		pending += size.Output + size.Files
	}
	usage := session.Usage{Output: s.output}
	usage.Cache.Read, usage.Cache.Write = r.hit, prompt-r.hit
	d := r.setup.Policy.Plan(r.state(), policy.Occasion{StepEnded: true, GoesOn: s.calls, Usage: usage, Pending: pending})
	r.commit(k+1, d.Commit)
	if !d.Verdict.Overflow || !r.setup.Policy.Budget.Check(r.model, usage, 0).Overflow {
		r.tries = 0
	}
	if d.Fold {
		if r.tries++; r.tries <= 2 {
			folds := r.out.Folds
			if err := r.fold(k + 1); err != nil {
				return err
			}
			if d.Pays && r.out.Folds == folds {
				r.account.SincePivot, r.account.Carried = 0, 0 // it waits until as much was paid again
			}
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
		r.tries = 0 // a new turn has its own
	}
	r.log = append(r.log, m)
	r.window = append(r.window, m)
	r.layout.add(view.Message(&m, r.ledger, r.facts), m.ID)
}

// state is what the planner is told.
func (r *run) state() policy.State {
	r.handles.Name(r.log)
	account := r.account
	account.Sent = max(0, r.kept-r.trace.Base)
	account.Base = r.trace.Base
	account.Before = r.before
	account.Size = r.layout.total()
	return policy.State{
		Log: r.log, Window: r.window, Ledger: r.ledger, Facts: r.facts, Model: r.model, Handles: &r.handles, Shown: r.layout.total(), Account: account,
	}
}

// before is how many tokens of the messages stand before an elision's field.
func (r *run) before(e rule.Elision) int {
	at, ok := r.layout.before(e.Message)
	if !ok {
		return r.layout.total() // it is not sent anyway
	}
	m := &r.window[r.layout.index(e.Message)]
	for j := range m.Parts {
		p := &m.Parts[j]
		size := view.Part(p, r.ledger, r.facts)
		if p.ID != e.Part {
			at += size.Total()
			continue
		}
		switch e.Field {
		case rule.Output, rule.Error:
			at += size.Input
		case rule.Attachments:
			at += size.Input + size.Output
		}
		break
	}
	return at
}

// commit applies elisions before step k.
func (r *run) commit(k int, elisions []rule.Elision) {
	if len(elisions) == 0 {
		return
	}
	first := r.layout.total()
	for _, e := range elisions {
		if r.layout.index(e.Message) >= 0 { // what lies before the pivot is not sent any more
			first = min(first, r.before(e))
		}
	}
	before := r.layout.total()
	had := r.kept
	r.kept = min(r.kept, r.trace.Base+first)
	r.ledger = r.ledger.With(elisions...)
	event := Event{Step: k, Kind: Committed, N: len(elisions)}
	for _, e := range elisions {
		r.hide(e)
		if r.opts.Detail {
			event.Parts = append(event.Parts, e.Part)
		}
	}
	r.measure(elisions)
	event.Tokens = before - r.layout.total()
	event.Rewritten = max(0, had-r.kept-event.Tokens)
	if r.out.Commits++; r.out.First == 0 {
		r.out.First = k
	}
	r.out.Elided += event.Tokens
	r.out.Rewritten += event.Rewritten
	r.account.Committed()
	r.note(event)
}

// hide marks the items of an elision, but for the words that its placeholder shows, and those that were fetched again.
func (r *run) hide(e rule.Elision) {
	at, ok := r.trace.parts[e.Part]
	if !ok {
		return
	}
	set := func(i int32) {
		if _, fetched := r.fetched[i]; i >= 0 && !r.hidden[i] && !fetched {
			r.hidden[i] = true
			r.hides++
		}
	}
	switch e.Field {
	case rule.Output, rule.Error:
		set(at.output)
	case rule.Input:
		set(at.input)
	case rule.Text:
		set(at.text)
	case rule.Whole:
		set(at.output)
		set(at.input)
		set(at.text)
	}
	r.show(e.Shown)
}

// show notes the words of a text that the engine put in the place of others.
func (r *run) show(text string) {
	for h := range grams(text) {
		if gram, known := r.trace.quotes.grams[h]; known {
			r.visible[gram] = true
		}
	}
}

// measure measures the messages of elisions anew.
func (r *run) measure(elisions []rule.Elision) {
	for _, e := range elisions {
		if i := r.layout.index(e.Message); i >= 0 {
			r.layout.set(i, view.Message(&r.window[i], r.ledger, r.facts))
		}
	}
}

func (r *run) note(e Event) {
	if r.opts.Detail {
		r.out.Events = append(r.out.Events, e)
	}
}
