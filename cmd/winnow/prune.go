package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/inplace"
	"github.com/winnowhq/winnow/pivot"
	"github.com/winnowhq/winnow/policy"
	"github.com/winnowhq/winnow/report"
	"github.com/winnowhq/winnow/rule"
)

// pruning is the JSON document of prune.
type pruning struct {
	Source       string          `json:"source"`
	Format       string          `json:"format,omitzero"`
	Policy       string          `json:"policy"`
	Schedule     string          `json:"schedule"`
	Marked       []string        `json:"marked"`   // ids of the parts whose output got the mark
	Elisions     []rule.Elision  `json:"elisions"` // all that were committed
	Refusals     []rule.Refusal  `json:"refusals"` // what was left alone, and why
	TokensBefore int             `json:"tokensBefore"`
	TokensAfter  int             `json:"tokensAfter"`
	Receipt      string          `json:"receipt,omitzero"`
	Money        *pivot.Money    `json:"money,omitzero"` // what it comes to in US dollars
	Output       string          `json:"output,omitzero"`
	Damaged      []format.Damage `json:"damaged"`

	InPlace *inplace.Replaced `json:"inPlace,omitzero"`
}

func (a *app) pruneCommand() *cobra.Command {
	var out output
	var dry bool
	cmd := &cobra.Command{
		Use:   "prune SRC",
		Short: "Elide old tool outputs, by marking them",
		Long: `prune runs the rules of the policy and commits what they found. Nothing is deleted: an elided output stays in the log, and
the model is shown a placeholder in its place.

A session in the store is changed there. Of a file a pruned copy is written: with -o to the file named, else to
NAME.pruned.EXT in the current folder.`,
		Example: `  winnow prune session.jsonl -o smaller.jsonl
  winnow prune session.jsonl --policy classic --dry-run --json`,
		Args: exactly(1, "one SRC"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runPrune(cmd.Context(), args[0], out, dry)
		},
	}
	out.flags(cmd)
	a.scheduleFlag(cmd)
	cmd.Flags().BoolVarP(&dry, "dry-run", "n", false, "say what would be done and write nothing")
	return cmd
}

// scheduleFlag names the schedule in force. Whoever asks for a pruning has what was found committed at once; what differs is what an agent's loop would do.
func (a *app) scheduleFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&a.schedule, "schedule", "", "eager or economic: when a running agent's session is pruned; asked for like this it is at once (default: the policy's own)")
	complete(cmd, "schedule", policy.Schedules()...)
}

func (a *app) runPrune(ctx context.Context, src string, out output, dry bool) error {
	s, before, err := a.openToChange(ctx, src, &out, dry)
	if err != nil {
		return err
	}
	defer s.Close()
	outcome, err := s.engine.Prune(ctx, s.id)
	if err != nil {
		return err
	}
	p, err := policyOf(ctx, s)
	if err != nil {
		return err
	}
	doc := pruning{
		Source: src, Policy: p.Name, Schedule: p.Schedule.Name(), Marked: []string{}, Elisions: []rule.Elision{},
		Refusals: append([]rule.Refusal{}, outcome.Refusals...), TokensBefore: before.Window.Tokens, TokensAfter: before.Window.Tokens, Damaged: []format.Damage{},
	}
	if s.doc != nil {
		doc.Format = s.doc.Format
		doc.Damaged = append(doc.Damaged, s.doc.Damaged...)
	}
	if r := outcome.Pruned; r != nil {
		doc.Elisions, doc.TokensAfter, doc.Receipt = r.Committed, r.TokensAfter, r.ID
		doc.Money = r.Money
		for _, el := range r.Committed {
			if el.Field == rule.Output {
				doc.Marked = append(doc.Marked, el.Part)
			}
		}
		if s.fromFile() && !dry {
			if doc.Output, err = a.write(ctx, s, &out, "pruned"); err != nil {
				return err
			}
			doc.InPlace = out.replaced
		}
	}
	if doc.Output == "-" {
		return s.done() // standard output has the session
	}
	if a.json {
		err = a.print(doc)
	} else if outcome.Pruned != nil {
		if err = a.showPruning(ctx, s, outcome, doc, dry); err == nil {
			a.sayOriginal(&out)
		}
	}
	if err == nil && outcome.Pruned == nil {
		err = nothing{whyNothing(outcome.Refusals)}
	}
	if err != nil {
		return err
	}
	return s.done()
}

func whyNothing(refusals []rule.Refusal) string {
	for _, r := range refusals {
		if r.Part == "" {
			return r.Reason
		}
	}
	return "no rule found anything to elide"
}

func (a *app) showPruning(ctx context.Context, s *source, outcome winnow.Outcome, doc pruning, dry bool) error {
	report, err := winnow.Look(ctx, s.engine, s.id, report.Inspect)
	if err != nil {
		return err
	}
	a.paint().Pruning(report, *outcome.Pruned, s.title())
	switch {
	case dry:
		a.printf("\nNothing was written (--dry-run).\n")
	case doc.Output != "":
		a.printf("\nWritten to %s\n", a.short(doc.Output))
	default:
		a.printf("\nUndo with: winnow undo %s\n", s.id)
	}
	return nil
}
