package command

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/mattn/go-runewidth"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/look/tui"
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
	width := cmp.Or(a.Env.Width, screenWidth)
	const least = 20
	title = runewidth.Truncate(title, max(least, width-columns-runewidth.StringWidth(rest)), "…")
	return runewidth.Truncate(title+rest, width-columns, "…")
}

// showIndented prints a text on lines that fit the screen.
func showIndented(a *cli.App, columns int, text string) {
	for _, line := range tui.Wrap(strings.Fields(text), cmp.Or(a.Env.Width, screenWidth)-columns, 0) {
		a.Printf("%*s%s\n", columns, "", line)
	}
}

// ago says how long ago something was.
func ago(d time.Duration) string {
	if age := quantity.Age(d); age != "now" {
		return age + " ago"
	}
	return "now"
}
