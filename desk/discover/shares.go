package discover

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"hash/maphash"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/text/plainfile"
)

// Shares are bytes of session files by kind. A byte may be in several.
type Shares struct {
	Progress int64 `json:"progress"` // progress records of Claude Code
	// File-history snapshots of Claude Code, except for the newest of each message.
	Snapshots int64 `json:"snapshots"`
	Pictures  int64 `json:"pictures"` // pictures and documents in base64
	// Records of Claude Code and Qwen Code that an earlier session of the project has too: the history
	// that a fork copied.
	Copied int64 `json:"copied"`
}

// Add adds other shares.
func (s *Shares) Add(o Shares) {
	s.Progress, s.Snapshots = s.Progress+o.Progress, s.Snapshots+o.Snapshots
	s.Pictures, s.Copied = s.Pictures+o.Pictures, s.Copied+o.Copied
}

// OneFile reports whether a session is a file of its own in its product's folder, and is not reached
// through a link below it.
func (f *Found) OneFile() bool {
	if f.session != "" || f.folder || f.root == "" {
		return false
	}
	rel, err := filepath.Rel(f.root, f.path)
	if err != nil || !filepath.IsLocal(rel) {
		return false
	}
	root, failed := filepath.EvalSymlinks(f.root)
	real, err := filepath.EvalSymlinks(f.path)
	return err == nil && failed == nil && real == filepath.Join(root, rel)
}

// Shares reads session files and returns the shares of each. Memory grows with the records of two
// projects at a time. Sessions in databases, in folders and in compressed files have none.
func (s *Search) Shares(ctx context.Context, found []Found) ([]Shares, []Problem, error) {
	projects := map[string][]int{}
	for i := range found {
		if f := &found[i]; f.session == "" && !f.folder && !strings.HasSuffix(f.path, ".gz") {
			name := f.Product + " " + cmp.Or(f.Project, filepath.Dir(f.Source))
			projects[name] = append(projects[name], i)
		}
	}
	var groups [][]int
	size := func(group []int) (n int64) {
		for _, i := range group {
			n += found[i].Bytes
		}
		return n
	}
	for _, group := range projects {
		slices.SortFunc(group, func(a, b int) int {
			return cmp.Or(found[a].Updated.Compare(found[b].Updated), strings.Compare(found[a].Source, found[b].Source))
		})
		groups = append(groups, group)
	}
	slices.SortFunc(groups, func(a, b []int) int { // the largest first, so that none is left at the end
		return cmp.Or(cmp.Compare(size(b), size(a)), cmp.Compare(a[0], b[0]))
	})
	shares := make([]Shares, len(found))
	var mu sync.Mutex
	var problems []Problem
	done := 0
	s.each(ctx, len(groups), nil, func(g int) {
		records := map[uint64]int{}
		buffer := bufio.NewReaderSize(nil, scanBytes)
		for n, i := range groups[g] {
			if ctx.Err() != nil {
				return
			}
			var err error
			shares[i], err = scanFile(found[i].path, buffer, n, records)
			mu.Lock()
			if err != nil {
				problems = append(problems, Problem{found[i].Source, err})
			}
			if done++; s.Progress != nil {
				s.Progress(done, len(found))
			}
			mu.Unlock()
		}
	})
	if s.Progress != nil {
		s.Progress(len(found), len(found))
	}
	return shares, problems, ctx.Err()
}

// scanBytes is how much of a file is looked at at a time.
const scanBytes = 1 << 20

func scanFile(path string, buffer *bufio.Reader, n int, records map[uint64]int) (Shares, error) {
	file, info, err := plainfile.Open(path)
	if err != nil {
		return Shares{}, err
	}
	defer file.Close()
	buffer.Reset(io.LimitReader(file, info.Size()))
	return scan(buffer, n, records)
}

var seed = maphash.MakeSeed()

// scan reads one file. records has the first file of each record, by the hash of the record's
// parent; n is the number of this file.
func scan(lines *bufio.Reader, n int, records map[uint64]int) (s Shares, err error) {
	snapshots := map[uint64]*int64{} // bytes of the newest file-history snapshot of a message
	var counts []*int64              // of the line
	var pictures pictureScan
	for begin := true; ; {
		piece, err := lines.ReadSlice('\n')
		if begin {
			counts = counts[:0]
			head := piece[:min(len(piece), headBytes)]
			switch {
			case says(head, `"type":"progress"`, "progress"):
				counts = append(counts, &s.Progress)
			case says(head, `"type":"file-history-snapshot"`, "file-history-snapshot"):
				if id := member(head, "messageId"); id != "" {
					key, size := maphash.String(seed, id), new(int64)
					if before := snapshots[key]; before != nil {
						s.Snapshots += *before
					}
					snapshots[key] = size
					counts = append(counts, size)
				}
			}
			if parent := parentOfRecord(head); len(parent) > 0 {
				key := maphash.Bytes(seed, parent)
				first, known := records[key]
				if !known {
					records[key] = n
				} else if first < n {
					counts = append(counts, &s.Copied)
				}
			}
		}
		for _, count := range counts {
			*count += int64(len(piece))
		}
		s.Pictures += pictures.in(piece)
		switch {
		case err == nil:
			begin, pictures = true, pictureScan{}
		case errors.Is(err, bufio.ErrBufferFull):
			begin = false
		case err == io.EOF:
			return s, nil
		default:
			return s, err
		}
	}
}

// says reports whether the object at the beginning of a line has the type. sign is how the member is
// mostly written; a line without it is not parsed.
func says(head []byte, sign, kind string) bool {
	return bytes.Contains(head, []byte(sign)) && member(head, "type") == kind
}

// member is a member of the object that begins a line, if it is a string; "" if the line was cut
// before it.
func member(head []byte, name string) string {
	d := jsontext.NewDecoder(bytes.NewReader(head), jsontext.AllowDuplicateNames(true),
		jsontext.AllowInvalidUTF8(true))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return ""
	}
	for d.PeekKind() == '"' {
		key, err := d.ReadToken()
		if err != nil {
			return ""
		}
		if key.String() != name {
			if d.SkipValue() != nil {
				return ""
			}
			continue
		}
		if d.PeekKind() != '"' {
			return ""
		}
		value, err := d.ReadToken()
		if err != nil {
			return ""
		}
		return value.String()
	}
	return ""
}

// parentOfRecord is the parent that a record of Claude Code or Qwen Code names at its beginning. A
// fork copies records with their parents.
func parentOfRecord(head []byte) []byte {
	const sign, within = `"parentUuid":"`, 200
	head = head[:min(len(head), within)]
	at := bytes.Index(head, []byte(sign))
	if at < 0 {
		return nil
	}
	id, _, ended := bytes.Cut(head[at+len(sign):], []byte{'"'})
	if !ended {
		return nil
	}
	return id
}

// pictureScan counts the base64 of pictures in the pieces of a line.
type pictureScan struct{ inside bool }

// leastPicture is how long the base64 of a picture is at least; shorter texts may be anything.
const leastPicture = 1 << 10

// in counts in the next piece of a line.
func (p *pictureScan) in(piece []byte) (n int64) {
	if p.inside {
		end := bytes.IndexByte(piece, '"')
		if end < 0 {
			return int64(len(piece))
		}
		p.inside, n, piece = false, int64(end), piece[end:]
	}
	for _, sign := range []string{`"data":"`, ";base64,"} {
		for rest := piece; ; {
			at := bytes.Index(rest, []byte(sign))
			if at < 0 {
				break
			}
			rest = rest[at+len(sign):]
			if !isBase64(rest) {
				continue
			}
			end := bytes.IndexByte(rest, '"')
			if end < 0 {
				p.inside = true
				return n + int64(len(rest))
			}
			n, rest = n+int64(end), rest[end:]
		}
	}
	return n
}

// isBase64 reports whether a text begins like a picture in base64.
func isBase64(text []byte) bool {
	if len(text) < leastPicture {
		return false
	}
	for _, c := range text[:leastPicture] {
		if c != '+' && c != '/' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}
