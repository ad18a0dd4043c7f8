package bill

import "github.com/winnowhq/winnow/session"

// Pruned is a conversation that is only observed, as it would be had its requests been pruned. Where
// its client compacted it by itself, it would have gone on without that: it carries more than what
// the client left, and was not summarised.
type Pruned struct {
	Prompt int `json:"prompt"`         // tokens of the newest prompt as it would be
	More   int `json:"more,omitzero"`  // tokens that this has more than the client's own with as much left out
	Folds  int `json:"folds,omitzero"` // the size at which it would be folded; 0 if that is not known
	After  int `json:"after,omitzero"` // the sizes behind so many Times that it was folded, together
	Times  int `json:"times,omitzero"`
}

// foldsTo is the share of the size at which a conversation is folded that is left of it, until one
// fold was seen.
const foldsTo = 4

// Observe is what a request would have taken had it been pruned, and what a request for a summary
// before it would have taken, zero without one: u is what it would have taken had the client's own
// compactions been made all the same. before is the conversation before the request. behind is the
// one before a compaction that was made just now, nil without one; client is how it compacts, as far
// as that was seen. folded reports that the conversation was folded before it as the client has it.
func (c *Conversation) Observe(u session.Usage, before Conversation, folded bool, behind *Conversation,
	client Habit) (would, summary session.Usage) {
	p := &c.Pruned
	grown, answer := c.Sent-before.Sent, before.Answer
	switch {
	case folded && p.More == 0:
		p.After, p.Times = p.After+u.Prompt(), p.Times+1
	case folded: // it would not have been at that moment
		p.More = p.Prompt + grown - u.Prompt()
	}
	if behind != nil {
		*p, answer = behind.Pruned, behind.Answer
		p.More = p.Prompt + answer - u.Prompt()
	}
	compacts := client.At > 0 && p.Prompt+answer >= client.At && p.More != 0
	prompt, read := u.Prompt()+p.More, u.Cache.Read+p.More
	if behind != nil {
		read = p.Prompt - behind.Tail
	}
	switch {
	case compacts:
		summary = Resized(u, p.Prompt+answer, p.Prompt)
		summary.Output, summary.Reasoning = client.Summary, 0
		prompt = u.Prompt()
		if behind == nil {
			prompt = c.base() + client.Keep
		}
		p.More, read = prompt-u.Prompt(), c.base()
	case p.More != 0 && p.Folds > 0 && prompt > p.Folds:
		prompt = p.Folds / foldsTo
		if p.Times > 0 {
			prompt = p.After / p.Times
		}
		p.More, read = prompt-u.Prompt(), c.base()
	}
	if p.Prompt = u.Prompt(); p.More != 0 {
		prompt = max(prompt, 0)
		p.Prompt, u = prompt, Resized(u, prompt, min(max(read, 0), prompt))
	}
	return u, summary
}
