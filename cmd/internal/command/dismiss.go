package command

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/quantity"
)

// dismissal is the JSON document of dismiss.
type dismissal struct {
	Source  string `json:"source"`  // SRC as it was given
	Did     string `json:"did"`     // "listed", "dismissed" or "undismissed"
	Changed []int  `json:"changed"` // numbers of the instructions that were named
	// Every instruction of the user that was detected in the session, oldest first.
	Constraints []report.Instruction `json:"constraints"`
}

func dismissCommand(a *cli.App) *cobra.Command {
	var undo bool
	cmd := &cobra.Command{
		Use:     "dismiss SRC [N|TEXT…]",
		Short:   "The old name of protect --dismiss",
		Long:    "dismiss is the old name of winnow protect --dismiss.",
		Example: "  winnow protect --dismiss",
		Args:    cli.Between(1, -1, "SRC, and numbers or words of instructions"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runDismiss(cmd.Context(), a, args[0], args[1:], undo)
		},
	}
	cmd.Flags().BoolVar(&undo, "undo", false, "take the dismissal back: it is an instruction again")
	return cmd
}

func runDismiss(ctx context.Context, a *cli.App, src string, which []string, undo bool) error {
	if undo && len(which) == 0 {
		return cli.Usage("name the instruction by its number or its words; without --undo they are listed")
	}
	open := source.Open
	if len(which) > 0 {
		open = func(ctx context.Context, a *cli.App, src string) (*source.Session, error) {
			return source.OpenFor(ctx, a, src, false)
		}
	}
	s, err := open(ctx, a, src)
	if err != nil {
		return err
	}
	defer s.Close()
	doc := dismissal{Source: src, Did: "listed", Changed: []int{}, Constraints: []report.Instruction{}}
	if len(which) > 0 {
		if s.FromFile() {
			return cli.Usage(`dismissals live in the store: "winnow import %s" first, or "winnow compact %s --dismiss N"`,
				src, src)
		}
		doc.Did = "dismissed"
		if undo {
			doc.Did = "undismissed"
		}
		changed, err := s.Engine.Dismiss(ctx, s.ID, !undo, which...)
		if err != nil {
			return err
		}
		for _, c := range changed {
			doc.Changed = append(doc.Changed, c.Number)
		}
	}
	all, err := winnow.Look(ctx, s.Engine, s.ID, report.Instructions)
	if err != nil {
		return err
	}
	doc.Constraints = append(doc.Constraints, all...)
	return s.Tell(a, doc, func() { showDismissal(a, doc) })
}

func showDismissal(a *cli.App, doc dismissal) {
	if len(doc.Constraints) == 0 {
		a.Printf("No instructions were found.\n")
		return
	}
	for _, n := range doc.Changed {
		c := doc.Constraints[n-1]
		if c.Dismissed {
			a.Printf("Dismissed: %s\n", c.Text)
		} else {
			a.Printf("An instruction again: %s\n", c.Text)
		}
	}
	if doc.Did != "listed" {
		return
	}
	showInstructions(a, doc.Constraints)
	a.Printf("%s carried over by every compaction.\n",
		quantity.Plural(inForce(doc.Constraints), "instruction is", "instructions are"))
}

// showInstructions prints instructions by their numbers.
func showInstructions(a *cli.App, all []report.Instruction) {
	for _, c := range all {
		note := ""
		if c.Dismissed {
			note = "  (dismissed)"
		}
		a.Printf("%4d  %s%s\n", c.Number, rule.Shorten(c.Text, 160), note)
	}
}

// inForce is how many instructions are not dismissed.
func inForce(all []report.Instruction) (n int) {
	for _, c := range all {
		if !c.Dismissed {
			n++
		}
	}
	return n
}
