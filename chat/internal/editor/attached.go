package editor

import (
	"strings"

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

// Before is what stands in the line before the cursor.
func (e *Editor) Before() string { return string(e.text[e.lineStart():e.cursor]) }

// Replace puts a text in the place of a number of characters before the cursor.
func (e *Editor) Replace(characters int, text string) {
	e.cut(e.cursor-characters, e.cursor)
	e.Insert(text)
}
