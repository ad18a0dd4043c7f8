package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/cmd/winnow/internal/cli"
	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/sqlite"
	"github.com/winnowhq/winnow/visible"
)

// CompleteSources offers files, and the sessions of the store.
func CompleteSources(a *cli.App) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveDefault
		}
		listings, err := Listings(cmd.Context(), a)
		if err != nil {
			return nil, cobra.ShellCompDirectiveDefault
		}
		var ids []string
		for _, l := range listings {
			if strings.HasPrefix(l.Info.ID, begun) && visible.Printable(l.Info.ID) {
				ids = append(ids, l.Info.ID+"\t"+TitleOf(l))
			}
		}
		return ids, cobra.ShellCompDirectiveDefault
	}
}

// CompleteModels offers the names of the models.
func CompleteModels(a *cli.App) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		catalogue, err := Models(a)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var names []string
		for _, m := range catalogue.Models {
			if name := m.String(); strings.HasPrefix(name, begun) && visible.Printable(name) {
				names = append(names, name)
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// Listings are the sessions of the store, none where there is no store.
func Listings(ctx context.Context, a *cli.App) ([]store.Listing, error) {
	kept, err := OpenStore(ctx, a, Reading)
	if errors.Is(err, ErrNoStore) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer kept.Close()
	return kept.List(ctx)
}

func When(t session.Millis) string {
	if t == 0 {
		return ""
	}
	return time.UnixMilli(int64(t)).UTC().Format("2006-01-02 15:04")
}

func TitleOf(l store.Listing) string {
	title := l.Info.Title
	if title == "" {
		title = l.Info.Directory
	}
	return rule.Shorten(visible.Line(title), 60)
}

// access is what a command wants of a store.
type access int

const (
	Reading  access = iota // it may be read-only
	Changing               // one that is there
	Making                 // made when it is missing
)

func OpenStored(ctx context.Context, a *cli.App, id string, want access, settings winnow.Settings) (*Session, error) {
	kept, err := OpenStore(ctx, a, want)
	if errors.Is(err, ErrNoStore) {
		return nil, cli.Hint(fmt.Errorf("%q is no file, and there is no store that could have a session of that name", id), "check the path; `winnow import FILE` puts a session into the store")
	}
	if err != nil {
		return nil, err
	}
	full, err := FindSession(ctx, kept, id)
	if err != nil {
		kept.Close()
		return nil, err
	}
	s := &Session{ID: full, Store: kept}
	if s.Engine, _, err = Engine(a, kept, settings); err != nil {
		kept.Close()
		return nil, err
	}
	return s, nil
}

// FindSession finds the session whose id is or begins with what was given.
func FindSession(ctx context.Context, kept store.Store, id string) (string, error) {
	list, err := kept.List(ctx)
	if err != nil {
		return "", err
	}
	var found []string
	for _, l := range list {
		if l.Info.ID == id {
			return id, nil
		}
		if strings.HasPrefix(l.Info.ID, id) {
			found = append(found, l.Info.ID)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", cli.Hint(fmt.Errorf("%q is neither a file nor a session in the store", id), "check the path; `winnow list` shows the sessions")
	}
	return "", cli.Usage("%q begins the ids of %d sessions: %s", id, len(found), strings.Join(found, ", "))
}

// errNoStore is what openStore says when there is none and none is to be made.
var ErrNoStore = errors.New("there is no store yet")

// StoreAt is the file of the store, "" where there is no home folder.
func StoreAt(a *cli.App) string {
	if a.StoreFile != "" {
		return a.Path(a.StoreFile)
	}
	return a.Env.StorePath()
}

// OpenStore opens the store on disk.
func OpenStore(ctx context.Context, a *cli.App, want access) (store.Store, error) {
	path := StoreAt(a)
	if path == "" {
		return nil, cli.Usage("there is no home folder to keep sessions in; name a file with --store")
	}
	if want != Making {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return nil, cli.Hint(fmt.Errorf("%w at %s", ErrNoStore, path), "check the path; `winnow import FILE` puts a session into the store")
		}
	}
	if want == Reading {
		s, err := sqlite.Open(ctx, sqlite.Config{Path: path, Now: a.Env.Now, ReadOnly: true})
		if !errors.Is(err, store.ErrReadOnly) {
			return opened(s, err)
		}
		// An older version wrote it: it is brought up to date first.
	}
	return opened(sqlite.Open(ctx, sqlite.Config{Path: path, Now: a.Env.Now}))
}

// opened keeps a nil *sqlite.Store from becoming a store that is not nil.
func opened(s *sqlite.Store, err error) (store.Store, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}
