package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/quantity"
	"github.com/winnowhq/winnow/text/visible"
)

// statusCuts are the values of --by.
var statusCuts = []string{"session", "day", "person", "rule", "tool"}

// statusFlags are those of status.
type statusFlags struct {
	days    int
	by      string
	line    bool
	session string
}

func statusCommand(a *cli.App) *cobra.Command {
	var f statusFlags
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the requests of today that went through winnow, and the saving",
		Long: `status shows the sessions whose requests winnow wrap and winnow serve relayed today, while
they run: requests, their bill, the estimated bill of the same clients without winnow, and the saving
after the cost of summaries, cache rewrites and recalls. It is negative when winnow cost more than it
saved.

--by person tells apart who asked within a tenant of winnowd serve, by the owners of their tokens.

--by tool shows which tools were declared and never called, by client and MCP server: every request
carries their declarations. It ends with the command that leaves them out of new conversations.

--line prints one short line about one session, for status bars: the session of --session, which is
its id or the client's own, or the one that a JSON object on standard input names as session_id (so
Claude Code calls its statusLine command), or else the newest.`,
		Example: `  winnow status
  winnow status --days 7 --by rule
  winnow status --line`,
		Args:              cli.Exactly(0, "no arguments"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case f.days < 1 || f.days > 36500:
				return cli.Usage("--days must be from 1 to 36500, not %d", f.days)
			case !slices.Contains(statusCuts, f.by):
				return cli.Usage("--by must be session, day, person, rule or tool, not %q", f.by)
			case f.line && (cmd.Flags().Changed("days") || cmd.Flags().Changed("by") || a.JSON):
				return cli.Usage("--line cannot be combined with --days, --by or --json")
			case f.session != "" && !f.line:
				return cli.Usage("--session needs --line; winnow inspect shows one session")
			case f.line:
				return runStatusLine(cmd.Context(), a, f.session)
			}
			return runStatus(cmd.Context(), a, f)
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&f.days, "days", 1, "how many calendar days, today the last")
	flags.StringVar(&f.by, "by", "session", "what a line is about: session, day, person, rule, tool")
	flags.BoolVar(&f.line, "line", false, "one short line about one session")
	flags.StringVar(&f.session, "session", "",
		"the session of --line, by its id or the client's own, or the beginning of one")
	cli.Complete(cmd, "by", statusCuts...)
	return cmd
}

// catalogued answers what models are like.
type catalogued struct{ *model.Catalogue }

// window is how many tokens a model takes, 0 if that is unknown.
func (c catalogued) window(name string) int { return c.Lookup(name).Limits.Context }

// price is what a request of a model costs.
func (c catalogued) price(name string, u session.Usage) (float64, bool) {
	return c.Lookup(name).Cost(bill.Usage(u))
}

// opened is the store, or nil, and the models.
func opened(ctx context.Context, a *cli.App) (store.Store, catalogued, error) {
	settings, err := a.Settings()
	if err != nil {
		return nil, catalogued{}, err
	}
	models := catalogued{settings.Catalogue(model.Default())}
	kept, err := source.OpenStore(ctx, a, source.Reading)
	if errors.Is(err, source.ErrNoStore) {
		return nil, models, nil
	}
	return kept, models, err
}

func runStatus(ctx context.Context, a *cli.App, f statusFlags) error {
	now := a.Env.Now()
	since := time.Date(now.Year(), now.Month(), now.Day()-f.days+1, 0, 0, 0, 0, now.Location())
	kept, models, err := opened(ctx, a)
	if err != nil {
		return err
	}
	var accounts []store.Account
	if kept != nil {
		defer kept.Close()
		if accounts, err = store.Relayed(ctx, kept, session.Millis(since.UnixMilli()), nil); err != nil {
			return err
		}
	}
	doc := report.SumRelayed(accounts, session.Millis(since.UnixMilli()), now.Location(), models.window)
	doc.Tools = report.UncalledTools(accounts, session.Millis(since.UnixMilli()), models.price)
	var ids []string
	if len(doc.Sessions) > 0 {
		if ids, err = shortIDs(ctx, kept, doc.Sessions); err != nil {
			return err
		}
	}
	err = a.Tell(doc.Document(), func() {
		if len(doc.Sessions) > 0 {
			showStatus(a, doc, ids, f.by, now)
		}
	})
	if err == nil && len(doc.Sessions) == 0 {
		when := "today"
		if f.days > 1 {
			when = fmt.Sprintf("in the last %d days", f.days)
		}
		err = cli.Hint(cli.Nothing("no request went through winnow "+when),
			"`winnow wrap claude` starts an agent whose requests do")
	}
	return err
}

func showStatus(a *cli.App, doc report.Relayed, ids []string, by string, now time.Time) {
	var widths []int
	var rows [][]string
	switch by {
	case "session":
		widths = []int{-2, 2, 2, 2, 2, 2, 2}
		rows = statusSessions(a, doc, ids, now)
	case "day":
		widths = []int{-2, 2, 2, 2, 2, 2}
		rows = append(rows, append(append([]string{"day"}, heads()...), "recalls"))
		for _, d := range doc.Days {
			rows = append(rows, append(append([]string{d.Day}, gained(d.Gain)...), quantity.Number(d.Recalls)))
		}
		rows = append(rows, append(append([]string{"all"}, gained(doc.Total)...), quantity.Number(doc.Total.Recalls)))
	case "person":
		widths = []int{-2, 2, 2, 2, 2, 2}
		rows = append(rows, append(append([]string{"person"}, heads()...), "recalls"))
		for _, p := range doc.People {
			rows = append(rows, append(append([]string{visible.Line(cmp.Or(p.Person, "not named"))}, gained(p.Gain)...),
				quantity.Number(p.Recalls)))
		}
		rows = append(rows, append(append([]string{"all"}, gained(doc.Total)...), quantity.Number(doc.Total.Recalls)))
	case "rule":
		widths = []int{-2, 2, 2, 2, 2}
		rows = append(rows, []string{"rule", "left out now", "recalls", "saved", "could save"})
		for _, r := range doc.Rules {
			rows = append(rows, []string{visible.Line(cmp.Or(r.Rule, "no rule")), quantity.Number(r.LeftOut),
				quantity.Number(r.Recalls), quantity.Net(r.Net), quantity.Net(r.ToSave)})
		}
		rows = append(rows, []string{"all", "", quantity.Number(doc.Total.Recalls), quantity.Net(doc.Total.Net),
			quantity.Net(doc.Total.ToSave)})
		if doc.Total.Observed == 0 {
			widths = widths[:4]
			for i := range rows {
				rows[i] = rows[i][:4]
			}
		}
	}
	if by == "tool" {
		showTools(a, doc.Tools)
		return
	}
	a.Table(widths, rows)
	for _, note := range append(statusNotes(doc.Total, doc.UnpricedModels), toolNotes(doc.Tools)...) {
		a.Printf("%s\n", note)
	}
}

// statusNotes say what is in the sums, or is not.
func statusNotes(g report.Gain, unpriced []string) (lines []string) {
	if g.Beside > 0 {
		lines = append(lines, "billed and without winnow include "+quantity.Count(g.Beside, "request")+
			" for titles and the like")
	}
	var less []string
	if g.Missed > 0 {
		less = append(less, quantity.Dollars(g.Missed)+" for recalls")
	}
	if g.Summaries > 0 {
		less = append(less, quantity.Dollars(g.Summaries)+" for summaries")
	}
	if len(less) > 0 {
		lines = append(lines, "saved: after "+strings.Join(less, " and "))
	}
	if g.Warm > 0 {
		lines = append(lines, fmt.Sprintf("saved includes keeping the cache warm: %s cost %s and saved %s",
			quantity.Count(g.Warm, "request"), quantity.Dollars(float64(g.WarmCost)), quantity.Dollars(g.WarmSaved)))
	}
	if g.Observed > 0 {
		lines = append(lines, fmt.Sprintf("observed: %s relayed untouched; pruning could have saved %s",
			quantity.Plural(g.Observed, "request was", "requests were"), quantity.Net(g.ToSave)))
	}
	if low, high := g.Otherwise.Range(); high-low >= 0.01 {
		lines = append(lines, fmt.Sprintf("without winnow: %s to %s, depending on when the clients would have "+
			"compacted", quantity.Dollars(low), quantity.Dollars(high)))
	}
	if g.Unpriced > 0 {
		lines = append(lines, fmt.Sprintf("* %s of unknown cost not counted: no usage, or no price of %s",
			quantity.Plural(g.Unpriced, "request", "requests"), visible.Line(strings.Join(unpriced, ", "))))
	}
	return lines
}

func timeOf(t session.Millis) time.Time { return time.UnixMilli(int64(t)) }

// soonestCold is how long every provider keeps a prompt at least. Before it a status line, which is
// asked for often, need not read the session.
const soonestCold = 5 * time.Minute

// lineSince is how far back a status line looks for its session.
const lineSince = 30 * 24 * time.Hour

func runStatusLine(ctx context.Context, a *cli.App, wanted string) error {
	if wanted == "" && !a.Env.StdinTerminal {
		wanted = sessionOf(a.Env.Stdin)
	}
	kept, models, err := opened(ctx, a)
	if err != nil {
		return err
	}
	var accounts []store.Account
	if kept != nil {
		defer kept.Close()
		since := session.Millis(a.Env.Now().Add(-lineSince).UnixMilli())
		if accounts, err = store.Relayed(ctx, kept, since, chosen(wanted)); err != nil {
			return err
		}
	}
	doc := report.SumRelayed(accounts, 0, a.Env.Now().Location(), models.window)
	if len(doc.Sessions) == 0 {
		a.Printf("winnow: no requests yet\n")
		return nil
	}
	one := together(doc)
	text := line(one)
	if a.Env.Now().Sub(timeOf(one.Last)) >= soonestCold {
		if cold := coldStored(ctx, a, one.ID); cold != nil {
			text += " · " + cold.Words(quantity.Dollars)
		}
	}
	a.Printf("%s\n", text)
	return nil
}

// stdinPatience is how long a status line waits for what a client has to say. A status bar may
// leave standard input open and say nothing.
const stdinPatience = 200 * time.Millisecond

// sessionOf is the session that a client names on standard input, "" if it names none.
func sessionOf(stdin io.Reader) string {
	said := make(chan string, 1)
	go func() { // it ends with the process
		var client struct {
			Session string `json:"session_id"`
		}
		err := json.UnmarshalDecode(jsontext.NewDecoder(io.LimitReader(stdin, 1<<20)), &client)
		if err != nil {
			client.Session = ""
		}
		said <- client.Session
	}()
	select {
	case id := <-said:
		return id
	case <-time.After(stdinPatience):
		return ""
	}
}

// chosen chooses the first session that is wanted, or the first one if none is named, and with it
// the others of the same session of its client.
func chosen(wanted string) func(session.Info) bool {
	found, id := false, ""
	return func(info session.Info) bool {
		_, own := report.Client(info)
		switch {
		case strings.HasPrefix(info.ID, store.Beside): // it is no session of a client
			return false
		case found:
			return own != "" && own == id
		case strings.HasPrefix(info.ID, wanted) && wanted != "":
			found = true // that conversation alone
		case strings.HasPrefix(own, wanted):
			found, id = true, own
		}
		return found
	}
}

// together is what the conversations of one session of a client are. The window is that of the one
// with the most requests: the others are sub-agents.
func together(doc report.Relayed) report.LiveSession {
	one := slices.MaxFunc(doc.Sessions, func(a, b report.LiveSession) int {
		return cmp.Compare(a.Requests, b.Requests)
	})
	one.Gain, one.LeftOut = doc.Total, 0
	for _, s := range doc.Sessions {
		one.LeftOut += s.LeftOut
	}
	return one
}

// line is a session for a status bar.
func line(s report.LiveSession) string {
	text := fmt.Sprintf("winnow: saved %s of %s", quantity.Net(s.Net), quantity.Dollars(s.Otherwise.Likely))
	if s.Observed == s.Requests && s.Observed > 0 {
		text = fmt.Sprintf("winnow (observing): could save %s of %s", quantity.Net(s.ToSave),
			quantity.Dollars(float64(s.Billed)))
	}
	switch {
	case !s.Known():
		text = "winnow: cost unknown"
	case s.Unpriced > 0:
		text += fmt.Sprintf(" (%s of unknown cost not counted)", quantity.Plural(s.Unpriced, "request", "requests"))
	}
	text += fmt.Sprintf(" · %s left out", quantity.Short(s.LeftOut))
	if s.Window > 0 {
		text += fmt.Sprintf(" · window %s", share(s))
	}
	if s.Recalls > 0 {
		text += " · " + quantity.Plural(s.Recalls, "recall", "recalls")
	}
	return text
}
