package recall

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/winnowhq/winnow/plan/call"
)

// State tells in words what was done to the file: "written, edited 3 times (+40 −2 lines)".
func (f *File) State() string {
	var words []string
	times := func(n int, word string) {
		switch {
		case n == 1:
			words = append(words, word)
		case n > 1:
			words = append(words, fmt.Sprintf("%s %d times", word, n))
		}
	}
	if f.Gone() {
		words = append(words, "deleted")
	} else {
		times(f.Creates, "written")
		times(f.Edits, "edited")
	}
	if len(words) == 0 {
		times(f.Reads, "read")
	}
	if f.Perhaps != "" {
		words = append(words, "perhaps "+Past(f.Perhaps))
	}
	text := strings.Join(words, ", ")
	if f.Added+f.Removed > 0 && !f.Gone() {
		text += fmt.Sprintf(" (+%d −%d lines)", f.Added, f.Removed)
	}
	if f.From != "" && !f.Gone() {
		text += ", moved from " + f.From
	}
	return text
}

// With returns the files of a log with what was done to them before it. The ledger names them as
// they were written, relative to the working folder.
func (l *Ledger) With(files []File, folder string) []File {
	at := map[string]int{}
	for i := range files {
		at[call.Shorten(files[i].Path, folder)] = i
	}
	for i := range l.Files {
		old := l.Files[i]
		n, known := at[old.Path]
		if !known {
			old.At = i - len(l.Files)
			at[old.Path] = len(files)
			files = append(files, old)
			continue
		}
		f := &files[n]
		f.Reads, f.Deletes = f.Reads+old.Reads, f.Deletes+old.Deletes
		f.Creates, f.Edits = f.Creates+old.Creates, f.Edits+old.Edits
		f.Added, f.Removed = f.Added+old.Added, f.Removed+old.Removed
		if f.From == "" {
			f.From = old.From
		}
		if f.Last == "" || f.Last == call.Read && old.Last != call.Delete {
			f.Last = old.Last
		}
	}
	return files
}

var counted = regexp.MustCompile(`^(written|edited|read)(?: (\d+) times)?$`)
var lineCounts = regexp.MustCompile(` \(\+(\d+) −(\d+) lines\)`)

// fileOf reads back the state of a file. Its path is as it was written, which is short.
func fileOf(item string) (f File, ok bool) {
	at := strings.LastIndex(item, ": ")
	if at <= 0 {
		return f, false
	}
	f.Path = item[:at]
	state := item[at+2:]
	if m := lineCounts.FindStringSubmatch(state); m != nil {
		f.Added, _ = strconv.Atoi(m[1])
		f.Removed, _ = strconv.Atoi(m[2])
		state = strings.Replace(state, m[0], "", 1)
	}
	for _, did := range strings.Split(state, ", ") {
		m := counted.FindStringSubmatch(did)
		times := 1
		if m != nil && m[2] != "" {
			times, _ = strconv.Atoi(m[2])
		}
		switch {
		case did == "deleted":
			f.Deletes, f.Last = 1, call.Delete
		case m != nil && m[1] == "written":
			f.Creates, f.Last = times, call.Create
		case m != nil && m[1] == "edited":
			f.Edits, f.Last = times, call.Edit
		case m != nil:
			f.Reads, f.Last = times, call.Read
		case strings.HasPrefix(did, "moved from "):
			f.From = strings.TrimPrefix(did, "moved from ")
		case strings.HasPrefix(did, "perhaps "):
			f.Perhaps = operation(strings.TrimPrefix(did, "perhaps "))
		default:
			return f, false
		}
	}
	return f, true
}

// operation is the one of which Past is the past tense.
func operation(past string) call.Op {
	for _, op := range []call.Op{call.Create, call.Edit, call.Move, call.Delete} {
		if Past(op) == past {
			return op
		}
	}
	return call.Edit
}
