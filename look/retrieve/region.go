package retrieve

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/winnowhq/winnow/plan/coverage"
)

// beside is how many lines before and after a line with the words are shown.
const beside = 3

// Region is a piece of a text. The zero value is all of it.
type Region struct {
	// From and To are its first and last line, from 1 on; 0 is that of the text. A text whose lines
	// a tool numbered has these numbers. With words, only these lines are looked through.
	From, To int
	// Words are looked for, whatever their case: the lines that have all of them, and if there is
	// no such line, those that have one of them; with the lines beside them.
	Words []string
}

// Lines is the region that is written "120-180", "120-", "-40" or "120".
func Lines(text string) (r Region, err error) {
	if strings.TrimSpace(text) == "" {
		return r, nil
	}
	first, last, several := strings.Cut(strings.TrimSpace(text), "-")
	if first != "" || !several {
		r.From, err = strconv.Atoi(strings.TrimSpace(first))
	}
	if !several {
		r.To = r.From
	} else if last != "" && err == nil {
		r.To, err = strconv.Atoi(strings.TrimSpace(last))
	}
	if err != nil || r.From < 0 || r.To < 0 || !several && r.From == 0 || r.To > 0 && r.From > r.To {
		return Region{}, fmt.Errorf("lines must be A-B, such as 120-180, not %q", text)
	}
	return r, nil
}

// ErrNothing is how Of ends if there is nothing in a region.
var ErrNothing = errors.New("nothing is there")

// Of is the region of a text, and how many lines the whole has. With words, lines have their
// numbers.
func (r Region) Of(text string) (piece string, total int, err error) {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	total = len(lines)
	shift := coverage.Shift(text)
	from, to := 1, total
	if r.From > 0 {
		from = max(r.From-shift, 1)
	}
	if r.To > 0 {
		to = min(r.To-shift, total)
	}
	if from > to {
		which := ""
		if shift != 0 {
			which = fmt.Sprintf(", with the numbers %d to %d", 1+shift, total+shift)
		}
		return "", total, fmt.Errorf("%w: the text has %d lines%s", ErrNothing, total, which)
	}
	if len(r.Words) == 0 {
		return strings.Join(lines[from-1:to], ""), total, nil
	}
	if piece = r.around(lines, from, to, shift, len(r.Words)); piece == "" {
		piece = r.around(lines, from, to, shift, 1)
	}
	if piece == "" {
		return "", total, fmt.Errorf("%w: no line has %q", ErrNothing, strings.Join(r.Words, " "))
	}
	return piece, total, nil
}

// First is the number of the first line of a text, from which Region counts.
func First(text string) int { return 1 + coverage.Shift(text) }

// around are the lines that have at least that many of the words, numbered, with those beside them.
func (r Region) around(lines []string, from, to, shift, least int) string {
	var b strings.Builder
	shown := 0 // the last line that is
	for n := from; n <= to; n++ {
		if !r.has(lines[n-1], least) {
			continue
		}
		first := max(from, n-beside, shown+1)
		if shown > 0 && first > shown+1 {
			b.WriteString("--\n")
		}
		for k := first; k <= min(to, n+beside); k++ {
			sign := "-"
			if r.has(lines[k-1], least) {
				sign = ":"
			}
			b.WriteString(strconv.Itoa(k+shift) + sign + " " + strings.TrimSuffix(lines[k-1], "\n") + "\n")
			shown = k
		}
	}
	return b.String()
}

func (r Region) has(line string, least int) bool {
	line = strings.ToLower(line)
	n := 0
	for _, w := range r.Words {
		if strings.Contains(line, strings.ToLower(w)) {
			n++
		}
	}
	return n >= least
}
