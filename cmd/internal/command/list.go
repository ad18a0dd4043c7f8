package command

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/cmd/internal/survey"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/quantity"
	"github.com/winnowhq/winnow/text/visible"
)

// listing is the JSON document of list.
type listing struct {
	Sessions []listed `json:"sessions"` // those in the store, last updated first
}

// listed is one session of the JSON document of list.
type listed struct {
	ID        string `json:"id"`                 // id of the session
	Title     string `json:"title"`              // title of the session
	Directory string `json:"directory,omitzero"` // the folder in which the agent worked
	Origin    string `json:"origin,omitzero"`    // the format that it was imported from
	Person    string `json:"person,omitzero"`    // the person who began it within a tenant
	Messages  int    `json:"messages"`           // how many messages
	// US dollars for all requests in the log, as in "inspect"; null if nothing is known about any
	// of them, and with "--quick".
	Cost *float64 `json:"cost"`
	// Requests that it does not include: of models without a price, or without a report.
	Uncosted int            `json:"uncosted,omitzero"`
	Updated  session.Millis `json:"updated"` // when it was last updated
}

func listCommand(a *cli.App) *cobra.Command {
	var f survey.Flags
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "The old name of ls",
		Long:    "list is the old name of winnow ls.",
		Example: "  winnow ls",
		Args:    cli.Exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case !f.On && (f.All || cmd.Flags().Changed("sort")):
				return cli.Usage("--sort and --all need --everywhere")
			case !f.On && f.Page.To != "":
				return cli.Usage("--html needs --everywhere")
			case f.Page.To == "" && (cmd.Flags().Changed("days") || f.Page.Force || cmd.Flags().Changed("secrets")):
				return cli.Usage("--days, --secrets and --force need --html")
			case f.Page.To != "" && f.Quick:
				return cli.Usage("--quick does not learn costs, which --html shows; leave one of them out")
			case f.Days < 1 || f.Days > 366:
				return cli.Usage("--days must be from 1 to 366, not %d", f.Days)
			case !slices.Contains(survey.Sortings(), f.Sort):
				return cli.Usage("unknown order %q; use one of %s", f.Sort, strings.Join(survey.Sortings(), ", "))
			case f.Quick && (f.Sort == "cost" || f.Sort == "tokens"):
				return cli.Usage("--quick does not learn %s; leave it out, or sort by updated or size", f.Sort)
			case f.On:
				if err := f.Page.Check(a.JSON); err != nil {
					return err
				}
				f.Advise = func(ctx context.Context, d *report.Days) error { return adviceFor(ctx, a, d) }
				return survey.Everywhere(cmd.Context(), a, f)
			}
			return runList(cmd.Context(), a, f.Quick)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.On, "everywhere", false, "what coding agents have kept on this computer")
	flags.StringVar(&f.Sort, "sort", "updated", "order of --everywhere: "+strings.Join(survey.Sortings(), ", "))
	flags.BoolVar(&f.Quick, "quick", false, "no tokens and no costs: read no session whole")
	flags.BoolVar(&f.All, "all", false, "list the sessions of sub-agents too")
	flags.IntVar(&f.Days, "days", 7, "how many calendar days the page of --html is about, today the last")
	f.Page.Flags(a, cmd, "in the page")
	f.Page.WithForce(cmd)
	cli.Complete(cmd, "sort", survey.Sortings()...)
	return cmd
}

func runList(ctx context.Context, a *cli.App, quick bool) error {
	settings, err := a.Settings()
	if err != nil {
		return err // a mistake in the configuration is told by every command
	}
	listings, err := source.Listings(ctx, a)
	if err != nil {
		return err
	}
	var bills []bill.Bill
	if !quick {
		if bills, err = billsOf(ctx, a, settings.Catalogue(model.Default()), listings); err != nil {
			return err
		}
	}
	doc, rows := listing{[]listed{}}, [][]string{}
	for i, l := range listings {
		one := listed{ID: l.Info.ID, Title: l.Info.Title, Directory: l.Info.Directory, Origin: l.Origin,
			Person: report.Person(l.Info), Messages: l.Messages, Updated: l.Info.Time.Updated}
		row := []string{visible.Line(l.Info.ID), source.When(l.Info.Time.Updated),
			quantity.Number(l.Messages) + " messages"}
		if !quick {
			one.Cost, one.Uncosted = bills[i].Dollars(), bills[i].Unknown()
			row = append(row, cli.CostOf(one.Cost, one.Uncosted))
		}
		doc.Sessions = append(doc.Sessions, one)
		rows = append(rows, append(row, cmp.Or(l.Origin, visible.Line(one.Person)), source.TitleOf(l)))
	}
	widths := []int{-2, -16, 15, 8, -12}
	if quick {
		widths = []int{-2, -16, 15, -12}
	}
	err = a.Tell(doc, func() { a.Table(widths, rows) })
	if err == nil && len(listings) == 0 {
		err = cli.Hint(cli.Nothing("there is no session in the store"), "`winnow import FILE` puts one there")
	}
	return err
}

// sums is what a session of the store cost. Nothing of it is kept at hand.
func sums(ctx context.Context, a *cli.App, kept store.Store, id string, prices *bill.Prices) (bill.Sums, error) {
	state, err := kept.State(ctx, id)
	if err != nil {
		return bill.Sums{}, err
	}
	log := make([]session.Message, 0, state.Messages)
	for m, err := range kept.Messages(ctx, id) {
		if err != nil {
			return bill.Sums{}, err
		}
		log = append(log, m)
	}
	slices.Reverse(log)
	name := cmp.Or(a.Model, report.Reader(state.Info, log, ""))
	return report.SumsOf(state, log, prices.Model(name).String(), prices), nil
}

// billsOf is what each session of the store cost.
func billsOf(ctx context.Context, a *cli.App, models *model.Catalogue, of []store.Listing) ([]bill.Bill, error) {
	if len(of) == 0 {
		return nil, nil
	}
	kept, err := source.OpenStore(ctx, a, source.Reading)
	if err != nil {
		return nil, err
	}
	defer kept.Close()
	prices := bill.NewPrices(models.Lookup)
	bills := make([]bill.Bill, len(of))
	for i, l := range of {
		sums, err := sums(ctx, a, kept, l.Info.ID, prices)
		if errors.Is(err, store.ErrNotFound) {
			continue // it was deleted meanwhile
		}
		if err != nil {
			return nil, err
		}
		bills[i] = sums.Total()
	}
	return bills, nil
}
