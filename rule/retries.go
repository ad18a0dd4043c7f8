package rule

import (
	"slices"

	"github.com/winnowhq/winnow/call"
	"github.com/winnowhq/winnow/session"
)

// Retries elides a failure after which the same call worked (S002 6).
//
// By the letter only a call that ended in an error counts, and its retry has exactly the same arguments. The sound form leaves out of the comparison
// what does not change what is done, takes commands that ended with a failure and edits of a file that was edited later too, keeps the line of each
// failure that tells most, and leaves alone what a person refused: nothing was tried then.
type Retries struct {
	Letter bool
	Age    Age
}

// Name is "retries".
func (*Retries) Name() string { return "retries" }

func (r *Retries) fresh() *attempts { return newAttempts(r.Letter) }

func (r *Retries) remembers(w Window) []reads { return []reads{recollect(w, r, r.fresh)} }

// Find looks at failures and what worked after them.
func (r *Retries) Find(w Window) Found {
	w = w.Read()
	seen := remember(w, r, r.fresh)
	return w.propose(r.Name(), r.Age, r.Letter, seen.found, func(d *redundant) []Elision {
		field := Output
		if d.old.Part.State.Status == session.Failed {
			field = Error
		}
		if r.Letter {
			return []Elision{{Field: field, Shown: Superseded}}
		}
		shown := opening + w.handleOf(d.old) + ": " + w.describe(d.old) + " failed; " + d.why
		if told := call.Telling(d.old.Part.State.Result(), 1); len(told) > 0 {
			shown += ": " + Shorten(told[0], 160)
		}
		return []Elision{{Field: field, Shown: shown + "]"}}
	})
}

// attempt is a failure that may still be made good.
type attempt struct {
	item  *Item
	files []string // of a failed edit, those that were not changed since
	by    []*Item  // that changed the others
	done  bool     // it is in found
}

// attempts is what Retries remembers.
type attempts struct {
	letter bool
	failed map[Identity][]*attempt
	edits  map[string][]*attempt // by path
	found  []*redundant
}

func newAttempts(letter bool) *attempts {
	return &attempts{letter: letter, failed: map[Identity][]*attempt{}, edits: map[string][]*attempt{}}
}

func (a *attempts) superseded() []*redundant { return a.found }

func (a *attempts) read(x *Item) {
	if x.Call == nil {
		return
	}
	key := x.Call.Retried
	failed := x.Part.State.Status == session.Failed
	if a.letter {
		key = x.Call.Same
	} else {
		failed = x.Call.Outcome.Failed
	}
	if failed {
		a.note(key, x)
		return
	}
	a.worked(key, x)
	if a.letter {
		return
	}
	if len(a.edits) == 0 {
		return
	}
	for _, path := range editedFiles(x) {
		a.edited(path, x)
	}
}

// worked settles the failures of a call that an equal one made good.
func (a *attempts) worked(key Identity, x *Item) {
	failed := a.failed[key]
	if len(failed) == 0 {
		return
	}
	failed = slices.DeleteFunc(failed, func(old *attempt) bool {
		if old.done {
			return true
		}
		if sameStep(old.item, x) || !a.letter && !workedAfter(old.item, x) {
			return false
		}
		a.resolve(old, "it worked later", x)
		return true
	})
	if a.failed[key] = failed; len(failed) == 0 {
		delete(a.failed, key)
	}
}

// note keeps a failure for what comes.
func (a *attempts) note(key Identity, x *Item) {
	if !a.letter && x.Call.Outcome.Refused {
		return
	}
	now := &attempt{item: x}
	a.failed[key] = append(a.failed[key], now)
	if a.letter {
		return
	}
	now.files = editedFiles(x)
	for _, path := range now.files {
		a.edits[path] = append(a.edits[path], now)
	}
}

// edited settles the failed edits of a file that an edit of it made good.
func (a *attempts) edited(path string, x *Item) {
	failed := a.edits[path]
	if len(failed) == 0 {
		return
	}
	failed = slices.DeleteFunc(failed, func(old *attempt) bool {
		if old.done || sameStep(old.item, x) {
			return old.done
		}
		old.files = slices.DeleteFunc(old.files, func(f string) bool { return f == path })
		if !slices.Contains(old.by, x) {
			old.by = append(old.by, x)
		}
		if len(old.files) == 0 {
			a.resolve(old, "a later edit worked", old.by...)
		}
		return true
	})
	if a.edits[path] = failed; len(failed) == 0 {
		delete(a.edits, path)
	}
}

func (a *attempts) resolve(old *attempt, why string, by ...*Item) {
	old.done = true
	a.found = append(a.found, &redundant{old: old.item, by: by, why: why})
}

// workedAfter reports whether x worked as surely as old failed. A product that reports failed commands as failed calls says nothing of those that
// worked; where it noted an exit status, or the output told, the same must speak for success.
func workedAfter(old, x *Item) bool {
	return old.Part.State.Status == session.Failed || x.Call.Outcome.Known
}

// editedFiles are the files that a call of an editing tool changes. What was read off a shell command is not sure enough.
func editedFiles(x *Item) []string {
	var files []string
	for i := range x.Call.Actions {
		a := &x.Call.Actions[i]
		if a.Op == call.Run {
			return nil
		}
		if a.Op.Changes() && a.Exact && a.Path != "" && !slices.Contains(files, a.Path) {
			files = append(files, a.Path)
		}
	}
	return files
}
