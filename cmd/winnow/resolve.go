package main

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

	"github.com/winnowhq/winnow/discover"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/format/opencodedb"
	"github.com/winnowhq/winnow/format/openhands"
	"github.com/winnowhq/winnow/plainfile"
)

// A session has one of these words on the command line: "-", the path of a file or of an OpenHands conversation's folder, PATH#ID for a session in a store of OpenCode's, PRODUCT:ID for
// one where its product keeps it, or the id of one in winnow's own store. What is a file is a file, whatever its name looks like.

// asRead is a session as it was read from a source.
type asRead struct {
	doc    *format.Document
	stat   fs.FileInfo
	stored bool // in a store of OpenCode's, or a folder of OpenHands'
}

// readSource reads a file, standard input, a conversation's folder, or a session in a store of OpenCode's.
func (a *app) readSource(ctx context.Context, src string) (asRead, error) {
	if path, id, ok := a.inStore(src); ok {
		store, err := opencodedb.Open(path)
		if err != nil {
			return asRead{}, err
		}
		defer a.progress("reading " + src)()
		doc, err := store.Read(ctx, id)
		if err != nil {
			return asRead{}, err
		}
		a.thrift(len(doc.Source))
		return asRead{doc: doc, stored: true}, nil
	}
	if folder, ok := a.conversation(src); ok {
		defer a.progress("reading " + src)()
		a.thrift(int(folder.Size()))
		doc, err := folder.Read()
		return asRead{doc: doc, stored: true}, err
	}
	data, stat, err := a.readFile(src)
	if err != nil {
		return asRead{}, err
	}
	if a.held != nil {
		if data, err = a.held.Read(data); err != nil {
			return asRead{}, err
		}
	}
	doc, err := all.Read(data)
	if err != nil {
		return asRead{}, fmt.Errorf("%s: %w", src, err)
	}
	return asRead{doc: doc, stat: stat}, nil
}

// inStore takes PATH#ID apart.
func (a *app) inStore(src string) (path, id string, ok bool) {
	if a.isFile(src) {
		return "", "", false
	}
	if path, id, ok = opencodedb.Split(src); !ok {
		return "", "", false
	}
	path = a.path(path)
	if _, known := a.databases.Load(path); !known {
		if !isStore(path) {
			return "", "", false
		}
		a.databases.Store(path, true)
	}
	return path, id, true
}

// conversation lists what is in the folder of an OpenHands conversation, when SRC is one.
func (a *app) conversation(src string) (openhands.Folder, bool) {
	if src == "-" {
		return openhands.Folder{}, false
	}
	return openhands.Conversation(a.path(src))
}

func (a *app) isFile(src string) bool {
	_, err := os.Stat(a.path(src))
	return err == nil
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
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

// holdsMany reports whether SRC is a place of sessions, rather than one.
func (a *app) holdsMany(ctx context.Context, src string) (bool, error) {
	if _, ok := a.conversation(src); ok || src == "-" {
		return false, nil
	}
	path := a.path(src)
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return true, nil
	}
	if !isStore(path) {
		return false, nil
	}
	words, err := sessionsIn(ctx, path)
	return len(words) != 1, err
}

// resolve finds what a word stands for where that is not the word itself: a store with one session, and PRODUCT:ID.
func (a *app) resolve(ctx context.Context, src string) (string, error) {
	if a.isFile(src) {
		path := a.path(src)
		if !isStore(path) {
			return src, nil
		}
		words, err := sessionsIn(ctx, path)
		if err != nil {
			return "", err
		}
		switch len(words) {
		case 0:
			return "", nothing{"there is no session in " + src}
		case 1:
			return words[0], nil
		}
		return "", hinted{usage("%s holds %d sessions", src, len(words)), "name one: " + strings.Join(firstOf(words, 3), ", ")}
	}
	if path, id, ok := a.inStore(src); ok {
		return a.completeID(ctx, path, id)
	}
	product, id, ok := strings.Cut(src, ":")
	if !ok || !slices.Contains(discover.Products(), product) {
		return src, nil
	}
	if id == "" {
		return "", hinted{usage("%s names no session", src), "`winnow list --everywhere` shows their ids; the beginning of one is enough"}
	}
	search := a.search()
	search.Product, search.NamesOnly = product, true
	defer a.progress("looking for " + src)()
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
		return "", hinted{none, "`winnow list --everywhere` shows the sessions on this computer"}
	}
	return "", usage("%q begins the ids of %d sessions: %s", src, len(fits), strings.Join(firstOf(fits, 5), ", "))
}

// completeID finds the session of a store whose id is or begins with what was given.
func (a *app) completeID(ctx context.Context, path, id string) (string, error) {
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
	return "", usage("%q begins the ids of %d sessions: %s", word, len(fits), strings.Join(firstOf(fits, 5), ", "))
}

func firstOf(words []string, n int) []string {
	if len(words) <= n {
		return words
	}
	return append(slices.Clone(words[:n]), "…")
}

// named is what an argument names.
type named struct {
	sources []string
	folder  bool    // there may be other files among them
	unread  []error // what of the folder could not be looked into
}

// sourcesOf lists the sessions that an argument names.
func (a *app) sourcesOf(ctx context.Context, arg string) (named, error) {
	if arg == "-" {
		return named{sources: []string{"-"}}, nil
	}
	path := filepath.Clean(a.path(arg))
	info, err := os.Stat(path)
	switch {
	case err != nil:
		word, resolveErr := a.resolve(ctx, arg)
		if resolveErr != nil {
			return named{}, resolveErr
		}
		if _, _, stored := a.inStore(word); word == arg && !stored {
			return named{}, err
		}
		return named{sources: []string{word}}, nil
	case isStore(path):
		sources, err := sessionsIn(ctx, path)
		return named{sources: sources}, err
	case !info.IsDir():
		return named{sources: []string{path}}, nil
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
					n.sources = append(n.sources, file)
				}
				return nil
			}
		}
		ext := filepath.Ext(file)
		if d.IsDir() && d.Name() == "storage" && isStore(file) || ext == ".db" && d.Type().IsRegular() && isStore(file) {
			words, err := sessionsIn(ctx, file)
			if err == nil {
				n.sources = append(n.sources, words...)
			} else if !errors.Is(err, opencodedb.ErrNoSessions) {
				n.unread = append(n.unread, err)
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
			n.sources = append(n.sources, file)
		case ".db":
			if f, _, err := plainfile.Open(file); err != nil { // it may be one of OpenCode's
				n.unread = append(n.unread, err)
			} else if err := f.Close(); err != nil {
				n.unread = append(n.unread, err)
			}
		}
		return nil
	}, func(_ string, err error) { n.unread = append(n.unread, err) })
	return n, err
}
