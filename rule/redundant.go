package rule

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
)

// redundant is an item that newer ones make redundant, as a rule read it off the timeline.
type redundant struct {
	old *Item
	by  []*Item // newer than old, each of them needed
	why string  // for people; the whole sentence
	seq int     // its place in the rule's list

	same bool // what the newer ones show is the same, byte for byte

	built  []Elision
	factor float64 // of the counter when it was built

	committed bool      // all of it, when it was looked at last
	small     []Refusal // when what is not committed of it saved too little
}

// propose makes elisions of what a rule found, of those that may go now. The rule's list only grows: what was committed of it is not looked at
// again, unless it comes back; nor is what nothing can be left out of, nor what would save too little, while nothing more of its part is elided.
func (w Window) propose(name string, age Age, letter bool, all []*redundant, build func(*redundant) []Elision) Found {
	if len(all) == 0 {
		return Found{}
	}
	w = w.Read()
	o := w.read.open[all[0]]
	if o == nil || o.factor != w.Facts.factor || o.guard != w.Guard || !slices.Equal(o.pins, w.Pins) || !w.Ledger.extends(o.ledger) {
		o = &open{factor: w.Facts.factor, guard: w.Guard, pins: slices.Clone(w.Pins)}
		w.read.open[all[0]] = o
	}
	for _, e := range o.small.touched(o.ledger, w.Ledger) {
		o.list = append(o.list, e.of)
	}
	for i := o.upTo; i < len(all); i++ {
		all[i].seq = i
		o.list = append(o.list, all[i])
	}
	o.set(w.unmoved)
	o.upTo, o.ledger = len(all), w.Ledger
	found := w.consider(name, age, letter, true, o.list, build)
	o.list = slices.DeleteFunc(o.list, func(r *redundant) bool {
		if r.small != nil {
			o.small.add(r.old, r, r.small...)
		}
		return r.committed || r.small != nil || len(r.built) == 0
	})
	found.Refusals = o.small.tell(found.Refusals)
	return found
}

// open is what of a rule's list is not committed.
type open struct {
	list  []*redundant
	upTo  int // how much of the rule's list was considered
	small standing

	unmoved         *unmoved
	noted, released int          // of it, when it was asked last
	aside           []*redundant // refused by it

	// It holds for a ledger that grows, one factor, guard and list of pins.
	ledger Ledger
	factor float64
	guard  *Guard
	pins   []Pin
}

// consider makes elisions of a list as it stands. build says what an item is shown as; it is asked once for each, unless what the counter knows of the
// model changes. parks keeps the refusals of what saves too little with the item, instead of telling them.
func (w Window) consider(name string, age Age, letter, parks bool, all []*redundant, build func(*redundant) []Elision) (found Found) {
	w = w.Read()
	w.buildAtOnce(name, all, build)
	for _, r := range all {
		if r.built == nil || r.factor != w.Facts.factor {
			w.build(name, r, build)
			w.Facts.decided++
		}
		r.committed = len(r.built) > 0
		r.small = nil
		before, waits := len(found.Refusals), false
		for _, e := range r.built {
			refusal, ok := w.may(name, r.old, e.Field, age, letter)
			if ok && !letter && !r.same && w.unsent(r.old, e.Field) {
				refusal, ok = notSent(name, r.old), false
			}
			r.committed = r.committed && !ok && refusal.Code == ""
			switch {
			case !ok && refusal.Code != "":
				found.Refusals, waits = append(found.Refusals, refusal), true
			case !ok:
			case e.Saves < w.Guard.least():
				found.Refusals = append(found.Refusals, Refusal{
					Code: TooSmall, Rule: name, Part: e.Part, Reason: "what would be shown in its place is about as large", Tokens: w.Facts.size(r.old, e.Field),
				})
			default:
				if found.Elisions == nil && len(all) >= atOnce {
					found.Elisions = make([]Elision, 0, len(all))
				}
				found.Elisions, waits = append(found.Elisions, e), true
			}
		}
		if refused := found.Refusals[before:]; !waits && len(refused) > 0 && parks {
			r.small, found.Refusals = slices.Clone(refused), found.Refusals[:before]
		}
	}
	return found
}

// build makes the elisions of an item.
func (w Window) build(name string, r *redundant, build func(*redundant) []Elision) {
	r.built, r.factor = build(r), w.Facts.factor
	for i := range r.built {
		r.built[i].Part, r.built[i].Message, r.built[i].Rule = r.old.Part.ID, r.old.Message, name
		if r.built[i].Because == "" {
			r.built[i].Because = r.why
		}
		r.built[i].By = by(r.by)
		if r.built[i].Saves == 0 { // nobody counted it
			r.built[i].Saves = w.saves(r.old, r.built[i])
		}
	}
	if r.built == nil {
		r.built = []Elision{}
	}
}

// atOnce is from how many items on it is worth to start goroutines.
const atOnce = 64

// buildAtOnce makes the elisions of many items on all processors. What they are made from is looked up first, so that the goroutines only read; items of
// which the index knows another part with the same id are left alone.
func (w Window) buildAtOnce(name string, all []*redundant, build func(*redundant) []Elision) {
	if len(all) < atOnce || runtime.GOMAXPROCS(0) < 2 {
		return
	}
	wanted := make([]*redundant, 0, len(all))
	for _, r := range all {
		if (r.built == nil || r.factor != w.Facts.factor) && w.ready(r.old) {
			wanted = append(wanted, r)
		}
	}
	if len(wanted) < atOnce {
		return
	}
	spread(len(wanted), func(at int) { w.build(name, wanted[at], build) })
	w.Facts.decided += len(wanted)
}

// ready looks up what the elisions of an item are made from, so that they can be made beside others. It reports false where the index knows another part
// with the same id.
func (w Window) ready(x *Item) bool {
	if x.Part.ID == "" || !x.size.indexed {
		return false
	}
	w.handleOf(x)
	w.target(x)
	return true
}

// saves is what an elision saves, in tokens: what the model is no longer sent, less what it is sent instead. It is also 0 when the text shown is
// longer in bytes: a placeholder is never longer than what it replaces.
func (w Window) saves(x *Item, e Elision) int {
	before, shown := w.Facts.size(x, e.Field), w.Facts.Count(e.Shown)
	switch {
	case e.Field == Input:
		shown = w.Facts.scale(w.Facts.counter.Count(x.Part.Tool) + w.Facts.counter.Count(e.Shown)) // the name of the tool is counted with its arguments, and stays
	case e.Field == Attachments && x.Part.State != nil:
		// What is shown is put under the output, in a line of its own.
		result := x.Part.State.Result()
		shown = w.Facts.Count(joined(result, e.Shown)) - w.Facts.Count(result)
	}
	if len(e.Shown) >= length(x, e.Field) && e.Field != Attachments && (e.Field == Input || x.Size().Files == 0) {
		return 0
	}
	return before - shown
}

// by names parts, as an elision does.
func by(items []*Item) string {
	ids := make([]string, len(items))
	for i, x := range items {
		ids[i] = x.Part.ID
	}
	return strings.Join(ids, " ")
}

// joined is an output with the placeholder for its attachments under it, as the view shows it.
func joined(result, shown string) string {
	if result == "" {
		return shown
	}
	return result + "\n" + shown
}

// size is what a field of an item takes, in tokens; the attachments go with an output.
func (f *Facts) size(x *Item, field Field) int {
	s := x.Size()
	switch field {
	case Input:
		return s.Input
	case Text:
		return s.Text
	case Attachments:
		return s.Files
	case Whole:
		return s.Total()
	}
	return s.Output + s.Files
}

// length is the same in bytes, without attachments.
func length(x *Item, field Field) int {
	switch s := x.Part.State; {
	case s == nil:
		return len(x.Part.Text)
	case field == Input:
		return len(s.Input)
	default:
		return len(s.Result())
	}
}

// sameStep reports whether two calls were made in one step: the model had not seen the outcome of either when it made the other.
func sameStep(a, b *Item) bool { return a.Step == b.Step && a.Message == b.Message }

// describe says what a call was, for reasons: "read src/a.go".
func (w Window) describe(x *Item) string {
	if target := w.target(x); target != "" {
		return fmt.Sprintf("%s %s", x.Part.Tool, target)
	}
	return x.Part.Tool
}
