package command

import (
	"context"
	"time"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/cmd/internal/survey"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/quantity"
)

// heads are the columns of sums.
func heads() []string { return []string{"requests", "billed", "without winnow", "saved"} }

// gained are the columns of a gain.
func gained(g report.Gain) []string {
	amounts := []string{quantity.Dollars(float64(g.Billed)), quantity.Dollars(g.Otherwise.Likely), quantity.Net(g.Net)}
	for i := range amounts {
		switch {
		case !g.Known():
			amounts[i] = "unknown"
		case g.Unpriced > 0:
			amounts[i] += "*"
		}
	}
	return append([]string{quantity.Number(g.Requests)}, amounts...)
}

// shortIDs are the ids of sessions as they are shown.
func shortIDs(ctx context.Context, kept store.Store, sessions []report.LiveSession) ([]string, error) {
	ids := make([]string, len(sessions))
	for i, s := range sessions {
		ids[i] = s.ID
	}
	return source.ShortIDs(ctx, kept, ids)
}

// statusSessions are the rows of sessions: the figures of each, and below them its title, project,
// client and age.
func statusSessions(a *cli.App, doc report.Relayed, ids []string, now time.Time) [][]string {
	row := func(id string, g report.Gain, leftOut, window string) []string {
		return append(append([]string{id}, gained(g)...), leftOut, window)
	}
	rows := [][]string{append(append([]string{"session"}, heads()...), "left out", "window")}
	for i, s := range doc.Sessions {
		rows = append(rows, row(ids[i], s.Gain, quantity.Number(s.LeftOut), share(s)),
			[]string{"  " + sessionLine(a, len("  "), s.Title, survey.FolderName(s.Project), s.Client,
				ago(now.Sub(timeOf(s.Last))))})
	}
	return append(rows, row("all", doc.Total, "", ""))
}

// share is how much of its model's window the newest request of a session took.
func share(s report.LiveSession) string {
	if s.Window <= 0 {
		return quantity.Unknown
	}
	return quantity.Percent(s.Prompt, s.Window)
}
