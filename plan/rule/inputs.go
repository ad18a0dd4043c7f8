package rule

import "slices"

// Inputs leaves out the big values among the arguments of calls whose content is shown elsewhere,
// and keeps what identifies the call: paths, commands, addresses, patterns.
//
// That is the content of a file that was written, edited or patched, once newer parts show the
// whole file; and what was tried in an edit that failed, once a later one on the file worked. Every
// argument keeps its name and its type, a patch its file names; a marker stands for each value that
// went. The newest calls keep theirs: models imitate what they see.
type Inputs struct {
	Age Age // of the calls that keep their arguments
}

// Name is "inputs".
func (*Inputs) Name() string { return "inputs" }

// Find looks at calls that changed files.
func (r *Inputs) Find(w Window) Found {
	w = w.Read()
	failed := grow(w, r, func() *failedChanges { return &failedChanges{open: map[string][]*Item{}} })
	strip := func(f *Finding) string { return w.stripped(f.Item).text }
	return together(w.Propose(r.Name(), r.Age, w.open(w.views().inputs), strip),
		w.Propose(r.Name(), r.Age, w.open(failed.found), strip))
}

// failedChanges are changes of files that failed, until one on the same file works.
type failedChanges struct {
	open  map[string][]*Item // by path
	found []*Finding
}

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
				if !SameStep(old, x) && len(old.Call.Actions) == 1 {
					a.found = append(a.found, &Finding{Item: old, Field: Input, By: []*Item{x},
						Why: "it failed, and a later change of the file worked"})
				}
			}
			delete(a.open, did.Path)
		}
	}
}

// stripFrom is how many bytes a text must have to be left out: less is a name, a flag, a line.
const stripFrom = 200

// telling are arguments that say what a call was about: they stay whatever their size.
var telling = append(slices.Clone(PathKeys), "command", "cmd", "url", "uri", "pattern", "query", "description",
	"name", "id", "cwd", "workdir", "title")
