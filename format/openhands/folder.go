package openhands

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/text/plainfile"
	"github.com/winnowhq/winnow/text/span"
)

// Folder is a conversation as the product keeps it, a file for each event:
//
//	<conversation>/base_state.json
//	<conversation>/events/event-00000-<id>.json, event-00001-<id>.json, …
//
// and up to 0.x <conversation>/events/0.json, 1.json, …. Conversations of its sub-agents are
// folders of the same shape below <conversation>/subagents.
type Folder struct {
	path   string
	pieces []piece // in the order in which they are read: the state, if there is one, and the events
}

// SubAgents is the folder in a conversation's that holds the conversations of its sub-agents.
const SubAgents = "subagents"

const (
	stateFile    = "base_state.json"
	eventsFolder = "events"
)

// piece is one file of a conversation.
type piece struct {
	name     string // below the folder, with slashes
	index    int    // of an event; -1 for the state
	size     int64
	modified time.Time
}

// Conversation lists what is in a conversation's folder; ok is false for any other folder. Without
// a state the first event has to look like one, because other programs have folders of that name
// too.
func Conversation(path string) (f Folder, ok bool) {
	entries, err := os.ReadDir(filepath.Join(path, eventsFolder))
	if err != nil {
		return Folder{}, false
	}
	f.path = path
	if info, err := os.Stat(filepath.Join(path, stateFile)); err == nil && info.Mode().IsRegular() {
		f.pieces = append(f.pieces, piece{stateFile, -1, info.Size(), info.ModTime()})
	}
	for _, d := range entries {
		index, ok := eventIndex(d.Name())
		if !ok || !d.Type().IsRegular() {
			continue
		}
		p := piece{name: eventsFolder + "/" + d.Name(), index: index}
		if info, err := d.Info(); err == nil {
			p.size, p.modified = info.Size(), info.ModTime()
		}
		f.pieces = append(f.pieces, p)
	}
	slices.SortStableFunc(f.pieces, func(a, b piece) int {
		return cmp.Or(cmp.Compare(a.index, b.index), strings.Compare(a.name, b.name))
	})
	return f, f.hasState() || !f.Empty() && f.looksRight(f.pieces[0])
}

func (f Folder) hasState() bool { return len(f.pieces) > 0 && f.pieces[0].index < 0 }

// eventIndex takes the place of an event from the name of its file: event-00012-<id>.json, with
// five digits or more, or 12.json.
func eventIndex(name string) (int, bool) {
	name, ok := strings.CutSuffix(name, ".json")
	if !ok {
		return 0, false
	}
	if rest, ok := strings.CutPrefix(name, "event-"); ok {
		digits, _, ok := strings.Cut(rest, "-")
		if name = digits; !ok || len(digits) < 5 {
			return 0, false
		}
	}
	if name == "" || strings.Trim(name, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(name)
	return n, err == nil
}

func (f Folder) looksRight(p piece) bool {
	file, _, err := plainfile.Open(f.file(p))
	if err != nil {
		return true // reading it says what is wrong
	}
	defer file.Close()
	head, err := io.ReadAll(io.LimitReader(file, 64<<10))
	return err == nil && Format{}.Detect(head)
}

func (f Folder) file(p piece) string { return filepath.Join(f.path, filepath.FromSlash(p.name)) }

// Empty reports whether the conversation was begun and nothing was said.
func (f Folder) Empty() bool { return len(f.pieces) == 0 || f.pieces[len(f.pieces)-1].index < 0 }

// Size is how many bytes the files of the conversation have, without its sub-agents.
func (f Folder) Size() (size int64) {
	for _, p := range f.pieces {
		size += p.size
	}
	return size
}

// Modified is when a file of the conversation was last written.
func (f Folder) Modified() (last time.Time) {
	for _, p := range f.pieces {
		if p.modified.After(last) {
			last = p.modified
		}
	}
	return last
}

// ID is the id of the conversation: what its state says, else the name of the folder.
func (f Folder) ID() string {
	if f.hasState() {
		data, _, _ := plainfile.Read(f.file(f.pieces[0]), 0)
		if id := span.Find(data, span.All(data), "id").Of(data); span.Valid(data) && span.String(id) != "" {
			return span.String(id)
		}
	}
	return filepath.Base(f.path)
}

// Read reads the conversation. The document's source is its files one after the other, in the order
// of the events, which Format reads too. What could not be read is damage under the name of its
// file; the offset is that in the file. So are events that are missing before others.
func (f Folder) Read() (*format.Document, error) { return f.read(-1) }

// Glance reads the state, and of the events about the first n bytes.
func (f Folder) Glance(n int64) (*format.Document, error) { return f.read(n) }

// read reads all for a negative limit.
func (f Folder) read(limit int64) (*format.Document, error) {
	var j joined
	next, taken := 0, int64(0)
	for _, p := range f.pieces {
		if p.index >= 0 {
			if limit >= 0 && taken > limit {
				break
			}
			if p.index > next {
				j.damage(missing(next, p.index-1), 0)
			}
			next = p.index + 1
			taken += p.size
		}
		data, _, err := plainfile.Read(f.file(p), 0)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			j.damage(p.name+": it was removed while it was read", 0)
		case err != nil:
			j.damage(p.name+": "+plainError(err), int(p.size))
		case len(data) == 0:
			j.damage(p.name+": it is empty", 0)
		default:
			j.add(p.name, data)
		}
	}
	doc, err := j.read(filepath.Base(f.path))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.path, err)
	}
	return doc, nil
}

// joined is files one behind the other.
type joined struct {
	src     []byte
	names   []string
	begins  []int // where each file begins in src
	damaged []format.Damage
}

func (j *joined) damage(reason string, size int) {
	j.damaged = append(j.damaged, format.Damage{Bytes: size, Reason: reason})
}

func (j *joined) add(name string, data []byte) {
	j.names, j.begins = append(j.names, name), append(j.begins, len(j.src))
	j.src = append(append(j.src, data...), '\n')
}

// read reads each file by itself, so that what is broken in one ends with it.
func (j *joined) read(id string) (*format.Document, error) {
	r := newReader(j.src)
	for i, begin := range j.begins {
		end := len(j.src)
		if i+1 < len(j.begins) {
			end = j.begins[i+1]
		}
		data := j.src[begin : end-1]
		events := len(r.events)
		r.Damaged = nil
		r.values(data, begin)
		if len(r.events) == events && len(r.Damaged) == 0 && j.names[i] != stateFile {
			j.damage(j.names[i]+": there is no event in it", len(data))
		}
		for _, d := range r.Damaged {
			d.Offset, d.Line, d.Reason = d.Offset-int64(begin), 0, j.names[i]+": "+d.Reason
			j.damaged = append(j.damaged, d)
		}
	}
	r.Damaged = j.damaged
	return r.document(id)
}

func missing(first, last int) string {
	if first == last {
		return fmt.Sprintf("%s: event %d is missing", eventsFolder, first)
	}
	return fmt.Sprintf("%s: the events %d to %d are missing", eventsFolder, first, last)
}

// plainError leaves the path out.
func plainError(err error) string {
	if pathErr := (*fs.PathError)(nil); errors.As(err, &pathErr) {
		return pathErr.Err.Error()
	}
	return err.Error()
}
