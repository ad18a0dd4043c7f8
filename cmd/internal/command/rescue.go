package command

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/output"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/desk/inplace"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/quantity"
	"github.com/winnowhq/winnow/text/span"
	"github.com/winnowhq/winnow/text/visible"
)

// rescued is the JSON document of rescue.
type rescued struct {
	Source       string    `json:"source"`          // the session, as a name that other commands take
	Format       string    `json:"format"`          // name of the format
	Ailments     []ailment `json:"ailments"`        // the ailments, each with its cure
	TokensBefore int       `json:"tokensBefore"`    // tokens of the view before
	TokensAfter  int       `json:"tokensAfter"`     // tokens of the view afterwards
	Output       string    `json:"output,omitzero"` // path of the file that was written

	InPlace *inplace.Replaced `json:"inPlace,omitzero"` // how SRC was replaced
	// The command that takes it back, to the byte. Omitted if nothing was written in place.
	Undo   string `json:"undo,omitzero"`
	Resume string `json:"resume,omitzero"` // the line of a shell that goes on with the session, as in "compact"
}

type rescueFlags struct {
	out output.Target
	dry bool
}

func rescueCommand(a *cli.App) *cobra.Command {
	var f rescueFlags
	cmd := &cobra.Command{
		Use:   "rescue [SRC]",
		Short: "Cure a session that its agent cannot go on with",
		Long: `rescue finds out why an agent cannot go on with a session, does the least that cures it, and prints
the line that resumes it. Without SRC it takes the newest session of this folder.

It knows these states by the words of the agent or of the provider: the prompt is too long at every
turn; the agent's own compaction fails, or is made again and again; an image is refused; the model's
earlier reasoning is refused; a call has no result. It also knows a last line that was not written to
its end, and what "winnow doctor --fix" mends.

The session's file is replaced, and its original kept: "winnow undo SRC --in-place" gives it back to the
byte. OpenCode's store is never written to: OpenCode imports a file, in which the past is folded. End the
agent first. If nothing is wrong, nothing is done (exit code 5).`,
		Example: `  winnow rescue
  winnow rescue claude-code:
  winnow rescue session.jsonl --dry-run
  winnow rescue session.jsonl -o cured.jsonl`,
		Args: cli.Between(0, 1, "at most one SRC"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runRescue(cmd.Context(), a, append(args, source.Latest)[0], f)
		},
	}
	f.out.Command = cmd.Name()
	flags := cmd.Flags()
	flags.StringVarP(&f.out.To, "output", "o", "", "write a cured copy to this file, and leave SRC as it is")
	flags.BoolVarP(&f.out.Force, "force", "f", false,
		"overwrite the file that is written to; or replace SRC although somebody may be writing to it")
	cli.DryRun(cmd, &f.dry, "say what is wrong and what would be done, and write nothing")
	return cmd
}

func runRescue(ctx context.Context, a *cli.App, src string, f rescueFlags) error {
	path, err := source.Resolve(ctx, a, src)
	if err != nil {
		return err
	}
	info, err := os.Stat(a.Path(path))
	f.out.InPlace = f.out.To == "" && err == nil && info.Mode().IsRegular()
	f.out.Mends = true
	s, err := output.Open(ctx, a, src, &f.out, f.dry)
	if err != nil {
		return err
	}
	defer s.Close()
	if !s.FromFile() {
		return cli.Usage("%s is in winnow's own store; rescue cures the sessions of other agents", src)
	}
	doc := rescued{Source: wordOf(a, s), Format: s.Doc.Format, Ailments: ailmentsOf(s.Doc)}
	if len(doc.Ailments) == 0 {
		return healthy(s)
	}
	before, err := winnow.Look(ctx, s.Engine, s.ID, report.Inspect)
	if err != nil {
		return err
	}
	doc.TokensBefore = before.Window.Tokens
	if doc.Ailments, err = cure(ctx, a, s, doc.Ailments, before); err != nil {
		return err
	}
	after, err := winnow.Look(ctx, s.Engine, s.ID, report.Inspect)
	if err != nil {
		return err
	}
	doc.TokensAfter = after.Window.Tokens
	if f.dry {
		return a.Tell(doc, func() { doc.show(a, &f, "") })
	}
	if doc.Output, err = output.Write(ctx, a, s, &f.out, "rescued"); err != nil {
		return err
	}
	if doc.Output == "-" {
		return s.Done()
	}
	r, _ := resumed(a, s, f.out, "rescue", doc.Output)
	if s.Stored && f.out.To == "" && imports(ctx, a, doc.Output) {
		r.Steps, doc.Output = r.Steps[1:], ""
	}
	doc.InPlace, doc.Resume = f.out.Replaced, r.line()
	if f.out.Replaced != nil {
		doc.Undo = "winnow undo " + doc.Source + " --in-place"
	}
	return s.Tell(a, doc, func() { doc.show(a, &f, r.from(a.Env.Dir)) })
}

// healthy is the end of a rescue that found nothing to do.
func healthy(s *source.Session) error {
	failure, failed := s.Doc.Failure()
	switch code := format.AilmentOf(failure.Text); {
	case failed && code != "":
		return cli.Nothing("the newest turn was refused, and what caused that is left out already: " +
			firstLine(failure.Text))
	case failed:
		return cli.Hint(cli.Nothing("the newest turn failed for a reason that no change of the session cures: "+
			firstLine(failure.Text)), "docs/troubleshooting.md lists more sentences")
	}
	return cli.Nothing("nothing keeps an agent from going on with " + s.Title())
}

// firstLine is the beginning of a text, for a line.
func firstLine(text string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	const most = 200
	if r := []rune(first); len(r) > most {
		first = string(r[:most]) + "…"
	}
	return visible.Line(first)
}

// cure cures the ailments of a session, and returns them with their cures.
func cure(ctx context.Context, a *cli.App, s *source.Session, found []ailment,
	before report.Report) ([]ailment, error) {
	var edits []span.Edit
	for _, x := range found {
		edits = append(edits, x.edits...)
	}
	inView := slices.ContainsFunc(found, func(x ailment) bool { return x.folds || len(x.elisions) > 0 })
	if len(edits) > 0 {
		slices.SortStableFunc(edits, func(a, b span.Edit) int { return cmp.Compare(a.Start, b.Start) })
		mended := span.Splice(s.Doc.Source, edits...)
		f, err := all.Named(s.Doc.Format)
		if err != nil {
			return nil, err
		}
		doc, err := f.Read(mended)
		if err != nil {
			return nil, fmt.Errorf("what was mended cannot be read: %w", err)
		}
		if err := s.Become(ctx, a, doc); err != nil {
			return nil, err
		}
		if !inView {
			s.Exact = mended
			return found, nil
		}
		found = slices.DeleteFunc(found, func(x ailment) bool { return len(x.edits) == 0 })
		found = append(found, ailmentsOf(s.Doc)...)
	}
	for i := range found {
		x := &found[i]
		if len(x.elisions) > 0 && s.Stored {
			if err := foldPast(ctx, a, s, x, before); err != nil {
				return nil, err
			}
			continue
		}
		if len(x.elisions) > 0 {
			for j := range x.elisions {
				x.elisions[j].Time = session.Millis(a.Env.Now().UnixMilli())
			}
			if err := s.Apply(ctx, store.Change{Commit: x.elisions}); err != nil {
				return nil, err
			}
		}
		if x.folds {
			if err := foldToFit(ctx, a, s, x, before); err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

// foldPast folds the parts that an ailment would leave out. OpenCode imports a compaction into a session that
// it has, but no marks.
func foldPast(ctx context.Context, a *cli.App, s *source.Session, x *ailment, before report.Report) error {
	least := before.Window.Tokens / 8
	receipt, err := s.Engine.Compact(ctx, s.ID, winnow.CompactOptions{KeepSecrets: a.KeepSecrets(), To: least})
	if err != nil {
		return err
	}
	log, state, err := s.Engine.Session(ctx, s.ID)
	if err != nil {
		return err
	}
	window := view.Window(log.Messages, state.Undone)
	for _, el := range x.elisions {
		if session.Index(window, el.Message) >= 0 {
			return fmt.Errorf("%s has no way to leave out a part of its newest turn, and folding keeps that", s.Doc.Format)
		}
	}
	x.Cure = foldedMessages(receipt)
	return nil
}

// foldToFit folds a session so that it fits: as compact does, or further if more than half of the
// refused prompt would be left. That was longer than the model takes, whatever is known of the model.
func foldToFit(ctx context.Context, a *cli.App, s *source.Session, x *ailment, before report.Report) error {
	w := before.Window
	fits := w.Tokens + w.Overhead
	for _, limit := range []int{limitIn(x.Sentence), w.Usable} {
		if limit > 0 {
			fits = min(fits, limit)
		}
	}
	target := max(fits/2-w.Overhead, fits/8)
	options := winnow.CompactOptions{KeepSecrets: a.KeepSecrets()}
	p, err := s.Engine.Preview(ctx, s.ID, options)
	if err != nil || p.Kind != pivot.Compaction || x.Code == format.Loop || p.TokensAfter > target {
		options.To = target
	}
	defer a.Progress("folding " + s.Title())()
	receipt, err := s.Engine.Compact(ctx, s.ID, options)
	for options.To > 0 && winnow.CodeOf(err) == winnow.NoProgress {
		if options.To += options.To / 2; options.To > w.Tokens*3/4 {
			options.To = 0 // as compact does
		}
		receipt, err = s.Engine.Compact(ctx, s.ID, options)
	}
	if err != nil {
		return err
	}
	if receipt.Kind == pivot.Pruning {
		x.Cure = quantity.Plural(len(receipt.Committed), "part is", "parts are") + " left out; there is too little to fold"
		return nil
	}
	x.Cure = foldedMessages(receipt)
	return nil
}

// foldedMessages says how many messages a compaction folded.
func foldedMessages(r *pivot.Receipt) string {
	return quantity.Plural(max(0, r.MessagesBefore-r.MessagesAfter), "message is", "messages are") +
		" folded into a summary"
}

// show prints the ailments and their cures. going is the line that resumes.
func (d *rescued) show(a *cli.App, f *rescueFlags, going string) {
	for _, x := range d.Ailments {
		a.Printf("%s\n", visible.Text(sayAilment(x)))
		if x.Sentence != "" {
			a.Printf("  it said: %s\n", firstLine(x.Sentence))
		}
		a.Printf("  %s\n", visible.Text(x.Cure))
	}
	if d.TokensAfter != d.TokensBefore {
		a.Printf("The view: %s → %s tokens\n", quantity.Number(d.TokensBefore), quantity.Number(d.TokensAfter))
	}
	if f.dry {
		a.Printf("Nothing was written (--dry-run).\n")
		return
	}
	if d.Output != "" {
		a.Printf("Written to %s\n", a.Short(d.Output))
	}
	output.SayOriginal(a, &f.out)
	if d.Undo != "" {
		a.Printf("Undo with: %s\n", d.Undo)
	}
	if going != "" {
		a.Printf("Resume with: %s\n", going)
	}
}
