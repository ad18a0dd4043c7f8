package command

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/output"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/cmd/internal/survey"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/look/skim"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/plainfile"
)

// inspection is the JSON document of inspect.
type inspection struct {
	Source string `json:"source"` // SRC as it was given
	// Name of the format; omitted for a session of the store.
	Format string `json:"format,omitzero"`
	// The file in the product's own terms, including abandoned branches and sub-agents.
	Counts *format.Counts `json:"counts,omitzero"`
	report.Report
	Page    string          `json:"page,omitzero"` // path of the page that "--html" wrote
	Damaged []format.Damage `json:"damaged"`       // the pieces of the file that were skipped
}

func inspectCommand(a *cli.App) *cobra.Command {
	var html output.Page
	var log, diff bool
	var as string
	cmd := &cobra.Command{
		Use:   "inspect SRC",
		Short: "Show where the tokens of a session went, and what can go",
		Long: `inspect shows the timeline of a session, what takes the tokens, what each rule of the
policy could leave out and why, and how full the window of the model is now. Nothing is changed. For a
folder, or a database of OpenCode's, it lists every session in it, the fullest window first.

With --html it also writes one page for a browser: the timeline, the summaries beside what they
replaced, and every part with the reason why it is shown or left out. The page needs nothing but
itself.

--log prints the turns of the session with their titles, what came of them and the files that they
changed, then each message and the receipts; --diff also prints what changed in the files. Titles and
diffs come from the program that ran the session, winnow or OpenCode. Without them, the first sentences
of the request and of the answer stand there.

--as prints the exact messages that the model would be sent, as text or as the JSON of an API.`,
		Example: `  winnow inspect session.jsonl
  winnow inspect session.jsonl --json
  winnow inspect session.jsonl --html session.html
  winnow inspect ses_0123 --log --diff
  winnow inspect session.jsonl --as anthropic
  winnow inspect ~/.claude/projects
  winnow inspect session.jsonl --policy classic --model openai/gpt-5`,
		Args: cli.Exactly(1, "one SRC"),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch log = log || diff; {
			case as != "" && (log || html.To != ""):
				return cli.Usage("--as prints messages and nothing else; leave --log, --diff and --html out")
			case as != "":
				return runView(cmd.Context(), a, args[0], as)
			case log:
				return runShow(cmd.Context(), a, args[0], diff, html)
			}
			return runInspect(cmd.Context(), a, args[0], html)
		},
	}
	cmd.Flags().BoolVar(&log, "log", false, "print the turns, the messages and the receipts")
	cmd.Flags().BoolVar(&diff, "diff", false, "the same, with what changed in the files")
	cmd.Flags().StringVar(&as, "as", "", "print what the model would be sent: text, anthropic, openai, responses or gemini")
	cli.Complete(cmd, "as", "text", "anthropic", "openai", "responses", "gemini")
	html.Flags(a, cmd, "in the page")
	html.WithForce(cmd)
	return cmd
}

func runInspect(ctx context.Context, a *cli.App, src string, html output.Page) error {
	if err := html.Check(a.JSON); err != nil {
		return err
	}
	switch many, err := source.HoldsMany(ctx, a, src); {
	case err != nil:
		return err
	case many && html.To != "":
		return cli.Usage("%s holds several sessions; --html needs one", src)
	case many:
		return survey.Folder(ctx, a, src)
	}
	found, err := source.Resolve(ctx, a, src)
	if err != nil {
		return err
	}
	if html.To == "" { // a page needs every part
		if skimmed, err := inspectLarge(ctx, a, found); skimmed || err != nil {
			return err
		}
	}
	s, err := source.Open(ctx, a, src)
	if err != nil {
		return err
	}
	defer s.Close()
	report, err := winnow.Look(ctx, s.Engine, s.ID, report.Inspect)
	if err != nil {
		return err
	}
	var saves *pivot.Money
	if !a.JSON {
		_, saves, _ = source.Preview(ctx, s) // an error says that there is nothing to fold
	}
	page := ""
	if html.To != "" {
		if page, err = html.Write(ctx, a, s, output.Written{Name: output.NameOf(a, s)}); err != nil || page == "-" {
			return errors.Join(err, s.Done())
		}
	}
	return tellInspection(a, s, src, report, saves, page)
}

// tellInspection prints what was seen of a session, and what a compaction would bring.
func tellInspection(a *cli.App, s *source.Session, src string, report report.Report, saves *pivot.Money,
	page string) error {
	doc := inspection{Source: src, Format: s.Format(), Report: report, Page: page, Damaged: s.Damaged()}
	if s.Doc != nil {
		doc.Counts = &s.Doc.Counts
		// What a person calls messages and results is what the product wrote, including abandoned
		// branches.
		doc.Messages, doc.ToolCalls, doc.ToolResults = doc.Counts.Messages, doc.Counts.ToolCalls, doc.Counts.ToolResults
	}
	return s.Tell(a, doc, func() {
		a.Paint().Inspection(doc.Report, saves, s.Title(), doc.Damaged)
		output.SayPage(a, page)
	})
}

// tooLarge is the size, in bytes, above which a file of lines is inspected a stretch at a time:
// reading it whole would take some four times as much memory.
const tooLarge = 64 << 20

// tooMany is the number of lines above which a file is inspected that way, however short they are:
// what is made of a line takes three kilobytes and more.
const tooMany = 1 << 15

// manyLines reports whether a file has more lines than that. It is at its beginning before and has
// been read after.
func manyLines(file io.Reader) bool {
	piece := make([]byte, 64<<10)
	for lines := 0; lines <= tooMany; {
		n, err := file.Read(piece)
		lines += bytes.Count(piece[:n], []byte{'\n'})
		if err != nil {
			return lines > tooMany
		}
	}
	return true
}

// skimMemory is how much memory, in bytes, the program may take, but for its own text, before it
// collects garbage more often than usual: twice what looking at one stretch takes.
const skimMemory = 112 << 20

// inspectLarge inspects a file that is too large to be held, when src is one.
func inspectLarge(ctx context.Context, a *cli.App, src string) (skimmed bool, err error) {
	if src == "-" {
		return false, nil
	}
	file, info, err := plainfile.Open(a.Path(src))
	if err != nil {
		return false, nil // it may be in the store; if not, that is said there
	}
	defer file.Close()
	if info.Size() < cmp.Or(a.Env.TooLarge, tooLarge) && !manyLines(file) {
		return false, nil
	}
	head := make([]byte, 64<<10)
	n, err := file.ReadAt(head, 0)
	if err != nil && n == 0 {
		return false, fmt.Errorf("%s: %w", src, err)
	}
	f, ok := all.Detect(head[:n]).(format.Outliner)
	if !ok {
		return false, nil
	}
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(skimMemory))
	done := a.Progress("reading " + src)
	pieces, err := format.Cut(file, info.Size(), f.Outline(), skim.Length)
	done()
	if err != nil {
		return false, fmt.Errorf("%s: %w", src, err)
	}
	settings, err := a.Settings()
	if err != nil {
		return false, err
	}
	config, err := source.Config(a, nil, settings)
	if err != nil {
		return false, err
	}
	done = a.Progress("looking at " + src)
	report, err := skim.Inspect(ctx, skim.File{Pieces: pieces, Format: f}, config)
	done()
	if err != nil {
		return false, fmt.Errorf("%s: %w", src, err)
	}
	s := &source.Session{Path: src,
		Doc: &format.Document{Format: f.Name(), Counts: pieces.Counts, Damaged: pieces.Damaged}}
	return true, tellInspection(a, s, src, report, nil, "")
}
