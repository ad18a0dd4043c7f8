package rule

import (
	"fmt"
	"slices"

	"github.com/winnowhq/winnow/call"
)

// Idle finds what nobody has quoted for a while: outputs of calls, and long values among their arguments, that were neither made nor quoted in the
// newest steps. A call quotes what its arguments repeat, a whole line at least: an edit the lines that it replaces, a write the text that it was made
// from. What was quoted stays, however old it is, and what lies idle goes, however new, so that old and needed survives new and done with.
//
// The call stays, with what tells it: a file can be read again, a command run again, and the text restored.
type Idle struct {
	Outputs int // steps that an output must lie idle; 0 leaves outputs alone
	Inputs  int // the same of arguments, which no call brings back
	Least   int // tokens that leaving one out must save
	// Wait, when it is set, says how many steps a text must lie idle, by what it is; 0 leaves it alone. It must answer the same each time.
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

// Find looks at what has been idle for long enough.
func (r *Idle) Find(w Window) Found {
	w = w.Read()
	q := remember(w, quotesKey{}, newQuotes)
	l, ok := w.read.memory[r].(*idling)
	if !ok {
		l = &idling{}
		w.read.memory[r] = l
	}
	l.update(q, r, w.read.now.Step)
	found := w.consider(r.Name(), Age{}, false, false, l.outputs.ready, func(d *redundant) []Elision {
		return []Elision{{Field: Output, Shown: w.placeholder(d.old, Output, "")}}
	})
	inputs := w.consider(r.Name(), Age{}, false, false, l.inputs.ready, func(d *redundant) []Elision {
		stripped, ok := w.strip(d.old.Part, stripFrom, telling)
		if !ok {
			return nil
		}
		return []Elision{{Field: Input, Shown: stripped}}
	})
	found.Elisions = append(found.Elisions, inputs.Elisions...)
	found.Refusals = append(found.Refusals, inputs.Refusals...)
	found.Elisions = slices.DeleteFunc(found.Elisions, func(e Elision) bool { return e.Saves < r.Least })
	return found
}

// wait is how many steps a text must lie idle, 0 when it stays.
func (r *Idle) wait(s *slot) int {
	size := s.item.Size()
	switch {
	case r.Wait != nil:
		t := Lying{Op: call.Other, Input: s.input, Tokens: size.Output}
		if s.input {
			t.Tokens = size.Input
		}
		if did := s.item.Call.Actions; len(did) > 0 {
			t.Op = did[0].Op
		}
		return r.Wait(t)
	case s.input:
		return r.Inputs
	}
	return r.Outputs
}

// idling is what one rule remembers of a window: what waits to be idle long enough, and what is.
type idling struct {
	upTo            int // of the slots
	outputs, inputs idleList
}

// idleList holds texts of one field.
type idleList struct {
	waiting map[int][]*lying // by the step at which they are due
	upTo    int              // the first step that was not looked at
	lying   map[*redundant]*lying
	ready   []*redundant
}

// lying is a text and how many steps it must lie idle.
type lying struct {
	*slot
	steps int
}

func (l *idling) update(q *quotes, r *Idle, now int) {
	for ; l.upTo < len(q.slots); l.upTo++ {
		s := q.slots[l.upTo]
		steps := r.wait(s)
		switch {
		case steps <= 0:
		case s.input:
			l.inputs.put(&lying{s, steps})
		default:
			l.outputs.put(&lying{s, steps})
		}
	}
	l.outputs.update(now)
	l.inputs.update(now)
}

// put waits until a text is due.
func (l *idleList) put(x *lying) {
	if l.waiting == nil {
		l.waiting, l.lying = map[int][]*lying{}, map[*redundant]*lying{}
	}
	due := max(x.last+x.steps, l.upTo)
	l.waiting[due] = append(l.waiting[due], x)
}

// update brings the list to a step: what was quoted meanwhile waits again.
func (l *idleList) update(now int) {
	l.ready = slices.DeleteFunc(l.ready, func(r *redundant) bool {
		x := l.lying[r]
		quoted := x.last+x.steps > now
		if quoted {
			l.put(x)
		}
		if quoted || r.committed {
			delete(l.lying, r)
		}
		return quoted || r.committed
	})
	for l.upTo <= now {
		due := l.waiting[l.upTo]
		delete(l.waiting, l.upTo)
		l.upTo++
		for _, x := range due {
			if x.last+x.steps > now {
				l.put(x)
				continue
			}
			r := &redundant{old: x.item, why: fmt.Sprintf("nothing has quoted it for %d steps", x.steps)}
			l.lying[r] = x
			l.ready = append(l.ready, r)
		}
	}
}
