package winnow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/pivot"
	"github.com/winnowhq/winnow/quantity"
	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/summarize/offline"
)

// asking is how one summariser is asked: what is still to be sent to it, and what it has answered so far.
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

// ask makes the request fit and asks for each piece of it. An answer that does not count is asked for once more, with what was wrong; a
// request that is too long is sent in another form, or in smaller ones.
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
		if r = r.After(a.answer.Text); a.limit > 0 && r.Tokens(a.facts) > a.limit { // the notes are longer than they were asked to be
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

// again asks once more, with what was wrong. What did not come of the conversation's own prefix may come of the messages alone: there are
// no tools to call then, and no task to go on with.
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

// Of what was believed to be the limit, what is tried when the summariser says that a request was too long: estimates are rarely off by more
// than a quarter, and never by half. A limit that was assumed, of a server of somebody's own, may be off by far more; a refusal costs nothing.
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
		a.f.note(fmt.Sprintf("%s did not take the messages as they are (%v); they were sent as text", a.s.Name(), failed))
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
	a.f.note(fmt.Sprintf("%s found %s tokens too long; it was sent no more than %s", a.s.Name(), quantity.Number(r.Tokens(a.facts)), quantity.Number(a.limit)))
	if !a.begun && len(a.pieces) == 1 {
		r.Notes = nil
		return a.fit(r)
	}
	return a.split(r)
}

// split makes smaller pieces of one and of all that come after it. Nothing more is left out: what was answered stays answered.
func (a *asking) split(r pivot.Request) error {
	r.Messages = slices.Clone(r.Messages)
	for _, later := range a.pieces[1:] {
		r.Messages = append(r.Messages, later.Messages...)
	}
	r.Notes = nil
	a.begun = false // the first of them has its Previous
	return a.take(pivot.Split(r, a.limit, a.facts))
}

// factsFor measures as the model named does, as far as that was learned.
func (e *Engine) factsFor(name string) *rule.Facts {
	facts := rule.NewFacts(e.config.Counter)
	if e.calibrated != nil {
		facts.Scale(e.calibrated.Factor(name))
	}
	return facts
}

// valid checks an answer that takes the place of so many tokens. The letter takes whatever was answered, as the specification's program
// does, but for nothing at all.
func (e *Engine) valid(f *folding, a pivot.Answer, replaces int) error {
	if f.settings.SummaryAlone {
		if strings.TrimSpace(a.Text) != "" {
			return nil
		}
		return pivot.Validate(a, 0, 0)
	}
	return pivot.Validate(a, e.factsFor(f.model.String()).Count(a.Text), replaces)
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
			Time: millis(e.config.Now()), Kind: "summary", Model: s.Name(), Usage: call.Usage, Cost: call.Cost, Failed: failed,
		})
	}
	if err == nil && failures > 0 {
		f.note(fmt.Sprintf("%s answered after %s: %s", s.Name(), quantity.Count(failures, "failed call"), strings.TrimPrefix(calls[failures-1].Failed, s.Name()+": ")))
	}
}

// recorded publishes what was spent, once it is in the store.
func (e *Engine) recorded(id string, spent []store.Spend) {
	for _, s := range spent {
		event := e.event(id, UsageRecorded)
		usage := s.Usage
		event.Usage, event.Kind, event.Cost = &usage, s.Kind, s.Cost
		e.bus.publish(event)
	}
}

// note says in the receipt what was done, once.
func (f *folding) note(notes ...string) {
	for _, n := range notes {
		if !slices.Contains(f.notes, n) {
			f.notes = append(f.notes, n)
		}
	}
}
