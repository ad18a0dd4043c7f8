package command

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/store/edit"
	"github.com/winnowhq/winnow/text/quantity"
	"github.com/winnowhq/winnow/text/visible"
)

// handleList is the JSON document of handles.
type handleList struct {
	Source string `json:"source"` // SRC as it was given
	// Tokens that a text, the arguments or the result of a part must have to be listed.
	Minimum int `json:"minimum"`
	// The parts of older steps that are worth pruning, oldest first, including those that are left
	// out already.
	Handles []edit.Named `json:"handles"`
}

func handlesCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:     "handles SRC",
		Short:   "The old name of explain --handles",
		Long:    "handles is the old name of winnow explain --handles.",
		Example: "  winnow explain --handles",
		Args:    cli.Exactly(1, "one SRC"),
		RunE:    func(cmd *cobra.Command, args []string) error { return runHandles(cmd.Context(), a, args[0]) },
	}
}

func runHandles(ctx context.Context, a *cli.App, src string) error {
	s, err := source.Open(ctx, a, src)
	if err != nil {
		return err
	}
	defer s.Close()
	named, err := winnow.Look(ctx, s.Engine, s.ID, edit.Handles)
	if err != nil {
		return err
	}
	err = a.Tell(handleList{Source: src, Minimum: rule.HandleMinimum, Handles: named}, func() { showHandles(a, named) })
	switch {
	case err != nil:
		return err
	case len(named) == 0:
		return cli.Nothing(fmt.Sprintf("no part of an older step has %d tokens or more and may be left out",
			rule.HandleMinimum))
	}
	return s.Done()
}

func showHandles(a *cli.App, named []edit.Named) {
	if len(named) == 0 {
		return
	}
	rows := [][]string{{"handle", "tokens", "steps", "what"}}
	for _, n := range named {
		what := visible.Line(cmp.Or(n.Tool, n.Type) + " " + n.Target)
		if n.State == edit.Elided {
			what += fmt.Sprintf(" (%s: %s tokens shown)", n.Rule, quantity.Number(n.Shown))
		}
		rows = append(rows, []string{n.Handle, quantity.Number(n.Tokens), strconv.Itoa(n.Age), what})
	}
	a.Table([]int{-6, 6, 5}, rows)
}
