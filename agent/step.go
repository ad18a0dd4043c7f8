package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/plan/budget"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/token"
	"github.com/winnowhq/winnow/wire"
)

// empties is how many answers in a row may say nothing before a run ends.
const empties = 3

// step makes one request and does what the answer asks for. The turn is over where it calls no
// tool, and nothing else is to be said.
func (r *run) step(ctx context.Context) error {
	r.tell(Event{Type: StepStarted, Step: r.result.Steps + 1})
	began := now()
	before := r.snapshot(ctx) // while the model thinks
	defer before.drop()
	answer, size, err := r.ask(ctx)
	if err != nil {
		return errors.Join(err, r.keep(ctx, answer, began, err))
	}
	usage := answer.Usage
	if usage.Prompt() == 0 {
		usage.Input = size // a provider that reports nothing would never overflow
	}
	m := r.message(answer, began)
	m.Tokens, m.Cost, m.Finish = &usage, &answer.Cost, string(answer.Finish)
	r.begins(ctx, &m, before)
	jobs := r.prepare(&m)
	changes := r.finishes(&m, jobs)
	said := append([]session.Message{m}, r.requeued()...)
	// The answer is paid for: it is written down also when the caller has just stopped.
	if err := r.config.Engine.Append(r.saving, r.id, said...); err != nil {
		return err
	}
	m = said[0]
	r.seen[m.ID] = true
	r.result.Steps++
	r.result.Text, r.result.Finish = answer.Text(), answer.Finish
	r.tell(Event{Type: Answered, Step: r.result.Steps, Message: m.ID})
	for i := range m.Parts { // calls that cannot be made, and what the provider ran itself
		if p := m.Parts[i]; p.Type == session.ToolPart && p.State != nil && p.State.Final() {
			r.tell(Event{Type: CallEnded, Step: r.result.Steps, Message: m.ID, Part: p})
		}
	}
	if err := r.carryOut(ctx, &m, jobs); err != nil {
		return err
	}
	if err := r.changed(ctx, &m, changes); err != nil {
		return err
	}
	folded, err := r.observe(ctx, usage)
	if err != nil {
		return err
	}
	if r.repeated >= stuck {
		return ErrStuck
	}
	r.over = !calls(&m) && !(folded && r.goesOn(ctx))
	return nil
}

// requeued is the marker that came while the model answered, once more, to stand behind the answer:
// one behind which a step has ended waits no more.
func (r *run) requeued() []session.Message {
	waits, err := winnow.Look(r.saving, r.config.Engine, r.id, func(s *report.Session) (*session.Message, error) {
		if at := view.Pending(s.Log, s.State.Undone); at >= 0 {
			return &s.Log[at], nil
		}
		return nil, nil
	})
	if err != nil || waits == nil {
		return nil
	}
	m := *waits
	m.ID, m.Time, m.Parts = "", session.MessageTime{}, slices.Clone(m.Parts)
	for i := range m.Parts {
		m.Parts[i].ID, m.Parts[i].MessageID = "", ""
	}
	return []session.Message{m}
}

// goesOn reports whether the engine wants the model to go on: it folded, and appended a message
// that says so.
func (r *run) goesOn(ctx context.Context) bool {
	s, _, err := r.config.Engine.Session(ctx, r.id)
	if err != nil || len(s.Messages) == 0 {
		return false
	}
	for i := len(s.Messages) - 1; i >= 0; i-- {
		last := &s.Messages[i]
		if _, kept := last.Kept(); !kept { // what is shown again asks for nothing
			return last.Role == session.User && last.Companion() != ""
		}
	}
	return false
}

// observe reports a step's usage. That there is nothing to fold is no reason to stop: whether the
// next request fits is the provider's to say.
func (r *run) observe(ctx context.Context, usage session.Usage) (folded bool, err error) {
	out, err := r.config.Engine.Observe(ctx, r.id, usage)
	if winnow.CodeOf(err) == winnow.NothingToFold {
		err = nil
	}
	if err == nil {
		if out.Prepare {
			r.prepareAhead(ctx)
		}
		r.tell(Event{Type: Observed, Step: r.result.Steps, Outcome: &out})
	}
	return out.Compacted != nil, err
}

// ask sends the view until it is answered. size is what the prompt was estimated at. Beside an
// error there is what was said before it.
func (r *run) ask(ctx context.Context) (answer llm.Answer, size int, err error) {
	for blank := 0; ; {
		if _, err := r.config.Engine.Begin(ctx, r.id); err != nil {
			return llm.Answer{}, 0, err
		}
		v, err := r.config.Engine.View(ctx, r.id)
		if err != nil {
			return llm.Answer{}, 0, err
		}
		if r.elsewhere(v.Messages) {
			return llm.Answer{}, 0, ErrElsewhere
		}
		size = v.Tokens + token.Linear{}.Count(r.system) + token.Linear{}.Count(string(r.declared))
		answer, err = r.client.Ask(ctx, r.request(v, size))
		nothing := err == nil && !says(answer)
		charged := r.charge(answer, err != nil || nothing)
		switch {
		case nothing:
			if blank++; blank == empties || answer.Finish == llm.Refused || answer.Finish == llm.Length {
				return llm.Answer{}, size, errors.Join(r.silent(answer.Finish, blank), charged)
			}
		case err == nil:
			return answer, size, charged
		case llm.KindOf(err) != llm.Overflow:
			return answer, size, errors.Join(err, charged)
		default:
			if err := r.rejected(ctx, err); err != nil {
				return llm.Answer{}, size, errors.Join(err, charged)
			}
		}
		if charged != nil {
			return llm.Answer{}, size, charged
		}
		r.tell(Event{Type: Restarted, Step: r.result.Steps + 1})
	}
}

func (r *run) request(v winnow.View, size int) llm.Request {
	step := r.result.Steps + 1
	return llm.Request{
		Model: r.config.Model, System: r.system, Tools: r.declared, Messages: v.Messages, Conversation: r.id,
		Cache: true, MaxOutput: r.room(size),
		Delta:   func(text string) { r.tell(Event{Type: Delta, Step: step, Text: text}) },
		Restart: func() { r.tell(Event{Type: Restarted, Step: step}) },
		Waiting: func(wait time.Duration, failed error) {
			r.tell(Event{Type: Waiting, Step: step, Wait: wait, Text: llm.KindOf(failed).Words()})
		},
	}
}

// silent is the error of answers without a text and without a call.
func (r *run) silent(f llm.Finish, times int) error {
	switch f {
	case llm.Refused:
		return fmt.Errorf("%s refused to answer: say it otherwise, or ask another model", r.config.Model)
	case llm.Length:
		return fmt.Errorf("%s used up the limit of its answer and said nothing", r.config.Model)
	}
	return fmt.Errorf("%s answered nothing, %d times in a row", r.config.Model, times)
}

// room bounds the answer where prompt and answer together would not fit the window, for which
// providers refuse a request. 0: the model's own limit.
func (r *run) room(size int) int {
	const least = 1024
	limits := r.config.Model.Limits
	left := limits.Context - size - size/8 // estimates are not exact
	if limits.Context <= 0 || left >= limits.Output {
		return 0
	}
	return max(left, min(least, limits.Output))
}

// rejected lets the engine fold what the provider refused as too long.
func (r *run) rejected(ctx context.Context, refusal error) error {
	told := budget.Rejection{Code: "context_length_exceeded", Message: refusal.Error()}
	var e *llm.Error
	if errors.As(refusal, &e) {
		told.Status = e.Status
	}
	if _, _, err := r.config.Engine.Rejected(ctx, r.id, told); err != nil {
		return fmt.Errorf("%w; and nothing helps: %w", refusal, err)
	}
	return nil
}

// says reports whether an answer has anything that counts: a text, a call, or what only the
// provider understands.
func says(a llm.Answer) bool {
	return slices.ContainsFunc(a.Parts, func(p session.Part) bool {
		return p.Type != session.ReasoningPart && (p.Type != session.TextPart || !wire.Blank(p.Text))
	})
}

// charge records what failed attempts took.
func (r *run) charge(a llm.Answer, failed bool) error {
	attempts := a.Attempts
	if !failed && len(attempts) > 0 {
		attempts = attempts[:len(attempts)-1]
	}
	var spent []store.Spend
	for _, t := range attempts {
		if t.Usage.Prompt()+t.Usage.Output+t.Usage.Reasoning > 0 {
			spent = append(spent, store.Spend{Kind: "step", Model: r.config.Model.String(), Usage: t.Usage,
				Cost: t.Cost, Failed: true})
		}
	}
	return r.config.Engine.Amend(r.saving, r.id, winnow.Amendment{Spent: spent})
}

// message is an answer as a message of the log.
func (r *run) message(a llm.Answer, began session.Millis) session.Message {
	return session.Message{
		MessageInfo: session.MessageInfo{
			Role: session.Assistant, ParentID: r.parent, ProviderID: r.config.Model.Provider,
			ModelID: r.config.Model.ID,
			Path:    &session.Path{Cwd: r.config.Directory, Root: r.config.Directory},
			Time:    session.MessageTime{Created: began, Completed: now()},
		},
		Parts: slices.Clone(a.Parts),
	}
}

// keep appends what was said of an answer that broke off: its text. Thoughts without their
// signature and calls without all of their arguments are nothing that a provider takes.
func (r *run) keep(ctx context.Context, a llm.Answer, began session.Millis, failed error) error {
	m := r.message(a, began)
	m.Parts = slices.DeleteFunc(m.Parts, func(p session.Part) bool {
		return p.Type != session.TextPart ||
			wire.Blank(p.Text)
	})
	if len(m.Parts) == 0 {
		return nil
	}
	for i := range m.Parts {
		m.Parts[i].Metadata = nil
	}
	name := "failed"
	if ctx.Err() != nil {
		name = "interrupted"
	}
	m.Error = problem(name, failed.Error())
	return r.config.Engine.Append(r.saving, r.id, m)
}
