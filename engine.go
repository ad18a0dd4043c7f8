package winnow

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/policy"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/cache"
	"github.com/winnowhq/winnow/store/fold"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/summarize/offline"
	"github.com/winnowhq/winnow/token"
)

// Engine keeps sessions: policy + store + summariser + events.
type Engine struct {
	config     Config
	policy     policy.Policy
	ids        session.IDs
	models     *model.Memo
	calibrated *token.Calibrated // nil when the counter is not to learn
	bus        bus
	waits      atomic.Int64 // changes that waited: see store.Reading

	mu           sync.Mutex
	live         map[string]*live
	agents       map[string]*policy.Policy // by agent: see policyOf
	cache        *cache.Pool               // that those at hand are in
	each         int                       // that one takes of it from the beginning; 0: its bytes
	preparations map[string]*preparation   // by session
	folds        map[string]int            // compactions that are being made, by session
}

// Open makes an engine. The error names what in the configuration cannot be.
func Open(c Config) (*Engine, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	e := &Engine{config: c, policy: c.Settings.NewPolicy(), models: c.Models.Memo(), live: map[string]*live{},
		preparations: map[string]*preparation{}, folds: map[string]int{}, agents: map[string]*policy.Policy{}}
	e.policy.After = c.After
	e.ids.Random = c.Random
	switch e.cache = c.Cache; {
	case e.cache != nil:
	case c.Memory > 0:
		e.cache = cache.NewPool(c.Memory)
	default:
		e.cache, e.each = cache.NewPool(maxLive), 1
	}
	if c.Settings.Counter == "auto" && !e.policy.Pivot.SummaryAlone {
		if e.calibrated = c.Calibrated; e.calibrated == nil {
			e.calibrated = token.NewCalibrated("auto", c.Counter)
		}
	}
	return e, nil
}

// Close ends the preparations, recording what they cost, and the subscriptions. The store is the
// caller's to close, after this.
func (e *Engine) Close() error {
	e.endPreparations()
	e.bus.close()
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, l := range e.live {
		l.memory.Drop()
	}
	clear(e.live)
	return nil
}

// Store is where the engine keeps its sessions.
func (e *Engine) Store() store.Store { return e.config.Store }

// Look reports on a session: see package report for what there is to look at, as in
//
//	r, err := winnow.Look(ctx, engine, id, report.Inspect)
//	x, err := winnow.Look(ctx, engine, id, report.Explain("k3f9a2"))
//
// Nothing is changed. The session is locked while it is looked at, so at must not use the engine.
func Look[T any](ctx context.Context, e *Engine, id string, at func(*report.Session) (T, error)) (T, error) {
	var nothing T
	var prefix *pivot.Prefix
	if e.config.Prefix != nil { // before the session is locked: it is the program's, and may ask the engine
		if begins, err := e.config.Prefix(ctx, id); err == nil {
			prefix = &pivot.Prefix{System: begins.System, Tools: begins.Tools}
		}
	}
	l, err := e.lock(ctx, "look", id)
	if err != nil {
		return nothing, err
	}
	defer e.unlock(l)
	s := e.session(l)
	s.Prefix, s.Refold = prefix, func() *rule.Refusal { return fold.Refused(s) }
	found, err := at(s)
	var missing *report.Missing
	if errors.As(err, &missing) {
		no := notFound(missing.Op, id, "")
		no.Err = missing
		return nothing, no
	}
	return found, err
}

// Preview is what Compact would do to a session as it stands. Token figures are of the rendered
// view, by the session's counter. What depends on a summary that a model has yet to write is an
// estimate: Summary says on what it rests.
type Preview struct {
	SessionID string `json:"sessionID"`
	// Kind is Compaction, or Pruning where folding would not make the view smaller and what can be
	// elided goes all the same.
	Kind     pivot.Kind `json:"kind"`
	Model    string     `json:"model"`           // who reads the session, "provider/model"
	Usable   int        `json:"usable,omitzero"` // the budget of the view; 0 is unlimited
	Overhead int        `json:"overhead"`        // what system prompt and tools take besides, as far as a report told

	MessagesBefore int `json:"messagesBefore"`
	MessagesAfter  int `json:"messagesAfter"`
	TokensBefore   int `json:"tokensBefore"`
	TokensAfter    int `json:"tokensAfter"`
	Saved          int `json:"saved"` // TokensBefore − TokensAfter

	fold.Extent

	// Committed are the elisions that would be committed with it; their time is that of the
	// preview.
	Committed []rule.Elision `json:"committed"`
	// Summary is what the summary would take, nil of a pruning.
	Summary *SummaryPreview `json:"summary,omitempty"`
	// Notes say what would be done to make the request fit, who cannot be asked, and what is not
	// foreseen.
	Notes []string `json:"notes"`
}

// SummaryPreview is who would write a summary, how long it is taken to be, and what it would cost.
type SummaryPreview struct {
	Summarizer string `json:"summarizer"` // "offline", or "provider/model"
	// Prepared: Compact would use, or wait for, the summary that is prepared in the background, if
	// it still fits. The rest is of a new one.
	Prepared bool `json:"prepared,omitzero"`
	// Tokens is its length, and Basis where that comes from: "written" (the offline summariser
	// wrote it, so that everything here is exact), "earlier" (as long as the newest summary of this
	// session by the same summariser), or "bound" (as long as it may be; most are shorter).
	Tokens int    `json:"tokens"`
	Basis  string `json:"basis"`
	// Calls is how many requests it takes, Prompt what they send, Cached what of it should be read
	// from the provider's cache, Output what they answer, reasoning not included.
	Calls  int `json:"calls"`
	Prompt int `json:"prompt"`
	Cached int `json:"cached"`
	Output int `json:"output"`
	// Cost in US dollars at the prices of the model. 0 of a model says that no price is known.
	Cost float64 `json:"cost"`
}

// Preview says what Compact would do now, without asking a model and without writing anything.
// Hooks.Compacting is not asked either: it may change what comes.
//
// Errors: those with which Compact would end without asking anybody (NothingToFold, NoProgress,
// BadConfig, NotFound).
func (e *Engine) Preview(ctx context.Context, id string, o CompactOptions) (Preview, error) {
	for _, retry := range []bool{false, true} {
		a, err := e.plan(ctx, id, o, retry)
		if err == nil && !retry {
			err = a.repeats
		}
		if err != nil && !a.prunesAfter(err) {
			return Preview{}, err
		}
		a.trigger, a.began = "manual", e.config.Now()
		if err != nil {
			return e.foreseePruning(ctx, a, "nothing would be folded: "+reason(err))
		}
		p, err := e.foresee(ctx, a)
		switch {
		case err == nil:
			return p, nil
		case tooLittle(err) && !retry && !e.policy.Pivot.SummaryAlone:
		case a.prunesAfter(err):
			return e.foreseePruning(ctx, a, "nothing would be folded: "+reason(err))
		default:
			return Preview{}, err
		}
	}
	panic("unreachable: the second attempt returns")
}

// foresee is the preview of one attempt.
func (e *Engine) foresee(ctx context.Context, a *attempt) (Preview, error) {
	written, err := e.foreseeSummary(ctx, a)
	if err != nil {
		return Preview{}, err
	}
	id := e.identity()
	l, err := e.lock(ctx, "preview", a.ID)
	if err != nil {
		return Preview{}, err
	}
	defer e.unlock(l)
	if written.Basis == "" {
		written.Tokens, written.Basis = l.summaryLike(written.Summarizer, a.request.Budget)
		a.assumed = written.Tokens
	}
	written.Output = max(written.Output, written.Tokens)
	if written.Summarizer != offline.Name {
		written.Cost = e.price(written)
	}
	s := e.current(l)
	publication := fold.Publish(s, id, a.Plan, a.summary())
	publication.Follow(func(session.Message) bool { return true })
	c, r, err := e.published(s, a, publication)
	if err != nil {
		return Preview{}, err
	}
	p := e.previewOf(r, l)
	p.Summary = &written
	p.Extent = fold.Extent{Folded: r.Folded, FoldedTokens: a.Replaces, Gone: r.Gone, Carried: r.Carried,
		Tail: r.Tail, TailTokens: l.tokens(a.Cut.Tail, l.state.Ledger.With(c.Commit...)),
		TailStart: r.TailStart, Split: a.Cut.Split}
	p.Notes = append(p.Notes, a.record.Notes...)
	if e.config.Hooks.Compacting != nil {
		p.Notes = append(p.Notes, "a hook has a say when it is compacted")
	}
	return p, nil
}

// foreseePruning is the preview where only elisions would be committed.
func (e *Engine) foreseePruning(ctx context.Context, a *attempt, notes ...string) (Preview, error) {
	l, err := e.lock(ctx, "preview", a.ID)
	if err != nil {
		return Preview{}, err
	}
	defer e.unlock(l)
	found := a.Elisions(e.current(l), millis(e.config.Now()))
	p := e.previewOf(e.pruningReceipt(l, found, millis(e.config.Now()), a.trigger), l)
	p.Notes = append(append(p.Notes, a.record.Notes...), notes...)
	return p, nil
}

func (e *Engine) previewOf(r *pivot.Receipt, l *live) Preview {
	return Preview{
		SessionID: r.SessionID, Kind: r.Kind, Model: l.model.String(), Usable: r.Usable, Overhead: l.overhead(),
		MessagesBefore: r.MessagesBefore, MessagesAfter: r.MessagesAfter,
		TokensBefore: r.TokensBefore, TokensAfter: r.TokensAfter, Saved: r.Saved,
		Extent: fold.Extent{Gone: map[string]int{}}, Notes: []string{},
		Committed: append([]rule.Elision{}, r.Committed...),
	}
}

// foreseeSummary says who would write and what that one would be sent. The offline summariser,
// which costs nothing, writes at once.
func (e *Engine) foreseeSummary(ctx context.Context, a *attempt) (SummaryPreview, error) {
	chosen, err := e.choose(a)
	if err != nil {
		return SummaryPreview{}, err
	}
	s := SummaryPreview{Summarizer: chosen.Name()}
	s.Prepared = a.Options.Focus == "" && (e.isPreparing(a.ID) || fold.Written(a.Plan.Prepared, a.Pivot()))
	if s.Summarizer == offline.Name {
		answer, err := chosen.Summarize(ctx, a.request)
		if err == nil {
			err = a.Valid(answer, e.factsFor(a.Model.String()), a.Replaces)
		}
		if ctx.Err() != nil {
			return s, e.failed("preview", a.ID, ctx.Err())
		}
		if err != nil {
			return s, e.failed("compact", a.ID, a.NoSummary(err, true))
		}
		a.answer, s.Basis, s.Tokens = answer, "written", e.factsFor(a.Model.String()).Count(answer.Text)
		return s, nil
	}
	if err := e.worthAsking(ctx, a); err != nil {
		return s, err
	}
	e.brief(a, chosen)
	e.align(ctx, a, chosen)
	facts := e.factsFor(s.Summarizer)
	pieces, ok := pivot.Fit(a.request, chosen.Limit(), facts)
	if !ok {
		a.record.Note(s.Summarizer + " takes too little for any of it")
		return s, nil
	}
	a.record.Note(pieces[0].Notes...)
	s.Calls = len(pieces)
	for i := range pieces {
		size := pieces[i].Tokens(facts)
		s.Prompt += size
		if p := pieces[i].Prefix; p != nil {
			s.Cached += max(0, size-facts.Count(pieces[i].Aligned()))
		}
		if i > 0 { // notes on the piece before it
			s.Output += a.request.Budget
		}
	}
	return s, nil
}

// summaryLike is how long a summary is taken to be: as the newest of the session by the same
// summariser, or else as long as it may be.
func (l *live) summaryLike(summarizer string, bound int) (tokens int, basis string) {
	for i := len(l.state.Receipts) - 1; i >= 0; i-- {
		r := &l.state.Receipts[i]
		if r.Summarizer != summarizer {
			continue
		}
		if at := session.Index(l.log, r.Summary); at >= 0 {
			return min(bound, l.facts.Count(pivot.PreviousText(&l.log[at]))), "earlier"
		}
	}
	return bound, "bound"
}

// price is what the calls would cost. Each is taken to have its share of the prompt, for prices may
// depend on its size.
func (e *Engine) price(s SummaryPreview) float64 {
	if s.Calls == 0 || !strings.Contains(s.Summarizer, "/") {
		return 0
	}
	n := s.Calls
	each, _ := e.offer(s.Summarizer).Cost(model.Usage{Input: (s.Prompt - s.Cached) / n, CacheRead: s.Cached / n,
		Output: s.Output / n})
	return float64(n) * each
}

// View is what the model is to be sent.
type View struct {
	// Messages are of the same types as the log's: elisions applied, the summary in its place.
	// Package wire writes them down for a provider.
	Messages []session.Message
	// Tokens is their size by the session's counter.
	Tokens int
	// Model is who reads them, "provider/id".
	Model string
}

// View returns what the model is to be sent now. It is checked first: an error means that a
// provider would refuse it, and says why. Two views of the same state are equal to the byte, and a
// view after one more message begins with the view before it.
func (e *Engine) View(ctx context.Context, id string) (View, error) {
	l, err := e.lock(ctx, "view", id)
	if err != nil {
		return View{}, err
	}
	defer e.unlock(l)
	now := l.look()
	v := View{Messages: now.Rendered(), Tokens: now.Tokens(), Model: l.model.String()}
	if err := now.Check(); err != nil {
		return v, &Error{Code: BadInput, Op: "view", Session: id, Err: err,
			Hint: "the log holds what no provider takes; update the messages named"}
	}
	return v, nil
}

// maxLive is how many sessions are at hand at most if Config.Memory says nothing.
const maxLive = 64
