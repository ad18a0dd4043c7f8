package coverage

import (
	"fmt"
	"strings"
	"testing"
)

// However a reader pads its numbers, and wherever they get a digit more, lines are taken off for as long as each has the next number.
func TestStyle_nextGoesOnWhileTheNumbersDo(t *testing.T) {
	for _, tt := range []struct {
		format string
		from   int
	}{{"%6d→%s", 1}, {"%d\t%s", 95}, {"%05d| %s", 9_990}, {"L%d: %s", 8}, {"%d: %s", 0}, {"%2d\t%s", 98}, {"%05d| %s", 99_998}} {
		t.Run(fmt.Sprintf(tt.format, tt.from, ""), func(t *testing.T) {
			const lines = 1_200
			var text strings.Builder
			for i := range lines {
				fmt.Fprintf(&text, tt.format+"\n", tt.from+i, strings.Repeat("9", i%4))
			}
			behind := fmt.Sprintf(tt.format+"\n", tt.from+lines+1, "one was left out")
			first, _ := cut(text.String())
			s, ok := styled(first)
			if !ok {
				t.Fatalf("%q is no numbered line", first)
			}
			r, rest := s.next(text.String() + behind)
			if want := max(1, tt.from); r.start != want || len(r.lines) != lines || rest != behind {
				t.Fatalf("from line %d %d lines, then %.40q; want from %d %d, then %q", r.start, len(r.lines), rest, want, lines, behind)
			}
			for i, got := range r.lines {
				if want := hash(strings.Repeat("9", i%4)); got != want {
					t.Fatalf("line %d is not %q", tt.from+i, strings.Repeat("9", i%4))
				}
			}
		})
	}
}
