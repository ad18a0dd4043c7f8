package survey

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/output"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/look/page"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/report"
)

// writeDays writes the page of the last days, and returns its path.
func writeDays(ctx context.Context, a *cli.App, doc Computer, f Flags, models *model.Catalogue) (string, error) {
	path := f.Page.To
	if path != "-" {
		var err error
		if path, err = f.Page.File(a); err != nil {
			return "", err
		}
	}
	days := report.SumDays(doc.worked(), f.Days, a.Env.Now())
	var err error
	if days.Gateway, err = gained(ctx, a, f.Days, models); err != nil {
		return "", err
	}
	if f.Advise != nil {
		if days.Advice, err = f.Advise(ctx); err != nil {
			return "", err
		}
	}
	return output.WritePage(ctx, a, path, func(w io.Writer) error { return page.Days(w, days, a.KeepSecrets()) })
}

// worked are the sessions of a computer, with the words by which they are named.
func (doc Computer) worked() []report.Worked {
	names := doc.words()
	parents := map[string]bool{}
	for _, s := range doc.Sessions {
		parents[s.Product+" "+s.Parent] = true
	}
	all := make([]report.Worked, len(doc.Sessions))
	for i, s := range doc.Sessions {
		all[i] = report.Worked{Word: names[i], Title: s.Title, Product: s.Product, Project: s.Project,
			Sub: s.Parent != "", Apart: s.ID != "" && parents[s.Product+" "+s.ID], Updated: s.Updated,
			Uncosted: s.Uncosted, Spent: s.Spent}
	}
	return all
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
