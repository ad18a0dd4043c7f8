package rule

import (
	"strconv"
	"strings"

	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/plan/coverage"
)

// An outline is worth its tokens only where much is left out and missed often, of which then a few
// lines come back in place of all: reads of files. docs/strategies.md has what was measured.
const (
	outlineFrom  = 2000 // tokens of a read that gets one at least
	outlineShare = 64   // of the tokens left out, one in 64
	fewest       = 2    // entries that make an outline
)

// outline says at which lines of a file that was read things begin, "" where that is not worth its
// tokens. The numbers are those that "winnow recall HANDLE --lines" takes. It depends on nothing
// but the part, so that the same part is outlined with the same bytes.
//
//	--lines 12 Field, 27 Elision, 97 Ledger, 130 NewLedger
func (w Window) outline(x *Item) string {
	size := x.Size().Output
	if w.Outline <= 0 || x.Call == nil || size < outlineFrom || x.op() != call.Read {
		return ""
	}
	var all []coverage.Entry
	top := 0
	for e := range coverage.Outline(x.Call.Actions[0].Path, x.Part.State.Result()) {
		if len(all) == 0 || e.Depth < top {
			top = e.Depth
		}
		all = append(all, e)
	}
	if len(all) < fewest {
		return ""
	}
	begins := "lines "
	if w.opening() == recalled {
		begins = "--lines "
	}
	budget := min(w.Outline, size/outlineShare) - w.Facts.Count("; "+begins)
	outer := make([]coverage.Entry, 0, len(all))
	for _, e := range all {
		if e.Depth == top {
			outer = append(outer, e)
		}
	}
	most := w.fitting(all, budget)
	if 2*len(outer) >= most { // entries inside of these say less
		all, most = outer, w.fitting(outer, budget)
	}
	if most < fewest {
		return ""
	}
	return begins + strings.ToValidUTF8(listed(all, most), "\uFFFD")
}

// fitting is how many entries of a list take no more than this many tokens, spread evenly over it.
func (w Window) fitting(all []coverage.Entry, tokens int) int {
	n := len(all)
	if size := w.Facts.Count(listed(all, n)); size > tokens {
		n = n * max(0, tokens) / size
	}
	for n > 0 && w.Facts.Count(listed(all, n)) > tokens {
		n--
	}
	return n
}

// listed are n entries of a list, spread evenly over it, each with the number of its line.
func listed(all []coverage.Entry, n int) string {
	var text []byte
	for i := range n {
		e := all[i*len(all)/n]
		if i > 0 {
			text = append(text, ", "...)
		}
		text = append(append(strconv.AppendInt(text, int64(e.Line), 10), ' '), e.Name...)
	}
	return string(text)
}
