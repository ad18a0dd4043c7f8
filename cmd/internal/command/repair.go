package command

import (
	"cmp"
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/output"
	"github.com/winnowhq/winnow/desk/inplace"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/text/quantity"
	"github.com/winnowhq/winnow/text/span"
	"github.com/winnowhq/winnow/text/visible"
)

// repaired is the JSON document of repair.
type repaired struct {
	Source string         `json:"source"` // the file that was repaired, as it was named
	Faults []format.Fault `json:"faults"` // the faults, in the order of the file
	Output string         `json:"output"` // the file that was written

	InPlace *inplace.Replaced `json:"inPlace,omitzero"` // how SRC was replaced
}

func repairCommand(a *cli.App) *cobra.Command {
	var out output.Target
	cmd := &cobra.Command{
		Use:     "repair SRC",
		Short:   "The old name of doctor --fix",
		Long:    "repair is the old name of winnow doctor --fix.",
		Example: "  winnow doctor --fix",
		Args:    cli.Exactly(1, "one SRC"),
		RunE:    func(cmd *cobra.Command, args []string) error { return runRepair(cmd.Context(), a, args[0], out) },
	}
	out.Flags(cmd)
	return cmd
}

func runRepair(ctx context.Context, a *cli.App, src string, out output.Target) error {
	s, err := output.Open(ctx, a, src, &out, false)
	if err != nil {
		return err
	}
	defer s.Close()
	if !s.FromFile() || s.Doc == nil {
		return cli.Usage("%s is not a session file; repair mends files", src)
	}
	if out.Format != "" && out.Format != s.Doc.Format {
		return cli.Usage("repair writes %s as it is, in the same format; leave --format out", src)
	}
	doc := repaired{Source: src, Faults: output.Faults(s.Doc)}
	if len(doc.Faults) == 0 {
		return cli.Nothing("nothing is wrong that can be repaired")
	}
	var edits []span.Edit
	for _, f := range doc.Faults {
		edits = append(edits, f.Edits...)
	}
	slices.SortStableFunc(edits, func(a, b span.Edit) int { return cmp.Compare(a.Start, b.Start) })
	s.Exact = span.Splice(s.Doc.Source, edits...)
	if doc.Output, err = output.Write(ctx, a, s, &out, "repaired"); err != nil || doc.Output == "-" {
		return err
	}
	doc.InPlace = out.Replaced
	return s.Tell(a, doc, func() {
		for _, f := range doc.Faults {
			a.Printf("line %s: %s (%s)\n", quantity.Number(f.Line), visible.Text(f.What), f.Code)
		}
		a.Printf("%s repaired. Written to %s\n", quantity.Plural(len(doc.Faults), "fault is", "faults are"),
			a.Short(doc.Output))
		output.SayOriginal(a, &out)
	})
}
