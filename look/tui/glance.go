package tui

import (
	"strings"

	"github.com/winnowhq/winnow/look/display"
	"github.com/winnowhq/winnow/store/report"
)

// Glance is what is said of a session at first sight.
type Glance struct {
	Title string
	About []string // facts that stand on one line: the product, the model
	// Report is drawn as how full the window is, nil if the session was not read.
	Report *report.Report
	Facts  []display.Fact
	// Rows is how many lines it should take at most: facts are cut as far as that needs. 0 is as
	// many as it takes.
	Rows int
}

// mostFactLines is how many lines a fact may take: on 40 columns a sentence takes four.
const mostFactLines = 6

// Glance draws a session at first sight.
func (p Painter) Glance(g Glance) {
	pg := p.glance(g, mostFactLines)
	for most := mostFactLines - 1; most > 0 && g.Rows > 0 && len(pg.lines) > g.Rows; most-- {
		pg = p.glance(g, most)
	}
	p.draw(pg)
}

// glance is a session at first sight with a limit on how many lines a fact takes.
func (p Painter) glance(g Glance, most int) *page {
	pg := p.page()
	pg.add(say(strong, Cut(Clean(g.Title), pg.width)))
	pg.words(span{}, faint, strings.Join(g.About, " · "), min(3, most))
	pg.gap()
	if g.Report != nil {
		pg.fullness(g.Report)
	}
	for _, f := range g.Facts {
		pg.words(say(faint, padRight(f.Name, 8)+"  "), normal, f.Text, most)
	}
	return pg
}

// fullness draws how full the window is, and says it.
func (pg *page) fullness(r *report.Report) {
	w, s, name := r.Window, display.StateOf(r), say(faint, padRight("window", 8)+"  ")
	if w.Usable > 0 {
		segments := []segment{{size: w.Overhead, glyph: "▒", style: foldedTone},
			{size: w.Tokens, glyph: "█", style: barTone}}
		pg.add(append(line{name}, gauge(segments, w.Usable, min(60, pg.width-10))...)...)
		name = span{text: strings.Repeat(" ", 10)}
	}
	pg.words(name, normal, s.Size(), 2)
	if s.Fit != display.Fits { // else the share says it
		pg.words(span{text: strings.Repeat(" ", 10)}, fitStyle(s.Fit), s.Verdict, 3)
	}
}
