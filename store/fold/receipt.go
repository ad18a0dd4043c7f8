package fold

import (
	"errors"
	"fmt"
	"slices"

	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/quantity"
)

// Extent is what a compaction would fold, and what would stay word for word.
type Extent struct {
	// Folded is how many messages the summary would stand for, as they would be shown now, the
	// earlier summary included.
	Folded       int            `json:"folded"`
	FoldedTokens int            `json:"foldedTokens"`
	Gone         map[string]int `json:"gone"` // tokens by kind, as in a receipt
	Tail         int            `json:"tail"` // messages that would stay
	TailTokens   int            `json:"tailTokens"`
	TailStart    string         `json:"tailStart,omitzero"` // id of the first of them
	Split        bool           `json:"split,omitzero"`     // the tail would begin inside a turn
	Carried      pivot.Carried  `json:"carried"`            // written under the summary
}

var errBusy = errors.New("another compaction was published meanwhile")

// receipt measures what the view would be after a change, and refuses one that does not help.
func (b *Publication) receipt(s *report.Session, c store.Change, marker session.Message) (*pivot.Receipt, error) {
	p := b.plan
	state, _, window := s.After(c)
	before := s.View.Tokens()
	after := s.Tokens(window, state.Ledger) + b.summary.Assumed
	if !p.Settings.SummaryAlone {
		over := p.Usable > 0 && after+p.Overhead > p.Usable
		if unfolded := p.unfolded(s, before); after >= unfolded || over || p.Options.To > 0 && after > p.Options.To {
			return nil, p.noProgress(s, unfolded, after, window, state.Ledger)
		}
	}
	folded := pivot.WithoutQuotations(p.Cut.Fold)
	r := &pivot.Receipt{
		SessionID: p.ID, Kind: pivot.Compaction, Policy: s.Policy.Name,
		MessagesBefore: len(s.View.Window()), MessagesAfter: len(window), TokensBefore: before, TokensAfter: after,
		Saved: before - after, Usable: p.Usable, Scale: s.Learned(),
		Marker: marker.ID, Summary: b.Summary.ID, TailStart: marker.Marker().TailStartID,
		Folded: len(folded), Tail: len(p.Cut.Tail), Gone: gone(folded, p.Reduced, s.Facts), Carried: b.Carried,
		Summarizer: b.summary.Answer.Model, Usage: b.summary.Usages, Prepared: b.summary.Prepared != nil,
		Notes: slices.Clone(b.summary.Notes), Struck: b.summary.Struck, Committed: c.Commit, LetGo: c.Undo,
		Money: s.Money(pivot.Change{Before: before, After: after, Rewritten: after}, b.summary.Spent),
		Undo:  "winnow undo " + p.ID + " " + marker.ID,
	}
	for i := range b.summary.Spent {
		r.Cost += b.summary.Spent[i].Cost
	}
	if b.masked > 0 {
		r.Notes = append(r.Notes, quantity.Count(b.masked, "secret")+
			" masked in what was written under the pivot; the log has them, and --secrets keep leaves them")
	}
	return r, nil
}

// unfolded is how many tokens the view would have with the elisions of a compaction and without its
// fold: a fold that takes more loses words for nothing. Who asks for a size may not have it by
// pruning alone, so that before, the view as it is, is what counts then.
func (p *Plan) unfolded(s *report.Session, before int) int {
	if p.Options.To > 0 || len(p.Commit) == 0 {
		return before
	}
	return min(before, s.Tokens(s.View.Window(), p.Reduced))
}

func (p *Plan) noProgress(s *report.Session, unfolded, after int, window []session.Message, ledger rule.Ledger) error {
	number := quantity.Number
	failed := &Error{Code: rule.NoProgress}
	if after >= unfolded {
		failed.Err = fmt.Errorf("the view would have %s tokens with the summary, %s without it", number(after),
			number(unfolded))
		failed.Hint = "the session is as small as it gets"
		if n := quoted(s, window); n > 0 {
			failed.Hint = fmt.Sprintf("what is pinned or restored and would be carried over takes %s tokens; "+
				"without them it may get smaller", number(n))
		}
		return failed
	}
	failed.Hint = Unremovable(Floor(s, window, ledger))
	if to := p.Options.To; to > 0 && after > to {
		failed.Err = fmt.Errorf("the view would still have %s tokens, and %s were asked for", number(after), number(to))
		return failed
	}
	failed.Err = fmt.Errorf("the view would still have %s tokens with system prompt and tools, budget %s",
		number(after+p.Overhead), number(p.Usable))
	return failed
}

// quoted is how many tokens the quotations of a window take.
func quoted(s *report.Session, window []session.Message) (tokens int) {
	for i := range window {
		if isKept(&window[i]) {
			tokens += view.Message(&window[i], s.State.Ledger, s.Facts)
		}
	}
	return tokens
}

// gone itemises by kind, in tokens, what the summary now stands for, as it was shown.
func gone(fold []session.Message, ledger rule.Ledger, facts *rule.Facts) map[string]int {
	sum := map[string]int{}
	add := func(kind string, tokens int) {
		if tokens != 0 {
			sum[kind] += tokens
		}
	}
	for i := range fold {
		for j := range fold[i].Parts {
			p := &fold[i].Parts[j]
			size := view.Part(p, ledger, facts)
			if p.Type != session.ToolPart {
				add(view.Kind(&fold[i], p), size.Total())
				continue
			}
			add(view.KindToolInput, size.Input)
			add(view.KindToolOutput, size.Output)
			add(view.KindFile, size.Files)
		}
	}
	return sum
}
