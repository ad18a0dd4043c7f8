package command

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/simulation"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/desk/config"
	"github.com/winnowhq/winnow/desk/discover"
	"github.com/winnowhq/winnow/lab"
	"github.com/winnowhq/winnow/lab/advise"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/plainfile"
	"github.com/winnowhq/winnow/text/visible"
)

// adviceDocument is the JSON document of advise.
type adviceDocument struct {
	advise.Report
	// How many days back was looked; omitted if sessions were named.
	Days    int    `json:"days,omitzero"`
	Project string `json:"project,omitzero"` // the only folder in which was looked
}

// adviceDays is how many days advice is about, if nothing is said: a few tell little.
const adviceDays = 28

// adviseFlags are those of advise.
type adviseFlags struct {
	days    int
	project string
	apply   bool
	all     bool
}

func adviseCommand(a *cli.App) *cobra.Command {
	f := adviseFlags{days: adviceDays}
	cmd := &cobra.Command{
		Use:   "advise [SRC…]",
		Short: "Say what would make your sessions cheaper",
		Long: `advise looks at what coding agents have kept on this computer in the last four weeks and says
what would make such sessions cheaper: up to ten findings, the largest gain first. Each has what it
cost and what the change would save, with its error; the evidence; and the line to change.

It finds tools and MCP servers that are declared and never called, outputs that no step ever quoted,
files that are read again unchanged, steps that an earlier one could have asked for, pauses that the
provider's cache does not outlive, a compaction at the wrong size, a policy that costs less, titles
that an expensive model writes, and instructions that you repeat. A finding needs a gain above its
error. Findings that save less than $1, or less than 2 % of the cost, are named on one line; --all
shows them at length. Sessions whose logs report no usage are not judged. Only sessions that went
through winnow wrap or winnow serve tell which tools were declared and who writes titles.

SRC is a session, or a folder or database of them, to look at instead.

--apply writes those changes that are settings of winnow's into your configuration file, or the one of
--config, and says how to undo it. It changes nothing else.`,
		Example: `  winnow advise
  winnow advise --days 7 --project .
  winnow advise ~/.claude/projects
  winnow advise --apply`,
		RunE: func(cmd *cobra.Command, args []string) error {
			chosen := cmd.Flags().Changed("days") || cmd.Flags().Changed("project")
			switch {
			case f.days < 1 || f.days > 36500:
				return cli.Usage("--days must be from 1 to 36500, not %d", f.days)
			case len(args) > 0 && chosen:
				return cli.Usage("--days and --project choose among the sessions of this computer; " +
					"leave them out, or SRC")
			}
			return runAdvise(cmd.Context(), a, args, f)
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&f.days, "days", f.days, "how many days back a session was last written to")
	flags.StringVar(&f.project, "project", "", "only sessions that worked in this folder or below it")
	flags.BoolVar(&f.all, "all", false, "show findings that save less than $1, or less than 2 % of the cost, at length")
	flags.BoolVar(&f.apply, "apply", false,
		"write what is winnow's own into your configuration file, or the one of --config")
	return cmd
}

func runAdvise(ctx context.Context, a *cli.App, args []string, f adviseFlags) error {
	doc, problems, err := adviceOn(ctx, a, args, f)
	if err != nil {
		return err
	}
	show := func() {
		shown, small := doc.Report, []advise.Finding(nil)
		if !f.all {
			small = shown.WithoutSmall()
		}
		a.Paint().Advice(shown, small)
	}
	if err := a.Tell(doc, show); err != nil {
		return err
	}
	if f.apply {
		if err := applyAdvice(a, doc.Report); err != nil {
			return err
		}
	}
	switch {
	case problems.Counted+len(problems.Failed) > 0:
		return problems
	case doc.Sessions == 0 && len(doc.Findings) == 0:
		return cli.Hint(cli.Nothing("there is no session to look at"),
			"--days looks further back; SRC names a session or a folder of them")
	}
	return nil
}

// adviceOn is what is to be said of sessions: those that arguments name, or those of this computer
// that the flags choose. What could not be read is told beside it.
func adviceOn(ctx context.Context, a *cli.App, args []string, f adviseFlags) (doc adviceDocument, problems cli.Partly,
	err error) {
	settings, err := a.Settings()
	if err != nil {
		return doc, problems, err
	}
	reader, err := simulation.NewReader(a, settings)
	if err != nil {
		return doc, problems, err
	}
	var sources []lab.Source
	if len(args) > 0 {
		sources, err = reader.Sources(ctx, args, false)
	} else {
		doc.Days = f.days
		if f.project != "" {
			doc.Project = a.Path(f.project)
		}
		sources, err = recent(ctx, a, reader, doc)
	}
	if err != nil {
		return doc, problems, err
	}
	measured, err := reader.Measure(ctx, settings, sources)
	if err != nil {
		return doc, problems, err
	}
	in := advise.Input{Sessions: measured.Sessions, Replay: &measured.Replay, KeepWarm: settings.Gateway.KeepWarm,
		Dropped: settings.Gateway.Tools.Drop, Written: written}
	if measured.Replay.Advice != nil {
		if in.Advised, err = simulation.Advised(measured.Replay, settings); err != nil {
			return doc, problems, err
		}
	}
	if len(args) == 0 && f.project == "" {
		if err := relayed(ctx, a, f.days, &in); err != nil {
			return doc, problems, err
		}
	}
	doc.Report = advise.Find(in)
	return doc, reader.Problems(measured.Replay), nil
}

// adviceFor adds what the page of some days advises, over at least adviceDays. A session that
// cannot be read is not judged; the list names it.
func adviceFor(ctx context.Context, a *cli.App, d *report.Days) error {
	d.Advised = max(len(d.Days), adviceDays)
	doc, _, err := adviceOn(ctx, a, nil, adviseFlags{days: d.Advised})
	if err != nil {
		return err
	}
	for _, f := range doc.Findings {
		change := "To " + f.Change
		if f.Where != "" {
			change += ", in " + f.Where
		}
		evidence := strings.Join(append(slices.Clone(f.Evidence), "It saves "+f.Saves()+".", change+":"), " ")
		d.Advice = append(d.Advice, report.Finding{Title: f.Title, Dollars: f.Gain, Error: f.Error, Command: f.Line,
			Evidence: evidence})
	}
	return nil
}

// recent are the sessions of this computer that were written to in the last days, in a project.
func recent(ctx context.Context, a *cli.App, reader *simulation.Reader, doc adviceDocument) ([]lab.Source, error) {
	done := a.Progress("looking for sessions")
	found, problems, err := source.Search(a).Find(ctx)
	done()
	if err != nil {
		return nil, err
	}
	days := report.LastDays(doc.Days, a.Env.Now())
	found = slices.DeleteFunc(found, func(s discover.Found) bool {
		return !days.Has(s.Updated) || doc.Project != "" && !source.Below(s.Project, doc.Project)
	})
	return reader.Found(found, problems), nil
}

// relayed adds what the gateway saw: tools that were declared and not called, and requests beside
// the conversations.
func relayed(ctx context.Context, a *cli.App, days int, in *advise.Input) error {
	kept, models, err := opened(ctx, a)
	if err != nil || kept == nil {
		return err
	}
	defer kept.Close()
	since := session.Millis(a.Env.Now().Add(-time.Duration(days) * 24 * time.Hour).UnixMilli())
	accounts, err := store.Relayed(ctx, kept, since, nil)
	if err != nil {
		return err
	}
	in.Tools = report.UncalledTools(accounts, since, models.price)
	for i := range accounts {
		client, _ := report.Client(accounts[i].Info)
		for k := range accounts[i].Spent {
			r := &accounts[i].Spent[k]
			if r.Live == nil || !r.Live.Beside || r.Live.Unpriced || r.Inherited || r.Time < since {
				continue
			}
			one := models.Lookup(r.Model)
			small, _ := models.Small(one)
			in.Asides = append(in.Asides, advise.Aside{Client: client, Session: accounts[i].Info.ID, Usage: r.Usage,
				Model: one, Small: small})
		}
	}
	return nil
}

// mostWritten is how much is read of a file of instructions, in bytes.
const mostWritten = 1 << 20

// written is what the instructions of a project say.
func written(project string) string {
	text := ""
	for _, name := range []string{"AGENTS.md", "CLAUDE.md", "CLAUDE.local.md", filepath.Join(".claude", "CLAUDE.md"),
		"GEMINI.md"} {
		if data, _, err := plainfile.Read(filepath.Join(project, name), mostWritten); err == nil {
			text += "\n" + string(data)
		}
	}
	return text
}

// applyAdvice writes the settings of all findings that are winnow's own.
func applyAdvice(a *cli.App, r advise.Report) error {
	out := a.Out
	if a.JSON {
		out = a.Err
	}
	changes := map[string]string{}
	for i := range r.Findings {
		maps.Copy(changes, r.Findings[i].Settings)
	}
	if len(changes) == 0 {
		return cli.Hint(cli.Nothing("no finding is about a setting of winnow's"),
			"the lines above are for you to change")
	}
	settings, err := a.Settings()
	if err != nil {
		return err
	}
	_, before, err := config.Loaded{Settings: settings}.Values()
	if err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(changes)) {
		fmt.Fprintf(out, "\n%s: %s instead of %s", key, visible.Line(changes[key]), visible.Line(string(before[key])))
	}
	fmt.Fprintln(out)
	return simulation.Write(a, out, changes, func() error { return nil })
}
