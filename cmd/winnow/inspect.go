package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/report"
)

// inspection is the JSON document of inspect.
type inspection struct {
	Source string         `json:"source"`
	Format string         `json:"format,omitzero"`
	Counts *format.Counts `json:"counts,omitzero"` // in the product's own terms, branches that were left included
	report.Report
	Page    string          `json:"page,omitzero"` // path of the page for a browser
	Damaged []format.Damage `json:"damaged"`
}

func (a *app) inspectCommand() *cobra.Command {
	var html pageOutput
	cmd := &cobra.Command{
		Use:   "inspect SRC",
		Short: "Show where the tokens went, what can go, and what the window looks like now",
		Long: `inspect shows the timeline of a session, who takes the tokens, what each rule of the policy could elide and why, and how full the
window of the model is now. Nothing is changed. Of a folder, or a database of OpenCode's, it lists every session in it, the fullest window first.

With --html it also writes one page for a browser: the timeline, the pivots beside what they replaced, and every part with the reason for which
it is shown or elided. The page needs nothing but itself.`,
		Example: `  winnow inspect session.jsonl
  winnow inspect session.jsonl --json
  winnow inspect session.jsonl --html session.html
  winnow inspect ~/.claude/projects
  winnow inspect session.jsonl --policy classic --model openai/gpt-5`,
		Args: exactly(1, "one SRC"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.runInspect(cmd.Context(), args[0], html) },
	}
	html.flags(a, cmd, "in the page")
	html.withForce(cmd)
	return cmd
}

func (a *app) runInspect(ctx context.Context, src string, html pageOutput) error {
	if err := html.check(a.json); err != nil {
		return err
	}
	if many, err := a.holdsMany(ctx, src); err != nil {
		return err
	} else if many {
		if html.to != "" {
			return usage("%s holds several sessions; --html takes one", src)
		}
		return a.runInspectFolder(ctx, src)
	}
	if html.to == "" { // a page needs every part
		if skimmed, err := a.skim(ctx, src); skimmed || err != nil {
			return err
		}
	}
	s, err := a.open(ctx, src)
	if err != nil {
		return err
	}
	defer s.Close()
	doc, err := a.inspect(ctx, s, src)
	if err != nil {
		return err
	}
	if html.to != "" {
		if doc.Page, err = a.writePage(ctx, s, &html, s.named(a), nil, "", ""); err != nil {
			return err
		}
	}
	switch {
	case doc.Page == "-": // standard output has the page
	case a.json:
		if err := a.print(doc); err != nil {
			return err
		}
	default:
		a.paint().Inspection(doc.Report, s.title(), doc.Damaged)
		a.sayPage(doc.Page)
	}
	return s.done()
}

func (a *app) inspect(ctx context.Context, s *source, src string) (inspection, error) {
	report, err := winnow.Look(ctx, s.engine, s.id, report.Inspect)
	if err != nil {
		return inspection{}, err
	}
	doc := inspection{Source: src, Report: report, Damaged: []format.Damage{}}
	if s.doc != nil {
		doc.Format, doc.Counts = s.doc.Format, &s.doc.Counts
		doc.Damaged = append(doc.Damaged, s.doc.Damaged...)
		// What a person calls messages and results is what the product wrote, abandoned branches included.
		doc.Messages, doc.ToolCalls, doc.ToolResults = s.doc.Counts.Messages, s.doc.Counts.ToolCalls, s.doc.Counts.ToolResults
	}
	return doc, nil
}
