package rule

import (
	"slices"

	"github.com/winnowhq/winnow/call"
	"github.com/winnowhq/winnow/session"
)

// Duplicates elides an output that a later, equal call gave again, byte for byte: the same tool with the same arguments in the same folder, words for
// people and limits of time aside. The two may be of one step, since they say the same. Failures are left to Retries, todo lists to Todos, and a skill
// is an instruction that stays where it was loaded.
type Duplicates struct {
	Age Age
}

// Name is "duplicates".
func (*Duplicates) Name() string { return "duplicates" }

func (r *Duplicates) fresh() *outputs { return &outputs{latest: map[output][]*Item{}} }

func (r *Duplicates) remembers(w Window) []reads { return []reads{recollect(w, r, r.fresh)} }

// Find looks at calls that worked.
func (r *Duplicates) Find(w Window) Found {
	w = w.Read()
	seen := remember(w, r, r.fresh)
	return w.propose(r.Name(), r.Age, false, seen.found, func(d *redundant) []Elision {
		return []Elision{{Field: Output, Shown: w.placeholder(d.old, Output, "the same again below")}}
	})
}

// outputs is what Duplicates remembers.
type outputs struct {
	latest map[output][]*Item // of those that differ the newest each
	found  []*redundant
}

// output tells what calls gave apart, but for those that are as long.
type output struct {
	call   Identity
	length int
}

func (s *outputs) read(x *Item) {
	if x.Call == nil || !ended(x.Part) || !x.Call.Worked() || slices.ContainsFunc(x.Call.Actions, keeps) || whole[x.Call.Name] {
		return
	}
	key := output{x.Call.Retried, len(x.Part.State.Output)}
	latest := s.latest[key]
	for i, old := range latest {
		if old.Part.State.Output == x.Part.State.Output && slices.EqualFunc(old.Part.State.Attachments, x.Part.State.Attachments, func(a, b session.Part) bool { return a.URL == b.URL }) {
			s.found = append(s.found, &redundant{old: old, same: true, by: []*Item{x}, why: "the same call gave the same again later"})
			latest[i] = x
			return
		}
	}
	s.latest[key] = append(latest, x)
}

// keeps reports whether an action is one whose outputs are no findings.
func keeps(a call.Action) bool { return a.Op == call.Plan || a.Op == call.Load }
