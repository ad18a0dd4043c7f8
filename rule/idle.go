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
// The call stays, with what tells it: a file can be read again, a command run again, and the text restored. What no call brings back stays too: todo
// lists, loaded instructions, what the user answered, and what another agent reported. Failures are left to Errors and Retries, which keep what tells most.
//
// What others went for may go: they went because it shows what they showed, and that lies idle with it. The placeholder of the older one says that it is
// shown again, and the explanation names this part, which names its tool, its target and the handle by which it comes back.
type Idle struct {
	Outputs int // steps that an output must lie idle; 0 leaves outputs alone
	Inputs  int // the same of arguments, which no call brings back
	// Least is how many tokens leaving one out must save: what is small is not worth the risk, and not looked at.
	Least int
	// Wait, when it is set, says how many steps a text must lie idle, by what it is; 0 leaves it alone. It must answer the same each time.
	//
	// Whoever says so, more than 500 steps count as 500.
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

func (r *Idle) remembers(w Window) []reads {
	if w.read.now.Step <= r.shortest() {
		return nil
	}
	return []reads{w.recollectQuotes(r.longest()), recollect(w, placesKey{}, newPlaces)}
}

// Find looks at what has been idle for long enough, in the order of the log.
func (r *Idle) Find(w Window) Found {
	w = w.Read()
	if w.read.now.Step <= r.shortest() {
		return Found{}
	}
	l, ok := w.read.memory[r].(*idling)
	if !ok {
		l = &idling{}
		w.read.memory[r] = l
	}
	build := func(d *redundant) []Elision {
		if !l.quotes.slots[d.seq].input {
			shown := w.plainly(d.old)
			return []Elision{{Field: Output, Shown: shown.text, Saves: shown.saves}}
		}
		stripped, ok := w.stripped(d.old)
		if !ok {
			return nil
		}
		return []Elision{{Field: Input, Shown: stripped}}
	}
	l.update(w, r, build)
	return w.consider(r.Name(), Age{}, false, false, l.list, build)
}

// shortest is how many steps a window must have for anything to be idle.
func (r *Idle) shortest() int {
	switch {
	case r.Wait != nil:
		return 0
	case r.Outputs <= 0:
		return max(0, r.Inputs)
	case r.Inputs <= 0:
		return r.Outputs
	}
	return min(r.Outputs, r.Inputs)
}

// longest is how many steps a text must lie idle at most.
func (r *Idle) longest() int {
	if r.Wait != nil {
		return remembered
	}
	return min(remembered, max(r.Outputs, r.Inputs))
}

// wait is how many steps a text must lie idle, 0 when it stays.
func (r *Idle) wait(s *slot) int {
	op := s.item.op()
	switch {
	case op == call.Plan || op == call.Load || op == call.Ask:
		return 0
	case !s.input && (op == call.Delegate || !s.item.Call.Worked()):
		return 0
	}
	steps := r.Outputs
	switch size := s.item.Size(); {
	case r.Wait != nil && s.input:
		steps = r.Wait(Lying{Op: op, Input: true, Tokens: size.Input})
	case r.Wait != nil:
		steps = r.Wait(Lying{Op: op, Tokens: size.Output})
	case s.input:
		steps = r.Inputs
	}
	return min(steps, remembered)
}

// idling is what one rule remembers of a window: what waits to be idle for long enough, and what is and was not left out.
type idling struct {
	quotes  *quotes
	upTo    int              // of the slots
	step    int              // the first at which nobody looked at what is due
	waiting map[int][]*lying // by the step at which they are due, as far as is known
	why     map[int]string   // by how many steps a text must lie idle
	ready   []*lying         // in the order of the slots
	list    []*redundant     // the same

	// It holds for a ledger that grows, one factor, and as many tokens that an elision must save.
	ledger Ledger
	factor float64
	least  int
}

// lying is a text that waits to be idle, or is.
type lying struct {
	redundant
	slot  *slot
	steps int // that it must lie idle
}

// due is the step at which it was idle for long enough.
func (x *lying) due() int { return x.slot.last + x.steps }

// update brings what is remembered up to a window: what was quoted meanwhile waits again, and what was committed is forgotten, unless it comes back.
func (l *idling) update(w Window, r *Idle, build func(*redundant) []Elision) {
	least := max(r.Least, w.Guard.least())
	if l.waiting == nil || l.factor != w.Facts.factor || l.least != least || !w.Ledger.extends(l.ledger) {
		*l = idling{waiting: map[int][]*lying{}, why: map[int]string{}, factor: w.Facts.factor, least: least}
	}
	l.quotes, l.ledger = w.quotes(r.longest()), w.Ledger
	now, was := w.read.now.Step, len(l.ready)
	var due []*lying
	l.ready = slices.DeleteFunc(l.ready, func(x *lying) bool {
		if x.due() > now {
			due = append(due, x)
		}
		return x.due() > now || x.committed || w.read.again(x.old)
	})
	fresh := make([]lying, 0, len(l.quotes.slots)-l.upTo)
	for ; l.upTo < len(l.quotes.slots); l.upTo++ {
		s := l.quotes.slots[l.upTo]
		if steps := r.wait(s); steps > 0 {
			if l.why[steps] == "" {
				l.why[steps] = fmt.Sprintf("nothing has quoted it for %d steps", steps)
			}
			fresh = append(fresh, lying{redundant: redundant{old: s.item, why: l.why[steps], seq: l.upTo}, slot: s, steps: steps})
			due = append(due, &fresh[len(fresh)-1])
		}
	}
	for ; l.step <= now; l.step++ {
		due = append(due, l.waiting[l.step]...)
		delete(l.waiting, l.step)
	}
	kept := len(l.ready)
	l.ready = append(l.ready, l.idle(w, r, due, build)...)
	if len(l.ready) == kept && kept == was {
		return
	}
	slices.SortFunc(l.ready, func(a, b *lying) int { return a.seq - b.seq })
	l.list = l.list[:0]
	for _, x := range l.ready {
		l.list = append(l.list, &x.redundant)
	}
}

// idle are those of some texts that are due and worth it; those that are not due wait.
func (l *idling) idle(w Window, r *Idle, due []*lying, build func(*redundant) []Elision) []*lying {
	var list []*redundant
	due = slices.DeleteFunc(due, func(x *lying) bool {
		switch at := x.due(); {
		case at > w.read.now.Step:
			l.waiting[at] = append(l.waiting[at], x)
			return true
		case w.Ledger.Has(Key{x.old.Part.ID, x.slot.field()}), w.read.again(x.old):
			return true
		}
		list = append(list, &x.redundant)
		return false
	})
	w.buildAtOnce(r.Name(), list, build)
	return slices.DeleteFunc(due, func(x *lying) bool {
		if x.built == nil || x.factor != w.Facts.factor {
			w.build(r.Name(), &x.redundant, build)
			w.Facts.decided++
		}
		return len(x.built) == 0 || x.built[0].Saves < l.least
	})
}
