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
	"github.com/winnowhq/winnow/plainfile"
	"github.com/winnowhq/winnow/session"
)

// layout is a folder of JSON files, as the product kept them before January 2026:
//
//	storage/session/<project>/<session>.json, storage/message/<session>/<message>.json, storage/part/<message>/<part>.json
//
// and before that, below the folder of each project:
//
//	storage/session/info/<session>.json, storage/session/message/<session>/<message>.json, storage/session/part/<session>/<message>/<part>.json
type layout struct {
	root   string
	oldest bool
}

func layoutOf(path string) (layout, error) {
	l := layout{root: path}
	if names, err := filepath.Glob(filepath.Join(escape(path), "session", "info", "ses*.json")); err == nil && len(names) > 0 {
		l.oldest = true
		return l, nil
	}
	if names, err := filepath.Glob(filepath.Join(escape(path), "session", "*", "ses*.json")); err == nil && len(names) > 0 {
		return l, nil
	}
	return l, fmt.Errorf("%s: %w: such a folder has sessions below a folder named session", path, ErrNoSessions)
}

func isLayout(path string) bool {
	_, err := layoutOf(path)
	return err == nil
}

// sessions are the files of the sessions.
func (l layout) sessions() ([]string, error) {
	if l.oldest {
		return filepath.Glob(filepath.Join(escape(l.root), "session", "info", "ses*.json"))
	}
	return filepath.Glob(filepath.Join(escape(l.root), "session", "*", "ses*.json"))
}

// escape keeps a path from being taken for a pattern.
func escape(path string) string {
	return strings.NewReplacer(`*`, `[*]`, `?`, `[?]`, `[`, `[[]`).Replace(path)
}

func (l layout) messages(id string) string {
	if l.oldest {
		return filepath.Join(l.root, "session", "message", id)
	}
	return filepath.Join(l.root, "message", id)
}

func (l layout) parts(id, message string) string {
	if l.oldest {
		return filepath.Join(l.root, "session", "part", id, message)
	}
	return filepath.Join(l.root, "part", message)
}

// file is one of the files: its name is an id.
type file struct {
	id, path string
	size     int64
	modified session.Millis
}

// filesIn lists the JSON files of a folder by name, none when there is no folder.
func filesIn(path string) ([]file, error) {
	entries, err := os.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var found []file
	for _, d := range entries {
		id, ok := strings.CutSuffix(d.Name(), ".json")
		if !ok || !d.Type().IsRegular() {
			continue
		}
		f := file{id: id, path: filepath.Join(path, d.Name())}
		if info, err := d.Info(); err == nil {
			f.size, f.modified = info.Size(), session.Millis(info.ModTime().UnixMilli())
		}
		found = append(found, f)
	}
	return found, nil
}

// stored is what of a session's file a listing shows.
type stored struct {
	ID        string           `json:"id"`
	ParentID  string           `json:"parentID"`
	Title     string           `json:"title"`
	Directory string           `json:"directory"`
	Version   string           `json:"version"`
	Time      session.Lifetime `json:"time"`
}

func (l layout) list(ctx context.Context) ([]Listing, error) {
	names, err := l.sessions()
	if err != nil {
		return nil, err
	}
	var found []Listing
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		one := Listing{ID: strings.TrimSuffix(filepath.Base(name), ".json")}
		var s stored
		if data, _, err := plainfile.Read(name, 0); err == nil && json.Unmarshal(data, &s, session.ReadOptions()) == nil {
			one.ParentID, one.Title, one.Directory, one.Version = s.ParentID, s.Title, s.Directory, s.Version
			one.Created, one.Updated = s.Time.Created, s.Time.Updated
		}
		if one.Updated == 0 {
			if info, err := os.Stat(name); err == nil {
				one.Updated = session.Millis(info.ModTime().UnixMilli())
			}
		}
		if one.Directory == "" && l.oldest { // project/<folder with slashes replaced>/storage
			one.Project = filepath.Base(filepath.Dir(l.root))
		}
		if files, err := filesIn(l.messages(one.ID)); err == nil {
			one.Messages = len(files)
		} else {
			one.Messages = -1 // reading it says what is wrong, and it hides no other
		}
		found = append(found, one)
	}
	return found, nil
}

func (l layout) sizes(ctx context.Context) (map[string]int64, error) {
	names, err := l.sessions()
	if err != nil {
		return nil, err
	}
	sizes := map[string]int64{}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		id := strings.TrimSuffix(filepath.Base(name), ".json")
		messages, err := filesIn(l.messages(id))
		if err != nil {
			continue // reading it says what is wrong
		}
		for _, m := range messages {
			sizes[id] += m.size
			parts, _ := filesIn(l.parts(id, m.id))
			for _, p := range parts {
				sizes[id] += p.size
			}
		}
	}
	return sizes, nil
}

// export writes what the files have of a session. They are not written in one step: what is read while the product writes may lack
// its newest parts.
func (l layout) export(ctx context.Context, e *exporter) error {
	names, err := l.sessions()
	if err != nil {
		return err
	}
	at := slices.IndexFunc(names, func(name string) bool { return filepath.Base(name) == e.id+".json" })
	if at < 0 {
		return ErrNotFound
	}
	data, _, err := plainfile.Read(names[at], 0)
	if err != nil {
		return err
	}
	inner, bad := members(data, "session "+e.id)
	if bad != nil {
		e.damage(*bad)
	}
	e.named = true
	var info object
	info.splice(inner)
	e.name(&info, inner, "id", e.id)
	e.begin(info.value())

	files, err := filesIn(l.messages(e.id))
	if err != nil {
		return err
	}
	type message struct {
		id      string
		data    []byte
		created session.Millis
	}
	var messages []message
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		data, _, err := plainfile.Read(f.path, 0)
		if err != nil {
			e.damage(format.Damage{Bytes: int(f.size), Reason: "message " + f.id + ": " + err.Error()})
			continue
		}
		var times struct {
			Time struct {
				Created session.Millis `json:"created"`
			} `json:"time"`
		}
		if json.Unmarshal(data, &times, session.ReadOptions()) != nil {
			if info, err := os.Stat(f.path); err == nil {
				times.Time.Created = session.Millis(info.ModTime().UnixMilli())
			}
		}
		messages = append(messages, message{f.id, data, times.Time.Created})
	}
	slices.SortStableFunc(messages, func(a, b message) int {
		return cmp.Or(cmp.Compare(a.created, b.created), strings.Compare(a.id, b.id))
	})
	for _, m := range messages {
		files, err := filesIn(l.parts(e.id, m.id))
		if err != nil {
			return err
		}
		var parts []piece
		for _, f := range files {
			data, _, err := plainfile.Read(f.path, 0)
			if err != nil {
				e.damage(format.Damage{Bytes: int(f.size), Reason: "part " + f.id + ": " + err.Error()})
				continue
			}
			parts = append(parts, piece{f.id, data})
		}
		e.message(m.id, m.data, record{"time_created": float64(m.created)}, parts)
	}
	return nil
}

// Stores lists the stores in OpenCode's data folder, databases first: those of all channels, and the JSON files of older versions. There may be
// none. A database of no bytes was begun, and nothing was written to it. The error is of what could not be looked into; the stores beside it are listed.
func Stores(data string) ([]string, error) {
	entries, err := os.ReadDir(data)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var problems []error
	var found []string
	for _, d := range entries {
		if name := d.Name(); !strings.HasPrefix(name, "opencode") || !strings.HasSuffix(name, ".db") {
			continue
		}
		path := filepath.Join(data, d.Name())
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && (info.Size() > 0 || isThere(path+"-wal")) {
			found = append(found, path)
		}
	}
	// opencode.db before those of other channels
	slices.SortFunc(found, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) })
	oldest, err := filepath.Glob(filepath.Join(escape(data), "project", "*", "storage"))
	problems = append(problems, err, readable(filepath.Join(data, "project")))
	for _, storage := range append([]string{filepath.Join(data, "storage")}, oldest...) {
		if isLayout(storage) {
			found = append(found, storage)
		}
		sessions := filepath.Join(storage, "session")
		projects, err := os.ReadDir(sessions)
		if err != nil {
			problems = append(problems, readable(sessions))
		}
		for _, d := range projects {
			problems = append(problems, readable(filepath.Join(sessions, d.Name())))
		}
	}
	return found, errors.Join(problems...)
}

func isThere(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// readable is the error of listing a folder that is there.
func readable(folder string) error {
	if _, err := os.ReadDir(folder); !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		return err
	}
	return nil
}
