package main

import (
	"github.com/winnowhq/winnow/tui"
	"github.com/winnowhq/winnow/visible"
)

// paint draws for people on standard output.
func (a *app) paint() tui.Painter {
	color := a.env.StdoutTerminal && !a.noColor && a.env.Getenv("NO_COLOR") == "" && a.env.Getenv("TERM") != "dumb"
	return tui.Painter{W: a.out, Color: color, Width: a.env.Width}
}

// spans writes a coloured text. A write that failed is remembered by the outlet.
func (a *app) spans(spans []visible.Span) { _ = a.out.Spans(spans...) }
