package winnow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/pivot/fact"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/summarize/offline"
	"github.com/winnowhq/winnow/text/quantity"
)

// asking is how one summariser is asked: what is still to be sent to it, and what it has answered
// so far.
type asking struct {
	e     *Engine
	f     *folding
	s     pivot.Summarizer
	facts *rule.Facts

	limit    int  // tokens that it is believed to take; 0 is without limit
	believed int  // what was believed when it first said otherwise
	lowered  int  // how often it said otherwise
	retried  bool // the answer to the first of pieces did not count once
	text     bool // the messages are sent as text

	pieces []pivot.Request // not yet answered
	answer pivot.Answer    // to the piece before them
	begun  bool            // that one was answered
}

// ask makes the request fit and asks for each piece of it. An answer that does not count is asked
// for once more, with what was wrong; a request that is too long is sent in another form, or in
// smaller ones.
func (e *Engine) ask(ctx context.Context, f *folding, s pivot.Summarizer) (pivot.Answer, error) {
	a := asking{e: e, f: f, s: s, limit: s.Limit(), facts: e.factsFor(s.Name())}
	err := a.fit(f.request)
	for err == nil && len(a.pieces) > 0 {
		err = a.next(ctx)
	}
	return a.answer, err
}

// fit makes the pieces of a whole request.
func (a *asking) fit(r pivot.Request) error {
	pieces, ok := pivot.Fit(r, a.limit, a.facts)
	return a.take(pieces, ok)
}

func (a *asking) take(pieces []pivot.Request, ok bool) error {
	if !ok {
		return fmt.Errorf("the request does not fit %s, which takes %s tokens", a.s.Name(), quantity.Number(a.limit))
	}
	a.pieces = pieces
	if a.lowered > 0 {
		for i := range a.pieces {
			a.pieces[i].Limit = a.limit
		}
	}
	a.f.note(pieces[0].Notes...)
	return nil
}

// next sends the next piece and decides what follows from the answer.
func (a *asking) next(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r := a.pieces[0]
	if a.begun {
		// the notes are longer than they were asked to be
		if r = r.After(a.answer.Text); a.limit > 0 && r.Tokens(a.facts) > a.limit {
			return a.split(r)
		}
	}
	answer, err := a.send(ctx, r)
	switch {
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return a.otherwise(r, err)
	}
	replaces := a.f.replaces
	if len(a.pieces) > 1 { // notes on a piece, which the next one begins with
		replaces = min(r.Tokens(a.facts), a.limit/2)
	}
	if err := a.e.valid(a.f, answer, replaces); err != nil {
		if n := len(a.f.spent); n > 0 && a.f.spent[n-1].Model == a.s.Name() {
			a.f.spent[n-1].Failed = true // it was answered, in vain
		}
		return a.again(r, err)
	}
	a.answer, a.begun, a.pieces, a.retried = answer, true, a.pieces[1:], false
	return nil
}

// send asks, and counts what that cost.
func (a *asking) send(ctx context.Context, r pivot.Request) (pivot.Answer, error) {
	r.Restart = func() { a.f.requests.Add(1) }
	r.Restart()
	r.Delta = func(text string) {
		if text != "" && ctx.Err() == nil {
			event := a.e.event(a.f.id, CompactionDelta)
			event.Text, event.Request, event.Background = text, int(a.f.requests.Load()), a.f.ahead
			a.e.bus.publish(event)
		}
	}
	answer, err := a.s.Summarize(ctx, r)
	a.e.spend(a.f, a.s, answer, err)
	return answer, err
}

// again asks once more, with what was wrong. What did not come of the conversation's own prefix may
// come of the messages alone: there are no tools to call then, and no task to go on with.
func (a *asking) again(r pivot.Request, wrong error) error {
	if a.retried || a.s.Name() == offline.Name {
		return wrong
	}
	a.retried = true
	a.f.note(fmt.Sprintf("%s: %v; it was asked again", a.s.Name(), wrong))
	r.Instruction += "\n\nAn earlier answer did not count: " + wrong.Error() + "."
	if r.Prefix != nil {
		a.f.plain = true
		return a.fit(r.Plain("its answer did not count"))
	}
	if a.begun { // Previous is set again from the answer before
		r.Update = r.Instruction
	}
	a.pieces = append([]pivot.Request{r}, a.pieces[1:]...)
	return nil
}

// Of what was believed to be the limit, what is tried when the summariser says that a request was
// too long: estimates are rarely off by more than a quarter, and never by half. A limit that was
// assumed, of a server of somebody's own, may be off by far more; a refusal costs nothing.
var lowerings = []float64{0.75, 0.5, 0.25, 0.125, 0.0625, 0.03125}

// otherwise finds another form for a request that failed, or gives its error back.
func (a *asking) otherwise(r pivot.Request, failed error) error {
	tooLong := errors.Is(failed, pivot.ErrTooLong)
	switch {
	case r.Prefix != nil && (tooLong || errors.Is(failed, pivot.ErrForm)):
		a.f.plain = true
		if size := r.Tokens(a.facts); tooLong && (a.limit <= 0 || a.limit > size) {
			a.limit = size
		}
		return a.fit(r.Plain(failed.Error()))
	case errors.Is(failed, pivot.ErrForm) && !a.text:
		a.text = true
		a.f.note(fmt.Sprintf("%s did not take the messages as they are (%v); they were sent as text", a.s.Name(),
			failed))
		for i := range a.pieces {
			a.pieces[i] = a.pieces[i].AsText()
		}
		return a.split(r.AsText())
	case !tooLong || a.lowered == len(lowerings):
		return failed
	}
	if a.believed == 0 {
		if a.believed = r.Tokens(a.facts); a.limit > 0 {
			a.believed = min(a.believed, a.limit)
		}
	}
	a.limit = min(int(float64(a.believed)*lowerings[a.lowered]), r.Tokens(a.facts)*3/4)
	a.lowered++
	a.f.note(fmt.Sprintf("%s found %s tokens too long; it was sent no more than %s", a.s.Name(),
		quantity.Number(r.Tokens(a.facts)), quantity.Number(a.limit)))
	if !a.begun && len(a.pieces) == 1 {
		r.Notes = nil
		return a.fit(r)
	}
	return a.split(r)
}

// split makes smaller pieces of one and of all that come after it. Nothing more is left out: what
// was answered stays answered.
func (a *asking) split(r pivot.Request) error {
	r.Messages = slices.Clone(r.Messages)
	for _, later := range a.pieces[1:] {
		r.Messages = append(r.Messages, later.Messages...)
	}
	r.Notes = nil
	a.begun = false // the first of them has its Previous
	return a.take(pivot.Split(r, a.limit, a.facts))
}

// spend notes what a summariser's calls cost, the failed ones too.
func (e *Engine) spend(f *folding, s pivot.Summarizer, a pivot.Answer, err error) {
	calls := a.Calls
	if len(calls) == 0 {
		if a.Usage.Prompt()+a.Usage.Output == 0 && a.Cost == 0 {
			return
		}
		calls = []pivot.Call{{Usage: a.Usage, Cost: a.Cost}}
	}
	failures := 0
	for i, call := range calls {
		failed := call.Failed != "" || err != nil && i == len(calls)-1
		if failed {
			failures++
		}
		f.usages = append(f.usages, call.Usage)
		f.spent = append(f.spent, store.Spend{
			Time: millis(e.config.Now()), Kind: "summary", Model: s.Name(), Usage: call.Usage, Cost: call.Cost,
			Failed: failed,
		})
	}
	if err == nil && failures > 0 {
		f.note(fmt.Sprintf("%s answered after %s: %s", s.Name(), quantity.Count(failures, "failed call"),
			strings.TrimPrefix(calls[failures-1].Failed, s.Name()+": ")))
	}
}

// summarize asks for a summary: the hook, else the summariser, and where that gives none, the
// offline one. The session is not locked, and nothing is written.
func (e *Engine) summarize(ctx context.Context, f *folding) error {
	answered, err := e.consult(ctx, f)
	if answered || err != nil {
		return err
	}
	chosen, err := e.choose(f)
	if err != nil {
		return err
	}
	own := chosen.Name() == offline.Name
	if !own {
		if err := e.worthAsking(ctx, f); err != nil {
			return err
		}
	}
	e.brief(f, chosen)
	e.align(ctx, f, chosen)
	answer, err := e.ask(ctx, f, chosen)
	if err != nil && ctx.Err() == nil && !own && e.policy.Offline && !f.ahead {
		f.note(fmt.Sprintf("%s gave no summary (%s); the offline summariser wrote it", chosen.Name(),
			strings.TrimPrefix(err.Error(), chosen.Name()+": ")))
		asked := err
		own = true
		f.inVain()
		if answer, err = e.ask(ctx, f, offline.New()); err != nil {
			err = fmt.Errorf("%w, after %s gave none: %w", err, chosen.Name(), asked)
		}
	}
	switch {
	case ctx.Err() != nil:
		return e.failed("compact", f.id, ctx.Err())
	case err != nil:
		return f.noSummary(err, own)
	}
	f.answer = answer
	if !own {
		f.strike(ctx)
		if ctx.Err() != nil {
			return e.failed("compact", f.id, ctx.Err())
		}
	}
	return nil
}

// strike lists what a model made up, and strikes it where the summary says it. The letter leaves
// the summary as it was answered.
//
// It reads what a model may have written in any way, after the model was paid: whatever goes wrong
// in here must not cost the summary. It ends soon after ctx does.
func (f *folding) strike(ctx context.Context) {
	defer func() {
		if r := recover(); r != nil {
			f.note(fmt.Sprintf("what the summary says was not compared with the session: the check failed (%v)", r))
		}
	}()
	source := fact.NewSource()
	if f.info.Directory != "" {
		source.AddFolder(f.info.Directory)
	}
	inWindow := map[string]bool{}
	for i := range f.window[:f.cut.End] {
		inWindow[f.window[i].ID] = true
	}
	for i := range f.past.Log { // what it was told about earlier notes stands there
		if ctx.Err() != nil {
			return
		}
		if m := &f.past.Log[i]; !inWindow[m.ID] {
			source.AddMessage(m)
		}
	}
	for i := range f.window[:f.cut.End] {
		if ctx.Err() != nil {
			return
		}
		source.AddMessage(&f.window[i])
	}
	for _, text := range []string{f.request.Previous, f.request.Instruction, f.request.Focus} {
		source.AddText(text)
	}
	if f.request.Prefix != nil {
		source.AddText(f.request.Prefix.System)
		source.AddText(string(f.request.Prefix.Tools))
	}
	if !f.settings.SummaryAlone {
		marked, lines := pivot.MarkOutdated(f.answer.Text, f.log)
		if f.answer.Text = marked; lines > 0 {
			f.note(quantity.Count(lines, "line") + " of the summary told what no longer holds, and now say so")
		}
	}
	invented := fact.CheckWhile(f.answer.Text, source, func() bool { return ctx.Err() == nil })
	if len(invented) == 0 || ctx.Err() != nil {
		return
	}
	for _, c := range invented {
		struck := pivot.Struck{Kind: string(c.Kind), Text: c.Text}
		if !slices.Contains(f.struck, struck) {
			f.struck = append(f.struck, struck)
		}
	}
	how := "found nowhere in the session"
	if !f.settings.SummaryAlone {
		f.answer.Text, how = fact.Mark(f.answer.Text, invented), how+", and struck"
	}
	f.note(fmt.Sprintf("%s: %s of the summary", how, quantity.Count(len(f.struck), "claim")))
}

// minFold is the least that a summary takes, in tokens: one heading and a line under it are hardly
// shorter.
const minFold = 32

// worthAsking is the error when no summary could make the view smaller, however short it is: what
// is carried over beside it takes as much as what is folded. No model is paid to find that out.
func (e *Engine) worthAsking(ctx context.Context, f *folding) error {
	if f.settings.SummaryAlone {
		return nil
	}
	l, err := e.lock(ctx, "compact", f.id)
	if err != nil {
		return err
	}
	var carried pivot.Carried
	e.with(l, func() { _, carried = f.carry(l) })
	if least := carried.Tokens + minFold; f.replaces < least {
		return fail(NothingToFold, "compact", f.id, "the session is as small as it gets",
			"there are %s tokens to fold, and a summary takes at least %s with what is carried over",
			quantity.Number(f.replaces), quantity.Number(least))
	}
	return nil
}

// consult asks the hook, which may change the request, answer it, or cancel.
func (e *Engine) consult(ctx context.Context, f *folding) (answered bool, err error) {
	hook := e.config.Hooks.Compacting
	if hook == nil {
		return false, nil
	}
	r, err := hook(ctx, Compacting{SessionID: f.id, Auto: f.options.Auto, Rejected: f.options.Rejected,
		Policy: e.policy.Name, Model: f.model.String(), Tokens: f.replaces, Request: f.request})
	switch {
	case err != nil && ctx.Err() != nil:
		return false, e.failed("compact", f.id, ctx.Err())
	case err != nil:
		return false, fail(Cancelled, "compact", f.id, "", "a hook cancelled it: %w", err)
	}
	if r.System != "" {
		f.request.System = r.System
	}
	if r.Prompt != "" {
		f.request.Instruction, f.request.Update, f.request.OwnLength = r.Prompt, r.Prompt, true
	}
	if len(r.Context) > 0 {
		lines := "\n\n" + strings.Join(r.Context, "\n")
		f.request.Instruction += lines
		f.request.Update += lines
	}
	if r.Answer == nil {
		return false, nil
	}
	f.answer = *r.Answer
	if err := e.valid(f, f.answer, f.replaces); err != nil {
		return false, fail(BadSummary, "compact", f.id, "", "the hook's summary does not count: %w", err)
	}
	if f.answer.Model == "" {
		f.answer.Model = "hook"
	}
	return true, nil
}

// choose says who is to write.
func (e *Engine) choose(f *folding) (pivot.Summarizer, error) {
	if e.config.Summarizer != nil {
		return e.config.Summarizer, nil
	}
	how := e.config.Settings.Compaction.Summarizer
	if how == "offline" || e.config.SummarizerFor == nil {
		return offline.New(), nil
	}
	var all []error
	for _, m := range e.scribes(f.offer) {
		s, err := e.config.SummarizerFor(m)
		if err == nil && s != nil {
			for _, failed := range all {
				f.note(fmt.Sprintf("%v; %s was asked", failed, s.Name()))
			}
			return s, nil
		}
		if err != nil {
			all = append(all, fmt.Errorf("%s cannot be asked for a summary: %w", m, err))
		}
	}
	if how == "llm" {
		if len(all) == 0 {
			all = append(all, errors.New("no model can be asked for a summary"))
		}
		return nil, &Error{Code: BadConfig, Op: "compact", Session: f.id, Err: errors.Join(all...),
			Hint: "make that model available, name another in compaction.model, " +
				"or set compaction.summarizer to offline"}
	}
	for _, failed := range all {
		f.note(fmt.Sprintf("%v; the offline summariser wrote it", failed))
	}
	return offline.New(), nil
}

// scribes are the models that may write a summary, best first: the one that is configured, else the
// session's.
func (e *Engine) scribes(reader model.Model) []model.Model {
	name := e.config.Settings.Compaction.Model
	if name == "" {
		return []model.Model{reader}
	}
	configured := e.offer(name)
	if configured.String() == reader.String() {
		return []model.Model{configured}
	}
	return []model.Model{configured, reader}
}

// brief tells a model what the log says about each fact of the earlier summary, so that facts are
// carried on from the log and not from what a summary made of them. It takes an eighth of what the
// model takes at most. The letter has the earlier summary alone.
func (e *Engine) brief(f *folding, s pivot.Summarizer) {
	if f.settings.SummaryAlone || s.Name() == offline.Name || f.request.Previous == "" {
		return
	}
	size := pivot.DigestSize
	if limit := s.Limit(); limit > 0 {
		size = min(size, limit/8*2)
	}
	f.request.Digest = pivot.Digest(f.request.Previous, f.past, size)
}

// align lets the request extend what the conversation itself sent last, when the same model reads
// it and still has it in its cache. The letter's summariser is offered no tools (S003 4.2), and a
// request without them is another prompt to a cache.
func (e *Engine) align(ctx context.Context, f *folding, s pivot.Summarizer) {
	if e.config.Prefix == nil || f.plain || f.settings.SummaryAlone || s.Name() != f.offer.String() {
		return
	}
	p, err := e.config.Prefix(ctx, f.id)
	switch {
	case err != nil:
		f.request = f.request.Plain(err.Error())
	case f.cold > 0:
		f.request = f.request.Plain(fmt.Sprintf("the session was idle for %s, and "+
			"the provider's cache keeps it for %s", f.cold, f.model.Cache.Lifetime))
	case f.options.Rejected && f.cut.End == len(f.window):
		f.request = f.request.Plain("the provider has just refused that")
	default:
		facts := e.factsFor(s.Name())
		overhead := f.overhead
		if overhead == 0 {
			overhead = facts.Count(p.System) + facts.Count(string(p.Tools))
		}
		f.request.Prefix = &pivot.Prefix{System: p.System, Tools: p.Tools, Messages: f.sent, Overhead: overhead}
	}
}

// noSummary is the error when nobody wrote a summary that counts. Where our own summariser found no
// room to say anything, or another wrote more than the little that it was to replace, that is no
// fault of theirs: there is too little to fold.
func (f *folding) noSummary(err error, own bool) error {
	tooLarge := errors.Is(err, pivot.ErrTooLarge)
	if own && (tooLarge || errors.Is(err, pivot.ErrHeadings) || errors.Is(err, pivot.ErrEmpty)) ||
		tooLarge && f.replaces < pivot.MinSummary || f.replaces < minFold {
		return fail(NothingToFold, "compact", f.id, "the session is as small as it gets",
			"there is too little to fold: %w", err)
	}
	return &Error{Code: BadSummary, Op: "compact", Session: f.id, Err: err, Hint: "the session is as it was"}
}
