package command

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/cmd/internal/change"
	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/output"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
)

// pinFlags are those of pin.
type pinFlags struct {
	text, note   string
	remove, list bool
}

func pinCommand(a *cli.App) *cobra.Command {
	var f pinFlags
	var out output.Target
	cmd := &cobra.Command{
		Use:     "pin SRC [PART]",
		Short:   "The old name of protect",
		Long:    "pin is the old name of winnow protect.",
		Example: "  winnow protect",
		Args:    cli.Between(1, 2, "SRC and at most one PART"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runPin(cmd.Context(), a, args[0], cli.Second(args), f, out)
		},
	}
	out.Flags(cmd)
	cmd.Flags().StringVar(&f.text, "text", "", "a text to pin instead of a part")
	cmd.Flags().StringVar(&f.note, "note", "", "why, for yourself")
	cmd.Flags().BoolVar(&f.remove, "remove", false, "forget a pin, named by its id, its part, its message or its text")
	cmd.Flags().BoolVar(&f.list, "list", false, "only list the pins")
	return cmd
}

func runPin(ctx context.Context, a *cli.App, src, part string, f pinFlags, out output.Target) error {
	switch {
	case f.list && (out.To+out.Format+part+f.text+f.note != "" || out.InPlace || f.remove):
		return cli.Usage("--list cannot be combined with anything else")
	case f.remove && (part == "") == (f.text == ""):
		return cli.Usage("name the pin, its part, its message or its text")
	case !f.list && !f.remove && part != "" && f.text != "":
		return cli.Usage("a pin is a part, a message or a text; give one of them")
	}
	return change.Run(ctx, a, src, out, "pinned", func(s *source.Session, c *change.Document) (err error) {
		switch {
		case f.list:
			c.Did = "listed"
		case f.remove:
			c.Did = "unpinned"
			err = s.Engine.Unpin(ctx, s.ID, part+f.text)
		default:
			c.Pin, err = pin(ctx, a, s, part, f)
		}
		if err != nil {
			return err
		}
		_, state, err := s.Engine.Session(ctx, s.ID)
		c.Pins = append([]rule.Pin{}, state.Pins...)
		if c.Pin != nil && err == nil {
			r, failed := change.ReceiptOf(ctx, s, *c.Pin)
			if err = failed; r != nil {
				c.Receipt = r.ID
			}
		}
		return err
	})
}

// pin pins what was named: a part, else a message of that id, or a text.
func pin(ctx context.Context, a *cli.App, s *source.Session, name string, f pinFlags) (*rule.Pin, error) {
	wanted := rule.Pin{Part: name, Text: f.text, Note: f.note}
	if name != "" {
		log, _, err := s.Engine.Session(ctx, s.ID)
		if err != nil {
			return nil, err
		}
		if _, part := session.FindPart(log.Messages, name); part == nil && session.Index(log.Messages, name) >= 0 {
			wanted.Part, wanted.Message = "", name
		}
	}
	pinned, err := s.Engine.Pin(ctx, s.ID, wanted)
	if err == nil && s.FromFile() {
		err = quotes(ctx, a, s, pinned)
	}
	return &pinned, err
}

// quotes refuses a pin that a file would not have: one for which nothing is quoted. It names the
// commands that protect the part.
func quotes(ctx context.Context, a *cli.App, s *source.Session, pin rule.Pin) error {
	log, _, err := s.Engine.Session(ctx, s.ID)
	if err != nil {
		return err
	}
	for i := range log.Messages {
		if n, kept := log.Messages[i].Kept(); kept && n.Kept == pin.ID {
			return nil
		}
	}
	name, stored := cmp.Or(pin.Part, pin.Message), cli.ShellWord(s.ID)
	refusal := cli.Hint(cli.Usage("a session file has no place for a pin of a part that is not folded, such as %s", name),
		"to pin this part, in winnow's store: winnow import "+wordOf(a, s)+" && winnow protect "+stored+" "+
			cli.ShellWord(name))
	if _, part := session.FindPart(log.Messages, name); part != nil {
		for _, path := range rule.Paths(part) {
			refusal = cli.Hint(refusal, "to protect what is about the file, in every session: winnow protect --path "+
				cli.ShellWord(path))
		}
	}
	return cli.Hint(refusal, "to pin words of it in the file: winnow protect "+wordOf(a, s)+" --text WORDS --in-place")
}
