package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/cmd/internal/change"
	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/output"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/desk/inplace"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/fold"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/quantity"
)

// compaction is the JSON document of compact.
type compaction struct {
	Source string `json:"source"` // SRC as it was given
	// Name of the format; omitted for a session of the store.
	Format string `json:"format,omitzero"`
	// The receipt. Its kind is "pruning" if there was too little to fold and old outputs were left
	// out instead, and "pin" if nothing was folded and only the text of "--pin" was added.
	Receipt pivot.Receipt `json:"receipt"`
	// The summary as the summariser wrote it, in Markdown; empty if nothing was folded.
	Summary      string          `json:"summary"`
	Carried      carriedOver     `json:"carried"`         // the counts of everything carried over
	TokensBefore int             `json:"tokensBefore"`    // tokens of the view before
	TokensAfter  int             `json:"tokensAfter"`     // tokens of the view afterwards
	Output       string          `json:"output,omitzero"` // path of the file that was written
	Page         string          `json:"page,omitzero"`   // path of the page that "--html" wrote
	Damaged      []format.Damage `json:"damaged"`         // the pieces of the file that were skipped

	InPlace *inplace.Replaced `json:"inPlace,omitzero"` // how SRC was replaced
	Limits  []string          `json:"limits,omitzero"`  // sentences, as in "prune"
	// The line of a shell by which the product that owns the session goes on with it, from any
	// folder. If the product resumes a session only from its own file and a copy was written, the
	// line compacts that file first. Omitted if nothing was written, or nobody knows how.
	Resume string `json:"resume,omitzero"`
}

// carriedOver is what the engine wrote under the summary itself.
type carriedOver struct {
	pivot.Carried
	Text string `json:"text"` // the text that was carried over
}

type compactFlags struct {
	out        output.Target
	html       output.Page
	summarizer string
	focus      string
	to         int
	auto       bool
	queue      bool
	agent      string
	dry        bool
	preview    bool // dry, as a copy could not be resumed
	summary    bool
	edit       bool
	pins       []string
	dismissed  []string
}

func compactCommand(a *cli.App) *cobra.Command {
	var f compactFlags
	cmd := &cobra.Command{
		Use:   "compact SRC",
		Short: "Fold the past into a summary, and give a receipt",
		Long: `compact prunes old tool outputs, folds the past into a summary, keeps the newest
messages word for word, and carries over what must not depend on a summary: the user's messages and
instructions, open todos, files, unresolved errors.

A session in the store is changed there, and "winnow undo" takes it back. For a file a compacted copy
is written, which the product that owns the format resumes: with -o to the file named, with --in-place
to SRC itself (the original is kept, see "winnow doctor originals"), else to NAME.compacted.EXT in the
current folder. Where a product resumes sessions from its own files alone, as Claude Code does, the last
case writes nothing: it shows what would be done, and the command with --in-place.

The summary is written offline, free of charge, unless compaction.model names a model, or --summarizer
llm asks one: compaction.model if it is set, else the model of --model, else the session's own. The
session is sent to that model's provider, and the receipt says what it cost. If the model gives no
valid summary, the offline summariser writes it, and the receipt says why.

The last exchange, the newest message of the user's with its answer, is not folded unless it is large
(--to TOKENS folds into it). If there is nothing before it, or the summary would not make the session
smaller, there is nothing to do (exit code 5).

--edit opens the summary in $VISUAL or $EDITOR before it counts. An empty text, or an editor that fails,
leaves the session as it was.

Each summary is made from the log, not from the one before it. If nothing was said since the last one
there is nothing to do either, unless --to asks for a smaller view, or --focus for a summary that
dwells on something else. A text that --pin names is shown, and the file written, all the same.

--queue folds nothing yet: it appends the marker of a compaction, a task that waits in the session. At
most one waits. The next "winnow compact" makes it, or the next "winnow run" of the session before it
asks the model anything. --model and --agent are then those of the marker (default: of the last user
message): the model that is asked for the summary, unless compaction.model names another.`,
		Example: `  winnow compact session.jsonl
  winnow compact session.jsonl --in-place
  winnow compact session.jsonl --focus "the parser" -o smaller.jsonl
  winnow compact session.jsonl --in-place --edit
  winnow compact session.jsonl --to 4000
  winnow compact session.jsonl --summarizer llm --model anthropic/claude-haiku-4-5
  winnow compact ses_1 --queue --continue
  winnow compact session.jsonl --dry-run --summary
  winnow compact session.jsonl --dry-run --html after.html`,
		Args: cli.Exactly(1, "one SRC"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := queueOnly(cmd, f); err != nil {
				return err
			}
			if f.queue {
				return runQueue(cmd.Context(), a, args[0], f)
			}
			return runCompact(cmd.Context(), a, args[0], f)
		},
	}
	f.out.Flags(cmd)
	f.html.Flags(a, cmd, "in the page and in what is written under the pivot")
	flags := cmd.Flags()
	flags.StringVar(&f.summarizer, "summarizer", "", "who writes the summary: llm, offline, or auto, "+
		"which is the model of compaction.model if it is set (default from the configuration: auto)")
	flags.StringVar(&f.focus, "focus", "", "what the summary is to dwell on")
	flags.IntVar(&f.to, "to", 0,
		"how many tokens the session's messages may have afterwards; 0: what the policy leaves")
	flags.BoolVar(&f.auto, "continue", false, "append a message that tells the agent to continue by itself")
	flags.BoolVar(&f.queue, "queue", false, "fold nothing yet: append a marker that the next compaction executes")
	flags.StringVar(&f.agent, "agent", "", "agent of the marker that --queue appends")
	flags.StringArrayVar(&f.pins, "pin", nil, "a text that must survive word for word; may be repeated")
	flags.StringArrayVar(&f.dismissed, "dismiss", nil,
		"number or words of an instruction to dismiss (see winnow protect --dismiss); may be repeated")
	cli.DryRun(cmd, &f.dry, "say what would be done and write nothing but the page of --html")
	flags.BoolVar(&f.summary, "summary", false, "print the summary too")
	flags.BoolVar(&f.edit, "edit", false, "open the summary in $VISUAL or $EDITOR before it counts")
	cli.Complete(cmd, "summarizer", summarizers...)
	scheduleFlag(a, cmd)
	return cmd
}

func runCompact(ctx context.Context, a *cli.App, src string, f compactFlags) error {
	f.html.Force = f.out.Force
	if err := cmp.Or(f.out.Check(), f.html.Check(a.JSON)); err != nil {
		return err
	}
	if f.html.To == "-" && f.out.To == "-" {
		return cli.Usage("-o - and --html - both want standard output; name a file for one of them")
	}
	if f.summarizer != "" && !slices.Contains(summarizers, f.summarizer) {
		return cli.Usage("unknown summariser %q; use %s", f.summarizer, strings.Join(summarizers, ", "))
	}
	if f.to < 0 {
		return cli.Usage("--to %d: give a number of tokens above 0", f.to)
	}
	a.Summarizer = f.summarizer
	s, preview, err := openOrPreview(ctx, a, src, &f.out, &f.dry)
	if err != nil {
		return err
	}
	defer s.Close()
	if f.preview = preview; preview && f.edit {
		return cli.Usage("--edit needs a place for the session: --in-place, or -o FILE")
	}
	if err := roomForBoth(a, s, &f); err != nil {
		return err
	}
	pins, err := change.PinTexts(ctx, s, f.pins)
	if err != nil {
		return err
	}
	if len(f.dismissed) > 0 {
		if _, err := s.Engine.Dismiss(ctx, s.ID, true, f.dismissed...); err != nil &&
			winnow.CodeOf(err) != winnow.Already {
			return err
		}
	}
	before, err := winnow.Look(ctx, s.Engine, s.ID, report.Inspect)
	if err != nil {
		return err
	}
	if of, err := source.ModelOf(ctx, s); err == nil {
		a.Doubt(of)
	}
	done := sync.OnceFunc(watch(a, s.Engine, "folding "+src))
	how := winnow.CompactOptions{Focus: f.focus, To: f.to, Auto: f.auto, KeepSecrets: a.KeepSecrets()}
	if f.edit {
		how.Review = func(_ context.Context, summary string) (string, error) {
			done()
			return editSummary(a, summary)
		}
	}
	receipt, err := s.Engine.Compact(ctx, s.ID, how)
	done()
	if err = notFolded(err, before, f.to); cli.IsNothing(err) && len(pins) > 0 {
		receipt, err = pinnedAlone(pins, err), nil
	}
	if err != nil {
		return err
	}
	doc := compaction{Source: src, Format: s.Format(), Receipt: *receipt, TokensBefore: receipt.TokensBefore,
		TokensAfter: receipt.TokensAfter, Damaged: s.Damaged()}
	doc.Carried.Carried = receipt.Carried
	if doc.Summary, doc.Carried.Text, err = summaryOf(ctx, s, receipt.Summary); err != nil {
		return err
	}
	if s.FromFile() {
		if !f.dry {
			if doc.Output, err = output.Write(ctx, a, s, &f.out, "compacted"); err != nil {
				return err
			}
			doc.InPlace, doc.Limits = f.out.Replaced, f.out.Limits
		}
		doc.Receipt.Undo = cli.UndoOf(doc.Output)
	}
	doc.Resume = resumeLine(a, s, doc, &f)
	if f.html.To != "" {
		if doc.Page, err = compactionPage(ctx, a, s, &f, doc); err != nil {
			return err
		}
	}
	if doc.Output == "-" || doc.Page == "-" {
		return s.Done() // standard output has the session, or the page
	}
	after, err := winnow.Look(ctx, s.Engine, s.ID, report.Inspect)
	if err != nil {
		return err
	}
	return s.Tell(a, doc, func() { showCompaction(a, s, before, after, doc, &f) })
}

// roomForBoth refuses a page that could not be written, or would be written over the session,
// before anything is done.
func roomForBoth(a *cli.App, s *source.Session, f *compactFlags) error {
	if f.html.To == "" || f.html.To == "-" {
		return nil
	}
	session := ""
	if s.FromFile() && !f.dry && f.out.To != "-" {
		var err error
		if session, err = output.Path(a, s, &f.out, "compacted"); err != nil {
			return err
		}
	}
	_, err := f.html.Place(a, s, session, "-o")
	return err
}

// compactionPage writes the page of the session after a compaction.
func compactionPage(ctx context.Context, a *cli.App, s *source.Session, f *compactFlags,
	doc compaction) (string, error) {
	w := output.Written{Name: output.NameOf(a, s), Done: &doc.Receipt, To: doc.Output}
	switch {
	case f.dry:
		w.Remark = "This is what would be done; the session was left as it is (--dry-run)."
		w.Name, doc.Receipt.Undo = "", "" // there is nothing to take back
	case doc.Output == "-":
		w.Name = "" // nobody knows where it went
		w.Remark = "The session was written to standard output."
	case doc.Output != "":
		w.Name = a.Short(doc.Output)
		doc.Receipt.Undo = cli.UndoOf(w.Name)
		w.Remark = "The session was written to " + w.Name + "."
	}
	return f.html.Write(ctx, a, s, w)
}

// notFolded makes "there is nothing to do" of an error that says so. to is what --to asked for.
func notFolded(err error, before report.Report, to int) error {
	switch size := quantity.Number(before.Window.Tokens); {
	case errors.Is(err, fold.ErrNothingNew):
		const how = "to fold it further, ask for fewer with --to TOKENS, " +
			"or for a summary that dwells on something with --focus"
		return cli.Nothing(fmt.Sprintf("%v; the window has %s tokens\n  %s", fold.ErrNothingNew, size, how))
	case to == 0 && winnow.CodeOf(err) == winnow.NothingToFold:
		return nothingToFold(err, size)
	case to == 0 && tooSmall(err, before):
		return cli.Nothing(fmt.Sprintf("the window has %s tokens, and a summary would not make it smaller", size))
	}
	return err
}

// nothingToFold says why nothing is folded of a window of a size, and what to do.
func nothingToFold(err error, size string) error {
	var why *winnow.Error
	errors.As(err, &why)
	return cli.Hint(cli.Nothing(fmt.Sprintf("%v; the window has %s tokens", why.Err, size)), why.Hint)
}

// tooSmall reports whether there was too little to fold: a summary would be longer than what it
// stands for.
func tooSmall(err error, before report.Report) bool {
	return winnow.CodeOf(err) == winnow.NoProgress && !before.Window.Overflow
}

// summaryOf returns the two texts of a summary: the summariser's and the engine's.
func summaryOf(ctx context.Context, s *source.Session, id string) (summary, carried string, err error) {
	log, state, err := s.Engine.Session(ctx, s.ID)
	if err != nil {
		return "", "", err
	}
	at := session.Index(log.Messages, id)
	if at < 0 {
		return "", "", nil
	}
	var own []string
	for i := range log.Messages[at].Parts {
		p := &log.Messages[at].Parts[i]
		if n, _ := p.Note(); n.Carry {
			carried = p.Text
		} else if p.Type == session.TextPart {
			own = append(own, p.Text)
		}
	}
	window := view.Window(log.Messages, state.Undone)
	for i := range window { // what is pinned or restored follows it
		m := &window[i]
		if _, kept := m.Kept(); kept {
			for _, p := range m.Parts {
				carried = strings.TrimPrefix(carried+"\n\n"+p.Text, "\n\n")
			}
		}
	}
	return strings.Join(own, "\n\n"), carried, nil
}

// pinnedAlone is the receipt of a compaction that folded nothing, for a reason, but pinned
// something.
func pinnedAlone(pins []pivot.Receipt, why error) *pivot.Receipt {
	r := pins[len(pins)-1]
	r.MessagesBefore, r.TokensBefore = pins[0].MessagesBefore, pins[0].TokensBefore
	r.Saved = r.TokensBefore - r.TokensAfter
	r.Notes = []string{"nothing was folded: " + why.Error()}
	return &r
}

// summarizers are the words for --summarizer.
var summarizers = []string{"auto", "llm", "offline"}
