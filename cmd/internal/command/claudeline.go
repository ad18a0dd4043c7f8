package command

import (
	"context"
	"strings"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/quantity"
	"github.com/winnowhq/winnow/text/visible"
)

// claudeLine is a line about a session: how full the window is, what it cost, until when the
// provider's cache is warm, what a fold would save.
func claudeLine(ctx context.Context, a *cli.App, path string) (claudeStatus, error) {
	settings, err := a.Settings()
	if err != nil {
		return claudeStatus{}, err
	}
	settings.Settings = settings.ForAgent(claude, false)
	s, err := source.Read(ctx, a, path)
	if err != nil {
		return claudeStatus{}, err
	}
	defer s.Close()
	if err := s.Start(ctx, a, settings); err != nil {
		return claudeStatus{}, err
	}
	g, err := winnow.Look(ctx, s.Engine, s.ID, report.Measure)
	if err != nil {
		return claudeStatus{}, err
	}
	var facts []string // the product writes "winnow:" before them
	if g.Usable > 0 {
		facts = append(facts, quantity.Percent(g.Total, g.Usable)+" full")
	} else {
		facts = append(facts, quantity.Short(g.Total)+" tokens")
	}
	if cost := g.All().Cost; cost > 0 {
		facts = append(facts, quantity.Dollars(cost))
	}
	term, err := winnow.Look(ctx, s.Engine, s.ID, report.Cached)
	if err != nil {
		return claudeStatus{}, err
	}
	p, none := s.Engine.Preview(ctx, s.ID, winnow.CompactOptions{})
	var cold *pivot.Cold
	if none == nil {
		if cold, err = source.ColdOf(ctx, a, s, p); err != nil {
			return claudeStatus{}, err
		}
	}
	switch {
	case cold != nil:
		facts = append(facts, cold.Words(quantity.Dollars))
	case term.Gone(a.Env.Now()):
		facts = append(facts, "cache cold")
	case !term.Until.IsZero():
		facts = append(facts, "cache warm until "+term.Until.Local().Format("15:04"))
	}
	if none == nil && p.Saved > 0 {
		facts = append(facts, "a fold would save "+quantity.Short(p.Saved))
	}
	return claudeStatus{visible.Line(strings.Join(facts, " · "))}, nil
}
