package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/cmd/winnow/internal/cli"
	"github.com/winnowhq/winnow/discover"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/format/opencodedb"
	"github.com/winnowhq/winnow/format/openhands"
	"github.com/winnowhq/winnow/plainfile"
	"github.com/winnowhq/winnow/token"
)

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
	if a.Env.StderrTerminal && !a.Quiet {
		s.Progress = func(done, of int) {
			if done%10 == 0 || done == of {
				a.Say("reading %s of %s sessions…", token.Grouped(done), token.Grouped(of))
			}
		}
	}
	return s
}

// CachePath is where what was measured is remembered, "" for nowhere.
func CachePath(a *cli.App) string {
	if dir := a.Env.XDG("XDG_CACHE_HOME", ".cache"); dir != "" {
		return filepath.Join(dir, "winnow", "sessions.json")
	}
	return ""
}

// A session has one of these words on the command line: "-", the path of a file or of an OpenHands conversation's folder, PATH#ID for a session in a store of OpenCode's, PRODUCT:ID for
// one where its product keeps it, or the id of one in winnow's own store. What is a file is a file, whatever its name looks like.

// asRead is a session as it was read from a source.
type asRead struct {
	Doc    *format.Document
	stat   fs.FileInfo
	stored bool // in a store of OpenCode's, or a folder of OpenHands'
}

// ReadSource reads a file, standard input, a conversation's folder, or a session in a store of OpenCode's.
func ReadSource(ctx context.Context, a *cli.App, src string) (asRead, error) {
	if path, id, ok := inStore(a, src); ok {
		store, err := opencodedb.Open(path)
		if err != nil {
			return asRead{}, err
		}
		defer a.Progress("reading " + src)()
		doc, err := store.Read(ctx, id)
		if err != nil {
			return asRead{}, err
		}
		thrift(a, len(doc.Source))
		return asRead{Doc: doc, stored: true}, nil
	}
	if folder, ok := Conversation(a, src); ok {
		defer a.Progress("reading " + src)()
		thrift(a, int(folder.Size()))
		doc, err := folder.Read()
		return asRead{Doc: doc, stored: true}, err
	}
	data, stat, err := ReadFile(a, src)
	if err != nil {
		return asRead{}, err
	}
	if a.Held != nil {
		if data, err = a.Held.Read(data); err != nil {
			return asRead{}, err
		}
	}
	doc, err := all.Read(data)
	if err != nil {
		return asRead{}, fmt.Errorf("%s: %w", src, err)
	}
	return asRead{Doc: doc, stat: stat}, nil
}

// inStore takes PATH#ID apart.
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

// Conversation lists what is in the folder of an OpenHands conversation, when SRC is one.
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

// isStore reports whether a path is a database, or a folder in which OpenCode kept sessions. A database may still be another program's.
func isStore(path string) bool {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return false
	case info.IsDir():
		_, err := opencodedb.Open(path)
		return err == nil
	case !info.Mode().IsRegular():
		return false // a pipe would be read empty
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

// sessionsIn are the words for the sessions of a store, last updated first.
func sessionsIn(ctx context.Context, path string) ([]string, error) {
	store, err := opencodedb.Open(path)
	if err != nil {
		return nil, err
	}
	listings, err := store.List(ctx)
	if err != nil {
		return nil, err
	}
	var words []string
	for _, l := range listings {
		words = append(words, opencodedb.Name(path, l.ID))
	}
	return words, nil
}

// HoldsMany reports whether SRC is a place of sessions, rather than one.
func HoldsMany(ctx context.Context, a *cli.App, src string) (bool, error) {
	if _, ok := Conversation(a, src); ok || src == "-" {
		return false, nil
	}
	path := a.Path(src)
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return true, nil
	}
	if !isStore(path) {
		return false, nil
	}
	words, err := sessionsIn(ctx, path)
	return len(words) != 1, err
}

// Resolve finds what a word stands for where that is not the word itself: a store with one session, and PRODUCT:ID.
func Resolve(ctx context.Context, a *cli.App, src string) (string, error) {
	if isFile(a, src) {
		path := a.Path(src)
		if !isStore(path) {
			return src, nil
		}
		words, err := sessionsIn(ctx, path)
		if err != nil {
			return "", err
		}
		switch len(words) {
		case 0:
			return "", cli.Nothing("there is no session in " + src)
		case 1:
			return words[0], nil
		}
		return "", cli.Hint(cli.Usage("%s holds %d sessions", src, len(words)), "name one: "+strings.Join(firstOf(words, 3), ", "))
	}
	if path, id, ok := inStore(a, src); ok {
		return completeID(ctx, a, path, id)
	}
	product, id, ok := strings.Cut(src, ":")
	if !ok || !slices.Contains(discover.Products(), product) {
		return src, nil
	}
	if id == "" {
		return "", cli.Hint(cli.Usage("%s names no session", src), "`winnow list --everywhere` shows their ids; the beginning of one is enough")
	}
	search := Search(a)
	search.Product, search.NamesOnly = product, true
	defer a.Progress("looking for " + src)()
	found, problems, err := search.Find(ctx)
	if err != nil {
		return "", err
	}
	var fits []string
	for _, f := range found {
		if f.ID == id {
			return f.Source, nil
		}
		if strings.HasPrefix(f.ID, id) {
			fits = append(fits, f.Source)
		}
	}
	switch len(fits) {
	case 1:
		return fits[0], nil
	case 0:
		none := fmt.Errorf("there is no session of %s whose id begins with %q", product, id)
		if len(problems) > 0 {
			none = fmt.Errorf("%w among what can be read", none)
		}
		for _, p := range problems {
			none = fmt.Errorf("%w\n  %s", none, p.Error())
		}
		return "", cli.Hint(none, "`winnow list --everywhere` shows the sessions on this computer")
	}
	return "", cli.Usage("%q begins the ids of %d sessions: %s", src, len(fits), strings.Join(firstOf(fits, 5), ", "))
}

// completeID finds the session of a store whose id is or begins with what was given.
func completeID(ctx context.Context, a *cli.App, path, id string) (string, error) {
	words, err := sessionsIn(ctx, path)
	if err != nil {
		return "", err
	}
	word := opencodedb.Name(path, id)
	var fits []string
	for _, w := range words {
		if w == word {
			return w, nil
		}
		if id != "" && strings.HasPrefix(w, word) {
			fits = append(fits, w)
		}
	}
	switch len(fits) {
	case 1:
		return fits[0], nil
	case 0:
		return word, nil // reading it says that it is not there
	}
	return "", cli.Usage("%q begins the ids of %d sessions: %s", word, len(fits), strings.Join(firstOf(fits, 5), ", "))
}

func firstOf(words []string, n int) []string {
	if len(words) <= n {
		return words
	}
	return append(slices.Clone(words[:n]), "…")
}

// named is what an argument names.
type named struct {
	Sources []string
	folder  bool    // there may be other files among them
	Unread  []error // what of the folder could not be looked into
}

// SourcesOf lists the sessions that an argument names.
func SourcesOf(ctx context.Context, a *cli.App, arg string) (named, error) {
	if arg == "-" {
		return named{Sources: []string{"-"}}, nil
	}
	path := filepath.Clean(a.Path(arg))
	info, err := os.Stat(path)
	switch {
	case err != nil:
		word, resolveErr := Resolve(ctx, a, arg)
		if resolveErr != nil {
			return named{}, resolveErr
		}
		if _, _, stored := inStore(a, word); word == arg && !stored {
			return named{}, err
		}
		return named{Sources: []string{word}}, nil
	case isStore(path):
		sources, err := sessionsIn(ctx, path)
		return named{Sources: sources}, err
	case !info.IsDir():
		return named{Sources: []string{path}}, nil
	}
	n := named{folder: true}
	conversations := map[string]bool{} // what is in their folders is the session, but for those of its sub-agents
	err = discover.Walk(path, func(file string, d fs.DirEntry) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if conversations[filepath.Dir(file)] && d.Name() != openhands.SubAgents {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if d.IsDir() {
			if f, ok := openhands.Conversation(file); ok {
				conversations[file] = true
				if !f.Empty() {
					n.Sources = append(n.Sources, file)
				}
				return nil
			}
		}
		ext := filepath.Ext(file)
		if d.IsDir() && d.Name() == "storage" && isStore(file) || ext == ".db" && d.Type().IsRegular() && isStore(file) {
			words, err := sessionsIn(ctx, file)
			if err == nil {
				n.Sources = append(n.Sources, words...)
			} else if !errors.Is(err, opencodedb.ErrNoSessions) {
				n.Unread = append(n.Unread, err)
			}
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if d.IsDir() || !d.Type().IsRegular() {
			return nil
		}
		switch ext {
		case ".jsonl", ".json", ".gz", ".traj":
			n.Sources = append(n.Sources, file)
		case ".db":
			if f, _, err := plainfile.Open(file); err != nil { // it may be one of OpenCode's
				n.Unread = append(n.Unread, err)
			} else if err := f.Close(); err != nil {
				n.Unread = append(n.Unread, err)
			}
		}
		return nil
	}, func(_ string, err error) { n.Unread = append(n.Unread, err) })
	return n, err
}
