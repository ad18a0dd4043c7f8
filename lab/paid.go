package lab

import (
	"fmt"
	"math"
	"slices"

	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/quantity"
	"github.com/winnowhq/winnow/token"
)

// Paid is what a recorded session really cost, according to the usage in its log.
type Paid struct {
	bill.Sums
	Models []string `json:"models,omitempty"` // the models that answered steps
	// Tokens of thinking in the answers, which a replay does not have.
	Thinking    int `json:"thinking,omitzero"`
	Hour        int `json:"hour,omitzero"`        // tokens that were written to the cache for an hour
	Compactions int `json:"compactions,omitzero"` // compactions that the product made
	// Answers that the log repeats as a copy, and that were paid for once.
	Copies int `json:"copies,omitzero"`
}

// PaidFor sums up the requests of a log and those that its file records beside it. prices finds the
// model of each.
func PaidFor(messages []session.Message, beside []bill.Request, prices *bill.Prices) Paid {
	p := Paid{Sums: bill.Of(messages, beside, prices)}
	for i := range messages {
		m := &messages[i]
		if m.Marker() != nil {
			p.Compactions++
		}
		if m.Repeats != "" {
			p.Copies++
		}
		for _, r := range bill.Requests(m) {
			if r.Kind == bill.Step && r.Model != "" && r.Usage != nil && !slices.Contains(p.Models, r.Model) {
				p.Models = append(p.Models, r.Model)
			}
		}
		for j := range m.Parts {
			if part := &m.Parts[j]; part.Type == session.ReasoningPart && (m.Tokens == nil || m.Tokens.Reasoning == 0) {
				p.Thinking += token.Linear{}.Count(part.Text)
			}
		}
	}
	p.Thinking += p.Steps.Usage.Reasoning
	p.Hour = p.Steps.Usage.Cache.Write1h
	return p
}

// plus returns the sum of two sessions.
func (p Paid) plus(q Paid) Paid {
	sum := Paid{Sums: p.Sums.Plus(q.Sums), Models: slices.Clone(p.Models), Thinking: p.Thinking + q.Thinking,
		Hour: p.Hour + q.Hour, Compactions: p.Compactions + q.Compactions, Copies: p.Copies + q.Copies}
	for _, name := range q.Models {
		if !slices.Contains(sum.Models, name) {
			sum.Models = append(sum.Models, name)
		}
	}
	return sum
}

// differs explains, with figures, why the baseline's bill is not the recorded one.
func (p Paid) differs(base Standing, o Options) []string {
	all := p.Total()
	if all.Requests == all.Unknown() {
		return nil
	}
	var why []string
	say := func(format string, values ...any) { why = append(why, fmt.Sprintf(format, values...)) }
	if n := all.Unknown(); n > 0 {
		say("the recorded bill leaves out %s of unknown cost", quantity.Count(n, "request"))
	}
	if n := p.Agents.Requests; n > 0 {
		say("not replayed: %s of sub-agents", quantity.Count(n, "request"))
	}
	if n := p.Left.Requests; n > 0 {
		say("not replayed: %s whose answers are not part of the session", quantity.Count(n, "request"))
	}
	if len(p.Models) > 1 && o.Terms != nil {
		say("%d models answered; this replay bills all steps at the same prices", len(p.Models))
	}
	if p.Copies > 0 {
		say("the log repeats %s, which cost nothing the second time; the replay sends each again",
			quantity.Count(p.Copies, "answer"))
	}
	if p.Compactions > 0 {
		say("the recorded session was compacted %s; a replay goes on as if it had not been", times(p.Compactions))
	}
	sent, recorded := base.Tokens.Sent, p.Steps.Usage.Prompt()
	if recorded > 0 && math.Abs(float64(sent-recorded)) > 0.01*float64(recorded) {
		say("prompts were %s tokens as recorded and are %s in the replay: what the product adds to them (reminders, "+
			"attachments, thinking) is not in the log, and the provider's tokenizer counts differently",
			quantity.Number(recorded), quantity.Number(sent))
	}
	if u := p.Steps.Usage; recorded > 0 && sent > 0 {
		was, is := float64(u.Cache.Read)/float64(recorded), float64(base.Tokens.Cached)/float64(sent)
		if math.Abs(was-is) > 0.005 {
			say("the cache served %.1f %% of the prompts as recorded and %.1f %% in the replay", 100*was, 100*is)
		}
	}
	if p.Thinking > 0 {
		say("the answers had %s tokens of thinking, which a replay does not have", quantity.Number(p.Thinking))
	}
	if said, is := p.Steps.Usage.Output+p.Steps.Usage.Reasoning,
		base.Tokens.Output; math.Abs(float64(said-is)) > 0.01*float64(max(said, is)) {
		say("answers were %s tokens as reported and are %s as recorded in the log", quantity.Number(said),
			quantity.Number(is))
	}
	if p.Hour > 0 && !o.Hour && !o.Logged {
		say("%s tokens were written to the cache for an hour, at double the input price; the replay's cache lives as "+
			"long as the model's usual one (--cache logged)", quantity.Number(p.Hour))
	}
	return why
}
