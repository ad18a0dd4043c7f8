package winnow

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/edit"
	"github.com/winnowhq/winnow/text/quantity"
	"github.com/winnowhq/winnow/text/secret"
)

// publish makes marker, summary and companions visible in one transaction, with the elisions and
// the receipt.
func (e *Engine) publish(ctx context.Context, f *folding) (*pivot.Receipt, error) {
	id := e.identity()
	l, err := e.lock(ctx, "compact", f.id)
	if err != nil {
		return nil, err
	}
	var carried string
	var told pivot.Carried
	e.with(l, func() { carried, told = f.carry(l) })

	marker := f.marker(id)
	summary := f.written(id, marker, carried)
	follow := f.follow(id, marker, func() bool {
		return e.config.Hooks.Continue == nil || e.config.Hooks.Continue(ctx, f.id, summary)
	})

	var receipt *pivot.Receipt
	err = e.change(ctx, "compact", f.id, func(l *live) (store.Change, error) {
		if err := cmp.Or(alone(ctx, "compact", f.id), f.unchanged(l)); err != nil {
			return store.Change{}, err
		}
		if !slices.Equal(f.pins, l.state.Pins) || !maps.Equal(f.dismissed, l.state.Dismissed) {
			carried, told = f.carry(l) // somebody pinned or dismissed something while the hook thought about it
			summary = f.written(id, marker, carried)
		}
		c, m := f.change(l, id, marker, summary, follow)
		receipt, err = e.compactionReceipt(l, f, c, m, summary, told)
		c.Receipt = receipt
		return c, err
	}, func(l *live) {
		l.reported, l.estimated = session.Usage{}, -1               // no report speaks of the new view
		l.prepared = 4*receipt.TokensAfter > 3*receipt.TokensBefore // what is left of it hardly gets smaller
		if f.prepared == nil {
			e.recorded(f.id, f.record.Spent)
		}
	})
	if err != nil {
		return nil, err
	}
	return receipt, nil
}

// follow is what the work goes on with behind a summary; wanted is asked before a "continue" is
// appended.
func (f *folding) follow(id pivot.Identity, marker session.Message, wanted func() bool) []session.Message {
	switch {
	case f.cut.Replay != nil:
		return []session.Message{pivot.Replay(id, marker, *f.cut.Replay)}
	case !f.goesOn() && f.options.Auto && !pivot.Waiting(f.log) && wanted():
		return []session.Message{pivot.Continue(id, marker)}
	}
	return nil
}

// marker is the one that waited, or a new one.
func (f *folding) marker(id pivot.Identity) session.Message {
	if f.pending != nil {
		return *f.pending
	}
	return pivot.Marker(id, f.id, edit.LastUser(f.log), f.options.Auto, f.options.Rejected)
}

// change is what is stored: the marker, as it is then, its summary, what is kept behind it, what
// follows, the elisions, and what it cost.
func (f *folding) change(l *live, id pivot.Identity, marker, summary session.Message,
	follow []session.Message) (store.Change, session.Message) {
	if tail := f.tailStart(l); tail != "" {
		marker = pivot.WithTail(marker, tail)
	}
	c := store.Change{Commit: append(f.stamped(id.Now), f.unbound(l, id.Now)...)}
	if l.state.Prepared != nil {
		c.Prepared = &store.Prepared{}
	}
	if f.prepared == nil {
		c.Spend, c.Vain = f.record.Spent, paidFor(l.state.Prepared)
	}
	again, letGo := pivot.KeptAgain(id, marker, f.cut.Fold, f.last)
	c.Undo = letGo
	answer := append([]session.Message{summary}, again...)
	if f.pending != nil {
		c.Update = []session.Message{marker}
	} else {
		answer = append([]session.Message{marker}, answer...)
	}
	c.Append = slices.Concat(answer, follow)
	if pins := l.unheld(id, c, marker.ID); len(pins) > 0 {
		c.Append = slices.Concat(answer, pins, follow)
	}
	return f.shorten(l, c, id.Now), marker
}

// carry writes the carry-over, with the pins and dismissals that there are now: some may have come
// while the summary was written.
func (f *folding) carry(l *live) (string, pivot.Carried) {
	f.pins, f.dismissed = l.state.Pins, l.state.Dismissed
	return pivot.Carry(pivot.Carrying{
		Log: f.log, Cut: f.cut, Pins: f.pins, Dismissed: f.dismissed, Summary: f.answer.Text, Facts: l.facts,
		Settings: f.settings, Directory: f.info.Directory, Recall: f.info.Recall,
		Guard: f.guard, Ledger: l.state.Ledger, Mask: f.mask(),
	})
}

// mask takes secrets out of what is written under a pivot, and counts them; nil where they are to
// be kept.
func (f *folding) mask() func(string) string {
	f.masked = 0
	if f.options.KeepSecrets {
		return nil
	}
	return func(text string) string {
		masked, n := secret.Mask(text)
		f.masked += n
		return masked
	}
}

// written is the summary with what is carried over. Secrets are masked in it; in the log, which it
// stands for, they stay.
func (f *folding) written(id pivot.Identity, marker session.Message, carried string) session.Message {
	answer := f.answer
	if !f.options.KeepSecrets {
		answer.Text, f.masks = secret.Mask(answer.Text)
	}
	return pivot.Summary(id, marker, lastPath(f.log), answer, carried)
}

// maskedNote says on a receipt how many secrets were masked.
func (f *folding) maskedNote() []string {
	n := f.masked + f.masks
	if n == 0 {
		return nil
	}
	return []string{quantity.Count(n,
		"secret") + " masked in what was written under the pivot; the log has them, and --secrets keep leaves them"}
}

// unchanged reports whether what was folded is still what is there, and so is the summary of it if
// it was prepared: messages may have been appended since, nothing else.
func (f *folding) unchanged(l *live) error {
	gone := len(l.log) < f.size
	for i := range min(len(f.log), len(l.log)) {
		gone = gone || l.log[i].ID != f.log[i].ID
	}
	for i := f.size; i < len(l.log); i++ {
		gone = gone || l.log[i].Marker() != nil
	}
	if gone || f.prepared != nil && !same(l.state.Prepared, f.prepared) {
		return fail(Busy, "compact", f.id, "look at the session again", "another compaction was published meanwhile")
	}
	return nil
}

// tailStart is the id of the first message that stays verbatim: the tail's, or else what was
// appended while the summary was written.
func (f *folding) tailStart(l *live) string {
	if start := f.cut.TailStart(); start != "" {
		return start
	}
	if f.pending != nil {
		return ""
	}
	for i := f.size; i < len(l.log); i++ {
		if !isKept(&l.log[i]) { // a quotation is written again where it is needed
			return l.log[i].ID
		}
	}
	return ""
}

// unbound leaves out the reasoning that stays behind the summary, where its model takes it only
// behind the prompt that it was made for.
func (f *folding) unbound(l *live, now session.Millis) (gone []rule.Elision) {
	if !l.model.BoundReasoning {
		return nil
	}
	for _, messages := range [][]session.Message{f.cut.Tail, l.log[min(f.size, len(l.log)):]} {
		for i := range messages {
			for j := range messages[i].Parts {
				if el, ok := rule.Unbound(&messages[i], &messages[i].Parts[j], f.ledger, l.facts); ok {
					el.Time = now
					gone = append(gone, el)
				}
			}
		}
	}
	return gone
}

// compactionReceipt measures what the view would be after a change, and refuses one that does not
// help.
func (e *Engine) compactionReceipt(l *live, f *folding, c store.Change, marker, summary session.Message,
	told pivot.Carried) (*pivot.Receipt, error) {
	window, ledger := f.left(l, c)
	before := l.look().Tokens()
	after := l.tokens(window, ledger) + f.unwritten
	if !f.settings.SummaryAlone {
		over := f.usable > 0 && after+f.overhead > f.usable
		if unfolded := f.unfolded(l, before); after >= unfolded || over || f.options.To > 0 && after > f.options.To {
			return nil, e.noProgress(l, f, unfolded, after, window, ledger)
		}
	}
	now := e.config.Now()
	r := &pivot.Receipt{
		ID: e.ids.New("rcp", now), SessionID: f.id, Kind: pivot.Compaction, Time: millis(now), Policy: e.policy.Name,
		Trigger:        f.trigger,
		MessagesBefore: len(l.window()), MessagesAfter: len(window), TokensBefore: before, TokensAfter: after,
		Usable: f.usable, Scale: l.learned(),
		Marker: marker.ID, Summary: summary.ID, TailStart: marker.Marker().TailStartID,
		Folded: len(pivot.WithoutKept(f.cut.Fold)), Tail: len(f.cut.Tail),
		Gone: gone(pivot.WithoutKept(f.cut.Fold), f.ledger, l.facts), Carried: told, Summarizer: f.answer.Model,
		Usage: f.record.Usages, Prepared: f.prepared != nil,
		Duration: now.Sub(f.began).Seconds(), Notes: slices.Concat(f.record.Notes, f.maskedNote()), Struck: f.struck,
		Committed: c.Commit, LetGo: c.Undo,
		Undo: "winnow undo " + f.id + " " + marker.ID,
	}
	r.Cost = f.record.Cost()
	r.Money = e.money(l, before, after, after, f.record.Spent)
	r.Saved = before - after
	return r, nil
}

// unfolded is how many tokens the view would have with the elisions of a compaction and without its
// fold: a fold that takes more loses words for nothing. Who asks for a size may not have it by
// pruning alone, so that before, the view as it is, is what counts then.
func (f *folding) unfolded(l *live, before int) int {
	if f.options.To > 0 || len(f.commit) == 0 {
		return before
	}
	return min(before, l.tokens(l.window(), f.ledger))
}

func (e *Engine) noProgress(l *live, f *folding, unfolded, after int, window []session.Message,
	ledger rule.Ledger) error {
	failed := &Error{Code: NoProgress, Op: "compact", Session: f.id}
	if after >= unfolded {
		failed.Err = fmt.Errorf("the view would have %s tokens with the summary, %s without it", quantity.Number(after),
			quantity.Number(unfolded))
		failed.Hint = "the session is as small as it gets"
		if n := l.keptTokens(window); n > 0 {
			failed.Hint = fmt.Sprintf("what is pinned or restored and would be carried over takes %s tokens; "+
				"without them it may get smaller", quantity.Number(n))
		}
		return failed
	}
	if to := f.options.To; to > 0 && after > to {
		failed.Err = fmt.Errorf("the view would still have %s tokens, and %s were asked for", quantity.Number(after),
			quantity.Number(to))
		failed.Hint = stays(l.floor(window, ledger))
		return failed
	}
	failed.Err = fmt.Errorf("the view would still have %s tokens with system prompt and tools, budget %s",
		quantity.Number(after+f.overhead), quantity.Number(f.usable))
	failed.Hint = stays(l.floor(window, ledger))
	return failed
}

// gone itemises by kind, in tokens, what the summary now stands for, as it was shown.
func gone(fold []session.Message, ledger rule.Ledger, facts *rule.Facts) map[string]int {
	sum := map[string]int{}
	for i := range fold {
		for j := range fold[i].Parts {
			p := &fold[i].Parts[j]
			kind, size := view.Kind(&fold[i], p), view.Part(p, ledger, facts)
			if p.Type == session.ToolPart {
				sum["tool input"] += size.Input
				sum["tool output"] += size.Output
				sum["file"] += size.Files
				continue
			}
			sum[kind] += size.Total()
		}
	}
	for kind, n := range sum {
		if n == 0 {
			delete(sum, kind)
		}
	}
	return sum
}

func lastPath(log []session.Message) *session.Path {
	for i := len(log) - 1; i >= 0; i-- {
		if log[i].Path != nil {
			return log[i].Path
		}
	}
	return nil
}

// shorten adds to a change what makes the view fit that it leaves, where the newest results alone
// do not: they were never sent, so that they are shown in part and not folded.
func (f *folding) shorten(l *live, c store.Change, now session.Millis) store.Change {
	if !f.last || f.settings.SummaryAlone {
		return c
	}
	window, ledger := f.left(l, c)
	l.handles.Name(window)
	over := 0
	if f.usable > 0 {
		over = l.tokens(window, ledger) + f.unwritten + f.overhead - f.usable
	}
	if over <= 0 && !f.options.Rejected {
		return c
	}
	for _, el := range f.seen(l, window, ledger).Shorten(over, f.options.Rejected) {
		el.Time = now
		c.Commit = append(c.Commit, el)
	}
	return c
}
