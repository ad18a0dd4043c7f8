package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/format/opencodedb"
	"github.com/winnowhq/winnow/format/openhands"
	"github.com/winnowhq/winnow/plainfile"
	"github.com/winnowhq/winnow/store"
)

// candidate is a file that may hold a session.
type candidate struct {
	path   string
	inside bool // it was found in a folder: it may well be something else
	// trace is what could be seen of a session in a store of OpenCode's at the time seen, nil when nothing could.
	trace *opencodedb.Trace
	seen  time.Time
}

// looked is what reading a file gave.
type looked struct {
	candidate
	file store.File // what is to be remembered; Path is "" for standard input
	doc  *format.Document
	read bool  // it had to be read
	same bool  // it is known, and as it was
	none bool  // it is no session
	err  error // it could not be read
}

const (
	// atOnce is how many bytes of files are being read and waiting to be stored at any time: what is parsed takes several times as much memory.
	// A single larger file goes alone.
	atOnce = 64 << 20
	// tick is how fine file systems keep time at worst: a file that was read that soon after its last change may have changed once more
	// without a trace.
	tick = int64(2 * time.Second)
)

// look reads files, several at a time, and yields what is in them in their order. It stops when the context ends or yield wants no more,
// and leaves no goroutine behind.
func (a *app) look(ctx context.Context, files []candidate, known map[string]store.File, yield func(looked) bool) {
	ctx, cancel := context.WithCancel(ctx)
	workers := max(2, runtime.GOMAXPROCS(0))
	type job struct {
		candidate
		size   int64
		result chan looked
	}
	jobs := make(chan job)
	order := make(chan job, workers*2)
	room := newRoom(atOnce)
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	for range workers {
		group.Go(func() {
			for j := range jobs {
				if ctx.Err() != nil {
					j.result <- looked{candidate: j.candidate, err: ctx.Err()}
					continue
				}
				j.result <- a.lookAt(ctx, j.candidate, known)
			}
		})
	}
	group.Go(func() {
		defer close(order)
		defer close(jobs)
		for _, f := range files {
			j := job{candidate: f, size: 1, result: make(chan looked, 1)}
			if f.trace != nil {
				j.size += f.trace.Bytes
			} else if folder, ok := a.conversation(f.path); ok {
				j.size += folder.Size()
			} else if info, err := os.Stat(f.path); err == nil {
				j.size += info.Size()
			}
			// In the order of the files, so that the one that is waited for is never kept waiting by later ones.
			if !room.take(ctx, j.size) {
				return
			}
			select {
			case order <- j:
			case <-ctx.Done():
				return
			}
			select {
			case jobs <- j:
			case <-ctx.Done():
				j.result <- looked{candidate: f, err: ctx.Err()}
				return
			}
		}
	})
	for j := range order {
		var l looked
		select {
		case l = <-j.result:
		case <-ctx.Done():
			return
		}
		more := yield(l)
		room.give(j.size)
		if !more {
			return
		}
	}
}

// lookAt reads one file, unless it is known as it is.
func (a *app) lookAt(ctx context.Context, c candidate, known map[string]store.File) looked {
	l := looked{candidate: c}
	if _, _, ok := a.inStore(c.path); ok {
		return a.lookInStore(ctx, c, known)
	}
	if folder, ok := a.conversation(c.path); ok {
		return a.lookInFolder(folder, c, known)
	}
	was, isKnown := known[c.path]
	if was.Session == "" && was.Messages != len(all.Names()) {
		isKnown = false // this version may understand it
	}
	if c.path != "-" {
		info, err := os.Stat(c.path)
		if err != nil {
			l.err = err
			return l
		}
		l.file = store.File{Path: c.path, Size: info.Size(), Modified: info.ModTime().UnixNano(), Seen: a.env.Now().UnixNano()}
		if isKnown && was.Size == l.file.Size && was.Modified == l.file.Modified && was.Seen-was.Modified > tick {
			l.file, l.same = was, true
			return l
		}
	}
	l.read = true
	data, err := a.readWhole(c.path)
	if err != nil {
		l.err = err
		return l
	}
	l.file.Hash = sha256.Sum256(data)
	if isKnown && was.Hash == l.file.Hash && was.Size == int64(len(data)) {
		l.file.Session, l.file.Messages, l.same = was.Session, was.Messages, true
		return l
	}
	l.file.Size = int64(len(data)) // what was read, if it grew meanwhile
	doc, err := all.Read(data)
	var unknown *format.SyntaxError
	switch {
	case err == nil:
		l.doc = doc
		l.file.Session, l.file.Messages = doc.Session.Info.ID, len(doc.Session.Messages)
	case c.inside && errors.As(err, &unknown) && unknown.Format == all.UnknownFormat:
		l.none = true
		l.file.Messages = len(all.Names())
	default:
		l.err = fmt.Errorf("%s: %w", c.path, err)
	}
	return l
}

// lookInFolder reads an OpenHands conversation, unless its files are as they were.
func (a *app) lookInFolder(folder openhands.Folder, c candidate, known map[string]store.File) looked {
	l := looked{candidate: c}
	l.file = store.File{Path: c.path, Size: folder.Size(), Modified: folder.Modified().UnixNano(), Seen: a.env.Now().UnixNano()}
	was, isKnown := known[c.path]
	if isKnown && was.Size == l.file.Size && was.Modified == l.file.Modified && was.Seen-was.Modified > tick {
		l.file, l.same = was, true
		return l
	}
	l.read = true
	doc, err := folder.Read()
	if err != nil {
		l.err = err
		return l
	}
	l.file.Hash, l.file.Session, l.file.Messages = sha256.Sum256(doc.Source), doc.Session.Info.ID, len(doc.Session.Messages)
	if isKnown && was.Hash == l.file.Hash {
		l.file.Session, l.file.Messages, l.same = was.Session, was.Messages, true
		return l
	}
	l.doc = doc
	return l
}

// lookInStore reads a session of a store of OpenCode's, unless its rows bear the same traces as before. They are younger than the reading only if
// they were written after it, and that shows, but within a tick.
func (a *app) lookInStore(ctx context.Context, c candidate, known map[string]store.File) looked {
	l := looked{candidate: c}
	now := a.env.Now().UnixNano()
	l.file = store.File{Path: c.path, Modified: now, Seen: now}
	if c.trace != nil && c.trace.Written > 0 {
		l.file.Size, l.file.Modified, l.file.Seen = c.trace.Bytes, time.UnixMilli(int64(c.trace.Written)).UnixNano(), c.seen.UnixNano()
	}
	was, isKnown := known[c.path]
	if isKnown && was.Size == l.file.Size && was.Modified == l.file.Modified && was.Seen-was.Modified > tick {
		l.file, l.same = was, true
		return l
	}
	l.read = true
	read, err := a.readSource(ctx, c.path)
	if err != nil {
		l.err = err
		return l
	}
	l.file.Hash, l.file.Session, l.file.Messages = sha256.Sum256(read.doc.Source), read.doc.Session.Info.ID, len(read.doc.Session.Messages)
	if isKnown && was.Hash == l.file.Hash {
		l.same = true
		return l
	}
	l.doc = read.doc
	return l
}

// readWhole reads a file or standard input without telling.
func (a *app) readWhole(path string) ([]byte, error) {
	if path == "-" {
		data, _, err := a.readFile(path)
		return data, err
	}
	data, _, err := plainfile.Read(path, 0)
	a.thrift(len(data))
	return data, err
}

// room is memory that is shared out.
type room struct {
	mu         sync.Mutex
	freed      chan struct{} // closed and replaced when some was given back
	size, free int64
}

func newRoom(size int64) *room { return &room{size: size, free: size, freed: make(chan struct{})} }

// take waits for room; what is larger than all of it waits for all of it.
func (r *room) take(ctx context.Context, n int64) bool {
	for {
		r.mu.Lock()
		if r.free >= min(n, r.size) {
			r.free -= min(n, r.size)
			r.mu.Unlock()
			return ctx.Err() == nil
		}
		freed := r.freed
		r.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
			return false
		}
	}
}

func (r *room) give(n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.free += min(n, r.size)
	close(r.freed)
	r.freed = make(chan struct{})
}

// candidates are the files that arguments name, and what could not be looked for.
func (a *app) candidates(ctx context.Context, args []string) (files []candidate, failed []error) {
	seen := map[string]bool{}
	stores := map[string]func(id string, c *candidate){}
	for _, arg := range args {
		found, err := a.sourcesOf(ctx, arg)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		failed = append(failed, found.unread...)
		for _, path := range found.sources {
			store, id, stored := a.inStore(path)
			if path != "-" && !stored {
				path = filepath.Clean(path)
			}
			if seen[path] {
				continue
			}
			seen[path] = true
			c := candidate{path: path, inside: found.folder}
			if stored {
				if stores[store] == nil {
					stores[store] = a.traces(ctx, store)
				}
				stores[store](id, &c)
			}
			files = append(files, c)
		}
	}
	return files, failed
}

// traces looks over a store of OpenCode's once, before any of its sessions is read, and returns what notes the trace of one.
func (a *app) traces(ctx context.Context, path string) func(id string, c *candidate) {
	seen := a.env.Now()
	none := func(string, *candidate) {}
	store, err := opencodedb.Open(path)
	if err != nil {
		return none // reading it says what is wrong
	}
	defer a.progress("looking over " + path)()
	traces, err := store.Traces(ctx)
	if err != nil {
		return none
	}
	return func(id string, c *candidate) {
		if trace, ok := traces[id]; ok {
			c.trace, c.seen = &trace, seen
		}
	}
}
