package chat

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/quantity"
	"github.com/winnowhq/winnow/tui"
)

// modelsPanel lists models with their limits and prices. What is typed filters them; a name that is none of them can be chosen too.
type modelsPanel struct {
	list
	style   style
	current string
	all     []model.Model
	shown   []int
}

// newModelsPanel lists the models of some names, as look knows them; current is the one that answers now.
func newModelsPanel(names []string, current string, look func(name string) model.Model, s style) panel {
	p := &modelsPanel{style: s, current: current}
	p.always = true
	for _, name := range names {
		p.all = append(p.all, look(name))
	}
	if current != "" && !slices.Contains(names, current) {
		p.all = slices.Insert(p.all, 0, look(current))
	}
	p.narrow()
	p.at = max(0, slices.IndexFunc(p.all, func(m model.Model) bool { return m.String() == current }))
	return p
}

func (p *modelsPanel) Title() string { return "Models" }
func (p *modelsPanel) Keys() string {
	return "type to filter, or any provider/model · ↑↓ move · enter choose · esc back"
}

func (p *modelsPanel) Update(msg tea.Msg) (panel, tea.Cmd) {
	switch name := p.pressed(msg, p.narrow); {
	case name == "esc":
		return nil, nil
	case name == "enter" && p.at < len(p.shown):
		return nil, choose(modelChosen(p.all[p.shown[p.at]].String()))
	case name == "enter" && strings.Contains(strings.Trim(p.filter, "/"), "/"):
		return nil, choose(modelChosen(strings.TrimSpace(p.filter)))
	}
	return p, nil
}

func (p *modelsPanel) narrow() {
	p.shown = p.shown[:0]
	for i := range p.all {
		if p.matches(p.all[i].String(), p.all[i].Name) {
			p.shown = append(p.shown, i)
		}
	}
}

func (p *modelsPanel) View(width, height int) []string {
	lines := []string{
		tui.Cut(p.state(len(p.shown), len(p.all), width), width),
		paint(p.style.dim, pick(false, "model", modelSide("context", "in", "out", "cached", width), min(width, mostRow), style{})),
	}
	if len(p.shown) == 0 {
		text := "no model of that name is listed"
		if strings.Contains(strings.Trim(p.filter, "/"), "/") {
			text = "enter asks for " + strings.TrimSpace(p.filter)
		}
		return shows(append(lines, paint(p.style.dim, tui.Cut("  "+text, width))), height)
	}
	return shows(append(lines, p.view(len(p.shown), height-2, func(int) int { return 1 }, func(item, _ int) string {
		return p.row(&p.all[p.shown[item]], item == p.at, width)
	})...), height)
}

func (p *modelsPanel) row(m *model.Model, chosen bool, width int) string {
	name := oneLine(m.String())
	if m.String() == p.current {
		name += " (answers now)"
	}
	window := "?"
	if m.Limits.Context > 0 {
		window = quantity.Short(m.Limits.Context)
	}
	price := func(dollars float64) string {
		if !m.Price.Known() || !(dollars > 0) {
			return "?"
		}
		return quantity.Price(dollars)
	}
	in, out, cached := price(m.Price.Input), price(m.Price.Output), price(m.Price.CacheRead)
	return pick(chosen, name, modelSide(window, in, out, cached, width), min(width, mostRow), p.style)
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
