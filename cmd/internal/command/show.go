package command

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/agent/snapshot"
	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/output"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/cmd/internal/workbench"
	"github.com/winnowhq/winnow/look/tui"
	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/recall"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/quantity"
	"github.com/winnowhq/winnow/text/visible"
)

// shown is the JSON document of show.
type shown struct {
	// The log in the JSON of an OpenCode V1 export: "info", and "messages" with "info" and "parts".
	Session session.Session `json:"session"`
	// The committed elisions, in the order of their commits.
	Ledger   []rule.Elision  `json:"ledger"`
	Receipts []pivot.Receipt `json:"receipts"` // the receipts, oldest first
	Pins     []rule.Pin      `json:"pins"`     // the pins of the session
	// Dismissed instructions, each as its words in lower case.
	Dismissed []string  `json:"dismissed"`
	Undone    []string  `json:"undone"` // ids of the markers whose pivot was undone
	Cost      *float64  `json:"cost"`   // US dollars, as in "inspect"; null if nothing is known
	Bill      bill.Sums `json:"bill"`   // the cost by purpose, as in "inspect"
	// An outline of each turn for people; it is not sent to a model.
	Turns []shownTurn `json:"turns"`
	// Files that the session changed, between its first snapshot and its last; if winnow has no
	// snapshots of it, the sum of the changes of its turns.
	Files []changedFile `json:"files"`
	Page  string        `json:"page,omitzero"` // path of the page that "--html" wrote
}

func showCommand(a *cli.App) *cobra.Command {
	var html output.Page
	var diff bool
	cmd := &cobra.Command{
		Use:     "show SRC",
		Short:   "The old name of inspect --log",
		Long:    "show is the old name of winnow inspect --log.",
		Example: "  winnow inspect --log",
		Args:    cli.Exactly(1, "one SRC"),
		RunE:    func(cmd *cobra.Command, args []string) error { return runShow(cmd.Context(), a, args[0], diff, html) },
	}
	cmd.Flags().BoolVar(&diff, "diff", false, "print what changed in the files")
	html.Flags(a, cmd, "in the page")
	html.WithForce(cmd)
	return cmd
}

func runShow(ctx context.Context, a *cli.App, src string, diff bool, html output.Page) error {
	if err := html.Check(a.JSON); err != nil {
		return err
	}
	s, err := source.Open(ctx, a, src)
	if err != nil {
		return err
	}
	defer s.Close()
	log, state, err := s.Engine.Session(ctx, s.ID)
	if err != nil {
		return err
	}
	page := ""
	if html.To != "" {
		if page, err = html.Write(ctx, a, s, output.Written{Name: output.NameOf(a, s)}); err != nil || page == "-" {
			return errors.Join(err, s.Done())
		}
	}
	turns, files, err := turnsOf(ctx, a, &log, diff)
	if err != nil {
		return err
	}
	paid, err := winnow.Look(ctx, s.Engine, s.ID, report.Sums)
	if err != nil {
		return err
	}
	doc := shown{Session: log, Ledger: append([]rule.Elision{}, state.Ledger.All()...),
		Receipts: append([]pivot.Receipt{}, state.Receipts...), Pins: append([]rule.Pin{}, state.Pins...),
		Dismissed: append([]string{}, slices.Sorted(maps.Keys(state.Dismissed))...),
		Undone:    append([]string{}, slices.Sorted(maps.Keys(state.Undone))...),
		Cost:      paid.Total().Dollars(), Bill: paid, Turns: turns, Files: files, Page: page}
	return s.Tell(a, doc, func() {
		showTurns(a, log.Info.Title, turns, files)
		for i := range log.Messages {
			showMessage(a, &log.Messages[i], state.Ledger, state.Undone)
		}
		for _, r := range state.Receipts {
			a.Printf("receipt %s  %s  %s → %s tokens\n", r.ID, r.Kind, quantity.Number(r.TokensBefore),
				quantity.Number(r.TokensAfter))
		}
		if words := strings.Join(paid.Words(quantity.Dollars), " · "); words != "" {
			a.Printf("cost %s\n", strings.TrimPrefix(words, "cost ")) // "cost unknown: …" says it itself
		}
		output.SayPage(a, page)
	})
}

func showMessage(a *cli.App, m *session.Message, ledger rule.Ledger, undone map[string]bool) {
	what := string(m.Role)
	switch {
	case m.Marker() != nil && undone[m.ID]:
		what = "marker (undone)"
	case m.Marker() != nil:
		what = "marker"
	case m.IsSummary() && !m.Completes():
		what = "summary (unfinished)"
	case m.IsSummary():
		what = "summary"
	}
	a.Printf("%s  %s\n", visible.Line(m.ID), what)
	for j := range m.Parts {
		p := &m.Parts[j]
		line := ""
		switch p.Type {
		case session.TextPart, session.ReasoningPart:
			line = p.Text
		case session.ToolPart:
			line = p.Tool + " " + rule.Target(p)
			if p.State != nil {
				line += " → " + string(p.State.Status)
			}
		case session.FilePart:
			line = p.Mime + " " + p.Filename
		default:
			continue
		}
		mark := "  "
		if ledger.Touches(p.ID) {
			mark = "− " // shown with less
		}
		a.Printf("  %s%s  %s\n", mark, visible.Line(p.ID), rule.Shorten(visible.Line(line), 100))
	}
}

// shownTurn is one turn in the JSON document of show, as a person reads about it.
type shownTurn struct {
	Number  int    `json:"number"`  // its number, 1-based, which "winnow revert" takes
	Message string `json:"message"` // id of the user's message, which "winnow revert" takes too
	// About 20 tokens, and at most 100, as recorded by the program that ran the session; otherwise
	// the first sentence of the request.
	Title string `json:"title"`
	Body  string `json:"body"` // likewise; otherwise the first sentence of the last answer
	// Files that the turn changed: between the snapshot before its first step and the one after its
	// last.
	Files []changedFile `json:"files"`
}

// changedFile is a file that a turn or a session changed.
type changedFile struct {
	File      string `json:"file"`      // its path, relative to the working folder, with slashes
	Status    string `json:"status"`    // "added", "deleted" or "modified"
	Additions int    `json:"additions"` // lines added; 0 for a file that is not text
	Deletions int    `json:"deletions"` // lines deleted; 0 for a file that is not text
	// With "--diff": the change, if it is known and not too large.
	Patch string `json:"patch,omitzero"`
}

// turnsOf are the turns of a log with what their outlines say; where one has none, its first and
// last words and its snapshots say it. files are those that the whole session changed.
func turnsOf(ctx context.Context, a *cli.App, log *session.Session, patches bool) (turns []shownTurn,
	files []changedFile, err error) {
	kept, err := readable(ctx, a, log)
	if err != nil {
		return nil, nil, err
	}
	turns = []shownTurn{}
	for i, t := range session.Turns(log.Messages) {
		m := &log.Messages[t.Start]
		o, _ := m.Outline()
		if o.Title == "" {
			o.Title = recall.Headline(m.Text(), 20)
		}
		if o.Body == "" {
			o.Body = recall.Gist(session.LastText(log.Messages[t.Start:t.End]), 100)
		}
		if len(o.Diffs) == 0 {
			o.Diffs = filesBetween(ctx, kept, log.Messages[t.Start:t.End])
		}
		turns = append(turns, shownTurn{Number: i + 1, Message: m.ID, Title: o.Title, Body: o.Body,
			Files: changed(o.Diffs, patches)})
	}
	if whole := filesBetween(ctx, kept, log.Messages); whole != nil {
		return turns, changed(whole, patches), nil
	}
	return turns, summed(turns), nil
}

// readable are the snapshots of a session where they can be had.
func readable(ctx context.Context, a *cli.App, log *session.Session) (*snapshot.Repository, error) {
	if from, to := session.Snapshots(log.Messages); from == to || log.Info.Directory == "" ||
		source.StoreBeside(a) == "" {
		return nil, nil
	}
	kept, err := workbench.SnapshotsThere(ctx, a, log.Info.Directory)
	if err != nil && ctx.Err() == nil {
		return nil, nil // another computer's session, a folder that is gone, no git: what the log says is shown
	}
	return kept, err
}

// filesBetween are the files that differ between the first and the last snapshot of messages; nil
// where that cannot be known.
func filesBetween(ctx context.Context, kept *snapshot.Repository, messages []session.Message) []session.FileDiff {
	from, to := session.Snapshots(messages)
	if kept == nil || from == "" {
		return nil
	}
	files, err := kept.Diff(ctx, from, to)
	if err != nil {
		return nil
	}
	return append([]session.FileDiff{}, files...)
}

func changed(diffs []session.FileDiff, patches bool) []changedFile {
	files := []changedFile{}
	for _, d := range diffs {
		f := changedFile{File: d.File, Status: d.Status, Additions: d.Additions, Deletions: d.Deletions}
		switch {
		case f.Status != "":
		case d.Before == "" && d.Deletions == 0 && d.Additions > 0:
			f.Status = "added"
		case d.After == "" && d.Additions == 0 && d.Deletions > 0:
			f.Status = "deleted"
		default:
			f.Status = "modified"
		}
		if patches {
			f.Patch = d.Patch
		}
		files = append(files, f)
	}
	return files
}

// summed sums what turns changed: where there are no snapshots, a line that was changed twice
// counts twice.
func summed(turns []shownTurn) []changedFile {
	at := map[string]int{}
	files := []changedFile{}
	for _, t := range turns {
		for _, f := range t.Files {
			f.Patch = ""
			i, known := at[f.File]
			if !known {
				at[f.File] = len(files)
				files = append(files, f)
				continue
			}
			sum := &files[i]
			sum.Additions, sum.Deletions = sum.Additions+f.Additions, sum.Deletions+f.Deletions
			switch {
			case sum.Status == "added" && f.Status == "deleted":
				sum.Status = "" // it came and went
			case sum.Status == "":
				sum.Status = f.Status
			case sum.Status == "deleted" && f.Status == "added":
				sum.Status = "modified"
			case sum.Status != "added":
				sum.Status = f.Status
			}
		}
	}
	files = slices.DeleteFunc(files, func(f changedFile) bool { return f.Status == "" })
	slices.SortFunc(files, func(a, b changedFile) int { return strings.Compare(a.File, b.File) })
	return files
}

// showTurns draws them.
func showTurns(a *cli.App, title string, turns []shownTurn, files []changedFile) {
	o := tui.Outline{Title: title, Files: drawn(files)}
	for _, t := range turns {
		o.Turns = append(o.Turns, tui.TurnOutline{Number: t.Number, Message: t.Message, Title: t.Title, Body: t.Body,
			Files: drawn(t.Files)})
	}
	a.Paint().Outline(o)
}

func drawn(files []changedFile) []tui.ChangedFile {
	var all []tui.ChangedFile
	for _, f := range files {
		all = append(all, tui.ChangedFile{Name: f.File, Status: f.Status, Added: f.Additions, Deleted: f.Deletions,
			Patch: f.Patch})
	}
	return all
}
