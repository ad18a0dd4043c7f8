package recall

import (
	"strings"

	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/session"
)

// File is what a log did with one file.
type File struct {
	// Path is cleaned, and absolute if the log names the working folder; Shorten makes it short.
	Path                                   string
	Reads, Creates, Edits, Deletes, Failed int
	// Added and Removed count lines over all changes of known size.
	Added, Removed int
	Last           call.Op // the newest operation that succeeded
	MessageID      string  // of that operation
	PartID         string
	// First and At are the positions, in the list of calls, of the first and the newest operation
	// that succeeded, or may have.
	First, At int
	// From is the path before the file was moved here, or "".
	From string
	// Perhaps is the newest change that may not have run, because it is in a branch, in a loop or
	// after "||". It is "" if there is none, or if later calls settle it. The counts leave such
	// changes out.
	Perhaps call.Op
}

// Changed reports whether the file was created, edited, moved or deleted, or may have been.
func (f *File) Changed() bool {
	return f.Creates+f.Edits+f.Deletes > 0 || f.From != "" || f.Perhaps != ""
}

// Gone reports whether the newest operation that certainly ran removed the file.
func (f *File) Gone() bool { return f.Last == call.Delete }

// Past returns the past tense of an operation.
func Past(op call.Op) string {
	switch op {
	case call.Create:
		return "created"
	case call.Edit:
		return "edited"
	case call.Move:
		return "moved"
	case call.Delete:
		return "deleted"
	}
	return string(op)
}

// Files returns the state of every file that calls touched, in the order of first touch.
func Files(calls []call.Call) []File {
	var files []File
	at := map[string]int{}
	find := func(name string, n int) *File {
		i, ok := at[name]
		if !ok {
			i = len(files)
			at[name] = i
			files = append(files, File{Path: name, First: n, At: n})
		}
		return &files[i]
	}
	for n := range calls {
		c := &calls[n]
		for i := range c.Actions {
			a := &c.Actions[i]
			if a.Path == "" || !a.Op.Changes() && a.Op != call.Read {
				continue
			}
			if c.Status != session.Completed && c.Status != session.Failed {
				continue
			}
			if c.Outcome.Failed {
				// A command that failed may have written before it did; a file tool that failed did
				// nothing.
				if a.Exact || a.Op == call.Read {
					if _, known := at[a.Path]; known {
						find(a.Path, n).Failed++
					}
					continue
				}
			}
			f := find(a.Path, n)
			f.note(c, a, n)
			switch {
			case a.Op != call.Move || a.To == "":
			case a.Maybe:
				find(a.To, n).note(c, &call.Action{Op: call.Create, Maybe: true}, n)
			default:
				to := find(a.To, n)
				to.Creates += f.Creates
				to.Edits += f.Edits
				to.Added, to.Removed = to.Added+f.Added, to.Removed+f.Removed
				to.From, to.Perhaps = a.Path, ""
				to.Last, to.At, to.MessageID, to.PartID = call.Move, n, c.MessageID, c.PartID
				find(a.Path, n).Last = call.Delete
			}
		}
	}
	return merge(files)
}

func (f *File) note(c *call.Call, a *call.Action, n int) {
	if a.Maybe && a.Op.Changes() {
		f.Perhaps, f.At, f.MessageID, f.PartID = a.Op, n, c.MessageID, c.PartID
		return
	}
	if a.Op != call.Read || f.Perhaps == call.Delete {
		f.Perhaps = ""
	}
	switch a.Op {
	case call.Read:
		f.Reads++
	case call.Create:
		if f.Last != "" && f.Last != call.Delete && f.Reads+f.Creates+f.Edits > 0 {
			f.Edits++ // it was there before: this replaced it
		} else {
			f.Creates++
		}
		f.Added += a.Added
	case call.Edit:
		f.Edits++
		f.Added, f.Removed = f.Added+a.Added, f.Removed+a.Removed
	case call.Delete:
		f.Deletes++
	case call.Move:
		f.Added, f.Removed = f.Added+a.Added, f.Removed+a.Removed
		if a.Added+a.Removed > 0 {
			f.Edits++
		}
	}
	f.Last, f.At, f.MessageID, f.PartID = a.Op, n, c.MessageID, c.PartID
}

// merge joins a relative path with the only absolute one that ends in it.
func merge(files []File) []File {
	relative := map[string]int{}
	for i := range files {
		if !call.Rooted(files[i].Path) {
			relative[files[i].Path] = -1
		}
	}
	if len(relative) == 0 || len(relative) == len(files) {
		return files
	}
	for i := range files {
		name := files[i].Path
		if !call.Rooted(name) {
			continue
		}
		for at := strings.IndexByte(name, '/'); at >= 0 && at < len(name); {
			if whole, ok := relative[name[at+1:]]; ok {
				if whole == -1 {
					relative[name[at+1:]] = i
				} else {
					relative[name[at+1:]] = -2 // two files end in it
				}
			}
			next := strings.IndexByte(name[at+1:], '/')
			if next < 0 {
				break
			}
			at += next + 1
		}
	}
	var kept []File
	for i := range files {
		f := &files[i]
		whole, ok := relative[f.Path]
		if !ok || whole < 0 || call.Rooted(f.Path) {
			continue
		}
		w := &files[whole]
		w.Reads, w.Creates, w.Edits = w.Reads+f.Reads, w.Creates+f.Creates, w.Edits+f.Edits
		w.Deletes, w.Failed = w.Deletes+f.Deletes, w.Failed+f.Failed
		w.Added, w.Removed, w.First = w.Added+f.Added, w.Removed+f.Removed, min(w.First, f.First)
		if f.At > w.At {
			w.Last, w.Perhaps, w.At, w.MessageID, w.PartID = f.Last, f.Perhaps, f.At, f.MessageID, f.PartID
		}
	}
	for i := range files {
		if whole, ok := relative[files[i].Path]; !ok || whole < 0 || call.Rooted(files[i].Path) {
			kept = append(kept, files[i])
		}
	}
	return kept
}
