package lab

import (
	"fmt"
	"strings"

	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/policy"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/secret"
)

// fold compacts before step k, as the engine does: it prunes, cuts, summarises and carries over. A
// second attempt keeps only the last exchange and what was never sent, and shortens that if it does
// not fit. If neither helps, only the elisions are committed.
func (r *run) fold(k int) error {
	d := r.setup.Policy.Plan(r.state(), policy.Occasion{FoldAsked: true})
	usable := 0
	if u := r.setup.Policy.Budget.Usable(r.model); !u.Unlimited {
		usable = u.Threshold
	}
	ledger := r.ledger.With(d.Commit...)
	for attempt := range 2 {
		settings := r.setup.Policy.Folding(r.state())
		keep := settings.Tail(usable)
		if attempt > 0 {
			if settings.SummaryAlone {
				break
			}
			keep, settings.UserMessages = 0, settings.UserMessages/8
		}
		cut := pivot.Find(r.window, ledger, r.facts, pivot.Wanted{Keep: keep,
			Room: pivot.Room(usable, r.trace.Base), Everything: settings.SummaryAlone})
		if len(cut.Fold) == 0 {
			continue
		}
		request := pivot.Request{
			SessionID: r.trace.ID, Directory: r.trace.directory, System: pivot.System(settings),
			Messages: r.setup.Policy.Markers().Of(view.Render(cut.Fold, ledger)), Log: cut.Fold, Tail: cut.Tail,
			Texts: r.texts,
		}
		replaces := 0
		if cut.Previous != nil {
			request.Previous = pivot.PreviousText(cut.Previous)
			replaces = view.Message(cut.Previous, ledger, r.facts)
		}
		for i := range cut.Fold {
			replaces += view.Message(&cut.Fold[i], ledger, r.facts)
		}
		request.Instruction = pivot.Instruction(settings, request.Previous, "")
		request.Budget = pivot.AnswerBudget(usable, replaces, r.facts.Count(request.Previous))
		past := pivot.PastOf(r.log, nil, cut)
		request.Past = &past
		answer, err := r.opts.Summarizer.Summarize(r.ctx, request)
		if err != nil {
			return fmt.Errorf("summary: %w", err)
		}
		carried, _ := pivot.Carry(pivot.Carrying{Log: r.log, Cut: cut, Summary: answer.Text, Facts: r.facts,
			Settings: settings, Directory: r.trace.directory,
			Guard: r.setup.Policy.Guard, Ledger: r.ledger, Mask: maskedText, Texts: r.texts})
		marker := pivot.Marker(r.identity(), r.trace.ID, nil, true, false)
		if start := cut.TailStart(); start != "" {
			marker = pivot.WithTail(marker, start)
		}
		summary := pivot.Summary(r.identity(), marker, nil, answer, carried)
		log := append(r.log[:len(r.log):len(r.log)], marker, summary)
		if !pivot.Waiting(r.log) {
			log = append(log, pivot.Continue(r.identity(), marker))
		}
		window := view.Window(log, nil)
		shown := ledger
		after, unfolded := view.Tokens(window, shown, r.facts), r.layout.total()
		if len(d.Commit) > 0 {
			unfolded = min(unfolded, view.Tokens(r.window, ledger, r.facts))
		}
		if over := after + r.trace.Base - usable; attempt > 0 && usable > 0 && over > 0 {
			w := rule.Window{Messages: window, Ledger: ledger, Facts: r.facts, Guard: r.setup.Policy.Guard,
				Handles: &r.handles}
			shown = ledger.With(w.Shorten(over, false)...)
			after = view.Tokens(window, shown, r.facts)
		}
		if !settings.SummaryAlone && (after >= unfolded || usable > 0 && after+r.trace.Base > usable) {
			continue
		}
		r.publish(k, shown, log, window, answer.Text, carried, len(cut.Tail))
		return nil
	}
	r.commit(k, d.Commit)
	r.note(Event{Step: k, Kind: Stuck})
	return nil
}

// maskedText is a text without the secrets in it, which no pivot takes over.
func maskedText(text string) string {
	text, _ = secret.Mask(text)
	return text
}

// publish makes a pivot the beginning of the window and bills its request.
func (r *run) publish(k int, ledger rule.Ledger, log, window []session.Message, summary, carried string, tail int) {
	r.ledger, r.usage, r.found = ledger, session.Usage{}, policy.Found{}
	before := r.layout.total()
	cost := 0.0
	if !r.opts.FreeSummaries {
		cost = r.paid(summary)
	}
	if r.out.Folds++; r.out.First == 0 {
		r.out.First = k
	}

	r.log, r.window = log, window
	r.layout = layout{}
	stays := make(map[string]bool, len(window))
	for i := range window {
		m := &window[i]
		r.layout.add(view.Message(m, r.ledger, r.facts), m.ID)
		stays[m.ID] = true
	}
	r.visible = map[int32]int{}
	r.show(summary, 1)
	r.show(carried, 1)
	r.behind(stays)
	for i := range window {
		for j := range window[i].Parts {
			for _, e := range r.ledger.Of(window[i].Parts[j].ID) {
				r.hide(e)
			}
		}
	}
	r.kept = min(r.kept, r.trace.Base)
	r.account.Folded()
	r.out.Folded += before - r.layout.total()
	r.note(Event{Step: k, Kind: Folded, N: tail, Tokens: before - r.layout.total(), Cost: cost})
}

// behind hides what a pivot leaves behind it: all but the messages that stay.
func (r *run) behind(stays map[string]bool) {
	r.hides = 0
	for i := range r.trace.items {
		x := &r.trace.items[i]
		if x.message >= r.next {
			break // not appended yet
		}
		if r.hidden[i] = !stays[r.trace.log[x.message].ID]; r.hidden[i] {
			r.hides++
			r.remove(int32(i), 0)
		}
	}
	for part := range r.fetched {
		if message, _, _ := strings.Cut(part, "."); !stays[message] {
			r.forget(part)
		}
	}
}

// paid bills the request for a summary, and returns what it costs.
func (r *run) paid(summary string) float64 {
	prompt, cached, cost := r.asked(r.setup.Policy.Pivot.SummaryAlone)
	tokens := r.facts.Count(summary)
	_, _, output := r.terms.at(prompt)
	cost += float64(tokens) * output
	r.out.Bill.Compact += cost
	r.account.Bill += r.inputs(cost)
	r.out.Tokens.Sent += prompt
	r.out.Tokens.Cached += cached
	r.out.Tokens.Output += tokens
	return cost
}

// asked is what a request for a summary sends, what of that the cache has, and what it costs. It
// extends the last request; alone it is one of its own, without system prompt and tools, that no
// cache has, as the letter asks, and everybody where the cache is cold.
func (r *run) asked(alone bool) (prompt, cached int, cost float64) {
	prompt = r.layout.total()
	if alone || r.sent == 0 {
		return prompt, 0, float64(prompt) * r.terms.Price.For(prompt).Input / 1e6
	}
	prompt += r.trace.Base
	cached = prompt
	if r.kept < r.sent || r.sent == 0 {
		cached = r.held(prompt) // something was left out since, or the cache is cold
	}
	read, write, _ := r.terms.at(prompt)
	return prompt, cached, float64(cached)*read + float64(prompt-cached)*write
}

func (r *run) identity() pivot.Identity {
	return pivot.Identity{NewID: func(prefix string) string {
		r.ids++
		return fmt.Sprintf("%s_r%d", prefix, r.ids)
	}, Now: r.log[len(r.log)-1].Time.Created}
}
