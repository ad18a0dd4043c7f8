package command

import (
	"slices"
	"strings"
	"time"

	"github.com/mattn/go-runewidth"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/text/quantity"
	"github.com/winnowhq/winnow/text/visible"
)

// screenWidth is the width of a line where the terminal's is not known.
const screenWidth = 80

// sessionLine describes a session on the rest of a line behind some columns: its title, cut
// if it does not fit, and facts about it.
func sessionLine(a *cli.App, columns int, title string, facts ...string) string {
	facts = slices.DeleteFunc(facts, func(fact string) bool { return fact == "" })
	rest := visible.Line(strings.Join(facts, " · "))
	title = strings.Join(strings.Fields(visible.Line(title)), " ")
	switch {
	case title == "":
		return rest
	case rest != "":
		rest = " · " + rest
	}
	width := a.Env.Width
	if width <= 0 {
		width = screenWidth
	}
	const least = 20
	return runewidth.Truncate(title, max(least, width-columns-runewidth.StringWidth(rest)), "…") + rest
}

// ago says how long ago something was.
func ago(d time.Duration) string {
	if age := quantity.Age(d); age != "now" {
		return age + " ago"
	}
	return "now"
}
