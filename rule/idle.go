package rule

import (
	"fmt"
	"slices"

	"github.com/winnowhq/winnow/call"
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
	Outputs int // steps that an output must lie idle; 0 leaves outputs alone
	Inputs  int // the same of arguments, which no call brings back
	// Least is how many tokens leaving one out must save: what is small is not worth the risk.
	Least int
	// Wait, when it is set, says how many steps a text must lie idle, by what it is; 0 leaves it
	// alone, and more than 500 count as 500. It must answer the same each time.
	Wait func(Lying) int
}

// Lying is an output or the arguments of a call, as Idle weighs it.
type Lying struct {
	Op     call.Op // what the call did first
	Input  bool    // it is the arguments
	Tokens int
}

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
	now := w.line.now.Step
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
func (r *Idle) young(w Window) bool { return r.Wait == nil && w.line.now.Step <= r.shortest() }

func (r *Idle) readAhead(w Window) {
	if !r.young(w) {
		w.quotes(r.longest())
	}
}

// longest is how many steps a text must lie idle at most.
func (r *Idle) longest() int {
	if r.Wait != nil {
		return remembered
	}
	return min(remembered, max(r.Outputs, r.Inputs))
}

// shortest is how many steps a window must have for anything to be idle.
func (r *Idle) shortest() int {
	switch {
	case r.Outputs <= 0:
		return max(0, r.Inputs)
	case r.Inputs <= 0:
		return r.Outputs
	}
	return min(r.Outputs, r.Inputs)
}

// wait is how many steps a text must lie idle, 0 when it stays.
func (r *Idle) wait(s *slot) int {
	op := s.item.op()
	switch {
	case op == call.Plan || op == call.Load || op == call.Ask:
		return 0
	case s.field == Output && (op == call.Delegate || !s.item.Call.Worked()):
		return 0
	}
	steps, size := r.Outputs, s.item.Size()
	switch {
	case r.Wait != nil && s.field == Input:
		steps = r.Wait(Lying{Op: op, Input: true, Tokens: size.Input})
	case r.Wait != nil:
		steps = r.Wait(Lying{Op: op, Tokens: size.Output})
	case s.field == Input:
		steps = r.Inputs
	}
	return min(steps, remembered)
}

// op is what the call did first.
func (x *Item) op() call.Op {
	if did := x.Call.Actions; len(did) > 0 {
		return did[0].Op
	}
	return call.Other
}
