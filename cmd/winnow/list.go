package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mattn/go-runewidth"
	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/bill"
	"github.com/winnowhq/winnow/report"
	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/token"
	"github.com/winnowhq/winnow/visible"
)

// listing is the JSON document of list.
type listing struct {
	Sessions []listed `json:"sessions"`
}

// listed is one session of the JSON document of list.
type listed struct {
	ID        string         `json:"id"`
	Title     string         `json:"title"`
	Directory string         `json:"directory,omitzero"`
	Origin    string         `json:"origin,omitzero"`
	Messages  int            `json:"messages"`
	Cost      *float64       `json:"cost"`
	Uncosted  int            `json:"uncosted,omitzero"`
	Updated   session.Millis `json:"updated"`
}

func (a *app) listCommand() *cobra.Command {
	var f everywhereFlags
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the sessions in the store, or on this computer, last updated first",
		Long: `list shows the sessions in winnow's own store, with what each of them cost. For that it reads their logs; --quick leaves it out.

With --everywhere it shows what coding agents have kept on this computer: the sessions of Claude Code, Codex, OpenCode, pi, Gemini CLI and OpenHands, where
each of them keeps them. Every command takes such a session by the word in the first column. Of a file that was not seen before everything is read once, for
its tokens and its cost; what was learned is remembered in $XDG_CACHE_HOME/winnow/sessions.json until the file changes. --quick leaves that out and
reads no more than the beginning of each file.`,
		Example: `  winnow list
  winnow list --everywhere
  winnow list --everywhere --sort cost
  winnow inspect opencode:ses_0f3c2a`,
		Args: exactly(0, "no argument"),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case !f.on && (f.all || cmd.Flags().Changed("sort")):
				return usage("--sort and --all go with --everywhere")
			case !slices.Contains(sortings(), f.sort):
				return usage("there is no order %q; there are %s", f.sort, strings.Join(sortings(), ", "))
			case f.quick && (f.sort == "cost" || f.sort == "tokens"):
				return usage("--quick does not learn %s; leave it out, or sort by updated or size", f.sort)
			case f.on:
				return a.runEverywhere(cmd.Context(), f)
			}
			return a.runList(cmd.Context(), f.quick)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.on, "everywhere", false, "what coding agents have kept on this computer")
	flags.StringVar(&f.sort, "sort", "updated", "order of --everywhere: "+strings.Join(sortings(), ", "))
	flags.BoolVar(&f.quick, "quick", false, "no tokens and no costs: read no session whole")
	flags.BoolVar(&f.all, "all", false, "list the sessions of sub-agents too")
	complete(cmd, "sort", sortings()...)
	return cmd
}

// sortings are the orders of list --everywhere.
func sortings() []string { return []string{"updated", "size", "tokens", "cost"} }

func (a *app) runList(ctx context.Context, quick bool) error {
	_, err := a.settings()
	if err != nil {
		return err // a mistake in the configuration is told by every command
	}
	listings, err := a.listings(ctx)
	if err != nil {
		return err
	}
	var bills []bill.Bill
	if !quick {
		if bills, err = a.bills(ctx, listings); err != nil {
			return err
		}
	}
	if a.json {
		doc := listing{[]listed{}}
		for i, l := range listings {
			one := listed{ID: l.Info.ID, Title: l.Info.Title, Directory: l.Info.Directory, Origin: l.Origin, Messages: l.Messages, Updated: l.Info.Time.Updated}
			if !quick {
				one.Cost, one.Uncosted = bills[i].Dollars(), bills[i].Unknown()
			}
			doc.Sessions = append(doc.Sessions, one)
		}
		if err := a.print(doc); err != nil {
			return err
		}
	}
	if len(listings) == 0 {
		return hinted{nothing{"there is no session in the store"}, "`winnow import FILE` puts one there"}
	}
	if a.json {
		return nil
	}
	width := 2
	for _, l := range listings {
		width = max(width, runewidth.StringWidth(visible.Line(l.Info.ID)))
	}
	for i, l := range listings {
		cost := ""
		if !quick {
			cost = fmt.Sprintf("  %8s", costOf(bills[i].Dollars(), bills[i].Unknown()))
		}
		a.printf("%s  %-16s  %6s messages%s  %-12s  %s\n", runewidth.FillRight(visible.Line(l.Info.ID), width), when(l.Info.Time.Updated), token.Grouped(l.Messages), cost, l.Origin, titleOf(l))
	}
	return nil
}

// listings are the sessions of the store, none where there is no store.
func (a *app) listings(ctx context.Context) ([]store.Listing, error) {
	kept, err := a.openStore(ctx, reading)
	if errors.Is(err, errNoStore) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer kept.Close()
	return kept.List(ctx)
}

// sums is what a session of the store cost. Nothing of it is kept at hand.
func (a *app) sums(ctx context.Context, kept store.Store, id string, prices *bill.Prices) (bill.Sums, error) {
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
	name := cmp.Or(a.model, report.Reader(state.Info, log, ""))
	return report.SumsOf(state, log, prices.Model(name).String(), prices), nil
}

// bills are what sessions of the store cost.
func (a *app) bills(ctx context.Context, of []store.Listing) ([]bill.Bill, error) {
	if len(of) == 0 {
		return nil, nil
	}
	kept, err := a.openStore(ctx, reading)
	if err != nil {
		return nil, err
	}
	defer kept.Close()
	models, err := a.models()
	if err != nil {
		return nil, err
	}
	prices := bill.NewPrices(models.Lookup)
	bills := make([]bill.Bill, len(of))
	for i, l := range of {
		sums, err := a.sums(ctx, kept, l.Info.ID, prices)
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

func when(t session.Millis) string {
	if t == 0 {
		return ""
	}
	return time.UnixMilli(int64(t)).UTC().Format("2006-01-02 15:04")
}

func titleOf(l store.Listing) string {
	title := l.Info.Title
	if title == "" {
		title = l.Info.Directory
	}
	return rule.Shorten(visible.Line(title), 60)
}
