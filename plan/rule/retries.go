package rule

import (
	"slices"

	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/session"
)

// Retries leaves out a failure after which the same call worked. It compares without the arguments
// that do not change what is done, takes commands that ended with a failure and edits of a file
// that was edited later too, keeps the line of each failure that tells most, and leaves alone what
// a person refused: nothing was tried then.
type Retries struct{ Age Age }

// Name is "retries".
func (*Retries) Name() string { return "retries" }

// Find looks at failures and what worked after them.
func (r *Retries) Find(w Window) Found {
	w = w.Read()
	seen := grow(w, r, func() *attempts {
		return &attempts{failed: map[Identity][]*attempt{}, edits: map[string][]*attempt{}}
	})
	return w.Propose(r.Name(), r.Age, w.open(seen.found), func(f *Finding) string {
		text := w.opening() + w.handleOf(f.Item) + ": " + w.describe(f.Item) + " failed; " + f.Why
		if lines := call.ErrorLines(f.Item.Part.State.Result(), 1); len(lines) > 0 {
			text += ": " + Shorten(lines[0], 160)
		}
		return text + "]"
	})
}

// attempt is a failure that may still be made good.
type attempt struct {
	item  *Item
	files []string // of a failed edit, those that were not changed since
	by    []*Item  // that changed the others
	done  bool     // it is in found
}

// attempts is what Retries reads off a timeline.
type attempts struct {
	failed map[Identity][]*attempt
	edits  map[string][]*attempt // by path
	found  []*Finding
}

func (a *attempts) read(x *Item) {
	switch {
	case x.Call == nil:
	case !x.Call.Outcome.Failed:
		a.worked(x)
	case !x.Call.Outcome.Refused:
		now := &attempt{item: x, files: editedFiles(x)}
		a.failed[x.Call.Retried] = append(a.failed[x.Call.Retried], now)
		for _, path := range now.files {
			a.edits[path] = append(a.edits[path], now)
		}
	}
}

// worked settles the failures that a call made good: of equal calls, and of edits of its files.
func (a *attempts) worked(x *Item) {
	settle(a.failed, x.Call.Retried, func(old *attempt) bool {
		if SameStep(old.item, x) || !workedAfter(old.item, x) {
			return false
		}
		a.resolve(old, "it worked later", x)
		return true
	})
	if len(a.edits) == 0 {
		return
	}
	for _, path := range editedFiles(x) {
		settle(a.edits, path, func(old *attempt) bool {
			if SameStep(old.item, x) {
				return false
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
	}
}

// settle drops attempts that are done, or that a call is done with.
func settle[K comparable](attempts map[K][]*attempt, key K, done func(*attempt) bool) {
	if open := attempts[key]; len(open) > 0 {
		open = slices.DeleteFunc(open, func(old *attempt) bool { return old.done || done(old) })
		if attempts[key] = open; len(open) == 0 {
			delete(attempts, key)
		}
	}
}

func (a *attempts) resolve(old *attempt, why string, by ...*Item) {
	old.done = true
	a.found = append(a.found, &Finding{Item: old.item, Field: ResultField(old.item.Part), By: by, Why: why})
}

// workedAfter reports whether x worked as surely as old failed. A product that reports failed
// commands as failed calls says nothing of those that worked; where it noted an exit status, or the
// output told, the same must speak for success.
func workedAfter(old, x *Item) bool {
	return old.Part.State.Status == session.Failed || x.Call.Outcome.Known
}

// editedFiles are the files that a call of an editing tool changes. What was read off a shell
// command is not sure enough.
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
