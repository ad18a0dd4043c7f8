package main

import (
	"context"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/recall"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/snapshot"
	"github.com/winnowhq/winnow/tui"
)

// shownTurn is one turn in the JSON document of show, as a person reads about it.
type shownTurn struct {
	Number  int           `json:"number"`  // 1-based
	Message string        `json:"message"` // id of the user's message
	Title   string        `json:"title"`
	Body    string        `json:"body"`
	Files   []changedFile `json:"files"`
}

// changedFile is a file that a turn or a session changed.
type changedFile struct {
	File      string `json:"file"`
	Status    string `json:"status"` // added, deleted, modified
	Additions int    `json:"additions"`
	Deletions int    `json:"deletions"`
	Patch     string `json:"patch,omitzero"` // with --diff
}

// turns are the turns of a log with what their outlines say; where one has none, its first and last words and its snapshots say it. files are those that
// the whole session changed.
func (a *app) turns(ctx context.Context, log *session.Session, patches bool) (turns []shownTurn, files []changedFile, err error) {
	kept, err := a.readable(ctx, log)
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
		turns = append(turns, shownTurn{Number: i + 1, Message: m.ID, Title: o.Title, Body: o.Body, Files: changed(o.Diffs, patches)})
	}
	if whole := filesBetween(ctx, kept, log.Messages); whole != nil {
		return turns, changed(whole, patches), nil
	}
	return turns, summed(turns), nil
}

// readable are the snapshots of a session where they can be had.
func (a *app) readable(ctx context.Context, log *session.Session) (*snapshot.Repository, error) {
	if from, to := session.Snapshots(log.Messages); from == to || log.Info.Directory == "" || a.storeAt() == "" {
		return nil, nil
	}
	kept, err := a.snapshotsThere(ctx, log.Info.Directory)
	if err != nil && ctx.Err() == nil {
		return nil, nil // another computer's session, a folder that is gone, no git: what the log says is shown
	}
	return kept, err
}

// filesBetween are the files that differ between the first and the last snapshot of messages; nil where that cannot be known.
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

// summed sums what turns changed: where there are no snapshots, a line that was changed twice counts twice.
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
func (a *app) showTurns(title string, turns []shownTurn, files []changedFile) {
	o := tui.Outline{Title: title, Files: drawn(files)}
	for _, t := range turns {
		o.Turns = append(o.Turns, tui.TurnOutline{Number: t.Number, Message: t.Message, Title: t.Title, Body: t.Body, Files: drawn(t.Files)})
	}
	a.paint().Outline(o)
}

func drawn(files []changedFile) []tui.ChangedFile {
	var all []tui.ChangedFile
	for _, f := range files {
		all = append(all, tui.ChangedFile{Name: f.File, Status: f.Status, Added: f.Additions, Deleted: f.Deletions, Patch: f.Patch})
	}
	return all
}
