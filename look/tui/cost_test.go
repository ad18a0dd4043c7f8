package tui

import (
	"bytes"
	"strings"
	"testing"
	"time"

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

// Ten days are told one by one, more by week and many by month; the sums are those of the days.
func TestCosts_manyDaysAreSummedUp(t *testing.T) {
	for days, want := range map[int]struct {
		title, first, last string
		rows               int
	}{
		7:   {"By day", "Mon 17 Nov", "Sun 23 Nov", 7},
		10:  {"By day", "Fri 14 Nov", "Sun 23 Nov", 10},
		28:  {"By week", "week of 27 Oct", "week of 17 Nov", 4},
		30:  {"By week", "week of 25 Oct", "week of 17 Nov", 5},
		366: {"By month", "November 2024", "November 2025", 13},
	} {
		var all []report.DayCost
		end := time.Date(2025, 11, 23, 0, 0, 0, 0, time.UTC)
		for back := days - 1; back >= 0; back-- {
			all = append(all, report.DayCost{Day: end.AddDate(0, 0, -back).Format(time.DateOnly), Cost: 2})
		}
		title, rows := periods(all, false)
		sum := 0.0
		for _, r := range rows {
			sum += r.cost
		}
		if title != want.title || len(rows) != want.rows || rows[0].name != want.first || rows[len(rows)-1].name != want.last || sum != float64(2*days) {
			t.Errorf("%d days: %s, %d rows of %v dollars from %q to %q", days, title, len(rows), sum, rows[0].name, rows[len(rows)-1].name)
		}
		if _, rows := periods(all, true); len(rows) != days {
			t.Errorf("%d days asked for one by one are %d rows", days, len(rows))
		}
	}
}
