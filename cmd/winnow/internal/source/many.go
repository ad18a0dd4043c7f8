package source

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

	"github.com/winnowhq/winnow/cmd/winnow/internal/cli"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/format/opencodedb"
	"github.com/winnowhq/winnow/format/openhands"
	"github.com/winnowhq/winnow/plainfile"
	"github.com/winnowhq/winnow/store"
)

// Candidate is a file that may hold a session.
type Candidate struct {
	Path   string
	inside bool // it was found in a folder: it may well be something else
	// trace is what could be seen of a session in a store of OpenCode's at the time seen, nil when nothing could.
	Trace *opencodedb.Trace
	seen  time.Time
}

// Looked is what reading a file gave.
type Looked struct {
	Candidate
	File store.File // what is to be remembered; Path is "" for standard input
	Doc  *format.Document
	Read bool  // it had to be read
	Same bool  // it is known, and as it was
	None bool  // it is no session
	Err  error // it could not be read
}

const (
	// atOnce is how many bytes of files are being read and waiting to be stored at any time: what is parsed takes several times as much memory.
	// A single larger file goes alone.
	atOnce = 64 << 20
	// tick is how fine file systems keep time at worst: a file that was read that soon after its last change may have changed once more
	// without a trace.
	Tick = int64(2 * time.Second)
)

// LookAll reads files, several at a time, and yields what is in them in their order. It stops when the context ends or yield wants no more,
// and leaves no goroutine behind.
func LookAll(ctx context.Context, a *cli.App, files []Candidate, known map[string]store.File, yield func(Looked) bool) {
	ctx, cancel := context.WithCancel(ctx)
	workers := max(2, runtime.GOMAXPROCS(0))
	type job struct {
		Candidate
		size   int64
		result chan Looked
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
					j.result <- Looked{Candidate: j.Candidate, Err: ctx.Err()}
					continue
				}
				j.result <- LookAt(ctx, a, j.Candidate, known)
			}
		})
	}
	group.Go(func() {
		defer close(order)
		defer close(jobs)
		for _, f := range files {
			j := job{Candidate: f, size: 1, result: make(chan Looked, 1)}
			if f.Trace != nil {
				j.size += f.Trace.Bytes
			} else if folder, ok := Conversation(a, f.Path); ok {
				j.size += folder.Size()
			} else if info, err := os.Stat(f.Path); err == nil {
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
				j.result <- Looked{Candidate: f, Err: ctx.Err()}
				return
			}
		}
	})
	for j := range order {
		var l Looked
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

// LookAt reads one file, unless it is known as it is.
func LookAt(ctx context.Context, a *cli.App, c Candidate, known map[string]store.File) Looked {
	l := Looked{Candidate: c}
	if _, _, ok := inStore(a, c.Path); ok {
		return lookInStore(ctx, a, c, known)
	}
	if folder, ok := Conversation(a, c.Path); ok {
		return lookInFolder(a, folder, c, known)
	}
	was, isKnown := known[c.Path]
	if was.Session == "" && was.Messages != len(all.Names()) {
		isKnown = false // this version may understand it
	}
	if c.Path != "-" {
		info, err := os.Stat(c.Path)
		if err != nil {
			l.Err = err
			return l
		}
		l.File = store.File{Path: c.Path, Size: info.Size(), Modified: info.ModTime().UnixNano(), Seen: a.Env.Now().UnixNano()}
		if isKnown && was.Size == l.File.Size && was.Modified == l.File.Modified && was.Seen-was.Modified > Tick {
			l.File, l.Same = was, true
			return l
		}
	}
	l.Read = true
	data, err := readWhole(a, c.Path)
	if err != nil {
		l.Err = err
		return l
	}
	l.File.Hash = sha256.Sum256(data)
	if isKnown && was.Hash == l.File.Hash && was.Size == int64(len(data)) {
		l.File.Session, l.File.Messages, l.Same = was.Session, was.Messages, true
		return l
	}
	l.File.Size = int64(len(data)) // what was read, if it grew meanwhile
	doc, err := all.Read(data)
	var unknown *format.SyntaxError
	switch {
	case err == nil:
		l.Doc = doc
		l.File.Session, l.File.Messages = doc.Session.Info.ID, len(doc.Session.Messages)
	case c.inside && errors.As(err, &unknown) && unknown.Format == all.UnknownFormat:
		l.None = true
		l.File.Messages = len(all.Names())
	default:
		l.Err = fmt.Errorf("%s: %w", c.Path, err)
	}
	return l
}

// lookInFolder reads an OpenHands conversation, unless its files are as they were.
func lookInFolder(a *cli.App, folder openhands.Folder, c Candidate, known map[string]store.File) Looked {
	l := Looked{Candidate: c}
	l.File = store.File{Path: c.Path, Size: folder.Size(), Modified: folder.Modified().UnixNano(), Seen: a.Env.Now().UnixNano()}
	was, isKnown := known[c.Path]
	if isKnown && was.Size == l.File.Size && was.Modified == l.File.Modified && was.Seen-was.Modified > Tick {
		l.File, l.Same = was, true
		return l
	}
	l.Read = true
	doc, err := folder.Read()
	if err != nil {
		l.Err = err
		return l
	}
	l.File.Hash, l.File.Session, l.File.Messages = sha256.Sum256(doc.Source), doc.Session.Info.ID, len(doc.Session.Messages)
	if isKnown && was.Hash == l.File.Hash {
		l.File.Session, l.File.Messages, l.Same = was.Session, was.Messages, true
		return l
	}
	l.Doc = doc
	return l
}

// lookInStore reads a session of a store of OpenCode's, unless its rows bear the same traces as before. They are younger than the reading only if
// they were written after it, and that shows, but within a tick.
func lookInStore(ctx context.Context, a *cli.App, c Candidate, known map[string]store.File) Looked {
	l := Looked{Candidate: c}
	now := a.Env.Now().UnixNano()
	l.File = store.File{Path: c.Path, Modified: now, Seen: now}
	if c.Trace != nil && c.Trace.Written > 0 {
		l.File.Size, l.File.Modified, l.File.Seen = c.Trace.Bytes, time.UnixMilli(int64(c.Trace.Written)).UnixNano(), c.seen.UnixNano()
	}
	was, isKnown := known[c.Path]
	if isKnown && was.Size == l.File.Size && was.Modified == l.File.Modified && was.Seen-was.Modified > Tick {
		l.File, l.Same = was, true
		return l
	}
	l.Read = true
	read, err := ReadSource(ctx, a, c.Path)
	if err != nil {
		l.Err = err
		return l
	}
	l.File.Hash, l.File.Session, l.File.Messages = sha256.Sum256(read.Doc.Source), read.Doc.Session.Info.ID, len(read.Doc.Session.Messages)
	if isKnown && was.Hash == l.File.Hash {
		l.Same = true
		return l
	}
	l.Doc = read.Doc
	return l
}

// readWhole reads a file or standard input without telling.
func readWhole(a *cli.App, path string) ([]byte, error) {
	if path == "-" {
		data, _, err := ReadFile(a, path)
		return data, err
	}
	data, _, err := plainfile.Read(path, 0)
	thrift(a, len(data))
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

// Candidates are the files that arguments name, and what could not be looked for.
func Candidates(ctx context.Context, a *cli.App, args []string) (files []Candidate, failed []error) {
	seen := map[string]bool{}
	stores := map[string]func(id string, c *Candidate){}
	for _, arg := range args {
		found, err := SourcesOf(ctx, a, arg)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		failed = append(failed, found.Unread...)
		for _, path := range found.Sources {
			store, id, stored := inStore(a, path)
			if path != "-" && !stored {
				path = filepath.Clean(path)
			}
			if seen[path] {
				continue
			}
			seen[path] = true
			c := Candidate{Path: path, inside: found.folder}
			if stored {
				if stores[store] == nil {
					stores[store] = traces(ctx, a, store)
				}
				stores[store](id, &c)
			}
			files = append(files, c)
		}
	}
	return files, failed
}

// traces looks over a store of OpenCode's once, before any of its sessions is read, and returns what notes the trace of one.
func traces(ctx context.Context, a *cli.App, path string) func(id string, c *Candidate) {
	seen := a.Env.Now()
	none := func(string, *Candidate) {}
	store, err := opencodedb.Open(path)
	if err != nil {
		return none // reading it says what is wrong
	}
	defer a.Progress("looking over " + path)()
	traces, err := store.Traces(ctx)
	if err != nil {
		return none
	}
	return func(id string, c *Candidate) {
		if trace, ok := traces[id]; ok {
			c.Trace, c.seen = &trace, seen
		}
	}
}
