package survey

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/output"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/desk/discover"
	"github.com/winnowhq/winnow/look/page"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/report"
)

// writeDays writes the page of the last days, and returns its path.
func writeDays(ctx context.Context, a *cli.App, found []discover.Found, f Flags, models *model.Catalogue) (
	string, error) {
	path := f.Page.To
	if path != "-" {
		var err error
		if path, err = f.Page.File(a); err != nil {
			return "", err
		}
	}
	days, before := sums(worked(found), f.Days, a.Env.Now())
	var err error
	if days.Gateway, err = gained(ctx, a, f.Days, models); err != nil {
		return "", err
	}
	if f.Advise != nil {
		if err = f.Advise(ctx, &days); err != nil {
			return "", err
		}
	}
	return output.WritePage(ctx, a, path, func(w io.Writer) error {
		return page.Days(w, days, before, a.KeepSecrets())
	})
}

// sums are what sessions cost on some days until now, and on as many days before them.
func sums(sessions []report.Worked, days int, now time.Time) (d report.Days, before float64) {
	then := time.Date(now.Year(), now.Month(), now.Day()-days, 12, 0, 0, 0, now.Location())
	return report.SumDays(sessions, days, now), report.SumDays(sessions, days, then).Cost
}

// Costs sums up the last days on this computer. before is the cost of the same number of days before
// them, in US dollars; problems are the files that could not be read.
func Costs(ctx context.Context, a *cli.App, days int, project string) (d report.Days, before float64,
	problems []discover.Problem, err error) {
	found, problems, models, err := find(ctx, a, false)
	if err != nil {
		return d, 0, nil, err
	}
	found, _ = within(a, found, Flags{Project: project})
	d, before = sums(worked(found), days, a.Env.Now())
	if project == "" {
		d.Gateway, err = gained(ctx, a, days, models)
	}
	return d, before, problems, err
}

// parentsOf are the sessions for which others work, by product and id.
func parentsOf(found []discover.Found) map[string]bool {
	parents := map[string]bool{}
	for i := range found {
		parents[found[i].Product+" "+found[i].Parent] = true
	}
	return parents
}

// worked are sessions with the words by which they are named.
func worked(found []discover.Found) []report.Worked {
	words, parents := source.Words(found, found), parentsOf(found)
	all := make([]report.Worked, len(found))
	for i := range found {
		all[i] = workedOf(&found[i], words[i], parents)
	}
	return all
}

func workedOf(f *discover.Found, word string, parents map[string]bool) report.Worked {
	return report.Worked{Word: word, Title: f.Title, Product: f.Product, Project: f.Project, Sub: f.Parent != "",
		Apart: f.ID != "" && parents[f.Product+" "+f.ID], Updated: session.Millis(f.Updated.UnixMilli()),
		Uncosted: f.Uncosted, Spent: f.Spent}
}

// gained is what went through the gateway on the last days, nil if nothing did.
func gained(ctx context.Context, a *cli.App, days int, models *model.Catalogue) (*report.Gain, error) {
	kept, err := source.OpenStore(ctx, a, source.Reading)
	if errors.Is(err, source.ErrNoStore) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer kept.Close()
	now := a.Env.Now()
	first := time.Date(now.Year(), now.Month(), now.Day()-days+1, 0, 0, 0, 0, now.Location())
	since := session.Millis(first.UnixMilli())
	accounts, err := store.Relayed(ctx, kept, since, nil)
	if err != nil {
		return nil, err
	}
	window := func(name string) int { return models.Lookup(name).Limits.Context }
	relayed := report.SumRelayed(accounts, since, now.Location(), window)
	if len(relayed.Sessions) == 0 {
		return nil, nil
	}
	return &relayed.Total, nil
}
