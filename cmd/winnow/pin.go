package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
)

func pinText(text string) rule.Pin { return rule.Pin{Text: text} }

// pinFlags are those of pin.
type pinFlags struct {
	text, note   string
	remove, list bool
}

func (a *app) pinCommand() *cobra.Command {
	var f pinFlags
	cmd := &cobra.Command{
		Use:   "pin ID [PART]",
		Short: "Keep a part, a message or a text through every elision and every pivot",
		Long: `pin keeps a part, a whole message, or a text of your own, word for word in what the model sees, whatever is pruned and folded, under every policy. It takes
effect at once: what is elided is shown again; a text, and what a compaction folded, is quoted behind the summary. It is never
cut: what is large and pinned stays large. "winnow undo" and --remove take it back.

PART is a handle, or the id of a part, of a call or of a message, as "winnow show ID --json" prints it; with --remove
also that of a pin, or a pinned text.

Pins live in the store, and no format of another product has a place for them: import a session first. What a pin carried over stands in the files that are
exported, and goes along when they are compacted again; the pin itself does not. For one compaction of a file, use "winnow compact FILE --pin TEXT".

What you said with "never", "always", "only use" and the like is kept without a pin: "winnow dismiss ID" lists it.`,
		Example: `  winnow pin ses_0123 prt_0456
  winnow pin ses_0123 --text "Never touch the Store type." --note "agreed on Monday"
  winnow pin ses_0123 --list
  winnow pin ses_0123 prt_0456 --remove`,
		Args: between(1, 2, "the id of a session in the store and at most one PART"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runPin(cmd.Context(), args[0], second(args), f)
		},
	}
	cmd.Flags().StringVar(&f.text, "text", "", "a text to pin instead of a part")
	cmd.Flags().StringVar(&f.note, "note", "", "why, for yourself")
	cmd.Flags().BoolVar(&f.remove, "remove", false, "forget a pin, named by its id, its part, its message or its text")
	cmd.Flags().BoolVar(&f.list, "list", false, "only list the pins")
	return cmd
}

func (a *app) runPin(ctx context.Context, src, part string, f pinFlags) error {
	switch {
	case f.list && (f.remove || part != "" || f.text != "" || f.note != ""):
		return usage("--list goes alone")
	case f.remove && (part == "") == (f.text == ""):
		return usage("name the pin, its part, its message or its text")
	case !f.list && !f.remove && part != "" && f.text != "":
		return usage("a pin is a part, a message or a text; give one of them")
	}
	return a.runChange(ctx, src, output{}, "pinned", func(s *source, c *change) (err error) {
		switch {
		case s.fromFile():
			return usage(`pins live in the store: "winnow import %s" first, or use "winnow compact %s --pin TEXT"`, src, src)
		case f.list:
			c.Did = "listed"
		case f.remove:
			c.Did = "unpinned"
			err = s.engine.Unpin(ctx, s.id, part+f.text)
		default:
			c.Pin, err = pin(ctx, s, part, f)
		}
		if err != nil {
			return err
		}
		_, state, err := s.engine.Session(ctx, s.id)
		c.Pins = append([]rule.Pin{}, state.Pins...)
		for _, r := range state.Receipts {
			if c.Pin != nil && r.Pinned != nil && r.Pinned.ID == c.Pin.ID {
				c.Receipt = r.ID
			}
		}
		return err
	})
}

// pin pins what was named: a part, else a message of that id, or a text.
func pin(ctx context.Context, s *source, name string, f pinFlags) (*rule.Pin, error) {
	wanted := rule.Pin{Part: name, Text: f.text, Note: f.note}
	if name != "" {
		log, _, err := s.engine.Session(ctx, s.id)
		if err != nil {
			return nil, err
		}
		if _, part := session.FindPart(log.Messages, name); part == nil && session.Index(log.Messages, name) >= 0 {
			wanted.Part, wanted.Message = "", name
		}
	}
	pinned, err := s.engine.Pin(ctx, s.id, wanted)
	return &pinned, err
}
