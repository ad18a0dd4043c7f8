package live

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/edit"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/quantity"
)

const (
	mostTurns = 12
	mostSaid  = 20 // messages of one turn
	mostTitle = 80 // bytes
)

// named is a name that a button gives a message or a turn.
var named = regexp.MustCompile(`^(message|turn):[0-9]{1,9}$`)

// Turn is a turn of the user's as the model sees it.
type Turn struct {
	Number   int    `json:"number"` // from 1
	Title    string `json:"title,omitzero"`
	Tokens   int    `json:"tokens"`
	Messages []Said `json:"messages"` // the largest first
	More     int    `json:"more,omitzero"`
}

// Said is a message of a turn.
type Said struct {
	Number int    `json:"number"` // place in the log, from 1
	Role   string `json:"role"`
	Title  string `json:"title,omitzero"` // how it begins, or its first call
	Tokens int    `json:"tokens"`
}

// turns are the turns of a session that take the most space, the largest first.
func turns(s *report.Session, parts []report.Part, withheld bool) []Turn {
	shown, calls := map[string]int{}, map[string]string{}
	for i := range parts {
		p := &parts[i]
		shown[p.Message] += p.Shown
		if p.Tool != "" && calls[p.Message] == "" {
			calls[p.Message] = strings.TrimSpace(p.Tool + " " + p.Target)
		}
	}
	title := func(m *session.Message) string {
		if withheld {
			return ""
		}
		return rule.Shorten(strings.Join(strings.Fields(cmp.Or(m.Text(), calls[m.ID])), " "), mostTitle)
	}
	all := []Turn{}
	for i, t := range session.Turns(s.Log) {
		turn := Turn{Number: i + 1, Title: title(&s.Log[t.Start])}
		for at := t.Start; at < t.End; at++ {
			m := &s.Log[at]
			if tokens := shown[m.ID]; tokens > 0 {
				turn.Tokens += tokens
				turn.Messages = append(turn.Messages, Said{at + 1, string(m.Role), title(m), tokens})
			}
		}
		if turn.Tokens == 0 {
			continue
		}
		slices.SortStableFunc(turn.Messages, func(a, b Said) int { return b.Tokens - a.Tokens })
		if n := len(turn.Messages); n > mostSaid {
			turn.Messages, turn.More = turn.Messages[:mostSaid], n-mostSaid
		}
		all = append(all, turn)
	}
	slices.SortStableFunc(all, func(a, b Turn) int { return b.Tokens - a.Tokens })
	return all[:min(len(all), mostTurns)]
}

// foresee says what becomes of the view if a message or a turn is discarded.
func (p *page) foresee(ctx context.Context, a Action) (string, error) {
	all, err := winnow.Look(ctx, p.Engine, a.Session, func(s *report.Session) ([]edit.Leaving, error) {
		return edit.Foresee(s, []string{a.Name})
	})
	if err != nil {
		return "", err
	}
	tokens, rest := edit.Foretold(all)
	return fmt.Sprintf("%s: %s would leave the view%s. Press again to discard it.",
		strings.Replace(a.Name, ":", " ", 1), quantity.Count(tokens, "token"), rest), nil
}

// discard leaves a message or a turn out of the view.
func (p *page) discard(ctx context.Context, a Action) (string, error) {
	targets, err := winnow.Look(ctx, p.Engine, a.Session, func(s *report.Session) ([]string, error) {
		return edit.Expand(s, []string{a.Name})
	})
	if err != nil {
		return "", err
	}
	done, err := p.Engine.Edit(ctx, a.Session, edit.Request{Discard: targets, Words: true})
	if err != nil {
		return "", err
	}
	if done.Receipt == nil {
		return "Nothing of it can be left out.", nil
	}
	entry := p.entry(a, string(done.Receipt.Kind), "discarded: "+strings.Replace(a.Name, ":", " ", 1))
	entry.Receipt, entry.Tokens, entry.Parts = done.Receipt.ID, done.Receipt.Saved, nil
	p.hub.touch(a.Session, entry, "", false)
	return "Discarded: " + quantity.Count(done.Receipt.Saved, "token") + "." + next, nil
}
