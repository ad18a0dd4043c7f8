// Package ask asks a summariser for a summary, in as many requests as it takes: in pieces if the
// whole does not fit, once more if the answer does not count, in another form if the summariser
// does not take the first. It records what each request cost, and stores nothing.
package ask

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/summarize/offline"
	"github.com/winnowhq/winnow/text/quantity"
)

// Asking says who is asked, and what counts as an answer.
type Asking struct {
	Summarizer pivot.Summarizer
	Facts      *rule.Facts // that measure as the summariser's model does
	Replaces   int         // tokens that the summary will replace
	// Valid reports why an answer does not count that takes the place of so many tokens.
	Valid func(a pivot.Answer, replaces int) error
	// Delta is told each piece of the summary as it is written, with the number of its request.
	Delta func(request int, text string)
	Now   func() session.Millis
	// Record has what was asked before, and is added to.
	Record *Record
}

// Ask makes the request fit and asks for each piece of it. An answer that does not count is asked
// for once more, with what was wrong; a request that is too long is sent in another form, or in
// smaller ones.
func (a Asking) Ask(ctx context.Context, r pivot.Request) (pivot.Answer, error) {
	x := exchange{Asking: a, limit: a.Summarizer.Limit()}
	err := x.fit(r)
	for err == nil && len(x.pieces) > 0 {
		err = x.next(ctx)
	}
	return x.answer, err
}

// exchange is what is still to be sent to a summariser, and what it has answered so far.
type exchange struct {
	Asking

	limit    int  // tokens that it is believed to take; 0 is without limit
	believed int  // the limit assumed before it was first refused
	lowered  int  // how often it said otherwise
	retried  bool // the answer to the first of pieces did not count once
	text     bool // the messages are sent as text

	pieces []pivot.Request // not yet answered
	answer pivot.Answer    // to the piece before them
	begun  bool            // that one was answered
}

func (x *exchange) name() string { return x.Summarizer.Name() }

// fit makes the pieces of a whole request.
func (x *exchange) fit(r pivot.Request) error {
	pieces, ok := pivot.Fit(r, x.limit, x.Facts)
	return x.take(pieces, ok)
}

func (x *exchange) take(pieces []pivot.Request, ok bool) error {
	if !ok {
		return fmt.Errorf("the request does not fit %s, which takes %s tokens", x.name(), quantity.Number(x.limit))
	}
	x.pieces = pieces
	if x.lowered > 0 {
		for i := range x.pieces {
			x.pieces[i].Limit = x.limit
		}
	}
	x.Record.Note(pieces[0].Notes...)
	return nil
}

// next sends the next piece and decides what follows from the answer.
func (x *exchange) next(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r := x.pieces[0]
	if x.begun {
		// the notes are longer than they were asked to be
		if r = r.After(x.answer.Text); x.limit > 0 && r.Tokens(x.Facts) > x.limit {
			return x.split(r)
		}
	}
	answer, err := x.send(ctx, r)
	switch {
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return x.otherwise(r, err)
	}
	replaces := x.Replaces
	if len(x.pieces) > 1 { // notes on a piece, which the next one begins with
		replaces = min(r.Tokens(x.Facts), x.limit/2)
	}
	if err := x.Valid(answer, replaces); err != nil {
		spent := x.Record.Spent
		if n := len(spent); n > 0 && spent[n-1].Model == x.name() {
			spent[n-1].Failed = true // it was answered, and the answer is wasted
		}
		return x.again(r, err)
	}
	x.answer, x.begun, x.pieces, x.retried = answer, true, x.pieces[1:], false
	return nil
}

// send asks, and records what that cost.
func (x *exchange) send(ctx context.Context, r pivot.Request) (pivot.Answer, error) {
	r.Restart = func() { x.Record.requests.Add(1) }
	r.Restart()
	r.Delta = func(text string) {
		if text != "" && ctx.Err() == nil {
			x.Delta(int(x.Record.requests.Load()), text)
		}
	}
	answer, err := x.Summarizer.Summarize(ctx, r)
	x.Record.spend(x.name(), x.Now, answer, err)
	return answer, err
}

// again asks once more, with what was wrong. What did not come of the conversation's own prefix may
// come of the messages alone: there are no tools to call then, and no task to go on with.
func (x *exchange) again(r pivot.Request, wrong error) error {
	if x.retried || x.name() == offline.Name {
		return wrong
	}
	x.retried = true
	x.Record.Note(fmt.Sprintf("%s: %v; it was asked again", x.name(), wrong))
	r.Instruction += "\n\nAn earlier answer did not count: " + wrong.Error() + "."
	if r.Prefix != nil {
		x.Record.Plain = true
		return x.fit(r.Plain("its answer did not count"))
	}
	if x.begun { // Previous is set again from the answer before
		r.Update = r.Instruction
	}
	x.pieces = append([]pivot.Request{r}, x.pieces[1:]...)
	return nil
}

// lowerings are the shares of the assumed limit that are tried in turn after the summariser refused a
// request as too long: estimates are rarely off by more than a quarter, and never by half. The
// assumed limit of a private server may be off by far more; a refusal costs nothing.
var lowerings = []float64{0.75, 0.5, 0.25, 0.125, 0.0625, 0.03125}

// otherwise finds another form for a request that failed, or gives its error back.
func (x *exchange) otherwise(r pivot.Request, failed error) error {
	tooLong := errors.Is(failed, pivot.ErrTooLong)
	switch {
	case r.Prefix != nil && (tooLong || errors.Is(failed, pivot.ErrForm)):
		x.Record.Plain = true
		if size := r.Tokens(x.Facts); tooLong && (x.limit <= 0 || x.limit > size) {
			x.limit = size
		}
		return x.fit(r.Plain(failed.Error()))
	case errors.Is(failed, pivot.ErrForm) && !x.text:
		x.text = true
		x.Record.Note(fmt.Sprintf("%s did not take the messages as they are (%v); they were sent as text", x.name(),
			failed))
		for i := range x.pieces {
			x.pieces[i] = x.pieces[i].AsText()
		}
		return x.split(r.AsText())
	case !tooLong || x.lowered == len(lowerings):
		return failed
	}
	if x.believed == 0 {
		if x.believed = r.Tokens(x.Facts); x.limit > 0 {
			x.believed = min(x.believed, x.limit)
		}
	}
	x.limit = min(int(float64(x.believed)*lowerings[x.lowered]), r.Tokens(x.Facts)*3/4)
	x.lowered++
	x.Record.Note(fmt.Sprintf("%s found %s tokens too long; it was sent no more than %s", x.name(),
		quantity.Number(r.Tokens(x.Facts)), quantity.Number(x.limit)))
	if !x.begun && len(x.pieces) == 1 {
		r.Notes = nil
		return x.fit(r)
	}
	return x.split(r)
}

// split makes smaller pieces of one and of all that come after it. Nothing more is left out: what
// was answered stays answered.
func (x *exchange) split(r pivot.Request) error {
	r.Messages = slices.Clone(r.Messages)
	for _, later := range x.pieces[1:] {
		r.Messages = append(r.Messages, later.Messages...)
	}
	r.Notes = nil
	x.begun = false // the first of them has its Previous
	return x.take(pivot.Split(r, x.limit, x.Facts))
}
