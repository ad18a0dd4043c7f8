package survey

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/desk/config"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/format/opencodedb"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/quantity"
	"github.com/winnowhq/winnow/text/visible"
)

// FolderInspection is the JSON document of inspect for a folder.
type FolderInspection struct {
	Source   string          `json:"source"`   // the folder as it was given
	Sessions []sessionInFile `json:"sessions"` // every session below it, the fullest window first
	// Files that could not be read; the exit code is then 4, or 1 if nothing could be read.
	Problems []unread `json:"problems"`
}

// sessionInFile is one session below a folder.
type sessionInFile struct {
	// Its path below the folder; for a database its name, "#", and the id.
	Path     string `json:"path"`
	Format   string `json:"format"`         // name of the format
	Title    string `json:"title,omitzero"` // title of the session
	Model    string `json:"model"`          // "provider/id" of the model that reads it
	Messages int    `json:"messages"`       // messages, as "counts.messages" of "inspect"
	Tokens   int    `json:"tokens"`         // tokens of the whole log
	// Tokens of the window, including system prompt and tools if they are known.
	Window  int `json:"windowTokens"`
	Usable  int `json:"usable"`  // tokens that may be used; 0 is unlimited
	Damaged int `json:"damaged"` // how many pieces could not be read
}

// share is how much of the usable window is taken, 0 if it is unlimited.
func (s sessionInFile) share() float64 {
	if s.Usable == 0 {
		return 0
	}
	return float64(s.Window) / float64(s.Usable)
}

// Folder lists the sessions below a folder, or in a database, the fullest window first.
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
	say, done := a.Counting()
	defer done()
	for i, file := range found.Sources {
		say(i, len(found.Sources), "looking at %s of %s files", quantity.Number(i+1),
			quantity.Number(len(found.Sources)))
		one, damaged, err := inspect(ctx, a, file, settings)
		var foreign *format.SyntaxError
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &foreign), errors.Is(err, opencodedb.ErrNoSessions):
			continue // it is not a session
		case err != nil:
			fail(file, err)
			continue
		}
		one.Path = filepath.Base(file)
		if rel, err := filepath.Rel(a.Path(src), file); err == nil && !strings.HasPrefix(rel, "..") {
			one.Path = rel
		}
		doc.Sessions = append(doc.Sessions, one)
		if len(damaged) > 0 {
			problems.Across++
			problems.Damaged = append(problems.Damaged, damaged...)
		}
	}
	done()
	slices.SortStableFunc(doc.Sessions, func(x, y sessionInFile) int {
		return cmp.Or(cmp.Compare(y.share(), x.share()), y.Window-x.Window)
	})
	if err := a.Tell(doc, func() { doc.show(a) }); err != nil {
		return err
	}
	switch {
	case len(problems.Failed) > 0 && len(doc.Sessions) == 0:
		return errors.Join(problems.Failed...)
	case len(problems.Failed)+len(problems.Damaged) > 0:
		return problems
	case len(doc.Sessions) == 0:
		return cli.Hint(cli.Nothing("there is no session below "+src),
			"winnow recognises "+strings.Join(all.Names(), ", "))
	}
	return nil
}

func inspect(ctx context.Context, a *cli.App, file string, settings config.Settings) (one sessionInFile,
	damaged []format.Damage, err error) {
	s, err := source.Read(ctx, a, file)
	if err != nil {
		return one, nil, err
	}
	if err := s.Start(ctx, a, settings); err != nil {
		return one, nil, err
	}
	defer s.Close()
	report, err := winnow.Look(ctx, s.Engine, s.ID, report.Inspect)
	if err != nil {
		return one, nil, err
	}
	return sessionInFile{Format: s.Doc.Format, Title: report.Title, Model: report.Model,
		Messages: s.Doc.Counts.Messages, Tokens: report.Tokens.Total,
		Window: report.Window.Tokens + report.Window.Overhead, Usable: report.Window.Usable,
		Damaged: len(s.Doc.Damaged)}, s.Doc.Damaged, nil
}

func (doc FolderInspection) show(a *cli.App) {
	if len(doc.Sessions) == 0 {
		return
	}
	rows := [][]string{{"session", "format", "messages", "tokens", "window", "full", "damaged"}}
	for _, s := range doc.Sessions {
		full, damaged := "", ""
		if s.Usable > 0 {
			full = fmt.Sprintf("%.0f %%", 100*s.share())
		}
		if s.Damaged > 0 {
			damaged = fmt.Sprintf("%7s", quantity.Number(s.Damaged))
		}
		rows = append(rows, []string{visible.Line(s.Path), s.Format, quantity.Number(s.Messages),
			quantity.Number(s.Tokens),
			quantity.Number(s.Window), full, damaged})
	}
	a.Table([]int{-7, -11, 8, 10, 10, 6}, rows)
}
