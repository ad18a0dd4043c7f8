package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/inplace"
	"github.com/winnowhq/winnow/pivot"
	"github.com/winnowhq/winnow/report"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/token"
	"github.com/winnowhq/winnow/view"
)

// compaction is the JSON document of compact.
type compaction struct {
	Source       string          `json:"source"`
	Format       string          `json:"format,omitzero"`
	Receipt      pivot.Receipt   `json:"receipt"`
	Summary      string          `json:"summary"` // what the summariser wrote
	Carried      carriedOver     `json:"carried"`
	TokensBefore int             `json:"tokensBefore"`
	TokensAfter  int             `json:"tokensAfter"`
	Output       string          `json:"output,omitzero"`
	Page         string          `json:"page,omitzero"` // path of the page for a browser
	Damaged      []format.Damage `json:"damaged"`

	InPlace *inplace.Replaced `json:"inPlace,omitzero"`
}

// carriedOver is what the engine wrote under the summary itself.
type carriedOver struct {
	pivot.Carried
	Text string `json:"text"`
}

type compactFlags struct {
	out        output
	html       pageOutput
	summarizer string
	focus      string
	to         int
	auto       bool
	dry        bool
	summary    bool
	pins       []string
	dismissed  []string
}

func (a *app) compactCommand() *cobra.Command {
	var f compactFlags
	cmd := &cobra.Command{
		Use:   "compact SRC",
		Short: "Fold the past into a summary, and give a receipt",
		Long: `compact prunes old tool outputs, folds the past into a summary, keeps the newest messages word for word, and carries over what
must not ride on a summary: the user's messages and constraints, open todos, files, unresolved errors.

A session in the store is changed there, and "winnow undo" takes it back. Of a file a compacted copy is written, which
the product that owns the format resumes: with -o to the file named, with --in-place to SRC itself (the original is kept, see "winnow originals"), else to
NAME.compacted.EXT in the current folder.

The summary is written offline, free of charge, unless compaction.model names a model, or --summarizer llm asks one: compaction.model where it is
set, else the model of --model, else the session's own. The session is sent to that model's provider, and the receipt says what it cost. When the model gives
no summary that counts, the offline summariser writes it, and the receipt says why.

Each summary is made from the log, not from the one before it. When nothing was said since the last one there is nothing to do (exit code 5), unless
--to asks for a smaller view, or --focus for a summary that dwells on something else. A text that --pin names is shown, and the file written, all the same.`,
		Example: `  winnow compact session.jsonl
  winnow compact session.jsonl --in-place
  winnow compact session.jsonl --focus "the parser" -o smaller.jsonl
  winnow compact session.jsonl --to 4000
  winnow compact session.jsonl --summarizer llm --model anthropic/claude-haiku-4-5
  winnow compact session.jsonl --dry-run --summary
  winnow compact session.jsonl --dry-run --html after.html`,
		Args: exactly(1, "one SRC"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.runCompact(cmd.Context(), args[0], f) },
	}
	f.out.flags(cmd)
	f.html.flags(a, cmd, "in the page and in what is written under the pivot")
	flags := cmd.Flags()
	flags.StringVar(&f.summarizer, "summarizer", "", "who writes the summary: llm, offline, or auto, a model where compaction.model names one (default from the configuration: auto)")
	flags.StringVar(&f.focus, "focus", "", "what the summary is to dwell on")
	flags.IntVar(&f.to, "to", 0, "how many tokens the session's messages may have afterwards; 0: what the policy leaves")
	flags.BoolVar(&f.auto, "continue", false, "append a message that tells the agent to go on by itself")
	flags.StringArrayVar(&f.pins, "pin", nil, "a text that must survive word for word; may be repeated")
	flags.StringArrayVar(&f.dismissed, "dismiss", nil, "number or words of a standing wish that is none (see winnow dismiss); may be repeated")
	flags.BoolVarP(&f.dry, "dry-run", "n", false, "say what would be done and write nothing but the page of --html")
	flags.BoolVar(&f.summary, "summary", false, "print the summary too")
	complete(cmd, "summarizer", summarizers...)
	a.scheduleFlag(cmd)
	return cmd
}

func (a *app) runCompact(ctx context.Context, src string, f compactFlags) error {
	f.html.force = f.out.force
	if err := cmp.Or(f.out.check(), f.html.check(a.json)); err != nil {
		return err
	}
	if f.html.to == "-" && f.out.to == "-" {
		return usage("-o - and --html - both want standard output; name a file for one of them")
	}
	if f.summarizer != "" && !slices.Contains(summarizers, f.summarizer) {
		return noSummarizer(f.summarizer)
	}
	if f.to < 0 {
		return usage("--to %d: give a number of tokens above 0", f.to)
	}
	a.summarizer = f.summarizer
	s, err := a.openOutput(ctx, src, &f.out, f.dry)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := a.roomForBoth(s, &f); err != nil {
		return err
	}
	pins, err := pinTexts(ctx, s, f.pins)
	if err != nil {
		return err
	}
	if len(f.dismissed) > 0 {
		if _, err := s.engine.Dismiss(ctx, s.id, true, f.dismissed...); err != nil && winnow.CodeOf(err) != winnow.Already {
			return err
		}
	}
	before, err := winnow.Look(ctx, s.engine, s.id, report.Inspect)
	if err != nil {
		return err
	}
	done := a.watch(s.engine, "folding "+src)
	receipt, err := s.engine.Compact(ctx, s.id, winnow.CompactOptions{Focus: f.focus, To: f.to, Auto: f.auto, KeepSecrets: a.keepSecrets()})
	done()
	if err = notFolded(err, before, f.to); errors.As(err, &nothing{}) && len(pins) > 0 {
		receipt, err = pinnedAlone(pins, err), nil
	}
	if err != nil {
		return err
	}
	doc := compaction{Source: src, Receipt: *receipt, TokensBefore: receipt.TokensBefore, TokensAfter: receipt.TokensAfter, Damaged: []format.Damage{}}
	doc.Carried.Carried = receipt.Carried
	if doc.Summary, doc.Carried.Text, err = summaryOf(ctx, s, receipt.Summary); err != nil {
		return err
	}
	if s.doc != nil {
		doc.Format = s.doc.Format
		doc.Damaged = append(doc.Damaged, s.doc.Damaged...)
		if !f.dry {
			if doc.Output, err = a.write(ctx, s, &f.out, "compacted"); err != nil {
				return err
			}
			doc.InPlace = f.out.replaced
		}
		doc.Receipt.Undo = undoOf(doc.Output)
	}
	if f.html.to != "" {
		if doc.Page, err = a.compactionPage(ctx, s, &f, doc); err != nil {
			return err
		}
	}
	if doc.Output == "-" || doc.Page == "-" {
		return s.done() // standard output has the session, or the page
	}
	if a.json {
		err = a.print(doc)
	} else {
		err = a.showCompaction(ctx, s, before, doc, f)
	}
	if err != nil {
		return err
	}
	return s.done()
}

// roomForBoth refuses a page that could not be written, or would be written over the session, before anything is done.
func (a *app) roomForBoth(s *source, f *compactFlags) error {
	if f.html.to == "" || f.html.to == "-" {
		return nil
	}
	session := ""
	if s.fromFile() && !f.dry && f.out.to != "-" {
		var err error
		if session, err = a.outputPath(s, &f.out, "compacted"); err != nil {
			return err
		}
	}
	_, err := f.html.place(a, s, session, "-o")
	return err
}

// compactionPage writes the page of the session after a compaction.
func (a *app) compactionPage(ctx context.Context, s *source, f *compactFlags, doc compaction) (string, error) {
	name, remark, done := s.named(a), "", doc.Receipt
	switch {
	case f.dry:
		remark = "This is what would be done; the session was left as it is (--dry-run)."
		name, done.Undo = "", "" // there is nothing to take back
	case doc.Output == "-":
		name = "" // nobody knows where it went
		remark = "The session was written to standard output."
	case doc.Output != "":
		name = a.short(doc.Output)
		done.Undo = undoOf(name)
		remark = "The session was written to " + name + "."
	}
	return a.writePage(ctx, s, &f.html, name, &done, remark, doc.Output)
}

// notFolded makes "there is nothing to do" of an error that says so. to is what --to asked for.
func notFolded(err error, before report.Report, to int) error {
	switch size := token.Grouped(before.Window.Tokens); {
	case errors.Is(err, winnow.ErrNothingNew):
		how := "to have it folded further, ask for fewer with --to TOKENS, or for what the summary is to dwell on with --focus"
		return nothing{fmt.Sprintf("%v; the window has %s tokens\n  %s", winnow.ErrNothingNew, size, how)}
	case to == 0 && tooSmall(err, before):
		return nothing{fmt.Sprintf("the window has %s tokens, and a summary would not make it smaller", size)}
	}
	return err
}

// tooSmall reports whether there was too little to fold: a summary would be longer than what it stands for.
func tooSmall(err error, before report.Report) bool {
	code := winnow.CodeOf(err)
	return code == winnow.NothingToFold || code == winnow.NoProgress && !before.Window.Overflow
}

// undoOf is how to take back what was written to a file, "" when no file was written.
func undoOf(path string) string {
	if path == "" || path == "-" {
		return ""
	}
	if strings.ContainsAny(path, " \t'\"$`\\*?;&|<>()") {
		path = "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return "winnow undo " + path
}

// summaryOf returns the two texts of a summary: the summariser's and the engine's.
func summaryOf(ctx context.Context, s *source, id string) (summary, carried string, err error) {
	log, state, err := s.engine.Session(ctx, s.id)
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
	for i := range window { // what is pinned or restored stands behind it
		m := &window[i]
		if _, kept := m.Kept(); kept {
			for _, p := range m.Parts {
				carried = strings.TrimPrefix(carried+"\n\n"+p.Text, "\n\n")
			}
		}
	}
	return strings.Join(own, "\n\n"), carried, nil
}

func (a *app) showCompaction(ctx context.Context, s *source, before report.Report, doc compaction, f compactFlags) error {
	after, err := winnow.Look(ctx, s.engine, s.id, report.Inspect)
	if err != nil {
		return err
	}
	if doc.Receipt.Kind == pivot.Pinning {
		a.showPinnedAlone(doc, len(f.pins))
	} else if doc.Receipt.Kind == pivot.Pruning {
		a.paint().Pruning(after, doc.Receipt, s.title())
		a.printf("\n%s\n", strings.Join(doc.Receipt.Notes, "\n"))
	} else {
		a.paint().Compaction(before, after, doc.Receipt, s.title())
	}
	if f.summary && doc.Summary != "" {
		a.printf("\n%s\n", strings.TrimRight(doc.Summary+"\n\n"+doc.Carried.Text, "\n"))
	}
	switch {
	case f.dry:
		a.printf("\nNothing was written (--dry-run).\n")
	case doc.Output != "":
		a.printf("\nWritten to %s\n", a.short(doc.Output))
		a.sayOriginal(&f.out)
		if hint := resumeHint(s.doc.Format, s.id, a.short(doc.Output), f.out); hint != "" {
			a.printf("Resume with: %s\n", hint)
		}
	default:
		a.printf("\nUndo with: winnow undo %s\n", s.id)
	}
	a.sayPage(doc.Page)
	return nil
}

// resumeHint is how the product that owns a format goes on from a session.
func resumeHint(formatName, id, path string, out output) string {
	if out.format != "" {
		formatName = out.format
	}
	switch formatName {
	case "claude-code":
		if out.inPlace {
			return "claude --resume " + id
		}
	case "codex":
		if out.inPlace {
			return "codex resume " + id
		}
	case "opencode":
		return "opencode import " + path + " && opencode --session " + id
	case "pi":
		return "pi --session " + path
	}
	return ""
}
