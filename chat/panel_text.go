package chat

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/winnowhq/winnow/tui"
)

// textPanel shows lines that are scrolled.
type textPanel struct {
	title string
	lines []string
	at    int

	wrapped []string
	width   int
	height  int
}

// newTextPanel shows lines, which are cleaned. Lines that are too wide are broken, and go on under their own indentation.
func newTextPanel(title string, lines []string) panel { return &textPanel{title: title, lines: lines} }

func (p *textPanel) Title() string { return p.title }
func (p *textPanel) Keys() string  { return "↑↓ pgup pgdn scroll · esc back" }

func (p *textPanel) Update(msg tea.Msg) (panel, tea.Cmd) {
	k, ok := msg.(tea.KeyPressMsg)
	if !ok {
		return p, nil
	}
	page := max(1, p.height-1)
	switch k.String() {
	case "esc", "q", "enter":
		return nil, nil
	case "up", "k":
		p.at--
	case "down", "j":
		p.at++
	case "pgup":
		p.at -= page
	case "pgdown", "space":
		p.at += page
	case "home":
		p.at = 0
	case "end":
		p.at = len(p.wrapped)
	}
	p.at = max(0, min(p.at, len(p.wrapped)-p.height))
	return p, nil
}

func (p *textPanel) View(width, height int) []string {
	if p.width != width {
		p.width, p.wrapped = width, nil
		for _, l := range p.lines {
			l = clean(l)
			p.wrapped = append(p.wrapped, wrap(l, width, strings.Repeat(" ", len(l)-len(strings.TrimLeft(l, " "))))...)
		}
	}
	p.height = height
	p.at = max(0, min(p.at, len(p.wrapped)-height))
	lines := make([]string, 0, height)
	for i := p.at; i < len(p.wrapped) && len(lines) < height; i++ {
		lines = append(lines, tui.Cut(p.wrapped[i], width))
	}
	for len(lines) < height {
		lines = append(lines, "")
	}
	return lines
}
