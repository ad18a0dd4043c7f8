package panel

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/winnowhq/winnow/agent/chat/internal/draw"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/text/quantity"
)

// SaidChosen is what the user said before, to be said again.
type SaidChosen string

const (
	// saidSessions and mostSaid are how far the search for what was said goes back.
	saidSessions = 200
	mostSaid     = 5000
)

// said is what the user said once.
type said struct {
	text string
	at   session.Millis
}

// NewSaid searches what the user said in the sessions of a folder, the newest first.
func NewSaid(ctx context.Context, kept store.Store, folder string, now time.Time, s draw.Style) (Panel, tea.Cmd) {
	p := &picker[said]{title: "Said before", keys: "type to search · ↑↓ move · enter take it · esc back"}
	p.always = true
	p.texts = func(one said) []string { return []string{one.text} }
	p.head = func(width, _ int) []string {
		if p.note != "" {
			return dim(s, width, p.note)
		}
		return []string{p.filterState(width)}
	}
	p.row = func(one said, _ int, chosen bool, width int) []string {
		text := draw.FirstLine(one.text)
		if more := strings.Count(strings.TrimSpace(one.text), "\n"); more > 0 {
			text += " … +" + quantity.Count(more, "line")
		}
		return []string{pick(chosen, text, age(now, one.at), min(width, mostRow), s)}
	}
	p.enter = func(one said) tea.Msg { return SaidChosen(one.text) }
	return p, p.read(func() ([]said, error) { return saidIn(ctx, kept, folder) },
		"what was said cannot be read: ", "nothing was said in this folder yet")
}

// saidIn reads what the user said in the newest sessions of a folder, each text once.
func saidIn(ctx context.Context, kept store.Store, folder string) (all []said, err error) {
	list, err := kept.List(ctx)
	if err != nil {
		return nil, err
	}
	sessions, known := 0, map[string]bool{}
	for _, one := range list {
		if one.Info.Directory != folder {
			continue
		}
		if sessions++; sessions > saidSessions || len(all) >= mostSaid {
			break
		}
		for m, err := range kept.Messages(ctx, one.Info.ID) {
			if errors.Is(err, store.ErrNotFound) {
				break // it was deleted meanwhile
			}
			if err != nil {
				return nil, err
			}
			if text := m.Text(); m.Written() && strings.TrimSpace(text) != "" && !known[text] {
				known[text] = true
				all = append(all, said{text, m.Time.Created})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b said) int { return cmp.Compare(b.at, a.at) })
	return all[:min(len(all), mostSaid)], nil
}
