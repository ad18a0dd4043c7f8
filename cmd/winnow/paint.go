package main

import "github.com/winnowhq/winnow/tui"

// paint draws for people on standard output.
func (a *app) paint() tui.Painter {
	color := a.env.StdoutTerminal && !a.noColor && a.env.Getenv("NO_COLOR") == "" && a.env.Getenv("TERM") != "dumb"
	return tui.Painter{W: a.env.Stdout, Color: color, Width: a.env.Width}
}
