package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/cmd/internal/change"
	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/output"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/store/edit"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/quantity"
	"github.com/winnowhq/winnow/text/visible"
)

// discardPreview is the JSON document of discard for messages and turns, without --yes.
type discardPreview struct {
	Source   string         `json:"source"`   // SRC as it was given
	Did      string         `json:"did"`      // "previewed"
	Messages []edit.Leaving `json:"messages"` // the messages, in the order of the log
	Tokens   int            `json:"tokens"`   // tokens by which the view would get smaller
}

func discardCommand(a *cli.App) *cobra.Command {
	var out output.Target
	var yes bool
	cmd := &cobra.Command{
		Use:   "discard SRC NAME…",
		Short: "Leave out parts, messages or turns",
		Long: `discard leaves out what is named, and shows a placeholder in the place of each part. A
part is named by its handle, call id or part id; a message by its id, or as message:31, its place in
the log; a turn as turn:3. A call and its result go together.

Messages and turns are shown first: the tokens that leave, what the user said in them, and the later
messages that quote them. Nothing is changed without --yes.

Nothing is deleted: "winnow restore" shows parts whole again, "winnow undo" takes the whole commit back.
A target that is refused does not stop the others.`,
		Example: `  winnow discard ses_0123 k3f7a2 mwq5zd
  winnow discard session.jsonl k3f7a2 -o smaller.jsonl
  winnow discard latest turn:3
  winnow discard latest turn:3 --yes --in-place`,
		Args: cli.Between(2, -1, "SRC and at least one NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			discard := func(s *source.Session) (winnow.Edited, error) {
				return discardFrom(cmd.Context(), a, s, args[0], args[1:], yes)
			}
			err := change.ByHand(cmd.Context(), a, args[0], out, "discarded", discard)
			if errors.Is(err, errPreviewed) {
				return nil
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "discard messages and turns, rather than show what would leave")
	out.Flags(cmd)
	return cmd
}

// errPreviewed ends a discard that was only to be shown.
var errPreviewed = errors.New("nothing is changed without --yes")

// discardFrom discards the parts with these names. Without yes it shows the effect of discarding
// messages and turns, and discards none.
func discardFrom(ctx context.Context, a *cli.App, s *source.Session, src string, names []string, yes bool) (
	winnow.Edited, error) {
	var targets []string
	doc := discardPreview{Source: src, Did: "previewed"}
	whole, err := winnow.Look(ctx, s.Engine, s.ID, func(r *report.Session) (bool, error) {
		var err error
		whole := edit.NamesMessages(r.Log, names)
		if whole && !yes {
			doc.Messages, err = edit.Foresee(r, names)
		} else {
			targets, err = edit.Expand(r, names)
		}
		return whole, err
	})
	var missing *report.Missing
	if errors.As(err, &missing) {
		return winnow.Edited{}, cli.Usage("%s", missing.Error())
	}
	switch {
	case err != nil:
		return winnow.Edited{}, err
	case !whole || yes:
		done, err := s.Engine.Edit(ctx, s.ID, edit.Request{Discard: targets, Words: whole})
		if whole && done.Changed { // the preview says what is too small
			done.Targets = slices.DeleteFunc(done.Targets, func(t edit.Target) bool {
				return !t.OK && t.Code == rule.Unprofitable
			})
		}
		return done, err
	}
	for i := range doc.Messages {
		doc.Tokens += doc.Messages[i].Tokens
	}
	if err := a.Tell(doc, func() { doc.show(a) }); err != nil {
		return winnow.Edited{}, err
	}
	return winnow.Edited{}, errPreviewed
}

func (doc discardPreview) show(a *cli.App) {
	for _, m := range doc.Messages {
		a.Printf("message %d  %s  %s tokens  %s\n", m.Number, m.Role, quantity.Number(m.Tokens), visible.Line(m.Text))
		if m.User {
			a.Printf("  you wrote it: summaries will not quote it, and its instructions no longer hold\n")
		}
		for _, why := range m.Stays {
			a.Printf("  stays: %s\n", visible.Line(why))
		}
		if len(m.QuotedBy) > 0 {
			numbers := strings.Trim(strings.ReplaceAll(fmt.Sprint(m.QuotedBy), " ", ", "), "[]")
			said := "message " + numbers + " quotes it"
			if len(m.QuotedBy) > 1 {
				said = "messages " + numbers + " quote it"
			}
			a.Printf("  %s\n", said)
		}
	}
	a.Printf("%s would leave the view, and nothing is changed yet. Discard them with --yes.\n",
		quantity.Count(doc.Tokens, "token"))
}
