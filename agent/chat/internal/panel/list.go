package panel

import (
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"github.com/winnowhq/winnow/agent/chat/internal/draw"
	"github.com/winnowhq/winnow/look/tui"
	"github.com/winnowhq/winnow/text/quantity"
)

// list is what is common to panels of rows: a place in it, what part of it is on the screen, and a
// text that filters it. An item is one line, or several where it is open. The zero value begins at
// the top.
type list struct {
	at  int // the chosen item
	top int // the first line on the screen, of those of all items

	filter string
	typing bool // keys go into the filter
	always bool // nothing else is done with letters

	heights []int // lines of each item, as they were drawn last
	height  int   // of the screen, in lines
}

// mostFilter is how long a filter may be, in bytes: a paste is not looked for.
const mostFilter = 200

// pressed takes a message, and returns the key that it was where the list has no use for it, ""
// otherwise. narrow is called when the filter changed.
func (l *list) pressed(msg tea.Msg, narrow func()) (name string) {
	switch msg := msg.(type) {
	case tea.PasteMsg:
		if l.paste(msg.Content) {
			narrow()
		}
	case tea.KeyPressMsg:
		taken, filtered := l.key(msg)
		if filtered {
			narrow()
		}
		if !taken {
			return msg.String()
		}
	}
	return ""
}

// key moves in the list or writes its filter. taken says that the key was for the list, filtered
// that other items are asked for now.
func (l *list) key(k tea.KeyPressMsg) (taken, filtered bool) {
	name := k.String()
	if l.typing || l.always {
		switch {
		case name == "backspace" || name == "ctrl+h":
			if l.filter == "" {
				l.typing = false
				return true, false
			}
			_, size := utf8.DecodeLastRuneInString(l.filter)
			return true, l.search(l.filter[:len(l.filter)-size])
		case name == "ctrl+u":
			return true, l.search("")
		case name == "esc" && (l.typing || l.filter != ""):
			l.typing = false
			return true, l.search("")
		case name == "enter" && l.typing:
			l.typing = false
			return true, false
		case k.Text != "" && k.Mod&^tea.ModShift == 0:
			return true, l.search(l.filter + k.Text)
		}
	}
	switch name {
	case "up", "ctrl+p":
		l.move(-1)
	case "down", "ctrl+n":
		l.move(1)
	case "pgup":
		l.page(-1)
	case "pgdown":
		l.page(1)
	case "home":
		l.at, l.top = 0, 0
	case "end":
		l.at, l.top = max(0, len(l.heights)-1), l.lines()
	case "k", "j", "g", "G", "/":
		switch {
		case l.always:
			return false, false
		case name == "/":
			l.typing = true
		case name == "k":
			l.move(-1)
		case name == "j":
			l.move(1)
		default:
			return false, false
		}
	case "esc":
		if l.filter == "" {
			return false, false
		}
		return true, l.search("")
	default:
		return false, false
	}
	return true, false
}

// paste writes into the filter. It reports whether other items are asked for now.
func (l *list) paste(text string) bool {
	if !l.typing && !l.always {
		return false
	}
	return l.search(l.filter + draw.OneLine(text[:min(len(text), mostFilter)]))
}

func (l *list) search(text string) bool {
	if len(text) > mostFilter {
		return false
	}
	l.filter = strings.ToValidUTF8(tui.Clean(text), "")
	l.at, l.top = 0, 0
	return true
}

// matches reports whether every word of the filter stands in one of some texts, whatever its case.
func (l *list) matches(texts ...string) bool {
	all := strings.ToLower(strings.Join(texts, "\n"))
	for word := range strings.FieldsSeq(strings.ToLower(l.filter)) {
		if !strings.Contains(all, word) {
			return false
		}
	}
	return true
}

// lines is how many lines all items have.
func (l *list) lines() (sum int) {
	for _, n := range l.heights {
		sum += n
	}
	return sum
}

// from is the first line of an item.
func (l *list) from(item int) (sum int) {
	for _, n := range l.heights[:min(item, len(l.heights))] {
		sum += n
	}
	return sum
}

// move goes to the next item, or the one before. What of an open one is not on the screen comes
// first.
func (l *list) move(by int) {
	if len(l.heights) == 0 {
		return
	}
	from := l.from(l.at)
	to := from + l.heights[l.at]
	switch {
	case by > 0 && to > l.top+l.height:
		l.top++
	case by < 0 && from < l.top:
		l.top--
	case by > 0 && l.at < len(l.heights)-1:
		l.at++
		l.top = max(l.top, to+1-l.height)
	case by < 0 && l.at > 0:
		l.at--
		l.top = min(l.top, max(from-l.heights[l.at], from-l.height))
	}
}

// page goes a screen on.
func (l *list) page(by int) {
	if len(l.heights) == 0 {
		return
	}
	l.top = max(0, min(l.top+by*max(1, l.height-1), l.lines()-l.height))
	line := l.top
	if by > 0 && l.top >= l.lines()-l.height {
		line = l.lines() - 1
	}
	l.at = len(l.heights) - 1
	for i, sum := 0, 0; i < len(l.heights); i++ {
		if sum += l.heights[i]; sum > line {
			l.at = i
			break
		}
	}
}

// view draws exactly height lines. lines is how many lines an item has, at least one, draw draws
// one of them: the first is 0.
func (l *list) view(items, height int, lines func(item int) int, draw func(item, line int) string) []string {
	l.height = max(1, height)
	if cap(l.heights) < items {
		l.heights = make([]int, items)
	}
	l.heights = l.heights[:items]
	for i := range l.heights {
		l.heights[i] = max(1, lines(i))
	}
	l.at = max(0, min(l.at, items-1))
	if items > 0 { // the chosen one is seen, or a piece of it where it is long
		from := l.from(l.at)
		to := from + l.heights[l.at]
		l.top = min(l.top, max(from, to-1))
		l.top = max(l.top, from+1-l.height)
	}
	l.top = max(0, min(l.top, l.lines()-l.height))
	out := make([]string, 0, l.height)
	line := -l.top
	for i := 0; i < items && len(out) < height; i++ {
		for j := 0; j < l.heights[i] && len(out) < height; j++ {
			if line+j >= 0 {
				out = append(out, draw(i, j))
			}
		}
		line += l.heights[i]
	}
	for len(out) < height {
		out = append(out, "")
	}
	return out
}

// state is what the filter says, "" without one; room is how wide it may be.
func (l *list) state(shown, all, room int) string {
	if !l.typing && !l.always && l.filter == "" {
		return ""
	}
	text := "/" + l.filter
	if l.typing || l.always {
		text += "▏"
	}
	if l.filter != "" {
		text += "  " + quantity.Number(shown) + " of " + quantity.Number(all)
	}
	return tui.Cut(text, room)
}

// shows cuts what a panel drew to the screen that it has.
func shows(lines []string, height int) []string {
	lines = lines[:min(len(lines), height)]
	for len(lines) < height {
		lines = append(lines, "")
	}
	return lines
}
