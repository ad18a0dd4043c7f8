package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/config"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/inplace"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plainfile"
	"github.com/winnowhq/winnow/report"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/sqlite"
	"github.com/winnowhq/winnow/token"
	"github.com/winnowhq/winnow/token/counters"
)

// source is a session that a command works on, with an engine that has it.
type source struct {
	engine *winnow.Engine
	id     string
	store  store.Store

	// Of a file.
	path   string // "-" for standard input
	stat   fs.FileInfo
	doc    *format.Document
	stored bool // in a store of OpenCode's or a folder of OpenHands', which are only read: path is its word

	restores  []restore      // of elided parts, that made it what it is; see recallRestores
	grown     bool           // it has more lines since
	exact     []byte         // what is to be written, where that is known; see undone
	claim     *inplace.Claim // on the file, where it is to be replaced
	unsettled []string       // what became of what others wrote to it meanwhile
}

// fromFile tells whether the session came from a file; otherwise it is in the store.
func (s *source) fromFile() bool { return s.doc != nil }

func (s *source) Close() error {
	err := errors.Join(s.engine.Close(), s.store.Close())
	if s.claim != nil {
		err = errors.Join(err, s.claim.Close())
	}
	return err
}

// done is the end of a command that read this source: damage makes it partly done.
func (s *source) done() error {
	if len(s.unsettled) > 0 {
		return unsettled{s.unsettled}
	}
	if s.doc != nil && len(s.doc.Damaged) > 0 {
		return partly{damaged: s.doc.Damaged}
	}
	return nil
}

// access is what a command wants of a store.
type access int

const (
	reading  access = iota // it may be read-only
	changing               // one that is there
	making                 // made when it is missing
)

// open finds SRC to look at it: "-", a file, a conversation's folder, a session in a store of OpenCode's, one by its product and id, or the id of a session in
// winnow's own store.
func (a *app) open(ctx context.Context, src string) (*source, error) {
	return a.openSource(ctx, src, reading)
}

func (a *app) openSource(ctx context.Context, src string, want access) (*source, error) {
	settings, err := a.settings()
	if err != nil {
		return nil, err
	}
	if src, err = a.resolve(ctx, src); err != nil {
		return nil, err
	}
	data, err := a.readSource(ctx, src)
	switch {
	case err == nil:
		s, err := a.openDocument(ctx, src, data.doc, settings)
		if err != nil {
			return nil, err
		}
		s.stat, s.stored = data.stat, data.stored
		return s, nil
	case !errors.Is(err, fs.ErrNotExist) || looksLikePath(src):
		return nil, err
	}
	return a.openStored(ctx, src, want, settings)
}

func looksLikePath(src string) bool {
	return strings.ContainsAny(src, `/\`) || filepath.Ext(src) != ""
}

// readFile reads a file or standard input, whole.
func (a *app) readFile(src string) ([]byte, fs.FileInfo, error) {
	if src == "-" {
		defer a.progress("reading standard input")()
		data, err := a.readStream(a.env.Stdin, "standard input")
		return data, nil, err
	}
	defer a.progress("reading " + src)()
	path := a.path(src)
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	if info.IsDir() {
		return nil, nil, usage("%s is a folder; name a session file in it. `winnow inspect` and `winnow import` take folders", src)
	}
	if !info.Mode().IsRegular() {
		if !isOpen(path) {
			return nil, nil, hinted{&plainfile.KindError{Path: src, Mode: info.Mode()}, "it may never end; to read it all the same: winnow COMMAND - < " + shellWord(src)}
		}
		f, err := os.Open(path)
		if err != nil {
			return nil, nil, err
		}
		defer f.Close()
		data, err := a.readStream(f, src)
		return data, nil, err
	}
	data, info, err := plainfile.Read(path, 0)
	a.thrift(len(data))
	return data, info, err
}

// isOpen reports whether a path is that of a file which the shell opened for this process, a pipe most likely: /dev/stdin, or /dev/fd/63 of <(command).
func isOpen(path string) bool {
	path = filepath.Clean(path)
	dir := filepath.Dir(path)
	return path == "/dev/stdin" || dir == "/dev/fd" || strings.HasPrefix(dir, "/proc/") && filepath.Base(dir) == "fd"
}

// mostStreamed is how many bytes are taken of what has no size: as many as of what is unpacked. What never ends ends there.
const mostStreamed = 1 << 30

// readStream reads what has no size, whole.
func (a *app) readStream(r io.Reader, name string) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, mostStreamed+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(data) > mostStreamed {
		return nil, hinted{fmt.Errorf("%s has more than a gigabyte", name), "write it into a file, and give that: files of lines are inspected piece by piece"}
	}
	a.thrift(len(data))
	return data, nil
}

// huge is a session that is read with an eye on memory.
const huge = 32 << 20

// thrift trades time for memory: of a huge session, garbage of its own size is too much.
func (a *app) thrift(size int) {
	if size >= huge {
		debug.SetGCPercent(20)
	}
}

// path is where a name given on the command line is.
func (a *app) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(a.env.Dir, name)
}

func (a *app) openDocument(ctx context.Context, src string, doc *format.Document, settings config.Settings) (_ *source, err error) {
	s := &source{path: src, doc: doc, id: doc.Session.Info.ID}
	if s.id == "" {
		s.id = "session"
		doc.Session.Info.ID = s.id
	}
	if s.engine, s.store, err = a.engine(nil, settings); err != nil {
		return nil, err
	}
	defer a.progress("looking at " + src)()
	if err := s.engine.Import(ctx, doc.Session, doc.Ledger, nil, report.Beside(doc.Beside)...); err != nil {
		return nil, err
	}
	return s, nil
}

func (a *app) openStored(ctx context.Context, id string, want access, settings config.Settings) (*source, error) {
	kept, err := a.openStore(ctx, want)
	if errors.Is(err, errNoStore) {
		return nil, hinted{fmt.Errorf("%q is no file, and there is no store that could have a session of that name", id), "check the path; `winnow import FILE` puts a session into the store"}
	}
	if err != nil {
		return nil, err
	}
	full, err := findSession(ctx, kept, id)
	if err != nil {
		kept.Close()
		return nil, err
	}
	s := &source{id: full, store: kept}
	if s.engine, _, err = a.engine(kept, settings); err != nil {
		kept.Close()
		return nil, err
	}
	return s, nil
}

// findSession finds the session whose id is or begins with what was given.
func findSession(ctx context.Context, kept store.Store, id string) (string, error) {
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
		return "", hinted{fmt.Errorf("%q is neither a file nor a session in the store", id), "check the path; `winnow list` shows the sessions"}
	}
	return "", usage("%q begins the ids of %d sessions: %s", id, len(found), strings.Join(found, ", "))
}

// errNoStore is what openStore says when there is none and none is to be made.
var errNoStore = errors.New("there is no store yet")

// storeAt is the file of the store, "" where there is no home folder.
func (a *app) storeAt() string {
	if a.storeFile != "" {
		return a.path(a.storeFile)
	}
	return a.env.storePath()
}

// openStore opens the store on disk.
func (a *app) openStore(ctx context.Context, want access) (store.Store, error) {
	path := a.storeAt()
	if path == "" {
		return nil, usage("there is no home folder to keep sessions in; name a file with --store")
	}
	if want != making {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return nil, hinted{fmt.Errorf("%w at %s", errNoStore, path), "check the path; `winnow import FILE` puts a session into the store"}
		}
	}
	if want == reading {
		s, err := sqlite.Open(ctx, sqlite.Config{Path: path, Now: a.env.Now, ReadOnly: true})
		if !errors.Is(err, store.ErrReadOnly) {
			return opened(s, err)
		}
		// An older version wrote it: it is brought up to date first.
	}
	return opened(sqlite.Open(ctx, sqlite.Config{Path: path, Now: a.env.Now}))
}

// opened keeps a nil *sqlite.Store from becoming a store that is not nil.
func opened(s *sqlite.Store, err error) (store.Store, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

// engine makes an engine on a store, nil for one in memory.
func (a *app) engine(kept store.Store, settings config.Settings) (*winnow.Engine, store.Store, error) {
	c, err := a.config(kept, settings)
	if err != nil {
		return nil, nil, err
	}
	e, err := winnow.Open(c)
	if err != nil {
		return nil, nil, err
	}
	return e, e.Store(), nil
}

// config is what an engine of this command is made from.
func (a *app) config(kept store.Store, settings config.Settings) (winnow.Config, error) {
	models, err := a.models()
	if err != nil {
		return winnow.Config{}, err
	}
	counter, err := a.tokenCounter(settings)
	if err != nil {
		return winnow.Config{}, err
	}
	return winnow.Config{Settings: &settings.Settings, Store: kept, Models: models, Model: a.model, Counter: counter, Now: a.env.Now, ForceModel: a.model != "",
		SummarizerFor: a.summarizerFor(settings)}, nil
}

// tokenCounter is the counter that was asked for, nil for the engine's own choice.
func (a *app) tokenCounter(settings config.Settings) (token.Counter, error) {
	if settings.Counter == "auto" {
		return nil, nil
	}
	c, err := counters.New(settings.Counter)
	if err != nil {
		return nil, usageError{err}
	}
	return token.NewMemo(c, 0), nil
}

// models is the catalogue with the user's overrides.
func (a *app) models() (*model.Catalogue, error) {
	return model.Default(), nil
}

// openFor opens a source to change it. With dry the change must leave no trace: a session of the store is copied into memory.
func (a *app) openFor(ctx context.Context, src string, dry bool) (*source, error) {
	want := changing
	if dry {
		want = reading
	}
	s, err := a.openSource(ctx, src, want)
	if err != nil || !dry || s.fromFile() {
		return s, err
	}
	defer s.Close()
	log, state, err := s.engine.Session(ctx, s.id)
	if err != nil {
		return nil, err
	}
	settings, err := a.settings()
	if err != nil {
		return nil, err
	}
	copied := &source{id: s.id}
	if copied.engine, copied.store, err = a.engine(nil, settings); err != nil {
		return nil, err
	}
	if err := copied.engine.Import(ctx, log, state.Ledger, nil, state.Spent...); err != nil {
		return nil, err
	}
	if len(state.Pins)+len(state.Dismissed)+len(state.Undone) > 0 {
		_, now, err := copied.engine.Session(ctx, s.id)
		if err != nil {
			return nil, err
		}
		c := store.Change{Base: now.Revision, Pin: state.Pins, Dismiss: slices.Sorted(maps.Keys(state.Dismissed)), Undo: slices.Sorted(maps.Keys(state.Undone))}
		if _, err := copied.store.Apply(ctx, s.id, c); err != nil {
			return nil, err
		}
	}
	return copied, nil
}

// title names a source for people: the title of the session, or its file.
func (s *source) title() string {
	if s.path != "" && s.path != "-" && !s.stored {
		return filepath.Base(s.path)
	}
	return s.id
}

// short gives a path relative to the current folder where it is below it.
func (a *app) short(path string) string {
	if rel, err := filepath.Rel(a.env.Dir, path); err == nil && !strings.HasPrefix(rel, "..") {
		return rel
	}
	return path
}
