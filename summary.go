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
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/summarize/ask"
	"github.com/winnowhq/winnow/summarize/offline"
	"github.com/winnowhq/winnow/text/quantity"
)

// ask asks one summariser for the summary of a fold.
func (e *Engine) ask(ctx context.Context, f *folding, s pivot.Summarizer) (pivot.Answer, error) {
	return ask.Asking{
		Summarizer: s, Facts: e.factsFor(s.Name()), Replaces: f.replaces, Record: f.record,
		Valid: func(a pivot.Answer, replaces int) error { return e.valid(f, a, replaces) },
		Now:   func() session.Millis { return millis(e.config.Now()) },
		Delta: func(request int, text string) {
			event := e.event(f.id, CompactionDelta)
			event.Text, event.Request, event.Background = text, request, f.ahead
			e.bus.publish(event)
		},
	}.Ask(ctx, f.request)
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
		f.record.Note(fmt.Sprintf("%s gave no summary (%s); the offline summariser wrote it", chosen.Name(),
			strings.TrimPrefix(err.Error(), chosen.Name()+": ")))
		asked := err
		own = true
		f.record.Waste()
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
			f.record.Note(fmt.Sprintf("what the summary says was not compared with the session: the check failed (%v)", r))
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
			f.record.Note(quantity.Count(lines, "line") + " of the summary told what no longer holds, and now say so")
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
	f.record.Note(fmt.Sprintf("%s: %s of the summary", how, quantity.Count(len(f.struck), "claim")))
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
				f.record.Note(fmt.Sprintf("%v; %s was asked", failed, s.Name()))
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
		f.record.Note(fmt.Sprintf("%v; the offline summariser wrote it", failed))
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
	f.request.Standing = pivot.Digest(f.request.Previous, f.past, size)
}

// align lets the request extend what the conversation itself sent last, when the same model reads
// it and still has it in its cache. The letter's summariser is offered no tools (S003 4.2), and a
// request without them is another prompt to a cache.
func (e *Engine) align(ctx context.Context, f *folding, s pivot.Summarizer) {
	if e.config.Prefix == nil || f.record.Plain || f.settings.SummaryAlone || s.Name() != f.offer.String() {
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
