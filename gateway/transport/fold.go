package transport

import (
	"cmp"
	"context"
	"slices"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

// Hooks are a program's own hooks, for an engine that folds the conversations of a transport by
// itself: nothing is said in the client's name, which goes on by itself behind a summary.
func Hooks(own winnow.Hooks) winnow.Hooks {
	own.Continue = func(context.Context, string, session.Message) bool { return false }
	return own
}

// starts lets the engine decide about a request before it is sent, and makes a summary count that
// was written while the client worked. Where no model writes summaries the past may be folded then,
// too: the results of the newest calls come with this request, and may fill the window.
//
// Where nobody is sure whether the provider's cache still has the conversation, what was sent
// stays. A model that binds its reasoning gets no fold within a tool round: the round's own
// reasoning must come back as it was made.
func (t *Transport) starts(ctx context.Context, x *exchange, doc *format.Document, unsure bool) error {
	messages, held := doc.Session.Messages, x.held || unsure
	folds := !held && (!x.model.BoundReasoning || messages[len(messages)-1].Role == session.User)
	if folds {
		folded, err := t.engine.Compact(ctx, x.conversation.id, winnow.CompactOptions{Prepared: true})
		if err = t.tolerated(x.conversation.id, err); err != nil {
			return err
		}
		t.decided(ctx, x, winnow.Outcome{Compacted: folded}, x.sent)
		x.pruned = heavier(folded, x.pruned)
	}
	how := winnow.BeginOptions{Held: held, Fold: folds && t.options.Mode != Safe}
	out, err := t.engine.Begin(ctx, x.conversation.id, how)
	if err = t.tolerated(x.conversation.id, err); err != nil {
		return err
	}
	t.decided(ctx, x, out, x.sent)
	x.began = t.options.Now() // after the decision: a fork before the answer has it, too
	x.pruned, x.unsent = heavier(out.Compacted, heavier(out.Pruned, x.pruned)), unsent(out.Pruned)
	return nil
}

// unsent is how many tokens a decision, which may be nil, leaves out that no request had.
func unsent(decided *pivot.Receipt) (tokens int) {
	if decided == nil {
		return 0
	}
	for _, e := range decided.Committed {
		if slices.Contains(rule.FirstSends(), e.Rule) {
			tokens += e.Saves
		}
	}
	return tokens
}

// heavier is what costs more of the provider's cache of two decisions, either of which may be nil:
// a fold does, then what rewrites more of what was sent.
func heavier(a, b *pivot.Receipt) *pivot.Receipt {
	switch {
	case a == nil || b == nil:
		return cmp.Or(a, b)
	case a.Kind == pivot.Compaction || b.Kind != pivot.Compaction && a.Rewritten > b.Rewritten:
		return a
	}
	return b
}

// ended tells the engine what a step took, which prunes or folds the conversation if that pays or
// must be. A summary for which a model is asked is written beside the client's work, as early as
// the engine sees that it will be wanted.
func (t *Transport) ended(ctx context.Context, x *exchange, u session.Usage, spent []store.Spend) error {
	l := x.conversation
	out, err := t.engine.Observe(ctx, l.id, u, spent...)
	t.decided(ctx, x, out, x.sent+1)
	l.pruned = cmp.Or(out.Compacted, out.Pruned)
	if err == nil && !x.inRound && out.Compacted == nil { // the turn has ended, as far as anybody can tell
		var turn winnow.Outcome
		turn, err = t.engine.EndTurn(ctx, l.id)
		t.decided(ctx, x, turn, x.sent+1)
		l.pruned = heavier(turn.Compacted, heavier(turn.Pruned, l.pruned))
	}
	x.took(u)
	if out.Prepare {
		t.options.Prepare(context.Background(), l.id, out.Pivot)
	}
	return t.tolerated(l.id, err)
}

// prepared has a summary written by a goroutine.
func (t *Transport) prepared(ctx context.Context, id, _ string) {
	go t.guarded("prepare a summary", func() {
		if err := t.tolerated(id, t.engine.Prepare(ctx, id)); err != nil {
			t.options.Log.Error("could not prepare a summary", "session", id, "error", err)
		}
	})
}

// futile are the codes of folds that did not come about. The conversation is as it was before them.
var futile = []rule.Code{
	winnow.NothingToFold, winnow.NoProgress, winnow.BadSummary, winnow.BadConfig, winnow.Cancelled, winnow.Busy,
	winnow.Stale,
}

// tolerated is an error that is more than a fold that did not come about. The client's own
// compaction is still to come then.
func (t *Transport) tolerated(id string, err error) error {
	if code := winnow.CodeOf(err); err == nil || slices.Contains(futile, code) {
		if err != nil {
			t.options.Log.Debug("nothing was folded", "session", id, "code", code)
		}
		return nil
	}
	return err
}

// calls reports whether an answer of these parts calls tools: its round goes on with their results.
func calls(parts []session.Part) bool {
	return slices.ContainsFunc(parts, func(p session.Part) bool { return p.Type == session.ToolPart })
}
