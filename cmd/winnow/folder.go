package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mattn/go-runewidth"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/config"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/format/opencodedb"
	"github.com/winnowhq/winnow/report"
	"github.com/winnowhq/winnow/token"
	"github.com/winnowhq/winnow/visible"
)

// folderInspection is the JSON document of inspect for a folder.
type folderInspection struct {
	Source   string          `json:"source"`
	Sessions []sessionInFile `json:"sessions"` // the fullest window first
	Problems []unread        `json:"problems"` // what could not be read
}

// sessionInFile is one session below a folder.
type sessionInFile struct {
	Path     string `json:"path"` // below the folder
	Format   string `json:"format"`
	Title    string `json:"title,omitzero"`
	Model    string `json:"model"`
	Messages int    `json:"messages"`
	Tokens   int    `json:"tokens"`       // of the whole log
	Window   int    `json:"windowTokens"` // of what counts now, system prompt and tools included where they are known
	Usable   int    `json:"usable"`       // 0 is unlimited
	Damaged  int    `json:"damaged"`      // how many pieces could not be read
}

// share of the usable window that is taken, 0 when it is unlimited.
func (s sessionInFile) share() float64 {
	if s.Usable == 0 {
		return 0
	}
	return float64(s.Window) / float64(s.Usable)
}

func (a *app) runInspectFolder(ctx context.Context, src string) error {
	settings, err := a.settings()
	if err != nil {
		return err
	}
	found, err := a.sourcesOf(ctx, src)
	if err != nil {
		return err
	}
	doc := folderInspection{Source: src, Sessions: []sessionInFile{}, Problems: []unread{}}
	var problems partly
	fail := func(path string, err error) {
		problems.failed = append(problems.failed, err)
		doc.Problems = append(doc.Problems, unread{path, err.Error()})
	}
	for _, err := range found.unread {
		fail("", err)
	}
	files := found.sources
	for i, file := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		done := a.progress(fmt.Sprintf("looking at %d of %d files", i+1, len(files)))
		one, err := a.inspectFile(ctx, file, settings)
		done()
		var unknown *format.SyntaxError
		switch {
		case errors.As(err, &unknown), errors.Is(err, opencodedb.ErrNoSessions):
			continue // other files are not our business
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			fail(file, err) // it hides no other
			continue
		}
		if rel, err := filepath.Rel(a.path(src), file); err == nil && !strings.HasPrefix(rel, "..") {
			one.Path = rel
		} else {
			one.Path = filepath.Base(file)
		}
		doc.Sessions = append(doc.Sessions, one.sessionInFile)
		if len(one.damaged) > 0 {
			problems.across++
			problems.damaged = append(problems.damaged, one.damaged...)
		}
	}
	slices.SortStableFunc(doc.Sessions, func(x, y sessionInFile) int {
		switch {
		case x.share() != y.share() && x.share() > y.share():
			return -1
		case x.share() != y.share():
			return 1
		}
		return y.Window - x.Window
	})
	if a.json {
		if err := a.print(doc); err != nil {
			return err
		}
	} else {
		a.showFolder(doc)
	}
	switch {
	case len(problems.failed) > 0 && len(doc.Sessions) == 0:
		return errors.Join(problems.failed...)
	case len(problems.failed) > 0:
		return problems
	case len(doc.Sessions) == 0:
		return hinted{nothing{"there is no session below " + src}, "winnow knows " + strings.Join(all.Names(), ", ")}
	case len(problems.damaged) > 0:
		return problems
	}
	return nil
}

type inspectedFile struct {
	sessionInFile
	damaged []format.Damage
}

func (a *app) inspectFile(ctx context.Context, file string, settings config.Settings) (inspectedFile, error) {
	data, err := a.readSource(ctx, file)
	if err != nil {
		return inspectedFile{}, err
	}
	s, err := a.openDocument(ctx, file, data.doc, settings)
	if err != nil {
		return inspectedFile{}, err
	}
	defer s.Close()
	report, err := winnow.Look(ctx, s.engine, s.id, report.Inspect)
	if err != nil {
		return inspectedFile{}, err
	}
	return inspectedFile{sessionInFile{
		Path: file, Format: s.doc.Format, Title: report.Title, Model: report.Model, Messages: s.doc.Counts.Messages, Tokens: report.Tokens.Total,
		Window: report.Window.Tokens + report.Window.Overhead, Usable: report.Window.Usable, Damaged: len(s.doc.Damaged),
	}, s.doc.Damaged}, nil
}

func (a *app) showFolder(doc folderInspection) {
	width := len("session")
	for _, s := range doc.Sessions {
		width = max(width, runewidth.StringWidth(visible.Line(s.Path)))
	}
	if len(doc.Sessions) == 0 {
		return
	}
	a.printf("%-*s  %-11s  %8s  %10s  %10s  %6s  %s\n", width, "session", "format", "messages", "tokens", "window", "full", "damaged")
	for _, s := range doc.Sessions {
		full, damaged := "", ""
		if s.Usable > 0 {
			full = fmt.Sprintf("%.0f %%", 100*s.share())
		}
		if s.Damaged > 0 {
			damaged = fmt.Sprintf("%7s", token.Grouped(s.Damaged))
		}
		line := fmt.Sprintf("%s  %-11s  %8s  %10s  %10s  %6s  %s", runewidth.FillRight(visible.Line(s.Path), width), s.Format, token.Grouped(s.Messages), token.Grouped(s.Tokens), token.Grouped(s.Window), full, damaged)
		a.printf("%s\n", strings.TrimRight(line, " "))
	}
}
