package command

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/output"
	"github.com/winnowhq/winnow/cmd/internal/survey"
	"github.com/winnowhq/winnow/look/page"
	"github.com/winnowhq/winnow/look/tui"
	"github.com/winnowhq/winnow/store/report"
)

// costed is the JSON document of cost.
type costed struct {
	report.Days
	Before float64 `json:"before"`        // US dollars for as many days before
	Page   string  `json:"page,omitzero"` // path of the page that "--html" wrote
}

// costFlags are those of cost.
type costFlags struct {
	days    int
	project string
	by      string
	html    output.Page
}

func costCommand(a *cli.App) *cobra.Command {
	var f costFlags
	since := "7d"
	cmd := &cobra.Command{
		Use:   "cost",
		Short: "Show what your agents cost: by day, project, model and product",
		Long: `cost sums up what the sessions on this computer cost in the last calendar days: by day,
project, model and product, and the most expensive sessions. Costs are the list prices of the model of
each request. A session that began earlier is counted for these days alone.

With --html it writes a page for a browser, which also has the advice of "winnow advise".`,
		Example: `  winnow cost
  winnow cost --since today
  winnow cost --since month --by project
  winnow cost --html week.html`,
		Args:              cli.Exactly(0, "no arguments"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if f.by != "" && !slices.Contains(tui.CostParts(), f.by) {
				return cli.Usage("--by must be one of %s, not %q", strings.Join(tui.CostParts(), ", "), f.by)
			}
			if f.html.To == "" && (f.html.Force || cmd.Flags().Changed("secrets")) {
				return cli.Usage("--secrets and --force need --html")
			}
			if err := f.html.Check(a.JSON); err != nil {
				return err
			}
			if f.days, err = calendarDays(since); err != nil {
				return err
			}
			if f.project != "" {
				f.project = a.Path(f.project)
			}
			return runCost(cmd.Context(), a, f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&since, "since", since, "how many calendar days, today included: 1d, 4w, today, week, month")
	flags.StringVar(&f.project, "project", "", "only sessions that worked in this folder or below it")
	flags.StringVar(&f.by, "by", "", "only one table, whole: "+strings.Join(tui.CostParts(), ", "))
	f.html.Flags(a, cmd, "in the page")
	f.html.WithForce(cmd)
	cli.Complete(cmd, "by", tui.CostParts()...)
	return cmd
}

func runCost(ctx context.Context, a *cli.App, f costFlags) error {
	days, before, problems, err := survey.Costs(ctx, a, f.days, f.project)
	if err != nil {
		return err
	}
	doc := costed{Days: days, Before: before}
	if f.html.To != "" && days.Requests > 0 {
		if err = adviceFor(ctx, a, &doc.Days); err != nil {
			return err
		}
		if doc.Page, err = writeCosts(ctx, a, doc, f); err != nil || doc.Page == "-" {
			return err
		}
	}
	if err := a.Tell(doc, func() { a.Paint().Costs(doc.Days, before, f.by); output.SayPage(a, doc.Page) }); err != nil {
		return err
	}
	switch {
	case len(problems) > 0:
		p := cli.Partly{}
		for _, problem := range problems {
			p.Failed = append(p.Failed, problem)
		}
		return p
	case days.Requests == 0:
		return cli.Hint(cli.Nothing("no session on this computer has a request of these days"),
			"--since month looks further back; winnow ls lists all sessions")
	}
	return nil
}

// writeCosts writes the page, and returns its path.
func writeCosts(ctx context.Context, a *cli.App, doc costed, f costFlags) (string, error) {
	path := f.html.To
	if path != "-" {
		var err error
		if path, err = f.html.File(a); err != nil {
			return "", err
		}
	}
	return output.WritePage(ctx, a, path, func(w io.Writer) error {
		return page.Days(w, doc.Days, doc.Before, a.KeepSecrets())
	})
}
