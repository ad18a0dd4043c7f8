package rule

import "slices"

// Inputs elides the big values among the arguments of calls whose content is shown elsewhere, and keeps what identifies the call: paths, commands,
// addresses, patterns (S002 1).
//
// In the sound form that is the content of a file that was written, edited or patched, once newer parts show the whole file; and what was tried in an edit
// that failed, once a later one on the file worked. Every argument keeps its name and its type, a patch its file names; a marker stands for
// each value that went. The newest calls keep theirs: models imitate what they see.
type Inputs struct {
	Letter bool
	Age    Age // of the calls that keep their arguments
}

// Name is "inputs".
func (*Inputs) Name() string { return "inputs" }

func (r *Inputs) remembers(w Window) []reads {
	if r.Letter {
		return []reads{recollect(w, r, letterArguments)}
	}
	return []reads{recollect(w, viewsKey{}, newViews), recollect(w, r, newFailedChanges)}
}

// Find looks at calls that changed files.
func (r *Inputs) Find(w Window) Found {
	w = w.Read()
	if r.Letter {
		return r.letter(w)
	}
	failed := remember(w, r, newFailedChanges)
	found := w.propose(r.Name(), r.Age, false, w.views().inputs, r.strip(w))
	more := w.propose(r.Name(), r.Age, false, failed.found, r.strip(w))
	return Found{append(found.Elisions, more.Elisions...), append(found.Refusals, more.Refusals...)}
}

func (r *Inputs) strip(w Window) func(*redundant) []Elision {
	return func(d *redundant) []Elision {
		stripped, ok := w.stripped(d.old)
		if !ok {
			return nil
		}
		return []Elision{{Field: Input, Shown: stripped}}
	}
}

// failedChanges are changes of files that failed, until one on the same file works.
type failedChanges struct {
	open  map[string][]*Item // by path
	found []*redundant
}

func newFailedChanges() *failedChanges { return &failedChanges{open: map[string][]*Item{}} }

func (a *failedChanges) read(x *Item) {
	if x.Call == nil || len(x.Call.Actions) == 0 || x.Call.Command() != "" {
		return
	}
	for _, did := range x.Call.Actions {
		switch {
		case did.Path == "" || !did.Op.Changes():
		case x.Call.Outcome.Refused: // the user said no: what was wanted stays
		case !x.Call.Worked():
			a.open[did.Path] = append(a.open[did.Path], x)
		default:
			for _, old := range a.open[did.Path] {
				// A patch over several files waits for the last of them.
				if !sameStep(old, x) && len(old.Call.Actions) == 1 {
					a.found = append(a.found, &redundant{old: old, by: []*Item{x}, why: "it failed, and a later change of the file worked"})
				}
			}
			delete(a.open, did.Path)
		}
	}
}

// stripFrom is how many bytes a text must have to be left out: less is a name, a flag, a line.
const stripFrom = 200

// telling are arguments that say what a call was about: they stay whatever their size.
var telling = append(slices.Clone(pathKeys), "command", "cmd", "url", "uri", "pattern", "query", "description", "name", "id", "cwd", "workdir", "title")
