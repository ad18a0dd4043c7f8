package fold

import (
	"errors"
	"fmt"
	"strings"

	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/recall"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/quantity"
)

// Request writes what a summariser is asked.
func (p *Plan) Request(s *report.Session) pivot.Request {
	previous := ""
	fold := pivot.WithoutQuotations(p.Cut.Fold)
	if p.Cut.Previous != nil {
		previous = pivot.PreviousText(p.Cut.Previous)
	} else {
		fold, previous = recall.WithoutHanded(fold)
	}
	fold = withoutDiscarded(fold, p.Ledger)
	past := pivot.PastOf(withoutDiscarded(p.Log, p.Ledger), s.State.Undone, p.Cut)
	r := pivot.Request{
		SessionID: p.ID, Focus: p.Options.Focus, Directory: p.Info.Directory, Dismissed: s.State.Dismissed,
		Messages: s.Policy.Markers().Of(view.Render(fold, p.Reduced)), Log: fold, Tail: p.Cut.Tail, Past: &past,
		Previous: previous, System: pivot.System(p.Settings),
		Instruction: pivot.Instruction(p.Settings, previous, p.Options.Focus),
		Update:      pivot.Instruction(p.Settings, "an earlier piece", p.Options.Focus),
		Budget:      pivot.AnswerBudget(p.Usable, p.Replaces, s.Facts.Count(previous)),
		OwnLength:   p.Settings.SummaryAlone || p.Settings.Prompt != "",
	}
	if none := p.dismissed(s.State.Dismissed); none != "" && !p.Settings.SummaryAlone {
		r.Instruction += none
		r.Update += none
	}
	if to := p.Options.To; to > 0 {
		r.Budget = min(r.Budget, max(to/2, 64))
	}
	return r
}

// dismissed tells a summariser which sentences of the log are not instructions, "" if none was
// dismissed.
func (p *Plan) dismissed(keys map[string]bool) string {
	if len(keys) == 0 {
		return ""
	}
	text := ""
	for _, c := range recall.Constraints(p.Log) {
		if keys[recall.Key(c.Text)] {
			text += "\n- " + c.Text
		}
	}
	if text == "" {
		return ""
	}
	return "\n\nThe user said that these sentences are no standing constraints. Do not list them as such:" + text
}

// Summary is what was written for a plan, and what that took.
type Summary struct {
	Answer pivot.Answer    `json:"answer"`
	Struck []pivot.Struck  `json:"struck"`
	Notes  []string        `json:"notes"`
	Usages []session.Usage `json:"usages"`
	Spent  []store.Spend   `json:"spent"`
	// Assumed is how many tokens a summary is taken to have that nobody was asked for.
	Assumed int `json:"-"`
	// Prepared is what it was in the store, with its cost recorded, if it was written before it was
	// needed. Background: nothing had to wait for it.
	Prepared   *store.Prepared `json:"-"`
	Background bool            `json:"-"`
}

// Valid checks an answer of so many tokens that takes the place of replaces tokens. The letter
// takes whatever was answered, as the specification's program does, but for nothing at all.
func (p *Plan) Valid(a pivot.Answer, facts *rule.Facts, replaces int) error {
	if p.Settings.SummaryAlone {
		if strings.TrimSpace(a.Text) != "" {
			return nil
		}
		return pivot.Validate(a, 0, 0)
	}
	return pivot.Validate(a, facts.Count(a.Text), replaces)
}

// minFold is the least that a summary takes, in tokens: one heading and a line under it are hardly
// shorter.
const minFold = 32

// WorthAsking is the error when no summary could make the view smaller, however short it is: what
// is carried over beside it takes as much as what is folded.
func (p *Plan) WorthAsking(s *report.Session) error {
	if p.Settings.SummaryAlone {
		return nil
	}
	_, carried, _ := p.carry(s, "")
	if least := carried.Tokens + minFold; p.Replaces < least {
		return &Error{rule.NothingToFold, fmt.Errorf(
			"there are %s tokens to fold, and a summary takes at least %s with what is carried over",
			quantity.Number(p.Replaces), quantity.Number(least)), "the session is as small as it gets"}
	}
	return nil
}

// NoSummary is the error when nobody wrote a summary that counts. Where our own summariser found no
// room to say anything, or another wrote more than the little that it was to replace, that is no
// fault of theirs: there is too little to fold.
func (p *Plan) NoSummary(err error, own bool) error {
	tooLarge := errors.Is(err, pivot.ErrTooLarge)
	if own && (tooLarge || errors.Is(err, pivot.ErrHeadings) || errors.Is(err, pivot.ErrEmpty)) ||
		tooLarge && p.Replaces < pivot.MinSummary || p.Replaces < minFold {
		return &Error{rule.NothingToFold, fmt.Errorf("there is too little to fold: %w", err),
			"the session is as small as it gets"}
	}
	return &Error{rule.BadSummary, err, "the session is as it was"}
}
