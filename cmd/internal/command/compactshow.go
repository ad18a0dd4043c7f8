package command

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/output"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/desk/discover"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/quantity"
)

func showCompaction(a *cli.App, s *source.Session, before, after report.Report, doc compaction, f *compactFlags) {
	switch notes := strings.Join(doc.Receipt.Notes, "\n"); doc.Receipt.Kind {
	case pivot.Pinning:
		a.Printf("%s pinned, and shown to the model from now on; %s\n",
			quantity.Plural(len(f.pins), "text is", "texts are"), notes)
		a.Printf("The view: %s → %s tokens\n", quantity.Number(doc.TokensBefore), quantity.Number(doc.TokensAfter))
	case pivot.Pruning:
		a.Paint().Pruning(after, doc.Receipt, s.Title())
	default:
		a.Paint().Compaction(before, after, doc.Receipt, s.Title())
	}
	if f.summary && doc.Summary != "" {
		a.Printf("\n%s\n", strings.TrimRight(doc.Summary+"\n\n"+doc.Carried.Text, "\n"))
	}
	a.Printf("\n")
	switch {
	case f.preview:
		sayPreview(a, s, f.out, "compact")
	case f.dry:
		a.Printf("Nothing was written (--dry-run).\n")
	default:
		output.SayWritten(a, s, doc.Output)
	}
	f.out.SayTold(a)
	output.SayOriginal(a, &f.out)
	if f.out.Replaced != nil {
		a.Printf("Undo with: winnow undo %s --in-place\n", wordOf(a, s))
	}
	sayResume(a, s, doc, f)
	output.SayPage(a, doc.Page)
}

// wordOf is a word for the session of a file that names it tomorrow as well, as a shell takes it.
func wordOf(a *cli.App, s *source.Session) string {
	if product := s.Doc.Format; s.Doc.Session.Info.ID != "" && slices.Contains(discover.Products(), product) &&
		source.Kept(a, s.Path) {
		return cli.ShellWord(product + ":" + s.ID)
	}
	return cli.ShellWord(a.Short(s.Path))
}

// openOrPreview opens a session to change it. If it would be copied although only its own file can
// be resumed, the change is to be a preview, for which nobody pays: the session is open as for one.
func openOrPreview(ctx context.Context, a *cli.App, src string, out *output.Target, dry *bool) (s *source.Session,
	preview bool, err error) {
	s, err = output.Open(ctx, a, src, out, *dry)
	if err != nil || *dry || !uselessCopy(a, s, *out) {
		return s, false, err
	}
	*dry, a.Summarizer = true, "offline"
	if err := s.Close(); err != nil {
		return nil, true, err
	}
	s, err = output.Open(ctx, a, src, out, true)
	return s, true, err
}

// uselessCopy reports whether a session is to be copied into the current folder although its
// product resumes it from its own file alone.
func uselessCopy(a *cli.App, s *source.Session, out output.Target) bool {
	if !s.FromFile() || out.InPlace || out.To != "" || out.Told != nil {
		return false
	}
	_, again := resumed(a, s, out, "", "")
	return again != ""
}

// sayPreview names the command that changes a session in place. No copy was written.
func sayPreview(a *cli.App, s *source.Session, out output.Target, command string) {
	r, again := resumed(a, s, out, command, "")
	if going := r.from(a.Env.Dir); going != "" {
		again += " && " + going
	}
	a.Printf("Nothing was written: %s resumes a session only from its own file.\nTo %s it there, and resume:\n  %s\n",
		r.Steps[0][0], command, again)
	a.Printf("To write a copy instead: winnow %s %s -o FILE\n", command, wordOf(a, s))
}

// resumeLine is the line by which to go on with a session that was compacted, "" if nothing was
// written, or nobody knows how.
func resumeLine(a *cli.App, s *source.Session, doc compaction, f *compactFlags) string {
	if f.dry && !f.preview || s.FromFile() && !f.preview && (doc.Output == "" && f.out.Told == nil || doc.Output == "-") {
		return ""
	}
	r, again := resumed(a, s, f.out, "compact", doc.Output)
	if again != "" {
		return again + " && " + r.line()
	}
	return r.line()
}

// sayResume says how to go on with the session.
func sayResume(a *cli.App, s *source.Session, doc compaction, f *compactFlags) {
	if doc.Resume == "" || f.preview {
		return
	}
	r, again := resumed(a, s, f.out, "compact", doc.Output)
	if again != "" {
		a.Printf("%s resumes a session only from its own file. To replace it, and resume:\n  %s\n",
			r.Steps[0][0], doc.Resume)
		return
	}
	a.Printf("Resume with: %s\n", r.from(a.Env.Dir))
}

// watch shows on a terminal how much of a summary is written; the returned function ends it and
// wipes it away.
func watch(a *cli.App, e *winnow.Engine, what string) func() {
	if !a.Env.StderrTerminal || a.Quiet {
		return func() {}
	}
	silent := a.Progress(what)
	say, wipe := a.Counting()
	events := e.Subscribe(0)
	var shown sync.WaitGroup
	shown.Go(func() {
		request, written := 0, 0
		for event := range events.C {
			if event.Type != winnow.CompactionDelta {
				continue
			}
			if event.Request != request {
				request, written = event.Request, 0
			}
			silent()
			written += len(event.Text)
			tokens := (written + 2) / 4
			say(tokens, 0, "%s: %s written", what, quantity.Count(tokens, "token"))
		}
	})
	return func() {
		events.Close()
		shown.Wait()
		silent()
		wipe()
	}
}
