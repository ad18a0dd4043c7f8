package panel

import (
	"context"
	"fmt"
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/agent/chat/internal/draw"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/edit"
	"github.com/winnowhq/winnow/store/report"
)

// discard leaves out the message of the chosen part, or its turn. The first press of a key tells
// the effect and the references, the second one discards. asked is the key and message of the first.
func (p *contextPanel) discard(key, asked string) tea.Cmd {
	row := p.row()
	switch {
	case p.busy || row == nil:
		return nil
	case row.part == nil:
		p.said, p.wrong = "choose a part: its message or its turn is discarded", true
		return nil
	}
	message, whole := row.part.Message, key == "t"
	if asked == key+message {
		return p.begin(func(ctx context.Context) (string, *deed, error) {
			did, err := p.leave(ctx, message, whole)
			if err != nil || did.back == nil {
				return did.what, nil, err
			}
			return did.what, &did, nil
		})
	}
	p.busy, p.asked = true, key+message
	return func() tea.Msg {
		said, err := winnow.Look(p.ctx, p.engine, p.id, func(s *report.Session) (string, error) {
			name, label := named(s, message, whole)
			all, err := edit.Foresee(s, []string{name})
			tokens, rest := edit.Foretold(all)
			return label + effect(-tokens) + rest + " · " + key + " again discards it", err
		})
		return panelRead{p, func() { p.tell(said, err) }}
	}
}

// named returns the name by which a message or its turn is discarded, and its label for people.
func named(s *report.Session, message string, whole bool) (name, label string) {
	at := session.Index(s.Log, message)
	turn := slices.IndexFunc(session.Turns(s.Log), func(t session.Turn) bool { return t.Start <= at && at < t.End })
	if whole && turn >= 0 {
		return fmt.Sprintf("turn:%d", turn+1), fmt.Sprintf("turn %d", turn+1)
	}
	return message, fmt.Sprintf("message %d", at+1)
}

// leave discards a message, or its turn.
func (p *contextPanel) leave(ctx context.Context, message string, whole bool) (deed, error) {
	label := ""
	targets, err := winnow.Look(ctx, p.engine, p.id, func(s *report.Session) ([]string, error) {
		var name string
		name, label = named(s, message, whole)
		return edit.Expand(s, []string{name})
	})
	if err != nil {
		return deed{}, err
	}
	out, err := p.engine.Edit(ctx, p.id, edit.Request{Discard: targets, Words: true})
	if err != nil {
		return deed{}, err
	}
	done, why := counted(out)
	if done == 0 {
		return deed{}, fmt.Errorf("%s stays as it is: %s", label, why)
	}
	out.Targets = slices.DeleteFunc(out.Targets, func(t edit.Target) bool { return !t.OK && t.Code == rule.Unprofitable })
	if _, why = counted(out); why != "" {
		label += " (" + draw.OneLine(why) + ")"
	}
	return deed{what: label + " is discarded", back: p.undoOf(out)}, nil
}
