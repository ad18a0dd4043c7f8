package main

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/pivot"
	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/token"
)

// pinTexts pins texts, and gives the receipts of those that changed the view. One that is pinned already is as it was wanted.
func pinTexts(ctx context.Context, s *source, texts []string) (made []pivot.Receipt, err error) {
	for _, text := range texts {
		p, err := s.engine.Pin(ctx, s.id, rule.Pin{Text: text})
		if winnow.CodeOf(err) == winnow.Already {
			continue
		}
		if err != nil {
			return nil, err
		}
		r, err := receiptOf(ctx, s, p)
		if err != nil {
			return nil, err
		}
		if r != nil {
			made = append(made, *r)
		}
	}
	return made, nil
}

// receiptOf is the receipt of a pin, nil where it changed nothing of the view.
func receiptOf(ctx context.Context, s *source, p rule.Pin) (*pivot.Receipt, error) {
	_, state, err := s.engine.Session(ctx, s.id)
	for i := range state.Receipts {
		if r := &state.Receipts[i]; r.Pinned != nil && r.Pinned.ID == p.ID {
			return r, err
		}
	}
	return nil, err
}

// pinnedAlone is the receipt of a compaction that folded nothing, for a reason, but pinned something.
func pinnedAlone(pins []pivot.Receipt, why error) *pivot.Receipt {
	r := pins[len(pins)-1]
	r.MessagesBefore, r.TokensBefore = pins[0].MessagesBefore, pins[0].TokensBefore
	r.Saved = r.TokensBefore - r.TokensAfter
	r.Notes = []string{"nothing was folded: " + why.Error()}
	return &r
}

func (a *app) showPinnedAlone(doc compaction, texts int) {
	a.printf("%s pinned, and shown to the model from now on; %s\n", plural(texts, "text is", "texts are"), strings.Join(doc.Receipt.Notes, "\n"))
	a.printf("The view: %s → %s tokens\n", token.Grouped(doc.TokensBefore), token.Grouped(doc.TokensAfter))
}

// pinFlags are those of pin.
type pinFlags struct {
	text, note   string
	remove, list bool
}

func (a *app) pinCommand() *cobra.Command {
	var f pinFlags
	var out output
	cmd := &cobra.Command{
		Use:   "pin SRC [PART]",
		Short: "Keep a part, a message or a text through every elision and every pivot",
		Long: `pin keeps a part, a whole message, or a text of your own, word for word in what the model sees, whatever is pruned and folded, under every policy. It takes
effect at once: what is elided is shown again; a text, and what a compaction folded, is quoted behind the summary. It is never
cut: what is large and pinned stays large. "winnow undo" and --remove take it back.

PART is a handle, or the id of a part, of a call or of a message, as "winnow show ID --json" prints it; with --remove
also that of a pin, or a pinned text.

Pins live in the store. Of a file a copy is written, as by restore: the text, or what a compaction folded, stands in it as a quotation, and goes along when the file is
compacted again. For what is shown in its place a file has no place for a pin: import it first.

What you said with "never", "always", "only use" and the like is kept without a pin: "winnow dismiss ID" lists it.`,
		Example: `  winnow pin ses_0123 prt_0456
  winnow pin ses_0123 --text "Never touch the Store type." --note "agreed on Monday"
  winnow pin session.compacted.jsonl prt_0456 -o pinned.jsonl
  winnow pin session.jsonl --text "Never touch the Store type." --in-place
  winnow pin ses_0123 --list
  winnow pin ses_0123 prt_0456 --remove`,
		Args: between(1, 2, "SRC and at most one PART"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runPin(cmd.Context(), args[0], second(args), f, out)
		},
	}
	out.flags(cmd)
	cmd.Flags().StringVar(&f.text, "text", "", "a text to pin instead of a part")
	cmd.Flags().StringVar(&f.note, "note", "", "why, for yourself")
	cmd.Flags().BoolVar(&f.remove, "remove", false, "forget a pin, named by its id, its part, its message or its text")
	cmd.Flags().BoolVar(&f.list, "list", false, "only list the pins")
	return cmd
}

func (a *app) runPin(ctx context.Context, src, part string, f pinFlags, out output) error {
	switch {
	case f.list && (out.to != "" || out.format != "" || out.inPlace || f.remove || part != "" || f.text != "" || f.note != ""):
		return usage("--list goes alone")
	case f.remove && (part == "") == (f.text == ""):
		return usage("name the pin, its part, its message or its text")
	case !f.list && !f.remove && part != "" && f.text != "":
		return usage("a pin is a part, a message or a text; give one of them")
	}
	return a.runChange(ctx, src, out, "pinned", func(s *source, c *change) (err error) {
		switch {
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
		if c.Pin != nil && err == nil {
			r, failed := receiptOf(ctx, s, *c.Pin)
			if err = failed; r != nil {
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
	if err == nil && s.fromFile() {
		err = quotes(ctx, s, pinned)
	}
	return &pinned, err
}

// quotes refuses a pin that a file would not have: one for which nothing is quoted.
func quotes(ctx context.Context, s *source, pin rule.Pin) error {
	log, _, err := s.engine.Session(ctx, s.id)
	if err != nil {
		return err
	}
	for i := range log.Messages {
		if n, kept := log.Messages[i].Kept(); kept && n.Kept == pin.ID {
			return nil
		}
	}
	return hinted{usage("a file has no place for a pin of what is shown in its place"), "winnow import puts the session into the store, where it can be pinned; --text pins a text in the file"}
}

// recallPins are the pins of a file: what it quotes because it was pinned.
func recallPins(ctx context.Context, s *source) error {
	log, _, err := s.engine.Session(ctx, s.id)
	if err != nil {
		return err
	}
	var pins []rule.Pin
	for i := range log.Messages {
		m := &log.Messages[i]
		n, kept := m.Kept()
		if !kept || !n.Pin || slices.ContainsFunc(pins, func(p rule.Pin) bool { return p.ID == n.Kept }) {
			continue
		}
		pin := rule.Pin{ID: n.Kept, Time: m.Time.Created}
		switch of, _ := session.FindPart(log.Messages, first(n.Quotes)); {
		case len(n.Quotes) == 0:
			pin.Text = pivot.PinnedText(m.Parts[0].Text)
		case len(n.Quotes) == 1 || of == nil:
			pin.Part = n.Quotes[0]
		default:
			pin.Message = of.ID
		}
		pins = append(pins, pin)
	}
	if len(pins) == 0 {
		return nil
	}
	return apply(ctx, s, func(store.State) store.Change { return store.Change{Pin: pins} })
}

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}
