package tui

import (
	"bytes"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/store/report"
)

// Sessions are told apart by their titles, so a title gets the room that a bar could have. The word
// that the command line takes is whole.
func TestCosts_nameSessionsByTheirTitles(t *testing.T) {
	d := report.Days{Requests: 3, Cost: 6}
	for word, title := range map[string]string{"claude-code:6513270e": "Fix the import of the supplier list",
		"opencode:ses_01": "日本語のコメントを英語に直してください", "pi:77": ""} {
		d.Dearest = append(d.Dearest, report.DearSession{Worked: report.Worked{Word: word, Title: title}, Cost: 2})
	}
	for width, wants := range map[int][]string{
		80: {"claude-code:6513270e  Fix the import of the supplier li", "opencode:ses_01       日本語", "pi:77                 without a title"},
		40: {"claude-code:65132"},
	} {
		var out bytes.Buffer
		Painter{W: &out, Width: width}.Costs(d, 0, "session")
		for _, want := range wants {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%d columns: no %q:\n%s", width, want, &out)
			}
		}
		for line := range strings.Lines(out.String()) {
			if n := Columns(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("%d columns: a line has %d: %s", width, n, line)
			}
		}
	}
}
