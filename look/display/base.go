package display

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/winnowhq/winnow/lab"
	"github.com/winnowhq/winnow/text/quantity"
)

// Base says what part of the baseline's bill every request's system prompt and tools are, and which
// of the tools nobody called; nothing if that is unknown.
func Base(r *lab.Report) (lines []string) {
	base := r.BaseCost()
	if len(r.Sessions) == 0 || base.Cost <= 0 {
		return nil
	}
	tokens, steps := 0, 0
	for i := range r.Sessions {
		tokens, steps = tokens+r.Sessions[i].Base*r.Sessions[i].Steps, steps+r.Sessions[i].Steps
	}
	line := fmt.Sprintf("%s of the bill of %s, %s tokens of a request in the mean", quantity.Share(base.Share),
		r.Against(), quantity.Number(tokens/max(1, steps)))
	if base.Assumed > 0 {
		line += fmt.Sprintf("; assumed in %s without a report of usage", quantity.Count(base.Assumed, "session"))
	}
	lines = append(lines, line)
	for _, of := range base.Uncalled {
		lines = append(lines, fmt.Sprintf("%s for tools of %s that were declared and never called, %s tokens: %s",
			quantity.Bill(of.Cost, r.Relative), cmp.Or(of.Server, "the agents' own"), quantity.Number(of.Tokens),
			strings.Join(of.Names, ", ")))
	}
	switch {
	case len(base.Uncalled) > 0:
		lines = append(lines, "winnow status --by tool prints the setting that leaves such tools out")
	case base.Unknown == len(r.Sessions):
		lines = append(lines, "which tools were declared is not in these logs; "+
			"winnow status --by tool names those that nobody calls of sessions behind winnow wrap")
	}
	return lines
}
