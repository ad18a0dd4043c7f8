package opencodedb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/plainfile"
)

// layout is a folder of JSON files, as the product kept them before January 2026:
//
//	storage/session/<project>/<session>.json
//	storage/message/<session>/<message>.json
//	storage/part/<message>/<part>.json
//
// and before that, below the folder of each project:
//
//	storage/session/info/<session>.json
//	storage/session/message/<session>/<message>.json
//	storage/session/part/<session>/<message>/<part>.json
type layout struct {
	root   string
	oldest bool
}

func layoutOf(path string) (layout, error) {
	for _, oldest := range []bool{true, false} {
		l := layout{path, oldest}
		if names, err := l.sessions(); err == nil && len(names) > 0 {
			return l, nil
		}
	}
	return layout{}, fmt.Errorf("%s: %w: such a folder has sessions below a folder named session", path, ErrNoSessions)
}

// sessions are the files of the sessions.
func (l layout) sessions() ([]string, error) {
	folder := "*"
	if l.oldest {
		folder = "info"
	}
	return filepath.Glob(filepath.Join(escape(l.root), "session", folder, "ses*.json"))
}

// escape keeps a path from being taken for a pattern.
func escape(path string) string {
	return strings.NewReplacer(`*`, `[*]`, `?`, `[?]`, `[`, `[[]`).Replace(path)
}

func (l layout) messages(id string) ([]file, error) {
	if l.oldest {
		return filesIn(filepath.Join(l.root, "session", "message", id))
	}
	return filesIn(filepath.Join(l.root, "message", id))
}

func (l layout) parts(id, message string) ([]file, error) {
	if l.oldest {
		return filesIn(filepath.Join(l.root, "session", "part", id, message))
	}
	return filesIn(filepath.Join(l.root, "part", message))
}

// file is one of the files: its name is an id.
type file struct {
	id, path string
	size     int64
	modified session.Millis
}

func (f file) read() ([]byte, error) {
	data, _, err := plainfile.Read(f.path, 0)
	return data, err
}

func fileOf(path string, info fs.FileInfo) file {
	id := strings.TrimSuffix(info.Name(), ".json")
	return file{id, path, info.Size(), session.Millis(info.ModTime().UnixMilli())}
}

// filesIn lists the JSON files of a folder by name. A folder that is not there has none.
func filesIn(path string) ([]file, error) {
	entries, err := os.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var found []file
	for _, d := range entries {
		if !strings.HasSuffix(d.Name(), ".json") || !d.Type().IsRegular() {
			continue
		}
		if info, err := d.Info(); err == nil {
			found = append(found, fileOf(filepath.Join(path, d.Name()), info))
		}
	}
	return found, err
}

// each calls do for every session's file.
func (l layout) each(ctx context.Context, do func(file)) error {
	names, err := l.sessions()
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		if info, err := os.Stat(name); err == nil { // otherwise it was removed meanwhile
			do(fileOf(name, info))
		}
	}
	return nil
}

func (l layout) list(ctx context.Context) (found []Listing, err error) {
	err = l.each(ctx, func(f file) {
		one := Listing{ID: f.id}
		var info struct {
			ParentID  string           `json:"parentID"`
			Title     string           `json:"title"`
			Directory string           `json:"directory"`
			Version   string           `json:"version"`
			Time      session.Lifetime `json:"time"`
		}
		if data, err := f.read(); err == nil && json.Unmarshal(data, &info, session.ReadOptions()) == nil {
			one.ParentID, one.Title, one.Directory = info.ParentID, info.Title, info.Directory
			one.Version, one.Created, one.Updated = info.Version, info.Time.Created, info.Time.Updated
		}
		one.Updated = cmp.Or(one.Updated, f.modified)
		if one.Directory == "" && l.oldest { // project/<folder with slashes replaced>/storage
			one.Project = filepath.Base(filepath.Dir(l.root))
		}
		messages, err := l.messages(f.id)
		if one.Messages = len(messages); err != nil {
			one.Messages = -1 // reading it says what is wrong, and it hides no other
		}
		found = append(found, one)
	})
	return found, err
}

func (l layout) holdings(ctx context.Context) (map[string]holding, error) {
	held := map[string]holding{}
	return held, l.each(ctx, func(f file) {
		files, err := l.messages(f.id)
		for _, m := range files {
			parts, partsErr := l.parts(f.id, m.id)
			files, err = append(files, parts...), errors.Join(err, partsErr)
		}
		h := holding{trace: Trace{Written: f.modified}}
		for _, f := range files {
			h.size += f.size
			h.trace.Written = max(h.trace.Written, f.modified)
		}
		if h.trace.Bytes = h.size + f.size; err != nil {
			h.trace.Written = 0 // reading it says what is wrong
		}
		held[f.id] = h
	})
}

// export writes what the files have of a session. They are not written in one step: what is read
// while the product writes may lack its newest parts.
func (l layout) export(ctx context.Context, id string) (*exporter, error) {
	var found *file
	err := l.each(ctx, func(f file) {
		if f.id == id && found == nil {
			found = &f
		}
	})
	if err != nil {
		return nil, err
	}
	if found == nil {
		return nil, ErrNotFound
	}
	data, err := found.read()
	if err != nil {
		return nil, err
	}
	e := &exporter{id: id, named: true}
	info, _ := e.parse(data, "session "+id)
	e.begin(e.name(info, "id", id))
	files, err := l.messages(id)
	if err != nil {
		return nil, err
	}
	var messages []stored
	times := map[string]session.Millis{}
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		data, ok := e.read(f, "message")
		if !ok {
			continue
		}
		var info struct {
			Time struct {
				Created session.Millis `json:"created"`
			} `json:"time"`
		}
		if json.Unmarshal(data, &info, session.ReadOptions()) != nil {
			info.Time.Created = f.modified
		}
		times[f.id] = info.Time.Created
		messages = append(messages, stored{f.id, float64(info.Time.Created), data})
	}
	slices.SortStableFunc(messages, func(a, b stored) int {
		return cmp.Or(cmp.Compare(times[a.id], times[b.id]), strings.Compare(a.id, b.id))
	})
	for _, m := range messages {
		files, err := l.parts(id, m.id)
		if err != nil {
			return nil, err
		}
		var parts []stored
		for _, f := range files {
			if data, ok := e.read(f, "part"); ok {
				parts = append(parts, stored{id: f.id, data: data})
			}
		}
		e.message(m, parts)
	}
	return e, nil
}

// read reads a file, and notes one that cannot be read.
func (e *exporter) read(f file, what string) ([]byte, bool) {
	data, err := f.read()
	if err != nil {
		e.damage(format.Damage{Bytes: int(f.size), Reason: what + " " + f.id + ": " + err.Error()})
	}
	return data, err == nil
}

// Stores lists the stores in OpenCode's data folder, databases first: those of all channels, and
// the JSON files of older versions. There may be none. A database of no bytes was begun, and
// nothing was written to it. The error says which folders could not be listed; the stores beside
// them are in the list.
func Stores(data string) ([]string, error) {
	entries, err := os.ReadDir(data)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var found []string
	for _, d := range entries {
		path := filepath.Join(data, d.Name())
		if name := d.Name(); !strings.HasPrefix(name, "opencode") || !strings.HasSuffix(name, ".db") {
			continue
		}
		info, err := os.Stat(path)
		if err == nil && info.Mode().IsRegular() && (info.Size() > 0 || isThere(path+"-wal")) {
			found = append(found, path)
		}
	}
	// opencode.db comes before the databases of other channels.
	slices.SortFunc(found, func(a, b string) int { return cmp.Or(len(a)-len(b), strings.Compare(a, b)) })
	oldest, err := filepath.Glob(filepath.Join(escape(data), "project", "*", "storage"))
	problems := []error{err}
	folders := func(path string) []fs.DirEntry {
		entries, err := os.ReadDir(path)
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			problems = append(problems, err)
		}
		return entries
	}
	folders(filepath.Join(data, "project"))
	for _, storage := range append([]string{filepath.Join(data, "storage")}, oldest...) {
		if _, err := layoutOf(storage); err == nil {
			found = append(found, storage)
		}
		sessions := filepath.Join(storage, "session")
		for _, d := range folders(sessions) {
			folders(filepath.Join(sessions, d.Name()))
		}
	}
	return found, errors.Join(problems...)
}
