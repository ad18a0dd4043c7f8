package rule

import (
	"runtime"
	"slices"
	"sync"
	"unsafe"

	"github.com/winnowhq/winnow/session"
)

// Item is a part of a window with its place in it: what a rule reads.
type Item struct {
	Part    *session.Part
	Message string // id of its message
	Role    session.Role
	At      int // position on the timeline: of two items the greater is newer
	// Turn counts the messages that the user wrote up to it, Asked all user messages (as the
	// programs of the seeds count turns), and Step the model requests.
	Turn, Asked, Step int
	// Call is what is known of a tool call that ended; nil for other parts.
	Call *Call

	known  *fact
	twin   *Item // the next older item whose part has the same id
	newest int   // step of the newest one, 0 if there is no newer one
	gone   uint8 // fields that the ledger leaves out, see bit
	covers bool  // the ledger leaves others out because of it
	handle string
	namer  *Handles // that gave the handle
	plain  *shown
	short  *shown
}

// Size of the part as the log has it.
func (x *Item) Size() Size { return x.known.size }

// timeline holds the parts of a window that a rule may look at, in their order, as far as nothing
// about them can change any more. It grows with the window. Where the window is another one than
// before, it begins again.
type timeline struct {
	facts  *Facts
	read   []stamp // of the messages that were read
	items  []*Item
	fresh  stock[Item]
	byPart map[string]*Item // the newest with the id
	cwd    string
	now    Item             // its counters are those of the newest message
	grown  map[any]*growing // results of rules that read it
	lock   sync.Mutex       // of grown
	open   map[any]any      // *open of a list, by what the list is known by
	ledger Ledger           // of which the items are marked
	named  int              // how many of the messages that were read have names by Facts.handles

	uncovered *uncovered
}

// stock is where new values are taken from. They are made some at a time.
type stock[T any] []T

func (s *stock[T]) next() *T {
	if len(*s) == 0 {
		*s = make([]T, 32)
	}
	x := &(*s)[0]
	*s = (*s)[1:]
	return x
}

// stamp tells whether a message is the one that was read: one that changes gets parts of its own.
type stamp struct {
	id    string
	parts *session.Part
	n     int
}

func stampOf(m *session.Message) stamp {
	return stamp{m.ID, unsafe.SliceData(m.Parts), len(m.Parts)}
}

// Noticed is how many of the newest messages may be replaced in a list without a word. Call
// Facts.Forget after replacing one further back.
const Noticed = 64

// Forget says that the messages may be others than they were: the rules read them anew. What is
// known of each part by itself stays, unless its texts changed.
func (f *Facts) Forget() { f.stale = true }

// timeline brings the timeline of a window up to date. What it costs grows with what is new.
func (f *Facts) timeline(messages []session.Message) *timeline {
	t, settled := f.current, settled(messages)
	if t == nil || f.stale || len(t.read) > settled || !t.continues(messages) {
		t = &timeline{facts: f, byPart: make(map[string]*Item, settled), grown: map[any]*growing{},
			open: map[any]any{}}
		f.current, f.stale = t, false
	}
	if more := settled - len(t.read); more >= Noticed {
		t.read, t.items = slices.Grow(t.read, more), slices.Grow(t.items, more)
	}
	for i := len(t.read); i < settled; i++ {
		t.add(&messages[i])
	}
	return t
}

// continues reports whether messages begin with those that were read. It looks at the first one and
// at the newest: to compare all would read the whole log at each step.
func (t *timeline) continues(messages []session.Message) bool {
	if len(t.read) > 0 && t.read[0] != stampOf(&messages[0]) {
		return false
	}
	for i := max(0, len(t.read)-Noticed); i < len(t.read); i++ {
		if t.read[i] != stampOf(&messages[i]) {
			return false
		}
	}
	return true
}

// settled is how many messages, from the oldest on, will not change any more: all, but for the
// newest step when one of its calls has not ended.
func settled(messages []session.Message) int {
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Role != session.Assistant {
			continue
		}
		for j := range messages[i].Parts {
			if p := &messages[i].Parts[j]; p.Type == session.ToolPart && p.State != nil && !p.State.Final() {
				return i
			}
		}
		break
	}
	return len(messages)
}

// add reads a message.
func (t *timeline) add(m *session.Message) {
	t.read = append(t.read, stampOf(m))
	if m.Path != nil && m.Path.Cwd != "" {
		t.cwd = m.Path.Cwd
	}
	if _, kept := m.Kept(); kept {
		return // it is there because somebody asked for it
	}
	switch {
	case m.Role == session.User:
		t.now.Asked++
		if m.Written() {
			t.now.Turn++
		}
	case m.IsSummary():
		return // nothing of a summary is ever left out
	default:
		t.now.Step++
	}
	if m.Marker() != nil {
		return
	}
	begun := false // something of this message's step was seen
	for j := range m.Parts {
		p := &m.Parts[j]
		if p.Type == session.StepStartPart && begun {
			t.now.Step++
		}
		begun = begun || p.Type != session.StepStartPart
		called := p.Type == session.ToolPart && p.State != nil && p.State.Final()
		said := p.Type == session.TextPart && m.Role == session.User && !p.Ignored && !p.Synthetic
		if !called && !said && p.Type != session.FilePart {
			continue
		}
		x := t.fresh.next()
		*x = Item{Part: p, Message: m.ID, Role: m.Role, At: len(t.items), Turn: t.now.Turn, Asked: t.now.Asked,
			Step: t.now.Step, known: t.facts.know(p), twin: t.byPart[p.ID]}
		if called {
			x.Call = t.facts.call(p, x.known, t.cwd)
		}
		for old := x.twin; old != nil; old = old.twin {
			old.newest = x.Step
		}
		t.items, t.byPart[p.ID] = append(t.items, x), x
		for _, e := range t.ledger.Of(p.ID) {
			x.gone |= e.hides()
		}
		x.covers = t.ledger.Covers(p.ID)
	}
}

// mark brings the marks of the items up to date with a ledger. Of one that grew only what is new is
// looked at.
func (t *timeline) mark(l Ledger) {
	if !l.extends(t.ledger) {
		for _, x := range t.items {
			x.gone, x.covers = 0, false
		}
		t.ledger = Ledger{}
	}
	for at := len(t.ledger.elisions); at < len(l.elisions); at++ {
		e := &l.elisions[at]
		for x := t.byPart[e.Part]; x != nil; x = x.twin {
			x.gone |= e.hides()
		}
		for _, id := range e.Covers() {
			for x := t.byPart[id]; x != nil; x = x.twin {
				x.covers = true
			}
		}
	}
	t.ledger = l
}

// stepOf is the step of the newest part with an id, 0 of one that is not on the timeline.
func (t *timeline) stepOf(part string) int {
	if x := t.byPart[part]; x != nil {
		return x.Step
	}
	return 0
}

// Age is how many steps ago an elision could have been made first: since the newest of the part
// itself and of those that make it redundant. What lies idle counts from there too, although it had
// to wait: it was carried all the while.
func (f *Facts) Age(window []session.Message, e Elision) int {
	t := f.timeline(window)
	newest := t.stepOf(e.Part)
	for _, id := range e.Covers() {
		newest = max(newest, t.stepOf(id))
	}
	return max(0, t.now.Step-newest)
}

// reader is what a rule reads off a timeline: it is shown every item once, in their order.
type reader interface{ read(x *Item) }

// growing is a reader and how far it came.
type growing struct {
	reader
	upTo int
}

// grow returns a rule's reader, which has read all of a window. The key is the rule, a pointer, or
// something that several rules share.
func grow[R reader](w Window, key any, fresh func() R) R {
	w.timeline.lock.Lock()
	g := w.timeline.grown[key]
	if g == nil {
		g = &growing{reader: fresh()}
		w.timeline.grown[key] = g
	}
	w.timeline.lock.Unlock()
	w.Facts.decided.Add(int64(len(w.timeline.items) - g.upTo))
	for ; g.upTo < len(w.timeline.items); g.upTo++ {
		g.read(w.timeline.items[g.upTo])
	}
	return g.reader.(R)
}

// open is what the ledger does not leave out yet of a list that grows.
type open[T any] struct {
	list   []T
	upTo   int    // how much of the whole list was looked at
	ledger Ledger // at that time
}

// opened are those of a list of which the ledger leaves out nothing yet. The list is known by a
// key, and only grows. What is gone is not looked at again, unless the ledger is another one.
func opened[T any](w Window, key any, all []T, gone func(T) bool) []T {
	o, _ := w.timeline.open[key].(*open[T])
	if o == nil || !w.Ledger.extends(o.ledger) {
		o = &open[T]{}
		w.timeline.open[key] = o
	}
	o.list = slices.DeleteFunc(append(o.list, all[o.upTo:]...), gone)
	o.upTo, o.ledger = len(all), w.Ledger
	return o.list
}

// open are those of a rule's findings that are not left out yet.
func (w Window) open(found []*Finding) []*Finding {
	if len(found) == 0 {
		return nil
	}
	return opened(w, found[0], found, func(f *Finding) bool { return f.Item.LeftOut(f.Field) })
}

// readAheadFrom is from how many items on it is worth to start goroutines.
const readAheadFrom = 512

// readAhead does what takes longest in a first look at a long window on several processors: it
// names the parts, and lets the rules that read much begin.
func (w Window) readAhead(rules []Rule) {
	if len(w.timeline.grown) > 0 || len(w.timeline.items) < readAheadFrom || runtime.GOMAXPROCS(0) < 2 {
		return
	}
	var done sync.WaitGroup
	placeholders := false // of the rules that read ahead, all show handles
	for _, r := range rules {
		if r, ok := r.(interface{ readAhead(w Window) }); ok {
			done.Go(func() { r.readAhead(w) })
			placeholders = true
		}
	}
	if w.Handles == nil && placeholders {
		done.Go(w.name)
	}
	done.Wait()
}
