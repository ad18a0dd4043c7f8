package command

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/cmd/internal/change"
	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/output"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/look/retrieve"
	"github.com/winnowhq/winnow/store/edit"
)

func restoreCommand(a *cli.App) *cobra.Command {
	var out output.Target
	var show bool
	var lines string
	cmd := &cobra.Command{
		Use:   "restore SRC [PART…]",
		Short: "Show the model parts again that were left out or folded",
		Long: `restore shows parts whole again. PART is the id of a part or of a call, or a handle as
placeholders show it. What was left out comes back in its place. What a compaction folded is quoted
behind the summary, a call with its result, word for word and with its place in the session; it stays
there behind later summaries too, while there is room. Nothing before it changes, so that the
provider's cache remains valid. "winnow undo" takes a restore back, also in the file that was written.

Of opencode:ID a running OpenCode server is told, see --server; "winnow prune" leaves the parts out
again. What was folded needs a new message, which only "opencode import" brings: a file for it is
written.

What cannot be shown is an error and changes nothing: what is shown whole already (exit 5), what is
unknown, what was undone, files whose bytes are not in the log, and what does not fit into the window.

--print prints a part for you and changes nothing: "winnow restore --print HANDLE" finds it in any
session, "winnow restore SRC HANDLE --print WORDS" prints the lines of it that have the words.
"winnow recall" does the same for agents.

With a session alone it brings back one that "winnow gc --archive" archived, with its sub-agents, and
the bytes that "winnow gc --shrink" took out of it.`,
		Example: `  winnow restore ses_0123 prt_0456
  winnow restore ses_0123 k3f7a2
  winnow restore --print k3f7a2
  winnow restore claude-code:0f1e2d3c`,
		Args: func(cmd *cobra.Command, args []string) error {
			if show {
				return cli.Between(1, -1, "a HANDLE, or SRC, HANDLE and words")(cmd, args)
			}
			return cli.Between(1, -1, "SRC and at least one PART, or an archived session")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if show {
				return printPart(cmd.Context(), a, args, lines)
			}
			if lines != "" {
				return cli.Usage("--lines needs --print")
			}
			if len(args) == 1 {
				return restoreArchived(cmd.Context(), a, args[0], out.Force)
			}
			do := func(s *source.Session, c *change.Document) error {
				done, err := s.Engine.Edit(cmd.Context(), s.ID, edit.Request{Restore: args[1:], All: true})
				if err == nil {
					c.Note(done.Receipt)
				}
				return err
			}
			return change.Run(cmd.Context(), a, args[0], out, "restored", do)
		},
	}
	cmd.Flags().BoolVar(&show, "print", false, "print the part and change nothing")
	cmd.Flags().StringVar(&lines, "lines", "", "with --print: only these lines: 120-180, 120-, -40 or 120")
	out.Flags(cmd)
	out.ServerFlag(cmd)
	return cmd
}

// printPart prints what a handle names, in any session or in the one before it.
func printPart(ctx context.Context, a *cli.App, args []string, lines string) error {
	region, err := retrieve.Lines(lines)
	if err != nil {
		return cli.Usage("--lines: %w", err)
	}
	if len(args) == 1 {
		return runRecall(ctx, a, args[0], "", region)
	}
	region.Words = strings.Fields(strings.Join(args[2:], " "))
	return runRecall(ctx, a, args[1], args[0], region)
}
