package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/format/all"
)

// exported is the JSON document of export.
type exported struct {
	ID     string `json:"id"`
	Format string `json:"format"`
	Output string `json:"output"`
	Masked int    `json:"masked"` // secrets that were masked in it
}

func (a *app) exportCommand() *cobra.Command {
	var out output
	cmd := &cobra.Command{
		Use:   "export SRC",
		Short: "Write a session in the format of a product",
		Long: `export writes a session of the store, or of a file, as the product that owns the format reads it: by default in the format that
it came from, with what was pruned and folded since. Without -o it goes to standard output.

A file that leaves the store is for others: keys, tokens, passwords and private keys of a known shape are masked in it, and their number is said on
standard error. --secrets keep writes all of it as it is in the log, for example to go on with it elsewhere.`,
		Example: `  winnow export ses_0123 -o session.jsonl
  winnow export session.jsonl --format opencode > session.json`,
		Args: exactly(1, "one SRC"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.runExport(cmd.Context(), args[0], out) },
	}
	cmd.Flags().StringVarP(&out.to, "output", "o", "-", `where to write, "-" for standard output`)
	cmd.Flags().StringVar(&out.format, "format", "", "format to write (default: the one it came from, or opencode)")
	a.secretsFlag(cmd, "in what is written")
	cmd.Flags().BoolVarP(&out.force, "force", "f", false, "overwrite the file that is written to")
	complete(cmd, "format", writable()...)
	return cmd
}

func (a *app) runExport(ctx context.Context, src string, out output) error {
	out.command = "export"
	s, err := a.openHeld(ctx, src, &out, false, func() (*source, error) { return a.open(ctx, src) })
	out.mask = !a.keepSecrets() && !out.inPlace // a log of one's own is not masked in its place
	if err != nil {
		return err
	}
	defer s.Close()
	if s.doc == nil {
		if err := a.origin(ctx, s, &out); err != nil {
			return err
		}
	}
	path, err := a.write(ctx, s, &out, "exported")
	if err != nil {
		return err
	}
	if out.masked > 0 && !a.quiet && !a.json {
		fmt.Fprintf(a.err, "%s masked; --secrets keep writes them\n", plural(out.masked, "secret was", "secrets were"))
	}
	if path == "-" {
		return s.done()
	}
	if a.json {
		name := out.format
		if name == "" {
			name = s.doc.Format
		}
		if err := a.print(exported{ID: s.id, Format: name, Output: path, Masked: out.masked}); err != nil {
			return err
		}
		return s.done()
	}
	a.printf("Written to %s\n", a.short(path))
	return s.done()
}

// origin reads the file that a stored session came from, so that what was not changed is written as it was.
func (a *app) origin(ctx context.Context, s *source, out *output) error {
	from, err := s.store.Source(ctx, s.id)
	if err != nil {
		return err
	}
	if from == nil {
		if out.format == "" {
			out.format = "opencode"
		}
		return nil
	}
	f, err := all.Named(from.Format)
	if err != nil {
		return err
	}
	s.doc, err = f.Read(from.Data)
	return err
}
