package source

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/desk/discover"
	"github.com/winnowhq/winnow/format/opencodedb"
	"github.com/winnowhq/winnow/format/openhands"
	"github.com/winnowhq/winnow/text/plainfile"
	"github.com/winnowhq/winnow/text/quantity"
)

// A session is named on the command line as "-", the path of a file or of an OpenHands
// conversation's folder, PATH#ID for a session in a store of OpenCode's, PRODUCT:ID for one where
// its product keeps it (PRODUCT: for its newest), "latest" for the newest of this folder, or the id
// of one in winnow's own store. The beginning of an id or a title is enough. What is a file is a
// file, whatever its name looks like.

// Search looks on this computer.
func Search(a *cli.App) *discover.Search {
	home := a.Env.Home()
	if home == "" {
		home = a.Env.Getenv("USERPROFILE") // of Windows
	}
	s := &discover.Search{Env: discover.Env{Home: home, Getenv: a.Env.Getenv}}
	if cache := CachePath(a); cache != "" {
		s.Cache = discover.LoadCache(cache)
	}
	say, wipe := a.Counting()
	s.Progress = func(done, of int) {
		say(done, of, "reading %s of %s sessions", quantity.Number(done), quantity.Number(of))
		if done == of {
			wipe()
		}
	}
	return s
}

// CachePath is where what was measured is remembered, "" for nowhere.
func CachePath(a *cli.App) string { return a.Env.Cache("sessions.json") }

// inStore splits PATH#ID.
func inStore(a *cli.App, src string) (path, id string, ok bool) {
	if isFile(a, src) {
		return "", "", false
	}
	if path, id, ok = opencodedb.Split(src); !ok {
		return "", "", false
	}
	path = a.Path(path)
	if _, known := a.Databases.Load(path); !known {
		if !isStore(path) {
			return "", "", false
		}
		a.Databases.Store(path, true)
	}
	return path, id, true
}

// Conversation lists what is in the folder of an OpenHands conversation, if SRC is one.
func Conversation(a *cli.App, src string) (openhands.Folder, bool) {
	if src == "-" {
		return openhands.Folder{}, false
	}
	return openhands.Conversation(a.Path(src))
}

func isFile(a *cli.App, src string) bool {
	_, err := os.Stat(a.Path(src))
	return err == nil
}

// isStore reports whether a path is a database, or a folder in which OpenCode kept sessions. A
// database may still be another program's.
func isStore(path string) bool {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return false
	case info.IsDir():
		_, err := opencodedb.Open(path)
		return err == nil
	case !info.Mode().IsRegular():
		return false // reading would empty a pipe
	}
	f, _, err := plainfile.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, len(opencodedb.Magic))
	_, err = io.ReadFull(f, head)
	return err == nil && string(head) == opencodedb.Magic
}

// sessionsIn names the sessions of a store, last updated first.
func sessionsIn(ctx context.Context, path string) ([]string, error) {
	store, err := opencodedb.Open(path)
	if err != nil {
		return nil, err
	}
	listings, err := store.List(ctx)
	var words []string
	for _, l := range listings {
		words = append(words, opencodedb.Name(path, l.ID))
	}
	return words, err
}

// HoldsMany reports whether SRC is a place of sessions, rather than one.
func HoldsMany(ctx context.Context, a *cli.App, src string) (bool, error) {
	path := a.Path(src)
	switch _, ok := Conversation(a, src); {
	case ok, src == "-":
		return false, nil
	case cli.IsFolder(path):
		return true, nil
	case !isStore(path):
		return false, nil
	}
	words, err := sessionsIn(ctx, path)
	return len(words) != 1, err
}

// Resolve finds what a word stands for if that is not the word itself: a store with one session,
// PRODUCT:ID, "latest", the beginning of an id or of a title. What it found once it does not look
// for, or ask about, again.
func Resolve(ctx context.Context, a *cli.App, src string) (string, error) {
	if known, ok := a.Named.Load(src); ok {
		return known.(string), nil
	}
	found, err := resolve(ctx, a, src)
	if err == nil && found != src {
		a.Named.Store(src, found)
	}
	return found, err
}

func resolve(ctx context.Context, a *cli.App, src string) (string, error) {
	if isFile(a, src) {
		return onlyOne(ctx, a, src)
	}
	if path, id, ok := inStore(a, src); ok {
		return completeID(ctx, path, id)
	}
	if src == Latest {
		return latest(ctx, a)
	}
	if product, name, ok := strings.Cut(src, ":"); ok && slices.Contains(discover.Products(), product) {
		return ofProduct(ctx, a, product, name)
	}
	if src == "" || src == "-" || LooksLikePath(src) && !strings.Contains(src, " ") || isStored(ctx, a, src) {
		return src, nil
	}
	found, err := onComputer(ctx, a, src)
	return cmp.Or(found, src), err
}

// onlyOne is the session of a file: the file itself, unless it is a store.
func onlyOne(ctx context.Context, a *cli.App, src string) (string, error) {
	path := a.Path(src)
	if !isStore(path) {
		return src, nil
	}
	words, err := sessionsIn(ctx, path)
	switch {
	case err != nil:
		return "", err
	case len(words) == 0:
		return "", cli.Nothing("there is no session in " + src)
	case len(words) == 1:
		return words[0], nil
	}
	return "", cli.Hint(cli.Usage("%s holds %d sessions", src, len(words)), "name one: "+firstOf(words, 3))
}

// completeID finds the session of a store whose id is or begins with what was given.
func completeID(ctx context.Context, path, id string) (string, error) {
	words, err := sessionsIn(ctx, path)
	if err != nil {
		return "", err
	}
	word := opencodedb.Name(path, id)
	found := beginning(words, word)
	switch {
	case len(found) == 0, id == "":
		return word, nil // reading it says that it is not there
	case len(found) == 1:
		return words[found[0]], nil
	}
	return "", ambiguous(word, words, found)
}

// beginning finds the name that is what was given, or else all that begin with it.
func beginning(names []string, given string) (at []int) {
	for i, name := range names {
		if name == given {
			return []int{i}
		}
		if strings.HasPrefix(name, given) {
			at = append(at, i)
		}
	}
	return at
}

// ambiguous refuses the beginning of several ids.
func ambiguous(given string, names []string, found []int) error {
	var fits []string
	for _, i := range found {
		fits = append(fits, names[i])
	}
	return cli.Usage("%q begins the ids of %d sessions; name one of them:\n  %s", given, len(fits),
		firstOf(fits, mostCandidates))
}

func firstOf(words []string, n int) string {
	if len(words) > n {
		words = append(slices.Clone(words[:n]), "…")
	}
	return strings.Join(words, ", ")
}

// Named is what an argument names.
type Named struct {
	Sources []string
	Unread  []error // what of a folder could not be looked into
	folder  bool    // there may be other files among them
}

// SourcesOf lists the sessions that an argument names.
func SourcesOf(ctx context.Context, a *cli.App, arg string) (Named, error) {
	if arg == "-" {
		return Named{Sources: []string{"-"}}, nil
	}
	path := filepath.Clean(a.Path(arg))
	info, err := os.Stat(path)
	switch {
	case err != nil:
		word, resolveErr := Resolve(ctx, a, arg)
		if resolveErr != nil {
			return Named{}, resolveErr
		}
		if _, _, stored := inStore(a, word); word == arg && !stored {
			return Named{}, err
		}
		return Named{Sources: []string{word}}, nil
	case isStore(path):
		sources, err := sessionsIn(ctx, path)
		return Named{Sources: sources}, err
	case !info.IsDir():
		return Named{Sources: []string{path}}, nil
	}
	w := walk{Named: Named{folder: true}, conversations: map[string]bool{}}
	err = discover.Walk(path, func(file string, d fs.DirEntry) error { return w.visit(ctx, file, d) },
		func(_ string, err error) { w.Unread = append(w.Unread, err) })
	return w.Named, err
}

// walk collects the sessions below a folder.
type walk struct {
	Named
	conversations map[string]bool // folders of OpenHands: what is in them is the session, except its sub-agents'
}

func (w *walk) visit(ctx context.Context, file string, d fs.DirEntry) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var passed error
	if d.IsDir() {
		passed = fs.SkipDir
	}
	if w.conversations[filepath.Dir(file)] && d.Name() != openhands.SubAgents {
		return passed
	}
	if d.IsDir() {
		if f, ok := openhands.Conversation(file); ok {
			w.conversations[file] = true
			if !f.Empty() {
				w.Sources = append(w.Sources, file)
			}
			return nil
		}
	}
	ext := filepath.Ext(file)
	if (d.IsDir() && d.Name() == "storage" || ext == ".db" && d.Type().IsRegular()) && isStore(file) {
		words, err := sessionsIn(ctx, file)
		w.Sources = append(w.Sources, words...)
		if err != nil && !errors.Is(err, opencodedb.ErrNoSessions) {
			w.Unread = append(w.Unread, err)
		}
		return passed
	}
	if !d.Type().IsRegular() {
		return nil
	}
	switch ext {
	case ".jsonl", ".json", ".gz", ".traj":
		w.Sources = append(w.Sources, file)
	case ".db":
		f, _, err := plainfile.Open(file)
		if err == nil {
			err = f.Close()
		}
		if err != nil { // it may be one of OpenCode's
			w.Unread = append(w.Unread, err)
		}
	}
	return nil
}

// Below reports whether a folder is another one, or below it.
func Below(folder, top string) bool {
	rest, err := filepath.Rel(top, folder)
	return folder != "" && err == nil && rest != ".." && !strings.HasPrefix(rest, ".."+string(filepath.Separator))
}
