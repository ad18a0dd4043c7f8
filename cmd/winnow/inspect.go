package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/format"
)

// inspection is the JSON document of inspect.
type inspection struct {
	Source string         `json:"source"`
	Format string         `json:"format,omitzero"`
	Counts *format.Counts `json:"counts,omitzero"` // in the product's own terms, branches that were left included
	winnow.Report
	Damaged []format.Damage `json:"damaged"`
}

func (a *app) inspectCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "inspect SRC",
		Short: "Show where the tokens went, what can go, and what the window looks like now",
		Long: `inspect shows the timeline of a session, who takes the tokens, what each rule of the policy could elide and why, and how full the
window of the model is now. Nothing is changed. Of a folder it lists every session below, the fullest window first.`,
		Example: `  winnow inspect session.jsonl
  winnow inspect session.jsonl --json
  winnow inspect ~/.claude/projects
  winnow inspect session.jsonl --policy classic --model openai/gpt-5`,
		Args: exactly(1, "one SRC"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.runInspect(cmd.Context(), args[0]) },
	}
}

func (a *app) runInspect(ctx context.Context, src string) error {
	if info, err := os.Stat(a.path(src)); err == nil && info.IsDir() && src != "-" {
		return a.runInspectFolder(ctx, src)
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
	if a.json {
		if err := a.print(doc); err != nil {
			return err
		}
		return s.done()
	}
	a.paint().Inspection(doc.Report, s.title(), doc.Damaged)
	return s.done()
}

func (a *app) inspect(ctx context.Context, s *source, src string) (inspection, error) {
	report, err := s.engine.Inspect(ctx, s.id)
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
