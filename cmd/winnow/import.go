package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/token"
)

// imported is the JSON document of import.
type imported struct {
	Sessions []importedSession `json:"sessions"`
}

type importedSession struct {
	Source   string          `json:"source"`
	ID       string          `json:"id,omitzero"`
	Format   string          `json:"format,omitzero"`
	Messages int             `json:"messages"`
	Skipped  string          `json:"skipped,omitzero"` // why it was not imported
	Damaged  []format.Damage `json:"damaged"`
}

func (a *app) importCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "import SRC…",
		Short: "Put sessions into the store",
		Long: `import reads session files, or every session file below a folder, into the store, each with its original file, so that
"winnow export" gives it back in its own format. A session that is there already is left as it is.`,
		Example: `  winnow import session.jsonl
  winnow import ~/.claude/projects`,
		Args: between(1, -1, "at least one SRC"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.runImport(cmd.Context(), args) },
	}
}

func (a *app) runImport(ctx context.Context, args []string) error {
	settings, err := a.settings()
	if err != nil {
		return err
	}
	kept, err := a.openStore(ctx, making)
	if err != nil {
		return err
	}
	defer kept.Close()
	engine, _, err := a.engine(kept, settings)
	if err != nil {
		return err
	}
	defer engine.Close()
	doc := imported{Sessions: []importedSession{}}
	var problems partly
	added := 0
	for _, arg := range args {
		files, folder, err := a.filesOf(arg)
		if err != nil {
			problems.failed = append(problems.failed, err)
			continue
		}
		for _, file := range files {
			done := a.progress("importing " + file)
			one, err := a.importFile(ctx, engine, file, folder)
			done()
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case isStoreFailure(err):
				return err // it would be the same for the next file
			case err != nil:
				problems.failed = append(problems.failed, err)
				continue
			case one == nil:
				continue // in a folder, other files are not our business
			}
			if len(one.Damaged) > 0 {
				problems.across++
				problems.damaged = append(problems.damaged, one.Damaged...)
			}
			if one.Skipped == "" {
				added++
			}
			doc.Sessions = append(doc.Sessions, *one)
		}
	}
	if added == 0 && len(problems.failed) > 0 {
		return errors.Join(problems.failed...)
	}
	if a.json {
		if err := a.print(doc); err != nil {
			return err
		}
	} else {
		for _, one := range doc.Sessions {
			if one.Skipped != "" {
				a.printf("%s  %s: %s\n", one.ID, a.short(one.Source), one.Skipped)
			} else {
				a.printf("%s  %s: %s messages (%s)\n", one.ID, a.short(one.Source), token.Grouped(one.Messages), one.Format)
			}
		}
	}
	switch {
	case len(doc.Sessions) == 0:
		return hinted{nothing{"there is no session in what was named"}, "winnow knows " + strings.Join(all.Names(), ", ")}
	case added == 0:
		return nothing{"all of it is in the store already"}
	case len(problems.damaged)+len(problems.failed) > 0:
		return problems
	}
	return nil
}

func isStoreFailure(err error) bool {
	var e *store.Error
	return errors.As(err, &e)
}

// filesOf lists the files that an argument names.
func (a *app) filesOf(arg string) (files []string, folder bool, err error) {
	if arg == "-" {
		return []string{"-"}, false, nil
	}
	path := a.path(arg)
	info, err := os.Stat(path)
	if err != nil {
		return nil, false, err
	}
	if !info.IsDir() {
		return []string{path}, false, nil
	}
	err = filepath.WalkDir(path, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !d.Type().IsRegular() {
			return nil // a folder that may not be read hides its sessions, not the others
		}
		switch filepath.Ext(file) {
		case ".jsonl", ".json", ".gz", ".traj":
			files = append(files, file)
		}
		return nil
	})
	return files, true, err
}

func (a *app) importFile(ctx context.Context, engine *winnow.Engine, file string, folder bool) (*importedSession, error) {
	data, _, err := a.readFile(file)
	if err != nil {
		return nil, err
	}
	doc, err := all.Read(data)
	if err != nil {
		if folder {
			return nil, nil
		}
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	one := &importedSession{Source: file, ID: doc.Session.Info.ID, Format: doc.Format, Messages: len(doc.Session.Messages), Damaged: append([]format.Damage{}, doc.Damaged...)}
	err = engine.Import(ctx, doc.Session, doc.Ledger, &store.Source{Format: doc.Format, Path: file, Data: doc.Source})
	if errors.Is(err, store.ErrExists) {
		one.Skipped, err = "it is in the store already", nil
	}
	return one, err
}
