package panel

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/winnowhq/winnow/agent/chat/internal/draw"
	"github.com/winnowhq/winnow/look/tui"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/text/quantity"
)

// NewHelp lists commands and what keys do. A command is carried out from here, or shown how to
// type if it needs a word.
func NewHelp(commands []Command, keys [][2]string, s draw.Style) Panel {
	type entry struct{ name, what, does string }
	var all []entry
	names := 0
	for _, c := range commands {
		all = append(all, entry{strings.TrimSpace("/" + c.Name + " " + c.Arguments), c.Help, "/" + c.Name})
	}
	for _, k := range keys {
		all = append(all, entry{name: k[0], what: k[1]})
	}
	for _, e := range all {
		names = max(names, tui.Columns(e.name))
	}
	p := &picker[entry]{title: "Help", keys: "↑↓ move · enter do it · / filter · esc back", tall: true}
	p.texts = func(e entry) []string { return []string{e.name, e.what} }
	p.row = func(e entry, item int, chosen bool, width int) (lines []string) {
		names := min(names, width/2)
		if item > 0 && p.shown[item] == len(commands) {
			lines = append(lines, "") // between commands and keys
		}
		mark, look := "  ", s.Bold
		if chosen {
			mark, look = "› ", s.Accent
		}
		name := e.name
		for _, what := range draw.Wrap(e.what, max(8, width-names-4), "") {
			lines = append(lines, tui.Cut(mark, width)+draw.Paint(look, draw.Fit(name, min(names, width-2)))+
				draw.Paint(s.Dim, tui.Cut("  "+what, max(0, width-2-names))))
			mark, name = "  ", ""
		}
		return lines
	}
	p.enter = func(e entry) tea.Msg {
		if e.does == "" {
			return nil
		}
		return CommandChosen(e.does)
	}
	return p.fill(all)
}

// NewModels lists the models of some names with their limits and prices, as look knows them;
// current is the one that answers now. A name that is not listed can be typed and chosen too.
func NewModels(names []string, current string, look func(name string) model.Model, s draw.Style) Panel {
	if current != "" && !slices.Contains(names, current) {
		names = slices.Insert(slices.Clone(names), 0, current)
	}
	var all []model.Model
	for _, name := range names {
		all = append(all, look(name))
	}
	p := &picker[model.Model]{title: "Models",
		keys: "type to filter, or any provider/model · ↑↓ move · enter choose · esc back"}
	p.always = true
	p.texts = func(m model.Model) []string { return []string{m.String(), m.Name} }
	typed := func() bool { return strings.Contains(strings.Trim(p.filter, "/"), "/") }
	p.head = func(width, _ int) []string {
		lines := []string{tui.Cut(p.filterState(width), width)}
		side := modelSide("context", "in", "out", "cached", width)
		lines = append(lines, dim(s, width, pick(false, "model", side, min(width, mostRow), draw.Style{}))...)
		switch {
		case len(p.shown) > 0:
		case typed():
			lines = append(lines, dim(s, width, "  enter asks for "+strings.TrimSpace(p.filter))...)
		default:
			lines = append(lines, dim(s, width, "  no model of that name is listed")...)
		}
		return lines
	}
	p.row = func(m model.Model, _ int, chosen bool, width int) []string {
		return []string{modelRow(&m, current, chosen, width, s)}
	}
	p.enter = func(m model.Model) tea.Msg { return ModelChosen(m.String()) }
	p.none = func() tea.Msg {
		if typed() {
			return ModelChosen(strings.TrimSpace(p.filter))
		}
		return nil
	}
	p.fill(all)
	p.at = max(0, slices.IndexFunc(all, func(m model.Model) bool { return m.String() == current }))
	return p
}

func modelRow(m *model.Model, current string, chosen bool, width int, s draw.Style) string {
	name, window := draw.OneLine(m.String()), "?"
	if m.String() == current {
		name += " (answers now)"
	}
	if m.Limits.Context > 0 {
		window = quantity.Short(m.Limits.Context)
	}
	price := func(dollars float64) string {
		if !m.Price.Known() || !(dollars > 0) {
			return "?"
		}
		return quantity.Price(dollars)
	}
	side := modelSide(window, price(m.Price.Input), price(m.Price.Output), price(m.Price.CacheRead), width)
	return pick(chosen, name, side, min(width, mostRow), s)
}

// modelSide is what there is to say of a model: its window, and its prices for a million tokens.
func modelSide(window, in, out, cached string, width int) string {
	side := right(window, 7)
	if width >= 56 {
		side += right(in, 9) + right(out, 9)
	}
	if width >= 72 {
		side += right(cached, 9)
	}
	return side
}

// NewRevert lists the messages that the user wrote, the newest first, to go back to before one.
func NewRevert(written []*session.Message, now time.Time, s draw.Style) Panel {
	p := &picker[*session.Message]{title: "Go back to before a message",
		keys: "↑↓ move · enter go back · / filter · esc leave all as it is"}
	p.texts = func(m *session.Message) []string { return []string{m.Text()} }
	p.head = func(width, height int) (lines []string) {
		if height >= 8 {
			lines = draw.Wrap("The files of the folder become what they were when the message came, and a new session "+
				"begins with what was said before it. This session stays, and the files as they are now are kept.",
				width, "")
		}
		return dim(s, width, append(lines, cmp.Or(p.filterState(width),
			quantity.Count(len(p.all), "message")+" of yours, newest first"))...)
	}
	p.row = func(m *session.Message, _ int, chosen bool, width int) []string {
		return []string{pick(chosen, cmp.Or(draw.FirstLine(m.Text()), "(no text)"), age(now, m.Time.Created),
			min(width, mostRow), s)}
	}
	p.enter = func(m *session.Message) tea.Msg { return RevertChosen{m} }
	return p.fill(written)
}

// age is how long ago something was, in a column of its own.
func age(now time.Time, at session.Millis) string {
	return right(quantity.Age(now.Sub(time.UnixMilli(int64(at)))), 8)
}

// NewSessions lists the sessions that a store keeps, the one that changed last first; current is
// the session that is open, "" for none.
func NewSessions(ctx context.Context, kept store.Store, current string, now time.Time, s draw.Style) (Panel, tea.Cmd) {
	p := &picker[store.Listing]{title: "Sessions", keys: "↑↓ move · enter open · / filter · esc back"}
	p.texts = func(one store.Listing) []string {
		return []string{one.Info.Title, one.Info.ID, modelOf(&one), one.Info.Directory}
	}
	p.head = func(width, _ int) []string {
		return dim(s, width, cmp.Or(p.note, p.filterState(width),
			quantity.Count(len(p.all), "session")+" · ● is this one"))
	}
	p.row = func(one store.Listing, _ int, chosen bool, width int) []string {
		title := cmp.Or(draw.OneLine(one.Info.Title), one.Info.ID)
		if one.Info.ID == current {
			title = "● " + title
		}
		side := age(now, one.Info.Time.Updated)
		if width >= 60 {
			side += "  " + right(quantity.Count(one.Messages, "message"), 14)
		}
		if width >= 78 {
			side += "  " + draw.Fit(draw.OneLine(modelOf(&one)), min(30, width/4))
		}
		return []string{pick(chosen, title, side, min(width, mostRow), s)}
	}
	p.enter = func(one store.Listing) tea.Msg { return SessionChosen(one.Info.ID) }
	return p, p.read(func() ([]store.Listing, error) { return kept.List(ctx) },
		"the sessions cannot be listed: ", "no session is kept yet")
}

func modelOf(one *store.Listing) string {
	if one.Info.Model != nil {
		return one.Info.Model.String()
	}
	return ""
}
