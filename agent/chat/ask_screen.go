package chat

import (
	"strings"

	"github.com/winnowhq/winnow/agent/chat/internal/draw"
	"github.com/winnowhq/winnow/look/tui"
	"github.com/winnowhq/winnow/text/quantity"
	"github.com/winnowhq/winnow/text/visible"
)

// drawQuestion draws the first question that waits, in at most most lines if possible:
// what is asked about can be scrolled, nothing else goes.
func (m *chat) drawQuestion(most int) (lines []string, x, y int) {
	q := m.questions.waiting[0]
	head := m.questionHead(q)
	foot, x, y := m.questionFoot(q)
	target := m.questionTarget(q)
	room := max(1, most-len(head)-len(foot))
	if len(target) > room {
		room = max(1, room-1)
	}
	q.from = max(0, min(q.from, len(target)-room))
	seen := target[q.from:min(len(target), q.from+room)]
	q.saw(m.width, len(target), len(seen))
	lines = head
	for _, l := range seen {
		lines = append(lines, draw.Gutter+draw.Gutter+l)
	}
	if line := q.hidden(len(target) - len(seen)); line != "" {
		look := m.style.Warn
		if q.nudged {
			look = m.style.Bad
		}
		lines = append(lines, draw.Gutter+draw.Paint(look, tui.Cut(line, m.width-len(draw.Gutter))))
	}
	if y >= 0 {
		y += len(lines)
	}
	return append(lines, foot...), x, y
}

// questionTarget is what is asked about, to the letter: nothing of it is left out as a colour would
// be elsewhere, because a person agrees to all of it.
func (m *chat) questionTarget(q *question) (lines []string) {
	for line := range strings.Lines(visible.Text(q.want.Target)) {
		lines = append(lines, draw.Chop(draw.Clean(strings.TrimRight(line, "\n")), m.width-2*len(draw.Gutter))...)
	}
	return lines
}

// saw notes which lines of a target are on the screen. In another width the lines are
// others.
func (q *question) saw(width, lines, seen int) {
	if q.width != width {
		q.width, q.read = width, 0
	}
	q.lines, q.rows = lines, seen
	if q.from <= q.read {
		q.read = max(q.read, q.from+seen)
	}
}

// hidden says how many lines are not on the screen, and, until somebody has seen the last of them,
// that they have to.
func (q *question) hidden(n int) string {
	switch unread := q.unseen(); {
	case q.nudged && unread > 0:
		return "… " + quantity.Count(unread, "more line") + " first: ↓ or space"
	case unread > 0:
		return "… " + quantity.Count(unread, "more line") + ": ↓ or space shows them"
	case n > 0:
		return "… " + quantity.Count(n, "line") + " not seen here, ↑↓ scroll"
	}
	return ""
}

func (m *chat) questionHead(q *question) (lines []string) {
	head := draw.OneLine(q.want.Tool) + " wants to " + draw.OneLine(q.want.Action)
	if !q.want.Inside && q.want.Action != "run" && q.want.Action != "fetch" {
		head += " outside of the folder"
	}
	if q.child {
		head += " for the sub-agent"
		if title := draw.OneLine(q.title); title != "" {
			head += " “" + tui.Cut(title, 60) + "”"
		}
	}
	if q.want.Folder != "" {
		head += " in " + draw.OneLine(q.want.Folder)
	}
	if n := len(m.questions.waiting) - 1; n > 0 {
		head += " (" + quantity.Count(n, "more question") + " after this one)"
	}
	for i, l := range draw.Wrap(head+":", m.width-len(draw.Gutter), "") {
		mark := draw.Gutter
		if i == 0 {
			mark = draw.Paint(m.style.Warn, "?") + " "
		}
		lines = append(lines, mark+draw.Paint(m.style.Bold, l))
	}
	return lines
}

// questionFoot is how a question can be answered, or the line in which the model is told why not.
func (m *chat) questionFoot(q *question) (lines []string, x, y int) {
	if q.typing {
		lines = append(lines, draw.Paint(m.style.Dim,
			tui.Cut("  what is the model told? enter denies · esc back", m.width)))
		rows, x, y := q.words.Rows(m.width-len(draw.Gutter)-1, 3)
		for i, row := range rows {
			mark := draw.Gutter
			if i == 0 {
				mark = draw.Paint(m.style.Accent, "›") + " "
			}
			lines = append(lines, mark+row)
		}
		return lines, x + len(draw.Gutter), y + 1
	}
	put := func(choice string) {
		for _, l := range draw.Wrap(draw.Clean(choice), m.width-len(draw.Gutter), draw.Gutter) {
			lines = append(lines, draw.Gutter+draw.Paint(m.style.Accent, l))
		}
	}
	line := ""
	for _, c := range []string{"y allow once", "a allow for this session" + grantOf(q.want).String(), "n deny",
		"w deny with a word to the model"} {
		switch {
		case line == "":
			line = c
		case tui.Columns(line)+3+tui.Columns(c) <= m.width-len(draw.Gutter):
			line += " · " + c
		default:
			put(line)
			line = c
		}
	}
	put(line)
	return lines, 0, -1
}
