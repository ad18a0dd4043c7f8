package command

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/output"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/text/quantity"
)

// exported is the JSON document of export.
type exported struct {
	ID     string `json:"id"`     // id of the session
	Format string `json:"format"` // the format that was written
	Output string `json:"output"` // path of the file
	Masked int    `json:"masked"` // how many secrets were masked
}

func exportCommand(a *cli.App) *cobra.Command {
	var out output.Target
	cmd := &cobra.Command{
		Use:   "export SRC",
		Short: "Write a session in the format of a product",
		Long: `export writes a session of the store, or of a file, as the product that owns the format
reads it: by default in the format that it came from, with what was pruned and folded since. Without
-o it goes to standard output.

A file that leaves the store is for others: keys, tokens, passwords and private keys of a known shape
are masked in it, and their number is printed on standard error. --secrets keep writes all of it as it
is in the log, for example to continue with it elsewhere.`,
		Example: `  winnow export ses_0123 -o session.jsonl
  winnow export session.jsonl --format opencode > session.json`,
		Args: cli.Exactly(1, "one SRC"),
		RunE: func(cmd *cobra.Command, args []string) error { return runExport(cmd.Context(), a, args[0], out) },
	}
	cmd.Flags().StringVarP(&out.To, "output", "o", "-", `where to write, "-" for standard output`)
	cmd.Flags().StringVar(&out.Format, "format", "", "format to write (default: the one it came from, or opencode)")
	a.SecretsFlag(cmd, "in what is written")
	cmd.Flags().BoolVarP(&out.Force, "force", "f", false, "overwrite the file that is written to")
	cli.Complete(cmd, "format", output.Writable()...)
	return cmd
}

func runExport(ctx context.Context, a *cli.App, src string, out output.Target) error {
	out.Command = "export"
	s, err := output.OpenHeld(ctx, a, src, &out, false, func() (*source.Session, error) {
		return source.Open(ctx, a, src)
	})
	out.Mask = !a.KeepSecrets() && !out.InPlace // a log of one's own is not masked in its place
	if err != nil {
		return err
	}
	defer s.Close()
	if s.Doc == nil {
		if err := output.Origin(ctx, s, &out); err != nil {
			return err
		}
	}
	path, err := output.Write(ctx, a, s, &out, "exported")
	if err != nil {
		return err
	}
	if out.Masked > 0 && !a.Quiet && !a.JSON {
		fmt.Fprintf(a.Err, "%s masked; --secrets keep writes them\n",
			quantity.Plural(out.Masked, "secret was", "secrets were"))
	}
	if path == "-" {
		return s.Done()
	}
	doc := exported{ID: s.ID, Format: cmp.Or(out.Format, s.Format()), Output: path, Masked: out.Masked}
	return s.Tell(a, doc, func() { a.Printf("Written to %s\n", a.Short(path)) })
}
