package pi

import (
	"strings"

	"github.com/winnowhq/winnow/format/internal/entries"
)

// mark reads what we noted in an entry, nil if that is nothing.
func (e *entry) mark() *entries.Mark { return entries.ReadMark[entries.Mark](e.Winnow.Of(e.text)) }

// pieces cuts a summary into the parts that it was joined of; one that was changed since stays
// whole.
func pieces(summary string, cuts []int) []string {
	var found []string
	rest := summary
	for i, n := range cuts {
		if i > 0 {
			var ok bool
			if rest, ok = strings.CutPrefix(rest, "\n\n"); !ok {
				return []string{summary}
			}
		}
		if n < 0 || n > len(rest) {
			return []string{summary}
		}
		found = append(found, rest[:n])
		rest = rest[n:]
	}
	if rest != "" || len(found) == 0 {
		return []string{summary}
	}
	return found
}
