package winnow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/summarize/ask"
	"github.com/winnowhq/winnow/summarize/offline"
)

// ask asks one summariser for the summary of a fold.
func (e *Engine) ask(ctx context.Context, a *attempt, s pivot.Summarizer) (pivot.Answer, error) {
	return ask.Asking{
		Summarizer: s, Facts: e.factsFor(s.Name()), Replaces: a.Replaces, Record: a.record,
		Valid: func(answer pivot.Answer, replaces int) error {
			return a.Valid(answer, e.factsFor(a.Model.String()), replaces)
		},
		Now: func() session.Millis { return millis(e.config.Now()) },
		Delta: func(request int, text string) {
			e.emit(a.ID, Event{Type: CompactionDelta, Text: text, Request: request, Background: a.ahead})
		},
	}.Ask(ctx, a.request)
}

// summarize asks for a summary: the hook, else the summariser, and where that gives none, the
// offline one. The session is not locked, and nothing is written.
func (e *Engine) summarize(ctx context.Context, a *attempt) error {
	answered, err := e.consult(ctx, a)
	if answered || err != nil {
		return err
	}
	chosen, err := e.choose(a)
	if err != nil {
		return err
	}
	own := chosen.Name() == offline.Name
	if !own {
		if err := e.worthAsking(ctx, a); err != nil {
			return err
		}
	}
	e.brief(a, chosen)
	e.align(ctx, a, chosen)
	answer, err := e.ask(ctx, a, chosen)
	if err != nil && ctx.Err() == nil && !own && e.policy.Offline && !a.ahead {
		a.record.Note(fmt.Sprintf("%s gave no summary (%s); the offline summariser wrote it", chosen.Name(),
			strings.TrimPrefix(err.Error(), chosen.Name()+": ")))
		asked := err
		own = true
		a.record.Waste()
		if answer, err = e.ask(ctx, a, offline.New()); err != nil {
			err = fmt.Errorf("%w, after %s gave none: %w", err, chosen.Name(), asked)
		}
	}
	switch {
	case ctx.Err() != nil:
		return e.failed("compact", a.ID, ctx.Err())
	case err != nil:
		return e.failed("compact", a.ID, a.NoSummary(err, own))
	}
	a.answer = answer
	if !own {
		var notes []string
		a.answer.Text, a.struck, notes = a.Strike(ctx, a.request, answer.Text)
		a.record.Note(notes...)
		if ctx.Err() != nil {
			return e.failed("compact", a.ID, ctx.Err())
		}
	}
	return nil
}

// review has a summary looked at before it counts.
func (e *Engine) review(ctx context.Context, a *attempt, look func(context.Context, string) (string, error)) error {
	text, err := look(ctx, a.answer.Text)
	switch {
	case err != nil:
		return fail(Cancelled, "compact", a.ID, "", "%w", err)
	case strings.TrimSpace(text) == "":
		return fail(Cancelled, "compact", a.ID, "the session is as it was", "the reviewed summary is empty")
	case text == a.answer.Text:
		return nil
	}
	a.answer.Text = text
	a.record.Note("the summary was edited before it counted")
	if err := a.Valid(a.answer, e.factsFor(a.Model.String()), a.Replaces); err != nil {
		return fail(BadSummary, "compact", a.ID, "the session is as it was", "the edited summary does not count: %w", err)
	}
	return nil
}

// worthAsking is the error when no summary could make the view smaller, however short it is. No
// model is paid to find that out.
func (e *Engine) worthAsking(ctx context.Context, a *attempt) error {
	var why error
	err := e.locked(ctx, "compact", a.ID, func(l *live) { why = a.WorthAsking(e.current(l)) })
	return e.failed("compact", a.ID, cmp.Or(err, why))
}

// consult asks the hook, which may change the request, answer it, or cancel.
func (e *Engine) consult(ctx context.Context, a *attempt) (answered bool, err error) {
	hook := e.config.Hooks.Compacting
	if hook == nil {
		return false, nil
	}
	r, err := hook(ctx, Compacting{SessionID: a.ID, Auto: a.Options.Auto, Rejected: a.Options.Rejected,
		Policy: e.policy.Name, Model: a.Model.String(), Tokens: a.Replaces, Request: a.request})
	switch {
	case err != nil && ctx.Err() != nil:
		return false, e.failed("compact", a.ID, ctx.Err())
	case err != nil:
		return false, fail(Cancelled, "compact", a.ID, "", "a hook cancelled it: %w", err)
	}
	if r.System != "" {
		a.request.System = r.System
	}
	if r.Prompt != "" {
		a.request.Instruction, a.request.Update, a.request.OwnLength = r.Prompt, r.Prompt, true
	}
	if len(r.Context) > 0 {
		lines := "\n\n" + strings.Join(r.Context, "\n")
		a.request.Instruction += lines
		a.request.Update += lines
	}
	if r.Answer == nil {
		return false, nil
	}
	a.answer = *r.Answer
	if err := a.Valid(a.answer, e.factsFor(a.Model.String()), a.Replaces); err != nil {
		return false, fail(BadSummary, "compact", a.ID, "", "the hook's summary does not count: %w", err)
	}
	if a.answer.Model == "" {
		a.answer.Model = "hook"
	}
	return true, nil
}

// choose says who is to write.
func (e *Engine) choose(a *attempt) (pivot.Summarizer, error) {
	if e.config.Summarizer != nil {
		return e.config.Summarizer, nil
	}
	wanted := e.compactionOf(a.Info)
	how := wanted.Summarizer
	if how == "offline" || e.config.SummarizerFor == nil {
		return offline.New(), nil
	}
	var all []error
	for _, m := range e.writers(wanted.Model, e.reader(a)) {
		s, err := e.config.SummarizerFor(m)
		if err == nil && s != nil {
			for _, failed := range all {
				a.record.Note(fmt.Sprintf("%v; %s was asked", failed, s.Name()))
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
		return nil, &Error{Code: BadConfig, Op: "compact", Session: a.ID, Err: errors.Join(all...),
			Hint: "make that model available, name another in compaction.model, " +
				"or set compaction.summarizer to offline"}
	}
	for _, failed := range all {
		a.record.Note(fmt.Sprintf("%v; the offline summariser wrote it", failed))
	}
	return offline.New(), nil
}

// reader is the model that reads the session, or that the marker that waited asks for (S001
// process, 3), as its provider offers it.
func (e *Engine) reader(a *attempt) model.Model {
	if a.Pending != nil && a.Pending.Answers() != nil && !e.config.ForceModel {
		return e.offer(a.Pending.Answers().String())
	}
	return e.offer(e.modelName(a.Info, a.Log))
}

// writers are the models that may write a summary, best first: the one that is configured, by its
// name, else the session's.
func (e *Engine) writers(name string, reader model.Model) []model.Model {
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
func (e *Engine) brief(a *attempt, s pivot.Summarizer) {
	if a.Settings.SummaryAlone || s.Name() == offline.Name || a.request.Previous == "" {
		return
	}
	size := pivot.DigestSize
	if limit := s.Limit(); limit > 0 {
		size = min(size, limit/8*2)
	}
	a.request.Digest = pivot.Digest(a.request.Previous, *a.request.Past, size)
}

// align lets the request extend what the conversation itself sent last, when the same model reads
// it and still has it in its cache. The letter's summariser is offered no tools (S003 4.2), and a
// request without them is another prompt to a cache.
func (e *Engine) align(ctx context.Context, a *attempt, s pivot.Summarizer) {
	if e.config.Prefix == nil || a.record.Plain || a.Settings.SummaryAlone || s.Name() != e.reader(a).String() {
		return
	}
	p, err := e.config.Prefix(ctx, a.ID)
	switch {
	case err != nil:
		a.request = a.request.Plain(err.Error())
	case a.idle > 0:
		a.request = a.request.Plain(fmt.Sprintf("the session was idle for %s, and "+
			"the provider's cache keeps it for %s", a.idle, a.Model.Cache.Lifetime))
	case a.Options.Rejected && a.Cut.End == len(a.Window):
		a.request = a.request.Plain("the provider has just refused that")
	default:
		facts := e.factsFor(s.Name())
		overhead := a.Overhead
		if overhead == 0 {
			overhead = facts.Count(p.System) + facts.Count(string(p.Tools))
		}
		a.request.Prefix = &pivot.Prefix{System: p.System, Tools: p.Tools, Messages: a.extends, Overhead: overhead}
	}
}

// factsFor measures as the model named does, as far as that was learned.
func (e *Engine) factsFor(name string) *rule.Facts {
	facts := rule.NewFacts(e.config.Counter)
	if e.calibrated != nil {
		facts.Scale(e.calibrated.Factor(name))
	}
	return facts
}

// offer is a model as the provider named offers it: what is asked is sent to that provider, and to
// no other that has a model of that id.
func (e *Engine) offer(name string) model.Model {
	if provider, id, ok := strings.Cut(name, "/"); ok && provider != "" && id != "" {
		return e.config.Models.At(provider, id)
	}
	return e.config.Models.Lookup(name)
}
