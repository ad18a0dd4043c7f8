package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/token"
)

func (a *app) explainCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "explain SRC PART",
		Short: "Say why a part is shown, elided, protected or about to go",
		Long: "explain says of one part why the model sees it as it does, and how to change that. PART is the id of a part or of a call, as inspect prints it, or a handle." +
			" Handles are in placeholders and in the list of winnow handles.",
		Example: `  winnow explain session.jsonl toolu_0123
  winnow explain ses_0123 prt_0456 --json`,
		Args: exactly(2, "SRC and PART"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.runExplain(cmd.Context(), args[0], args[1]) },
	}
}

func (a *app) runExplain(ctx context.Context, src, part string) error {
	s, err := a.open(ctx, src)
	if err != nil {
		return err
	}
	defer s.Close()
	x, err := s.engine.Explain(ctx, s.id, part)
	if err != nil {
		return err
	}
	if s.fromFile() {
		x.Undo = strings.Replace(x.Undo, " "+s.id+" ", " "+src+" ", 1) // as this file is named on the command line
	}
	if a.json {
		if err := a.print(x); err != nil {
			return err
		}
		return s.done()
	}
	what := x.Type
	if x.Tool != "" {
		what = strings.TrimSpace(x.Tool + " " + x.Target)
	}
	a.printf("%s  %s\n", x.Part, what)
	a.printf("  %-9s %s\n", "is", x.Zone)
	a.printf("  %-9s %s\n", "because", x.Because)
	a.printf("  %-9s %s tokens in the log, %s in the view\n", "size", token.Grouped(x.Tokens), token.Grouped(x.Shown))
	if x.Undo != "" {
		a.printf("  %-9s %s\n", "undo", x.Undo)
	}
	if x.Text != "" {
		a.printf("  %-9s %s\n", "shown as", rule.Shorten(strings.Join(strings.Fields(x.Text), " "), 160))
	}
	return s.done()
}
