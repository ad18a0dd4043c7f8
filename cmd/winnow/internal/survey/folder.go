package survey

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mattn/go-runewidth"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/cmd/winnow/internal/cli"
	"github.com/winnowhq/winnow/cmd/winnow/internal/source"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/format/opencodedb"
	"github.com/winnowhq/winnow/token"
	"github.com/winnowhq/winnow/visible"
)

// FolderInspection is the JSON document of inspect for a folder.
type FolderInspection struct {
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

func Folder(ctx context.Context, a *cli.App, src string) error {
	settings, err := a.Settings()
	if err != nil {
		return err
	}
	found, err := source.SourcesOf(ctx, a, src)
	if err != nil {
		return err
	}
	doc := FolderInspection{Source: src, Sessions: []sessionInFile{}, Problems: []unread{}}
	var problems cli.Partly
	fail := func(path string, err error) {
		problems.Failed = append(problems.Failed, err)
		doc.Problems = append(doc.Problems, unread{path, err.Error()})
	}
	for _, err := range found.Unread {
		fail("", err)
	}
	files := found.Sources
	for i, file := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		done := a.Progress(fmt.Sprintf("looking at %d of %d files", i+1, len(files)))
		one, err := inspectFile(ctx, a, file, settings)
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
		if rel, err := filepath.Rel(a.Path(src), file); err == nil && !strings.HasPrefix(rel, "..") {
			one.Path = rel
		} else {
			one.Path = filepath.Base(file)
		}
		doc.Sessions = append(doc.Sessions, one.sessionInFile)
		if len(one.damaged) > 0 {
			problems.Across++
			problems.Damaged = append(problems.Damaged, one.damaged...)
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
	if a.JSON {
		if err := a.Print(doc); err != nil {
			return err
		}
	} else {
		showFolder(a, doc)
	}
	switch {
	case len(problems.Failed) > 0 && len(doc.Sessions) == 0:
		return errors.Join(problems.Failed...)
	case len(problems.Failed) > 0:
		return problems
	case len(doc.Sessions) == 0:
		return cli.Hint(cli.Nothing("there is no session below "+src), "winnow knows "+strings.Join(all.Names(), ", "))
	case len(problems.Damaged) > 0:
		return problems
	}
	return nil
}

type inspectedFile struct {
	sessionInFile
	damaged []format.Damage
}

func inspectFile(ctx context.Context, a *cli.App, file string, settings winnow.Settings) (inspectedFile, error) {
	data, err := source.ReadSource(ctx, a, file)
	if err != nil {
		return inspectedFile{}, err
	}
	s, err := source.OpenDocument(ctx, a, file, data.Doc, settings)
	if err != nil {
		return inspectedFile{}, err
	}
	defer s.Close()
	report, err := s.Engine.Inspect(ctx, s.ID)
	if err != nil {
		return inspectedFile{}, err
	}
	return inspectedFile{sessionInFile{
		Path: file, Format: s.Doc.Format, Title: report.Title, Model: report.Model, Messages: s.Doc.Counts.Messages, Tokens: report.Tokens.Total,
		Window: report.Window.Tokens + report.Window.Overhead, Usable: report.Window.Usable, Damaged: len(s.Doc.Damaged),
	}, s.Doc.Damaged}, nil
}

func showFolder(a *cli.App, doc FolderInspection) {
	width := len("session")
	for _, s := range doc.Sessions {
		width = max(width, runewidth.StringWidth(visible.Line(s.Path)))
	}
	if len(doc.Sessions) == 0 {
		return
	}
	a.Printf("%-*s  %-11s  %8s  %10s  %10s  %6s  %s\n", width, "session", "format", "messages", "tokens", "window", "full", "damaged")
	for _, s := range doc.Sessions {
		full, damaged := "", ""
		if s.Usable > 0 {
			full = fmt.Sprintf("%.0f %%", 100*s.share())
		}
		if s.Damaged > 0 {
			damaged = fmt.Sprintf("%7s", token.Grouped(s.Damaged))
		}
		line := fmt.Sprintf("%s  %-11s  %8s  %10s  %10s  %6s  %s", runewidth.FillRight(visible.Line(s.Path), width), s.Format, token.Grouped(s.Messages), token.Grouped(s.Tokens), token.Grouped(s.Window), full, damaged)
		a.Printf("%s\n", strings.TrimRight(line, " "))
	}
}
