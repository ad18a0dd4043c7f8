// Package tui draws reports for a terminal: the timeline as strata, what takes the tokens, before
// and after.
//
// Every line fits the width, so that a terminal never wraps one, and what comes from a session is
// cleaned before it is drawn: no control character and no escape sequence of a foreign text reaches
// the terminal; [visible.Writer] would not let it through either. Colour only repeats what glyphs
// and words say already.
package tui

import (
	"io"
	"strconv"
	"strings"

	"github.com/winnowhq/winnow/look/display"
	"github.com/winnowhq/winnow/text/quantity"
	"github.com/winnowhq/winnow/text/visible"
)

// defaultWidth is for writers that are no terminal, and leastWidth what a layout needs; a narrower
// page is cut.
const (
	defaultWidth = 80
	leastWidth   = 40
)

// Painter draws on a writer.
type Painter struct {
	W     io.Writer
	Color bool
	Width int // columns; 0 means 80
}

// page begins a page as wide as the painter.
func (p Painter) page() *page {
	width := p.Width
	if width <= 0 {
		width = defaultWidth
	}
	return &page{limit: width, width: max(width, leastWidth)}
}

// draw writes a page in one piece. A writer that fails stays behind: a picture has no half to save.
func (p Painter) draw(pg *page) {
	var spans []visible.Span
	for _, l := range pg.lines {
		spans = append(l.clip(pg.limit).spans(spans, p.Color), visible.Span{Text: "\n"})
	}
	_ = visible.To(p.W).Spans(spans...)
}

// style is what a text means; what it looks like is decided in [style.codes].
type style uint16

const (
	normal  style = iota
	strong        // conclusions and headings
	faint         // what may be skipped
	alarm         // over the limit
	fine          // within the limit, saved
	barTone       // bars that are about no zone
	foldedTone
	summaryTone
	prunedTone
	prunableTone
	guardedTone
	talkTone
	activeTone
	// What follows are colours of the palette of 256, from 0 on: see toned.
	palette style = 64
)

// toned is the style of a tone.
func toned(t display.Tone) style { return palette + style(t.Terminal) }

// codes are parameters of an SGR sequence: middle tones of the 256-colour palette, which read on
// dark and on light grounds. Words have a contrast of about
// 4.5 on white and on black, bars one of 3.
func (s style) codes() string {
	if s >= palette {
		return "38;5;" + strconv.Itoa(int(s-palette))
	}
	switch s {
	case strong:
		return "1"
	case faint:
		return "38;5;243"
	case alarm:
		return "1;38;5;131"
	case fine:
		return "38;5;28"
	case barTone:
		return "38;5;67"
	case foldedTone:
		return "38;5;243"
	case summaryTone:
		return "38;5;170"
	case prunedTone:
		return "38;5;61"
	case prunableTone:
		return "38;5;166"
	case guardedTone:
		return "38;5;29"
	case talkTone:
		return "38;5;137"
	case activeTone:
		return "38;5;31"
	}
	return ""
}

// span is a text in one style. Make it with [say] or [sayf]: they clean it.
type span struct {
	text  string
	style style
}

func say(s style, text string) span { return span{text: Clean(text), style: s} }

// line is one line of the screen.
type line []span

func (l line) columns() int {
	n := 0
	for _, s := range l {
		n += Columns(s.text)
	}
	return n
}

// pad fills a line with spaces to a width.
func (l line) pad(width int) line {
	if missing := width - l.columns(); missing > 0 {
		return append(l, span{text: strings.Repeat(" ", missing)})
	}
	return l
}

// clip cuts a line to a width and marks the cut. The spaces at its end go.
func (l line) clip(width int) line {
	if l.columns() > width {
		kept := make(line, 0, len(l))
		room := width
		for _, s := range l {
			n := Columns(s.text)
			if n >= room {
				// Something follows, or this is too long itself: either way the mark has to fit in.
				s.text = Cut(s.text+"…", room)
				kept = append(kept, s)
				break
			}
			kept, room = append(kept, s), room-n
		}
		l = kept
	}
	for len(l) > 0 {
		last := l[len(l)-1]
		trimmed := strings.TrimRight(last.text, " ")
		if trimmed != "" {
			if trimmed != last.text {
				l = append(append(line{}, l[:len(l)-1]...), span{text: trimmed, style: last.style})
			}
			break
		}
		l = l[:len(l)-1]
	}
	return l
}

// spans adds a line to what is to be written.
func (l line) spans(all []visible.Span, color bool) []visible.Span {
	for _, s := range l {
		codes := s.style.codes()
		if !color || strings.TrimSpace(s.text) == "" {
			codes = ""
		}
		all = append(all, visible.Span{Style: codes, Text: s.text})
	}
	return all
}

// page collects lines.
type page struct {
	limit int // no line is wider
	width int // that the layout reckons with
	lines []line
}

func (pg *page) add(spans ...span) { pg.lines = append(pg.lines, spans) }

func (pg *page) addAll(lines []line) { pg.lines = append(pg.lines, lines...) }

// gap leaves one line empty, unless one is already.
func (pg *page) gap() {
	if n := len(pg.lines); n > 0 && len(pg.lines[n-1]) > 0 {
		pg.add()
	}
}

// heading begins a section, after an empty line.
func (pg *page) heading(title, remark string) {
	pg.gap()
	pg.add(heading(title, remark)...)
}

func heading(title, remark string) line {
	l := line{say(strong, title)}
	if remark != "" {
		l = append(l, say(faint, "  "+remark))
	}
	return l
}

// words writes a sentence below a first column, over as many lines as it takes, at most the given
// number.
func (pg *page) words(first span, s style, text string, most int) {
	pg.flow(first, s, strings.Fields(Clean(text)), most)
}

// flow writes pieces one after the other as words does, and breaks lines only between them.
func (pg *page) flow(first span, s style, pieces []string, most int) {
	indent := Columns(first.text)
	for i, text := range Wrap(pieces, max(10, pg.width-indent), most) {
		if i > 0 {
			first = span{text: strings.Repeat(" ", indent)}
		}
		pg.add(first, say(s, text))
	}
}

// grid puts cells below each other, two spaces apart. Its columns are '<' or '>', or '.' for a sign
// that is only one space apart from its name. The last column is as long as the page lets it be.
func (pg *page) grid(indent int, align string, rows ...[]span) {
	widths := make([]int, len(align))
	for _, row := range rows {
		for i, c := range row {
			widths[i] = max(widths[i], Columns(c.text))
		}
	}
	for _, row := range rows {
		l := line{span{text: strings.Repeat(" ", indent)}}
		for i, c := range row {
			switch {
			case align[i] == '>':
				c.text = padLeft(c.text, widths[i])
			case i < len(align)-1:
				c.text = padRight(c.text, widths[i])
			}
			switch l = append(l, c); {
			case i == len(row)-1:
			case align[i] == '.':
				l = append(l, span{text: " "})
			default:
				l = append(l, span{text: "  "})
			}
		}
		pg.add(l...)
	}
}

// figure is a cell of a grid.
func figure(s style, n int) span { return span{text: quantity.Number(n), style: s} }

// more says that n things more were left out, if there are any.
func (pg *page) more(indent string, n int) {
	if n > 0 {
		pg.add(say(faint, indent+quantity.Number(n)+" more"))
	}
}
