package rule

import (
	"fmt"
	"slices"

	"github.com/winnowhq/winnow/plan/call"
)

// Idle finds what nobody has quoted for a while: outputs of calls, and long values among their
// arguments, that were neither made nor quoted in the newest steps. A call quotes what its
// arguments repeat, a whole line at least: an edit the lines that it replaces, a write the text
// that it was made from. What was quoted stays, however old it is, and what lies idle goes, however
// new, so that old and needed survives new and done with.
//
// The call stays, with what tells it: a file can be read again, a command run again, and the text
// restored. What no call brings back stays too: todo lists, loaded instructions, what the user
// answered, and what another agent reported. Failures are left to Errors and Retries, which keep
// what tells most.
//
// What others went for may go: they went because it shows what they showed, and that lies idle with
// it. The placeholder of the older one says that it is shown again, and the explanation names this
// part, which names its tool, its target and the handle by which it comes back.
type Idle struct {
	Outputs int // steps that an output must lie idle at most; 0 leaves outputs alone
	Inputs  int // the same of arguments, which no call brings back
	// Least is how many tokens leaving one out must save: what is small is not worth the risk.
	Least int
}

// How long a text must lie idle, measured on recorded sessions: docs/need.md.
const (
	// A text that costs twice as much to carry waits half as long: that is so from this size on, in
	// bytes, some 1,000 tokens. How many they are exactly depends on what the counter has learned.
	waits = 4_000
	// An output that was used waits a quarter as long as one that still waits to be used: a read
	// file that was quoted, or changed since, was read for that. What a command printed was used
	// when it was read. Arguments that were quoted wait half as long.
	usedOutput, usedInput = 4, 2
	// soonest is how many steps anything waits, of what is set.
	soonest = 3
)

// Name is "idle".
func (*Idle) Name() string { return "idle" }

// Free is true: what others went for may lie idle.
func (*Idle) Free() bool { return true }

// Find looks at what has been idle for long enough, in the order of the log.
func (r *Idle) Find(w Window) Found {
	w = w.Read()
	if r.young(w) {
		return Found{}
	}
	now := w.timeline.now.Step + w.After
	least := max(r.Least, w.Guard.least())
	var due []*Finding
	var fresh stock[Finding]
	why := map[int]string{} // by how many steps a text must lie idle
	q := w.quotes(r.longest())
	until := w.repeated(q)
	slots := opened(w, r, q.slots, func(s *slot) bool { return s.item.LeftOut(s.field) })
	for _, s := range slots {
		x := s.item
		steps := r.wait(s)
		if steps <= 0 || s.last+steps > now || x.newest > x.Step {
			continue
		}
		if s.field == Output && until[x.Part.ID]+steps > now && until != nil {
			continue
		}
		if w.Facts.size(x, s.field) < least {
			continue // whatever is shown instead
		}
		if why[steps] == "" {
			why[steps] = fmt.Sprintf("nothing has quoted it for %d steps", steps)
		}
		f := fresh.next()
		*f = Finding{Item: x, Field: s.field, Why: why[steps]}
		due = append(due, f)
	}
	w.each(due, func(f *Finding) {
		if f.Field == Input {
			f.shown = w.stripped(f.Item)
		} else {
			f.shown = w.plainly(f.Item)
		}
	})
	due = slices.DeleteFunc(due, func(f *Finding) bool { return f.shown.saves < least })
	return w.Propose(r.Name(), Age{}, due, nil)
}

// young reports whether nothing in a window can be idle yet.
func (r *Idle) young(w Window) bool {
	shortest := min(soonest, max(r.Outputs, r.Inputs))
	if r.Outputs > 0 && r.Inputs > 0 {
		shortest = min(soonest, r.Outputs, r.Inputs)
	}
	return w.timeline.now.Step+w.After <= shortest
}

func (r *Idle) readAhead(w Window) {
	if !r.young(w) {
		w.quotes(r.longest())
	}
}

// longest is how many steps a text must lie idle at most.
func (r *Idle) longest() int { return min(remembered, max(r.Outputs, r.Inputs)) }

// wait is how many steps a text must lie idle, 0 when it stays.
func (r *Idle) wait(s *slot) int {
	op := s.item.op()
	steps := r.Outputs
	switch {
	case op == call.Plan || op == call.Load || op == call.Ask || s.field == Output && !s.item.Call.Worked():
		return 0
	case s.field == Input:
		if steps = r.Inputs; s.used {
			steps /= usedInput
		}
	case s.used || op == call.Run:
		steps /= usedOutput
	}
	if steps = min(steps, remembered); s.size > waits {
		steps = steps * waits / s.size
	}
	most := r.Outputs
	if s.field == Input {
		most = r.Inputs
	}
	return max(steps, min(soonest, most))
}

// op is what the call did first.
func (x *Item) op() call.Op {
	if did := x.Call.Actions; len(did) > 0 {
		return did[0].Op
	}
	return call.Other
}
