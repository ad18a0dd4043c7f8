package main

import (
	"context"
	"errors"
	"github.com/winnowhq/winnow"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/bill"
	"github.com/winnowhq/winnow/pivot"
	"github.com/winnowhq/winnow/report"
	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/token"
	"github.com/winnowhq/winnow/tui"
	"github.com/winnowhq/winnow/visible"
)

// shown is the JSON document of show.
type shown struct {
	Session   session.Session `json:"session"`
	Ledger    []rule.Elision  `json:"ledger"`
	Receipts  []pivot.Receipt `json:"receipts"`
	Pins      []rule.Pin      `json:"pins"`
	Dismissed []string        `json:"dismissed"`
	Undone    []string        `json:"undone"` // markers
	Cost      *float64        `json:"cost"`   // US dollars; null where nothing is known
	Bill      bill.Sums       `json:"bill"`
	Turns     []shownTurn     `json:"turns"`         // what a person reads of them
	Files     []changedFile   `json:"files"`         // that the session changed
	Page      string          `json:"page,omitzero"` // path of the page for a browser
}

func (a *app) showCommand() *cobra.Command {
	var html pageOutput
	var diff bool
	cmd := &cobra.Command{
		Use:   "show SRC",
		Short: "Print what a session was about and changed, its log, message by message, and its receipts",
		Long: `show prints the turns of a session with their titles, what came of them and the files that they changed, then the log and the receipts. Titles and
diffs were written down by the program that ran the session, winnow or OpenCode; where they were not, the first sentence of the request and of the answer stand in
their place. --diff prints what changed in the files, too.`,
		Example: `  winnow show ses_0123
  winnow show ses_0123 --diff
  winnow show session.jsonl --json
  winnow show session.jsonl --html session.html`,
		Args: exactly(1, "one SRC"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.runShow(cmd.Context(), args[0], diff, html) },
	}
	cmd.Flags().BoolVar(&diff, "diff", false, "print what changed in the files")
	html.flags(a, cmd, "in the page")
	html.withForce(cmd)
	return cmd
}

func (a *app) runShow(ctx context.Context, src string, diff bool, html pageOutput) error {
	if err := html.check(a.json); err != nil {
		return err
	}
	s, err := a.open(ctx, src)
	if err != nil {
		return err
	}
	defer s.Close()
	log, state, err := s.engine.Session(ctx, s.id)
	if err != nil {
		return err
	}
	page := ""
	if html.to != "" {
		if page, err = a.writePage(ctx, s, &html, s.named(a), nil, "", ""); err != nil || page == "-" {
			return errors.Join(err, s.done())
		}
	}
	turns, files, err := a.turns(ctx, &log, diff)
	if err != nil {
		return err
	}
	paid, err := winnow.Look(ctx, s.engine, s.id, report.Sums)
	if err != nil {
		return err
	}
	if a.json {
		doc := shown{Turns: turns, Files: files, Session: log, Ledger: append([]rule.Elision{}, state.Ledger.All()...), Receipts: append([]pivot.Receipt{}, state.Receipts...),
			Pins: append([]rule.Pin{}, state.Pins...), Dismissed: append([]string{}, slices.Sorted(maps.Keys(state.Dismissed))...), Undone: []string{}, Cost: paid.Total().Dollars(), Bill: paid, Page: page}
		for id := range state.Undone {
			doc.Undone = append(doc.Undone, id)
		}
		if err := a.print(doc); err != nil {
			return err
		}
		return s.done()
	}
	a.showTurns(log.Info.Title, turns, files)
	for i := range log.Messages {
		a.showMessage(&log.Messages[i], state.Ledger, state.Undone)
	}
	for _, r := range state.Receipts {
		a.printf("receipt %s  %s  %s → %s tokens\n", r.ID, r.Kind, token.Grouped(r.TokensBefore), token.Grouped(r.TokensAfter))
	}
	if words := strings.Join(paid.Words(tui.Dollars), " · "); words != "" {
		a.printf("cost %s\n", strings.TrimPrefix(words, "cost ")) // "cost unknown: …" says it itself
	}
	a.sayPage(page)
	return s.done()
}

func (a *app) showMessage(m *session.Message, ledger rule.Ledger, undone map[string]bool) {
	what := string(m.Role)
	switch {
	case m.Marker() != nil && undone[m.ID]:
		what = "marker (undone)"
	case m.Marker() != nil:
		what = "marker"
	case m.IsSummary() && !m.Completes():
		what = "summary (unfinished)"
	case m.IsSummary():
		what = "summary"
	}
	a.printf("%s  %s\n", visible.Line(m.ID), what)
	for j := range m.Parts {
		p := &m.Parts[j]
		line := ""
		switch p.Type {
		case session.TextPart, session.ReasoningPart:
			line = p.Text
		case session.ToolPart:
			line = p.Tool + " " + rule.Target(p)
			if p.State != nil {
				line += " → " + string(p.State.Status)
			}
		case session.FilePart:
			line = p.Mime + " " + p.Filename
		default:
			continue
		}
		mark := "  "
		if ledger.Touches(p.ID) {
			mark = "− " // shown with less
		}
		a.printf("  %s%s  %s\n", mark, visible.Line(p.ID), rule.Shorten(visible.Line(line), 100))
	}
}
