package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/desk/config"
	"github.com/winnowhq/winnow/gateway/shared"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/sqlite"
	"github.com/winnowhq/winnow/text/visible"
)

// Access is what a command wants of a store.
type Access int

const (
	Reading  Access = iota // it may be read-only
	Changing               // it must exist
	Making                 // it is made if it is missing
)

// ErrNoStore is how OpenStore ends if there is no store and none is to be made.
var ErrNoStore = errors.New("there is no store yet")

// ErrNoTables is how a command ends that makes no tables, for a database without any.
var ErrNoTables = errors.New("the database has no tables of winnow")

// tables ends with ErrNoTables if a database has not the tables that a command needs.
func tables(ctx context.Context, a *cli.App, url string, needs func(shared.Versions) int64) error {
	found, err := a.Shared.Versions(ctx, url)
	if err != nil || needs(found) > 0 {
		return err
	}
	return cli.Hint(fmt.Errorf("%w: %s", ErrNoTables, a.Shared.Redacted(url)),
		"check its name; `winnowd store migrate` makes the tables")
}

// storeName is how the store is named: a file, sqlite:FILE, or the URL of a PostgreSQL database; ""
// if there is no home folder.
func storeName(a *cli.App) string {
	if name := cmp.Or(a.StoreFile, a.Env.Getenv("WINNOW_STORE")); name != "" {
		return StoreName(a, name)
	}
	return a.Env.Kept("winnow.db")
}

// StoreName is the name of a store that holds wherever the program works: a URL, or a whole path.
func StoreName(a *cli.App, name string) string {
	if store.IsURL(name) {
		return name
	}
	return a.Path(strings.TrimPrefix(name, "sqlite:"))
}

// StoreAt is where the store is, for people: its file, or the URL of its database without what is
// secret in it; "" if there is no home folder.
func StoreAt(a *cli.App) string { return ShownName(a, storeName(a)) }

// ShownName is the name of a store without what is secret in it.
func ShownName(a *cli.App, name string) string {
	if store.IsURL(name) {
		return a.Shared.Redacted(name)
	}
	return name
}

// StoreBeside is the file that other things of the store lie beside on this computer: that of the
// store itself, or if it is in a database the one where it would be by default.
func StoreBeside(a *cli.App) string {
	if name := storeName(a); !store.IsURL(name) {
		return name
	}
	return a.Env.Kept("winnow.db")
}

// StoreForChild is the name of the store for a program that is started: it may hold a password, and
// belongs into the environment, never among arguments, which others on the computer can read.
func StoreForChild(a *cli.App) string { return storeName(a) }

// OpenStore opens the store.
func OpenStore(ctx context.Context, a *cli.App, want Access) (store.Store, error) {
	name := cmp.Or(a.StoreFile, a.Env.Getenv("WINNOW_STORE"), storeName(a))
	if name == "" {
		return nil, cli.Usage("there is no home folder to keep sessions in; name a file with --store")
	}
	return OpenNamed(ctx, a, name, want)
}

// OpenNamed opens a store by its name: a file, sqlite:FILE, or the URL of a PostgreSQL database.
func OpenNamed(ctx context.Context, a *cli.App, name string, want Access) (store.Store, error) {
	if store.IsURL(name) {
		return openDatabase(ctx, a, name, want)
	}
	if scheme, _, ok := strings.Cut(name, "://"); ok && !strings.ContainsAny(scheme, `/\`) {
		return nil, cli.Usage("a store is a file, sqlite:FILE or postgres://…, not %s://…", visible.Line(scheme))
	}
	name = StoreName(a, name)
	if want != Making {
		if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
			return nil, cli.Hint(fmt.Errorf("%w at %s", ErrNoStore, name),
				"check the path; `winnow import FILE` puts a session into the store")
		}
	}
	s, err := sqlite.Open(ctx, sqlite.Config{Path: name, Now: a.Env.Now, ReadOnly: want == Reading})
	if want == Reading && errors.Is(err, store.ErrReadOnly) { // it must be upgraded first
		s, err = sqlite.Open(ctx, sqlite.Config{Path: name, Now: a.Env.Now})
	}
	if err != nil {
		return nil, err // not a nil *sqlite.Store, which would be a store that is not nil
	}
	return s, nil
}

// openDatabase opens the store of a tenant in a PostgreSQL database. The tables are made only if that
// is wanted.
func openDatabase(ctx context.Context, a *cli.App, url string, want Access) (store.Store, error) {
	var s store.Store
	err := store.ErrReadOnly
	if want == Reading {
		s, err = a.Shared.OpenStore(ctx, url, true)
	}
	if !errors.Is(err, store.ErrReadOnly) {
		return s, err
	}
	if want != Making { // its tables may have to be upgraded first
		if err := tables(ctx, a, url, func(v shared.Versions) int64 { return v.Store }); err != nil {
			return nil, err
		}
	}
	return a.Shared.OpenStore(ctx, url, false)
}

// OpenStored opens a session of the store by its id or the beginning of it.
func OpenStored(ctx context.Context, a *cli.App, id string, want Access,
	settings config.Settings) (_ *Session, err error) {
	kept, err := OpenStore(ctx, a, want)
	if errors.Is(err, ErrNoStore) {
		none := fmt.Errorf("%q is not a file, and there is no store that could have a session of that name", id)
		return nil, cli.Hint(none, "check the path; `winnow ls` shows what agents have kept")
	}
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			kept.Close()
		}
	}()
	s := &Session{Store: kept}
	if s.ID, err = FindSession(ctx, kept, id); err != nil {
		return nil, err
	}
	return s, s.work(ctx, a, kept, settings)
}

// FindSession finds the session whose id is or begins with what was given.
func FindSession(ctx context.Context, kept store.Store, id string) (string, error) {
	list, err := kept.List(ctx)
	if err != nil {
		return "", err
	}
	ids := make([]string, len(list))
	for i, l := range list {
		ids[i] = l.Info.ID
	}
	found := beginning(ids, id)
	switch len(found) {
	case 1:
		return ids[found[0]], nil
	case 0:
		return "", cli.Hint(fmt.Errorf("%q is neither a file nor a session in the store", id),
			"check the path; `winnow ls --store` shows the sessions, `winnow ls` those that agents have kept")
	}
	return "", ambiguous(id, ids, found)
}

// isStored reports whether the store has sessions whose id is or begins with what was given.
func isStored(ctx context.Context, a *cli.App, id string) bool {
	listings, _ := Listings(ctx, a) // opening it says what is wrong
	return slices.ContainsFunc(listings, func(l store.Listing) bool { return strings.HasPrefix(l.Info.ID, id) })
}

// Listings are the sessions of the store, none if there is no store.
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

// When is a time for people, "" if it is unknown.
func When(t session.Millis) string {
	if t == 0 {
		return ""
	}
	return time.UnixMilli(int64(t)).UTC().Format("2006-01-02 15:04")
}

// TitleOf names a session for people.
func TitleOf(l store.Listing) string { return titled(session.Called(l.Info, nil), l.Info.Directory) }

// titled is a title, or else a folder, on one short line.
func titled(title, folder string) string {
	return rule.Shorten(visible.Line(cmp.Or(title, folder)), 60)
}

// CompleteModels offers the names of the models.
func CompleteModels(a *cli.App) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, begun string) (names []string, _ cobra.ShellCompDirective) {
		loaded, _ := config.Load(a.ConfigSources()) // without it, those of the catalogue are offered
		for _, m := range loaded.Settings.Catalogue(model.Default()).Models {
			if name := m.String(); strings.HasPrefix(name, begun) && visible.Printable(name) {
				names = append(names, name)
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
