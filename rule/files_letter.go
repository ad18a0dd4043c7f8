package rule

import (
	"slices"

	"github.com/winnowhq/winnow/call"
)

// letter finds what S002 10 does: any completed operation of a file tool supersedes all operations before it on the same file, but those of its own step.
// A call that touched several files goes once all of them were touched again: S002 knows only calls of one file.
func (r *Files) letter(w Window) Found {
	seen := remember(w, r, newOperations)
	return w.propose(r.Name(), r.Age, true, seen.found, func(*redundant) []Elision {
		return []Elision{{Field: Output, Shown: Superseded}}
	})
}

// operations is what the letter of Files remembers.
type operations struct {
	open  map[string][]*operation // by path; that nothing superseded yet
	found []*redundant
}

func newOperations() *operations { return &operations{open: map[string][]*operation{}} }

// operation is a call of a file tool.
type operation struct {
	item  *Item
	paths []string // that nothing touched again yet
	by    []*Item
}

func (s *operations) superseded() []*redundant { return s.found }

func (s *operations) read(x *Item) {
	if x.Call == nil || !ended(x.Part) || x.Call.Command() != "" {
		return
	}
	paths := touched(x.Call)
	for _, path := range paths {
		rest := s.open[path][:0]
		for _, old := range s.open[path] {
			if sameStep(old.item, x) {
				rest = append(rest, old)
				continue
			}
			old.paths = slices.DeleteFunc(old.paths, func(p string) bool { return p == path })
			if !slices.Contains(old.by, x) {
				old.by = append(old.by, x)
			}
			if len(old.paths) == 0 {
				s.found = append(s.found, &redundant{old: old.item, by: old.by, why: "the same file was touched again later"})
			}
		}
		s.open[path] = rest
	}
	op := &operation{item: x, paths: slices.Clone(paths)}
	for _, path := range paths {
		s.open[path] = append(s.open[path], op)
	}
}

// touched are the files that a call read or changed, each once.
func touched(c *Call) []string {
	var paths []string
	for i := range c.Actions {
		a := &c.Actions[i]
		if a.Op != call.Read && !a.Op.Changes() {
			continue
		}
		for _, path := range []string{a.Path, a.To} {
			if path != "" && !slices.Contains(paths, path) {
				paths = append(paths, path)
			}
		}
	}
	return paths
}
