package discover

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/format/geminicli"
	"github.com/winnowhq/winnow/format/openhands"
)

// location is folders by their names: as they were given, and without links. An empty one is
// anywhere.
type location []folderName

type folderName struct {
	name    string
	beneath bool // the folders below it belong to it
}

func (s *Search) located() (at location) {
	if s.Folder == "" {
		return nil
	}
	for i, folder := range append([]string{s.Folder}, s.Above...) {
		name := filepath.Clean(folder)
		at = append(at, folderName{name, s.Beneath && i == 0})
		if real, err := filepath.EvalSymlinks(folder); err == nil && real != name {
			at = append(at, folderName{real, s.Beneath && i == 0})
		}
	}
	return at
}

// is reports whether a project is one of these folders.
func (at location) is(project string) bool {
	if len(at) == 0 {
		return true
	}
	for _, f := range at {
		if project == "" {
			continue
		}
		rest, err := filepath.Rel(f.name, filepath.Clean(project))
		if err == nil && (rest == "." || f.beneath && filepath.IsLocal(rest)) {
			return true
		}
	}
	return false
}

// In reports whether a session that works in a folder is one that is looked for.
func (s *Search) In(folder string) bool { return s.located().is(folder) }

// named reports whether the beginning of a file may name the folder; the file is at its beginning
// again after. A file of JSON may write a name in several ways, unless it is of plain characters.
func (at location) named(file *os.File) (bool, error) {
	head := make([]byte, headBytes)
	n, err := io.ReadFull(file, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return false, err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return false, err
	}
	if head, err = all.Plain(head[:n]); err != nil {
		return true, nil // reading it says what is wrong
	}
	for _, f := range at {
		name := f.name
		plain := !strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' })
		if !plain || bytes.Contains(head, []byte(name)) {
			return true, nil
		}
	}
	return false, nil
}

// atATime is how many files Newest looks at before it asks whether one of them is the session.
const atATime = 32

// Newest is the session that was last worked on, of the product and the folder that the search is
// limited to, nil if there is none. Those of sub-agents are not meant. Files are read newest first,
// and no more of them than that takes. The error is the context's; what could not be read is among
// the problems.
func (s *Search) Newest(ctx context.Context) (newest *Found, problems []Problem, err error) {
	at := s.located()
	names := *s
	names.NamesOnly = true
	var files []file
	better := func(f *Found) bool {
		return f != nil && f.Parent == "" && at.is(f.Project) && (newest == nil || f.Updated.After(newest.Updated))
	}
	for _, p := range Places(s.Env) {
		if s.Product != "" && s.Product != p.Product {
			continue
		}
		paths, unlisted := p.list()
		problems = append(problems, unlisted...)
		if p.store {
			sessions, bad := names.listStores(ctx, p, paths)
			problems = append(problems, bad...)
			for i := range sessions {
				if better(&sessions[i]) {
					newest = &sessions[i]
				}
			}
			continue
		}
		if p.Product == geminicli.Name {
			p.gemini = newGeminiFolders(p.Path)
		}
		for _, path := range paths {
			if parentOf(p, path) != "" {
				continue
			}
			if written, err := writtenAt(path); err == nil {
				files = append(files, file{p, path, written})
			}
		}
	}
	slices.SortStableFunc(files, func(a, b file) int {
		return cmp.Or(b.written.Compare(a.written), strings.Compare(a.path, b.path))
	})
	for some := range slices.Chunk(files, atATime) {
		if err := ctx.Err(); err != nil {
			return nil, problems, err
		}
		if newest != nil && !some[0].written.After(newest.Updated) {
			break
		}
		heads, bad := make([]*Found, len(some)), make([]error, len(some))
		s.each(ctx, len(some), nil, func(i int) { heads[i], bad[i] = s.head(some[i].place, some[i].path, at) })
		for i := range some {
			if bad[i] != nil {
				problems = append(problems, Problem{some[i].path, bad[i]})
			}
			if better(heads[i]) {
				newest = heads[i]
			}
		}
	}
	if newest != nil {
		newest = s.resumed(newest, files, at)
	}
	return newest, problems, ctx.Err()
}

// file is a file in which there may be a session.
type file struct {
	place   Place
	path    string
	written time.Time
}

// writtenAt is when a file was last written, or a conversation's folder.
func writtenAt(path string) (time.Time, error) {
	info, err := os.Stat(path)
	if err != nil {
		return time.Time{}, err
	}
	if info.IsDir() {
		if folder, ok := openhands.Conversation(path); ok {
			return folder.Modified(), nil
		}
	}
	return info.ModTime(), nil
}
