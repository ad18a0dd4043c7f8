// Package editor holds what a person types: several lines with a cursor, large pastes as one sign,
// and what was typed before.
//
// It is not the textarea of bubbles, which turns tabs into spaces and drops what is longer than its
// limit: a paste must reach the model to the byte.
package editor

import (
	"slices"
	"strings"
	"unicode"

	tea "charm.land/bubbletea/v2"

	"github.com/winnowhq/winnow/agent/chat/internal/draw"
	"github.com/winnowhq/winnow/look/tui"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/quantity"
)

const (
	// asideBytes and asideLines are from where on a paste is kept aside and shown as one sign: more
	// is nothing that somebody edits by hand.
	asideBytes = 4 << 10
	asideLines = 20

	// aside is the first of the characters that stand for a paste: they belong to nobody.
	aside = rune(0xF0000)
)

// Editor is what is being typed: several lines, in which a large paste is one character.
type Editor struct {
	text   []rune
	cursor int
	pastes []paste

	history []string // what was said, oldest first
	at      int      // of history, while it is gone through; len(history) otherwise
}

type paste struct {
	text, label string
	file        *session.Part // that is attached; nil: a text
}

// Paste inserts a text at once. Whatever its size, it is looked at once, to count its lines.
func (e *Editor) Paste(text string) {
	if strings.ContainsRune(text, '\r') {
		text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	}
	lines := strings.Count(text, "\n")
	if len(text) > 0 && text[len(text)-1] != '\n' {
		lines++
	}
	if len(text) < asideBytes && lines <= asideLines {
		e.Insert(text)
		return
	}
	label := "[pasted " + quantity.Number(len(text)) + " bytes, " + quantity.Count(lines, "line") + "]"
	e.pastes = append(e.pastes, paste{text, label, nil})
	e.put(aside + rune(len(e.pastes)-1))
}

// Insert puts a text at the cursor, without what would act on a terminal.
func (e *Editor) Insert(text string) {
	runes := slices.DeleteFunc([]rune(text), func(r rune) bool {
		return r >= aside || r == unicode.ReplacementChar || unicode.IsControl(r) && r != '\n' && r != '\t'
	})
	e.put(runes...)
}

func (e *Editor) put(runes ...rune) {
	e.text = slices.Insert(e.text, e.cursor, runes...)
	e.cursor += len(runes)
	e.at = len(e.history)
}

// Value is what was typed, pastes whole.
func (e *Editor) Value() string {
	var b strings.Builder
	for _, r := range e.text {
		if r >= aside {
			b.WriteString(e.pastes[r-aside].text)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Empty reports whether nothing is typed.
func (e *Editor) Empty() bool { return len(e.text) == 0 }

// Set replaces all that is typed.
func (e *Editor) Set(text string) {
	e.text, e.cursor, e.pastes = nil, 0, nil
	if len(text) >= asideBytes || strings.Count(text, "\n") > asideLines {
		e.Paste(text)
		return
	}
	e.Insert(text)
}

// Sent empties the editor and remembers what was in it.
func (e *Editor) Sent() string {
	text := e.Value()
	if n := len(e.history); strings.TrimSpace(text) != "" && (n == 0 || e.history[n-1] != text) {
		e.history = append(e.history, text)
	}
	e.Set("")
	e.at = len(e.history)
	return text
}

// Key takes a key, and reports whether it was one for an editor.
func (e *Editor) Key(k tea.KeyPressMsg) bool {
	switch k.String() {
	case "alt+enter", "shift+enter", "ctrl+j":
		e.put('\n')
	case "backspace", "ctrl+h":
		e.cut(e.cursor-1, e.cursor)
	case "delete", "ctrl+d":
		e.cut(e.cursor, e.cursor+1)
	case "alt+backspace", "ctrl+w":
		e.cut(e.word(-1), e.cursor)
	case "alt+d":
		e.cut(e.cursor, e.word(1))
	case "ctrl+u":
		e.cut(e.lineStart(), e.cursor)
	case "ctrl+k":
		e.cut(e.cursor, e.lineEnd())
	case "left", "ctrl+b":
		e.cursor = max(0, e.cursor-1)
	case "right", "ctrl+f":
		e.cursor = min(len(e.text), e.cursor+1)
	case "alt+left", "ctrl+left", "alt+b":
		e.cursor = e.word(-1)
	case "alt+right", "ctrl+right", "alt+f":
		e.cursor = e.word(1)
	case "home", "ctrl+a":
		e.cursor = e.lineStart()
	case "end", "ctrl+e":
		e.cursor = e.lineEnd()
	case "up", "ctrl+p":
		e.vertical(-1)
	case "down", "ctrl+n":
		e.vertical(1)
	default:
		if k.Text == "" {
			return false
		}
		e.Insert(k.Text)
	}
	return true
}

func (e *Editor) cut(from, to int) {
	from, to = max(0, from), min(len(e.text), to)
	if from < to {
		e.text, e.cursor, e.at = slices.Delete(e.text, from, to), from, len(e.history)
	}
}

func (e *Editor) lineStart() int {
	at := e.cursor
	for at > 0 && e.text[at-1] != '\n' {
		at--
	}
	return at
}

func (e *Editor) lineEnd() int {
	at := e.cursor
	for at < len(e.text) && e.text[at] != '\n' {
		at++
	}
	return at
}

// word is where the next word in a direction ends.
func (e *Editor) word(direction int) int {
	at := e.cursor
	look := func() (rune, bool) {
		i := at
		if direction < 0 {
			i--
		}
		if i < 0 || i >= len(e.text) {
			return 0, false
		}
		return e.text[i], true
	}
	letter := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }
	for r, ok := look(); ok && !letter(r); r, ok = look() {
		if at += direction; r >= aside {
			return at
		}
	}
	for r, ok := look(); ok && letter(r); r, ok = look() {
		at += direction
	}
	return at
}

// vertical moves between lines, and between what was said before where nothing else is typed.
func (e *Editor) vertical(direction int) {
	browsing := e.at < len(e.history)
	if e.Empty() || browsing {
		e.browse(direction)
		return
	}
	start := e.lineStart()
	column := e.cursor - start
	if direction < 0 {
		if start == 0 {
			e.cursor = 0
			return
		}
		e.cursor = start - 1
		above := e.lineStart()
		e.cursor = min(above+column, e.cursor)
		return
	}
	end := e.lineEnd()
	if end == len(e.text) {
		e.cursor = end
		return
	}
	e.cursor = end + 1
	e.cursor = min(e.cursor+column, e.lineEnd())
}

func (e *Editor) browse(direction int) {
	at := e.at + direction
	if at < 0 || at > len(e.history) {
		return
	}
	text := ""
	if at < len(e.history) {
		text = e.history[at]
	}
	e.Set(text)
	e.at = at
}

// Rows draws the newest rows up to a number, and says where the cursor is among them.
func (e *Editor) Rows(width, most int) (rows []string, x, y int) {
	width = max(width, 8)
	var row strings.Builder
	used := 0
	next := func() {
		rows = append(rows, row.String())
		row.Reset()
		used = 0
	}
	for i, r := range e.text {
		text, w := e.drawn(r, width)
		if used+w > width {
			next()
		}
		if i == e.cursor {
			x, y = used, len(rows)
		}
		if r == '\n' {
			next()
			continue
		}
		row.WriteString(text)
		used += w
	}
	if used == width {
		next()
	}
	if e.cursor == len(e.text) {
		x, y = used, len(rows)
	}
	next()
	if len(rows) > most {
		from := min(max(0, y-most+1), len(rows)-most)
		rows, y = rows[from:from+most], y-from
	}
	return rows, x, y
}

// drawn is how one character looks, and its width.
func (e *Editor) drawn(r rune, width int) (string, int) {
	switch {
	case r >= aside:
		label := tui.Cut(e.pastes[r-aside].label, width)
		return label, tui.Columns(label)
	case r == '\n':
		return "", 0
	case r == '\t':
		return draw.Tab, len(draw.Tab)
	}
	text := tui.Clean(string(r))
	return text, tui.Columns(text)
}

// Typed are the characters that were typed, a paste being one.
func (e *Editor) Typed() []rune { return e.text }

// Remember replaces what was typed before, the oldest first.
func (e *Editor) Remember(history []string) { e.history, e.at = history, len(history) }
