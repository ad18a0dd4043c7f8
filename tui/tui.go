// Package tui answers: what does a person see? It draws reports for a terminal: the timeline as strata, who takes
// the tokens, before and after.
package tui

import (
	"fmt"
	"io"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/pivot"
)

// Painter draws on a writer.
type Painter struct {
	W     io.Writer
	Color bool
	Width int // columns; 0 means 80
}

// Inspection draws what is in a session.
func (p Painter) Inspection(r winnow.Report, title string, damaged []format.Damage) {
	fmt.Fprintf(p.W, "%s  %d messages, %d tokens, window %d\n", title, r.Messages, r.Tokens.Total, r.Window.Tokens)
}

// Pruning draws what a pruning did; r is the session after it.
func (p Painter) Pruning(r winnow.Report, receipt pivot.Receipt, title string) {
	fmt.Fprintf(p.W, "%s  %d → %d tokens\n", title, receipt.TokensBefore, receipt.TokensAfter)
}

// Compaction draws what a compaction did.
func (p Painter) Compaction(before, after winnow.Report, receipt pivot.Receipt, title string) {
	fmt.Fprintf(p.W, "%s  %d → %d tokens\n", title, receipt.TokensBefore, receipt.TokensAfter)
}
