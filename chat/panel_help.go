package chat

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/winnowhq/winnow/tui"
)

// helpPanel lists commands and keys. A command is carried out from here, or shown how to type where it needs a word.
type helpPanel struct {
	list
	style    style
	commands []command
	keys     [][2]string
	shown    []int // positions: of commands, and behind them of keys
}

// newHelpPanel lists commands, and what keys do: each key with what it does.
func newHelpPanel(commands []command, keys [][2]string, s style) panel {
	p := &helpPanel{style: s, commands: commands, keys: keys}
	p.narrow()
	return p
}

func (p *helpPanel) Title() string { return "Help" }
func (p *helpPanel) Keys() string {
	if p.typing {
		return "type to filter · enter done · esc clear"
	}
	return "↑↓ move · enter do it · / filter · esc back"
}

func (p *helpPanel) Update(msg tea.Msg) (panel, tea.Cmd) {
	switch name := p.pressed(msg, p.narrow); {
	case name == "esc" || name == "q":
		return nil, nil
	case name == "enter" && p.at < len(p.shown) && p.shown[p.at] < len(p.commands):
		return nil, choose(commandChosen("/" + p.commands[p.shown[p.at]].name))
	}
	return p, nil
}

func (p *helpPanel) narrow() {
	p.shown = p.shown[:0]
	for i := range len(p.commands) + len(p.keys) {
		if name, what := p.entry(i); p.matches(name, what) {
			p.shown = append(p.shown, i)
		}
	}
}

func (p *helpPanel) entry(i int) (name, what string) {
	if i < len(p.commands) {
		c := &p.commands[i]
		return strings.TrimSpace("/" + c.name + " " + c.arguments), c.help
	}
	key := p.keys[i-len(p.commands)]
	return key[0], key[1]
}

func (p *helpPanel) View(width, height int) []string {
	names := 0
	for i := range len(p.commands) + len(p.keys) {
		name, _ := p.entry(i)
		names = max(names, tui.Columns(name))
	}
	names = min(names, width/2)
	var lines []string
	if state := p.state(len(p.shown), len(p.commands)+len(p.keys), width); state != "" {
		lines = append(lines, state)
	}
	room := max(8, width-names-4)
	texts := func(item int) []string { // the second line is for the key that needs it
		_, what := p.entry(p.shown[item])
		return wrap(what, room, "")
	}
	return shows(append(lines, p.view(len(p.shown), height-len(lines), func(item int) int {
		n := len(texts(item))
		if item > 0 && p.shown[item] == len(p.commands) {
			n++ // a line between commands and keys
		}
		return n
	}, func(item, line int) string {
		if item > 0 && p.shown[item] == len(p.commands) {
			if line == 0 {
				return ""
			}
			line--
		}
		name, _ := p.entry(p.shown[item])
		mark, look := "  ", p.style.bold
		if item == p.at {
			mark, look = "› ", p.style.accent
		}
		if line > 0 {
			mark, name = "  ", ""
		}
		return tui.Cut(mark, width) + paint(look, fit(name, min(names, width-2))) + paint(p.style.dim, tui.Cut("  "+texts(item)[line], max(0, width-2-names)))
	})...), height)
}
