package rule

import (
	"slices"

	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/session"
)

// Duplicates leaves out an output that a later, equal call gave again, byte for byte: the same tool
// with the same arguments in the same folder, words for people and limits of time aside. The two
// may be of one step, since they say the same. Failures are left to Retries, todo lists to Todos,
// and a skill is an instruction that stays where it was loaded.
type Duplicates struct{ Age Age }

// Name is "duplicates".
func (*Duplicates) Name() string { return "duplicates" }

// Find looks at calls that worked.
func (r *Duplicates) Find(w Window) Found {
	w = w.Read()
	seen := grow(w, r, func() *outputs { return &outputs{latest: map[output][]*Item{}} })
	return w.Propose(r.Name(), r.Age, w.open(seen.found), func(f *Finding) string {
		return w.placeholder(f.Item, Output, "the same again below")
	})
}

// outputs is what Duplicates reads off a timeline.
type outputs struct {
	latest map[output][]*Item // of outputs that differ the newest each
	found  []*Finding
}

// output tells apart what calls gave, but for outputs of one length.
type output struct {
	call   Identity
	length int
}

func (s *outputs) read(x *Item) {
	if !worked(x) || slices.ContainsFunc(x.Call.Actions, keeps) || x.keepsList() {
		return
	}
	key := output{x.Call.Retried, len(x.Part.State.Output)}
	latest := s.latest[key]
	for i, old := range latest {
		if old.Part.State.Output == x.Part.State.Output && sameFiles(old.Part.State, x.Part.State) {
			s.found = append(s.found, &Finding{Item: old, Field: Output, By: []*Item{x}, Unsent: true,
				Why: "the same call gave the same again later"})
			latest[i] = x
			return
		}
	}
	s.latest[key] = append(latest, x)
}

func sameFiles(a, b *session.ToolState) bool {
	return slices.EqualFunc(a.Attachments, b.Attachments, func(a, b session.Part) bool { return a.URL == b.URL })
}

// keeps reports whether an action is one whose outputs are not findings.
func keeps(a call.Action) bool { return a.Op == call.Plan || a.Op == call.Load }

// worked reports whether an item is a call that ended well and did what was asked.
func worked(x *Item) bool { return x.Call != nil && x.Ended() && x.Call.Worked() }

// Ended reports whether the part is a call that the product reports as completed.
func (x *Item) Ended() bool { return x.Part.State != nil && x.Part.State.Status == session.Completed }
