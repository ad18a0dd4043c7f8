package command

import (
	"context"
	"strings"
	"time"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/quantity"
	"github.com/winnowhq/winnow/text/visible"
)

// claudeLine is a line about a session: how full the window is, what it cost, until when the
// provider's cache is warm, what a fold would save.
func claudeLine(ctx context.Context, a *cli.App, path string) (claudeStatus, error) {
	s, err := source.Open(ctx, a, path)
	if err != nil {
		return claudeStatus{}, err
	}
	defer s.Close()
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
	if until := warmUntil(s.Doc.Session.Messages); !until.IsZero() {
		if until.After(a.Env.Now()) {
			facts = append(facts, "cache warm until "+until.Local().Format("15:04"))
		} else {
			facts = append(facts, "cache cold")
		}
	}
	if p, err := s.Engine.Preview(ctx, s.ID, winnow.CompactOptions{}); err == nil && p.Saved > 0 {
		facts = append(facts, "a fold would save "+quantity.Short(p.Saved))
	}
	return claudeStatus{visible.Line(strings.Join(facts, " · "))}, nil
}

// warmUntil is when what the newest answer left in the provider's cache expires: an hour after it
// if it wrote entries that live so long, else five minutes. It is zero if nothing is known.
func warmUntil(messages []session.Message) time.Time {
	hour := false
	for i := range messages {
		if u := messages[i].Tokens; u != nil && u.Cache.Write > 0 {
			hour = u.Cache.Write1h > 0
		}
	}
	for i := len(messages) - 1; i >= 0; i-- {
		m := &messages[i]
		if m.Role != session.Assistant || m.Tokens == nil || m.Tokens.Cache.Read+m.Tokens.Cache.Write == 0 {
			continue
		}
		lasts := 5 * time.Minute
		if hour {
			lasts = time.Hour
		}
		return time.UnixMilli(int64(max(m.Time.Completed, m.Time.Created))).Add(lasts)
	}
	return time.Time{}
}
