package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/report"
	"github.com/winnowhq/winnow/rule"
)

// dismissal is the JSON document of dismiss.
type dismissal struct {
	Source      string               `json:"source"`
	Did         string               `json:"did"`
	Changed     []int                `json:"changed"` // numbers
	Constraints []report.Instruction `json:"constraints"`
}

func (a *app) dismissCommand() *cobra.Command {
	var undo bool
	cmd := &cobra.Command{
		Use:   "dismiss SRC [N|TEXT…]",
		Short: "Say that a sentence is no standing wish of yours, or list those that were found",
		Long: `What you wrote with "never", "always", "do not touch", "only use" and the like, in several languages, is taken for a standing wish: every compaction
carries it over word for word. The words alone decide, so now and then one is none. Without N, dismiss lists them with their numbers. With a number, or with
words that only one of them has, it is not carried over from the next compaction on, nor given to a summariser as a wish. Your message stays as it is.
--undo makes it count again.

Dismissals live in the store, and no format of another product has a place for them: import a session first. For one compaction of a file, use
"winnow compact FILE --dismiss N".`,
		Example: `  winnow dismiss session.jsonl            the wishes that were found, numbered
  winnow dismiss ses_0123 3
  winnow dismiss ses_0123 "must be the proxy"
  winnow dismiss ses_0123 3 --undo`,
		Args: between(1, -1, "SRC, and numbers or words of standing wishes"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runDismiss(cmd.Context(), args[0], args[1:], undo)
		},
	}
	cmd.Flags().BoolVar(&undo, "undo", false, "take the dismissal back: it is a standing wish again")
	return cmd
}

func (a *app) runDismiss(ctx context.Context, src string, which []string, undo bool) error {
	if undo && len(which) == 0 {
		return usage("name what is a standing wish after all, by its number or its words; without --undo they are listed")
	}
	var s *source
	var err error
	if len(which) == 0 {
		s, err = a.open(ctx, src)
	} else {
		s, err = a.openFor(ctx, src, false)
	}
	if err != nil {
		return err
	}
	defer s.Close()
	doc := dismissal{Source: src, Did: "listed", Changed: []int{}, Constraints: []report.Instruction{}}
	if len(which) > 0 {
		if s.fromFile() {
			return usage(`dismissals live in the store: "winnow import %s" first, or use "winnow compact %s --dismiss N"`, src, src)
		}
		var changed []report.Instruction
		if undo {
			doc.Did = "undismissed"
			changed, err = s.engine.Dismiss(ctx, s.id, false, which...)
		} else {
			doc.Did = "dismissed"
			changed, err = s.engine.Dismiss(ctx, s.id, true, which...)
		}
		if err != nil {
			return err
		}
		for _, c := range changed {
			doc.Changed = append(doc.Changed, c.Number)
		}
	}
	all, err := winnow.Look(ctx, s.engine, s.id, report.Instructions)
	if err != nil {
		return err
	}
	doc.Constraints = append(doc.Constraints, all...)
	if a.json {
		err = a.print(doc)
	} else {
		a.showDismissal(doc)
	}
	if err != nil {
		return err
	}
	return s.done()
}

func (a *app) showDismissal(doc dismissal) {
	if len(doc.Constraints) == 0 {
		a.printf("No standing wishes were found.\n")
		return
	}
	if doc.Did == "listed" {
		standing := 0
		for _, c := range doc.Constraints {
			note := ""
			if c.Dismissed {
				note = "  (dismissed)"
			} else {
				standing++
			}
			a.printf("%4d  %s%s\n", c.Number, rule.Shorten(c.Text, 160), note)
		}
		a.printf("%s carried over by every compaction.\n", plural(standing, "standing wish is", "standing wishes are"))
		return
	}
	for _, n := range doc.Changed {
		c := doc.Constraints[n-1]
		if c.Dismissed {
			a.printf("No standing wish: %s\n", c.Text)
		} else {
			a.printf("A standing wish again: %s\n", c.Text)
		}
	}
}
