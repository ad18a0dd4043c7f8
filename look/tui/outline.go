package tui

import (
	"fmt"
	"strings"

	"github.com/winnowhq/winnow/text/quantity"
)

// Outline is what a person reads about a session before its log: its turns, and what they changed.
type Outline struct {
	Title string
	Files []ChangedFile // of the whole session
	Turns []TurnOutline
}

// TurnOutline is one turn.
type TurnOutline struct {
	Number               int
	Message, Title, Body string
	Files                []ChangedFile
}

// ChangedFile is a file that differs. Status is "added", "deleted" or "modified"; Patch may be
// empty.
type ChangedFile struct {
	Name           string
	Status         string
	Added, Deleted int // lines
	Patch          string
}

// bodyLines is how many lines the body of a turn takes at most.
const bodyLines = 8

// Outline draws the turns of a session.
func (p Painter) Outline(o Outline) {
	pg := p.page()
	title := o.Title
	if title == "" {
		title = "Without a title"
	}
	pg.add(append(line{say(strong, title)}, total(o.Files)...)...)
	for _, t := range o.Turns {
		pg.gap()
		number := fmt.Sprintf("%3d  ", t.Number)
		pg.words(say(faint, number), strong, t.Title, 2)
		pg.add(say(faint, strings.Repeat(" ", len(number))+t.Message), span{})
		if t.Body != "" {
			pg.words(span{text: strings.Repeat(" ", len(number))}, normal, t.Body, bodyLines)
		}
		pg.files(len(number), t.Files)
	}
	pg.gap()
	p.draw(pg)
}

// total says how many files changed, and by how much.
func total(files []ChangedFile) line {
	if len(files) == 0 {
		return nil
	}
	added, deleted := 0, 0
	for _, f := range files {
		added, deleted = added+f.Added, deleted+f.Deleted
	}
	return append(line{say(faint, "  "+quantity.Count(len(files), "file")+" changed ")}, lines(added, deleted)...)
}

func lines(added, deleted int) line {
	return line{say(fine, " +"+quantity.Number(added)), say(alarm, " −"+quantity.Number(deleted))}
}

// signs say what became of a file.
var signs = map[string]string{"added": "+", "deleted": "−", "modified": "~"}

func (pg *page) files(indent int, files []ChangedFile) {
	width := 0
	for _, f := range files {
		width = max(width, Columns(Clean(f.Name)))
	}
	width = min(width, max(10, pg.width-indent-20))
	for _, f := range files {
		sign := signs[f.Status]
		if sign == "" {
			sign = " "
		}
		l := line{say(faint, strings.Repeat(" ", indent)+sign+" "), say(normal,
			padRight(CutFront(Clean(f.Name), width), width))}
		if f.Added+f.Deleted > 0 || f.Status == "" {
			l = append(l, lines(f.Added, f.Deleted)...)
		}
		pg.add(l...)
		if f.Patch == "" {
			continue
		}
		pg.patch(indent+2, f.Patch)
	}
}

// patch draws what changed in a file, from the first place on.
func (pg *page) patch(indent int, patch string) {
	before := strings.Repeat(" ", indent)
	heading := true
	for text := range strings.Lines(patch) {
		text = strings.ReplaceAll(strings.TrimRight(text, "\r\n"), "\t", "    ")
		s := normal
		switch {
		case strings.HasPrefix(text, "@@"):
			heading, s = false, faint
		case heading:
			continue // the names are above
		case strings.HasPrefix(text, "+"):
			s = fine
		case strings.HasPrefix(text, "-"):
			s = alarm
		}
		pg.add(span{text: before}, say(s, text))
	}
}
