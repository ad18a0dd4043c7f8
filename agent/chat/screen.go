package chat

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/winnowhq/winnow/agent/chat/internal/draw"
	"github.com/winnowhq/winnow/look/tui"
	"github.com/winnowhq/winnow/text/quantity"
)

const (
	// inputRows is how many rows of what is typed are seen at most.
	inputRows = 8
	// offered is how many commands are offered at a time.
	offered = 6
	// lowScreen is how many lines a screen has that are needed for what is said.
	lowScreen = 16
)

// draw draws the screen: the transcript or a panel, a rule, what is typed or a question, and what
// the window holds.
func (m *chat) draw() tea.View {
	lines, cursor := m.screen()
	for i, l := range lines {
		lines[i] = draw.Safe(l)
	}
	v := tea.NewView(strings.Join(lines, "\n"))
	v.AltScreen = true
	v.MouseMode = m.mouseMode()
	v.Cursor = cursor
	v.WindowTitle = m.windowTitle()
	return v
}

func (m *chat) windowTitle() string {
	if title := draw.OneLine(m.session.title); title != "" {
		return tui.Cut(title, 80) + " · winnow"
	}
	return "winnow"
}

// screen gives exactly height lines, none wider than the width.
func (m *chat) screen() ([]string, *tea.Cursor) {
	bar := m.bar()
	room := m.height - 1 - len(bar) // for what is below the rule
	var below []string
	var cursor *tea.Cursor
	x, y := 0, -1
	switch {
	case len(m.questions.waiting) > 0:
		below, x, y = m.drawQuestion(room - 1)
	case m.panel != nil:
		below = []string{draw.Paint(m.style.Dim, tui.Cut(m.panel.Keys(), m.width))}
	default:
		below, x, y = m.drawInput(max(1, min(inputRows, room-3)))
	}
	m.questions.show(m.now())
	height := max(1, m.height-1-len(below)-len(bar))
	var lines []string
	if m.panel != nil {
		lines = append(lines, m.rule(m.panel.Title(), ""))
		lines = append(lines, m.panel.View(m.width, max(1, height-1))...)
	} else {
		m.transcript.Spinner = spinner[m.status.frame%len(spinner)]
		m.transcript.Resize(m.width, height)
		lines = append(lines, m.transcript.View()...)
	}
	lines = append(lines, m.statusLine())
	if y >= 0 {
		cursor = tea.NewCursor(x, len(lines)+y)
	}
	lines = append(append(lines, below...), bar...)
	if len(lines) > m.height {
		cut := len(lines) - m.height
		lines = lines[cut:]
		if cursor != nil {
			cursor.Y = max(0, cursor.Y-cut)
		}
	}
	return lines, cursor
}

// rule is a line across the screen with a text at its left and one at its right.
func (m *chat) rule(left, right string) string {
	left, right = tui.Clean(left), tui.Clean(right)
	if left != "" {
		left = tui.Cut(left, max(8, m.width-10)) + " "
	}
	if right != "" {
		right = " " + tui.Cut(right, max(0, m.width-tui.Columns(left)-8))
	}
	dashes := max(0, m.width-3-tui.Columns(left)-tui.Columns(right))
	return draw.Paint(m.style.Dim, "── ") + draw.Paint(m.style.Bold, left) +
		draw.Paint(m.style.Dim, strings.Repeat("─", dashes)+right)
}

// status is the rule above the input: what goes on, or whose session this is.
func (m *chat) statusLine() string {
	left, right := "", m.model.String()
	switch {
	case m.status.hint != "":
		left = m.status.hint
	case m.status.doing != "":
		left = spinner[m.status.frame%len(spinner)] + " " + m.status.doing
		if m.folding.written > 0 {
			left += " · " + quantity.Count(m.folding.written, "character") + " of the summary"
		}
	case m.work != nil && m.work.stopped:
		left = spinner[m.status.frame%len(spinner)] + " stopping"
	case m.work != nil && m.waiting() != "":
		left = spinner[m.status.frame%len(spinner)] + " " + m.waiting()
		right = "esc stops"
	case m.work != nil:
		left = spinner[m.status.frame%len(spinner)] + " working"
		if since := m.now().Sub(m.work.since); since >= time.Second {
			left += " " + quantity.Duration(since.Truncate(time.Second))
		}
		if m.work.step > 1 {
			left += " · step " + quantity.Number(m.work.step)
		}
		right = "esc stops"
		if m.folding.preparing {
			right = "a summary is being prepared · " + right
		}
	case m.session.title != "":
		left = draw.OneLine(m.session.title)
	}
	if m.transcript.Scrolled {
		right = "↓ more · end"
	}
	return m.rule(left, right)
}

// waiting says for what the request waits, "" where it does not.
func (m *chat) waiting() string {
	left := m.work.until.Sub(m.now())
	if m.work.waits == "" || left <= 0 {
		return ""
	}
	return "waits " + quantity.Duration((left + time.Second - 1).Truncate(time.Second)) + ": " + m.work.waits
}

// drawInput draws what is typed, what is said and waits, and the commands that may be meant.
func (m *chat) drawInput(most int) (lines []string, x, y int) {
	for i, q := range m.session.queued {
		if i == 2 {
			lines = append(lines, draw.Paint(m.style.Dim,
				draw.Gutter+"… "+quantity.Count(len(m.session.queued)-i, "more message")+" waiting"))
			break
		}
		lines = append(lines, draw.Paint(m.style.Dim,
			tui.Cut("↥ waits: "+draw.OneLine(q.text[:min(len(q.text), 400)]), m.width)))
	}
	lines = append(lines, m.drawOffers()...)
	rows, x, y := m.input.Rows(m.width-len(draw.Gutter)-1, most)
	y += len(lines)
	for i, row := range rows {
		mark := draw.Gutter
		if i == 0 {
			mark = draw.Paint(m.style.Accent, "›") + " "
		}
		if m.input.Empty() {
			row = draw.Paint(m.style.Dim, tui.Cut(m.placeholder(), m.width-len(draw.Gutter)))
		}
		lines = append(lines, mark+row)
	}
	return lines, x + len(draw.Gutter), y
}

func (m *chat) placeholder() string {
	switch {
	case m.work != nil:
		return "say more while it works"
	case m.session.resumes:
		return "enter goes on with the turn that stopped"
	case m.session.id == "":
		return "what is to be done? /help lists commands"
	}
	return "say something · /help"
}

// bar is what stands at the bottom: what fills the window, and what the session took. A low screen
// has room for one line of it.
func (m *chat) bar() []string {
	lines := []string{"", draw.Paint(m.style.Dim, tui.Cut("nothing was said yet", m.width))}
	if m.session.gauge.Model != "" {
		lines = draw.Bar(m.session.gauge, m.width, m.style)
	} else if window := m.model.Limits.Context; window > 0 {
		lines[1] = draw.Paint(m.style.Dim, tui.Cut("nothing was said yet · a window of "+quantity.Number(window)+" "+
			"tokens", m.width))
	}
	if m.height < lowScreen {
		lines = lines[len(lines)-1:]
	}
	return lines
}
