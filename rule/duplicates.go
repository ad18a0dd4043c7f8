package rule

import (
	"slices"

	"github.com/winnowhq/winnow/call"
)

// Duplicates elides an output that a later, equal call gave again, byte for byte: the same tool with the same arguments in the same folder, words for
// people and limits of time aside. The two may be of one step, since they say the same. Failures are left to Retries, todo lists to Todos, and a skill
// is an instruction that stays where it was loaded.
type Duplicates struct {
	Age Age
}

// Name is "duplicates".
func (*Duplicates) Name() string { return "duplicates" }

// Find looks at calls that worked.
func (r *Duplicates) Find(w Window) Found {
	seen := remember(w, r, func() *outputs { return &outputs{latest: map[output]*Item{}} })
	return w.propose(r.Name(), r.Age, false, seen.found, func(d *redundant) []Elision {
		return []Elision{{Field: Output, Shown: w.placeholder(d.old, Output, "the same again below")}}
	})
}

// outputs is what Duplicates remembers.
type outputs struct {
	latest map[output]*Item
	found  []*redundant
}

// output is what a call gave.
type output struct {
	call  Identity
	text  string
	files string // addresses of what came with it
}

func (s *outputs) read(x *Item) {
	if x.Call == nil || !ended(x.Part) || !x.Call.Worked() || slices.ContainsFunc(x.Call.Actions, keeps) || whole[x.Call.Name] {
		return
	}
	key := output{call: x.Call.Retried, text: x.Part.State.Output}
	for i := range x.Part.State.Attachments {
		key.files += x.Part.State.Attachments[i].URL + "\x00"
	}
	if old := s.latest[key]; old != nil {
		s.found = append(s.found, &redundant{old: old, by: []*Item{x}, why: "the same call gave the same again later"})
	}
	s.latest[key] = x
}

// keeps reports whether an action is one whose outputs are no findings.
func keeps(a call.Action) bool { return a.Op == call.Plan || a.Op == call.Load }
