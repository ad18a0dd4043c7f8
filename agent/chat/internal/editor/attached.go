package editor

import (
	"strings"
	"unicode"

	"github.com/winnowhq/winnow/session"
)

// Attach puts a file at the cursor: one sign, which a key deletes.
func (e *Editor) Attach(p session.Part, label string) {
	e.pastes = append(e.pastes, paste{label, label, &p})
	e.put(aside + rune(len(e.pastes)-1))
}

// Attached are the files among what is typed, in their order.
func (e *Editor) Attached() (all []session.Part) {
	for _, r := range e.text {
		if r >= aside && e.pastes[r-aside].file != nil {
			all = append(all, *e.pastes[r-aside].file)
		}
	}
	return all
}

// Edited replaces what is typed by what became of it elsewhere. Files whose labels are still there
// stay attached.
func (e *Editor) Edited(text string) {
	var kept []paste
	for _, r := range e.text {
		if r >= aside && e.pastes[r-aside].file != nil {
			kept = append(kept, e.pastes[r-aside])
		}
	}
	e.Set("")
	for _, p := range kept {
		before, after, found := strings.Cut(text, p.label)
		if found {
			e.Paste(before)
			e.Attach(*p.file, p.label)
			text = after
		}
	}
	e.Paste(text)
}

// Word is what stands before the cursor, back to the last space: at most its last 500 characters.
func (e *Editor) Word() string {
	at := e.cursor
	for at > 0 && e.cursor-at < 500 && !unicode.IsSpace(e.text[at-1]) {
		at--
	}
	return string(e.text[at:e.cursor])
}

// Replace puts a text in the place of a number of characters before the cursor.
func (e *Editor) Replace(characters int, text string) {
	e.cut(e.cursor-characters, e.cursor)
	e.Insert(text)
}
