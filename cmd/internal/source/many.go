package source

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/desk/archive"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/format/opencodedb"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/text/plainfile"
)

// Candidate is a file that may hold a session.
type Candidate struct {
	Path   string
	inside bool // it was found in a folder: it may well be something else
	// Trace is what was seen of a session in a store of OpenCode's at the time seen, nil if nothing
	// was.
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
	None bool  // it is not a session
	Err  error // it could not be read
}

const (
	// atOnce is how many bytes of files are being read and waiting to be stored at any time: what
	// is parsed takes several times as much memory. A single larger file goes alone.
	atOnce = 64 << 20
	// Tick is the coarsest clock of a file system: a file that was read that soon after its last
	// change may have changed once more without a trace.
	Tick = int64(2 * time.Second)
)

// LookAll reads files, several at a time, and yields what is in them in their order. It stops when
// the context ends or yield wants no more, and leaves no goroutine behind.
func LookAll(ctx context.Context, a *cli.App, files []Candidate, known map[string]store.File, yield func(Looked) bool) {
	type job struct {
		size   int64
		result chan Looked
	}
	workers := max(2, runtime.GOMAXPROCS(0))
	free, memory := semaphore.NewWeighted(int64(workers)), semaphore.NewWeighted(atOnce)
	order := make(chan job, 2*workers)
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	group.Go(func() {
		defer close(order)
		for _, f := range files {
			j := job{min(f.size(a), atOnce), make(chan Looked, 1)}
			// In the order of the files, so that the one that is waited for never waits for later
			// ones.
			if memory.Acquire(ctx, j.size) != nil || free.Acquire(ctx, 1) != nil {
				return
			}
			group.Go(func() {
				defer free.Release(1)
				j.result <- LookAt(ctx, a, f, known)
			})
			select {
			case order <- j:
			case <-ctx.Done():
				return
			}
		}
	})
	for j := range order {
		select {
		case l := <-j.result:
			more := yield(l)
			memory.Release(j.size)
			if !more {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// size is about how many bytes will be read, at least 1.
func (c Candidate) size(a *cli.App) int64 {
	if c.Trace != nil {
		return 1 + c.Trace.Bytes
	}
	if folder, ok := Conversation(a, c.Path); ok {
		return 1 + folder.Size()
	}
	info, err := os.Stat(c.Path)
	switch {
	case err != nil:
		return 1
	case strings.HasSuffix(c.Path, archive.Ending): // sessions become about five times smaller
		return 1 + 5*info.Size()
	}
	return 1 + info.Size()
}

// LookAt reads one file, unless it is known and as it was.
func LookAt(ctx context.Context, a *cli.App, c Candidate, known map[string]store.File) Looked {
	l := Looked{Candidate: c}
	read, err := l.stamp(ctx, a)
	if err != nil {
		l.Err = err
		return l
	}
	was, isKnown := known[c.Path]
	if was.Session == "" && was.Messages != len(all.Names()) {
		isKnown = false // this version may understand it
	}
	unchanged := was.Size == l.File.Size && was.Modified == l.File.Modified && was.Seen-was.Modified > Tick
	if isKnown && unchanged && c.Path != "-" {
		l.File, l.Same = was, true
		return l
	}
	l.Read = true
	data, parse, err := read()
	if err != nil {
		l.Err = err
		return l
	}
	l.File.Hash = sha256.Sum256(data)
	if isKnown && was.Hash == l.File.Hash {
		l.File.Session, l.File.Messages, l.Same = was.Session, was.Messages, true
		return l
	}
	doc, err := parse()
	var syntax *format.SyntaxError
	switch {
	case err == nil:
		l.Doc = doc
		l.File.Session, l.File.Messages = doc.Session.Info.ID, len(doc.Session.Messages)
	case c.inside && errors.As(err, &syntax) && syntax.Format == all.UnknownFormat:
		l.None = true
		l.File.Messages = len(all.Names())
	default:
		l.Err = fmt.Errorf("%s: %w", c.Path, err)
	}
	return l
}

// reading reads the bytes that tell whether something changed, and returns what parses them.
type (
	reading func() ([]byte, parsing, error)
	parsing func() (*format.Document, error)
)

// stamp notes the size and the time of what is to be read, and returns what reads it.
func (l *Looked) stamp(ctx context.Context, a *cli.App) (read reading, err error) {
	whole := func(doc *format.Document, err error) ([]byte, parsing, error) {
		if err != nil {
			return nil, nil, err
		}
		return doc.Source, func() (*format.Document, error) { return doc, nil }, nil
	}
	now := a.Env.Now().UnixNano()
	l.File = store.File{Path: l.Path, Seen: now}
	if _, _, ok := inStore(a, l.Path); ok {
		// Its rows are newer than the reading only if they were written after it, and that shows,
		// except within a tick.
		l.File.Modified = now
		if t := l.Trace; t != nil && t.Written > 0 {
			l.File.Size, l.File.Seen = t.Bytes, l.seen.UnixNano()
			l.File.Modified = time.UnixMilli(int64(t.Written)).UnixNano()
		}
		return func() ([]byte, parsing, error) {
			s, err := Read(ctx, a, l.Path)
			if err != nil {
				return nil, nil, err
			}
			return whole(s.Doc, nil)
		}, nil
	}
	if folder, ok := Conversation(a, l.Path); ok {
		l.File.Size, l.File.Modified = folder.Size(), folder.Modified().UnixNano()
		return func() ([]byte, parsing, error) { return whole(folder.Read()) }, nil
	}
	if l.Path == "-" {
		l.File = store.File{}
	} else {
		info, err := os.Stat(l.Path)
		if err != nil {
			return nil, err
		}
		l.File.Size, l.File.Modified = info.Size(), info.ModTime().UnixNano()
	}
	return func() ([]byte, parsing, error) {
		data, err := readQuietly(a, l.Path)
		if l.Path != "-" {
			l.File.Size = int64(len(data)) // what was read, if it grew meanwhile
		}
		return data, func() (*format.Document, error) {
			doc, err := all.Read(data)
			if err != nil {
				return nil, err
			}
			return withBase(doc, l.Path)
		}, err
	}, nil
}

// readQuietly reads a file without showing progress, or standard input.
func readQuietly(a *cli.App, path string) ([]byte, error) {
	if path == "-" {
		data, _, err := ReadFile(a, path)
		return data, err
	}
	data, _, err := plainfile.Read(path, 0)
	thrift(len(data))
	return data, err
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

// traces looks over a store of OpenCode's once, before any of its sessions is read, and returns
// what notes the trace of one.
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
