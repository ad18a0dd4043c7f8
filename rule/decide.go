package rule

import (
	"maps"
	"slices"
)

// Decide asks every rule and settles what they found.
//
// What was refused because its cover is gone stays refused for as long as nothing happens to a part that the refusal hung on: that the letter of S000 pruned
// what covers a thousand old outputs is found out once, not at each step; of what hung on a part that something happened to, that is looked at again. The decision
// is that of a look at everything.
func Decide(w Window, rules []Rule, free func(rule string) bool) Found {
	w = w.Read()
	w.rememberAtOnce(rules)
	t := w.read
	if u := t.unmoved; u != nil && u.holds(w) {
		w.unmoved = u
		for range releases {
			next := newUnmoved(w)
			settled, parts := settle(ask(w, rules), w.Ledger, free, next)
			if u.release(parts, w.Ledger) {
				continue // what hung on something that was come across is looked at with the rest
			}
			settled.Refusals = slices.Concat(settled.Refusals, u.tell())
			if u.take(next); next.loose {
				t.unmoved = nil
			}
			return settled
		}
	}
	t.unmoved, w.unmoved = nil, nil
	next := newUnmoved(w)
	settled, _ := settle(ask(w, rules), w.Ledger, free, next)
	if len(next.all) > 0 && !next.loose {
		t.unmoved = next
	}
	return settled
}

// releases is how often more is looked at in one decision before everything is.
const releases = 8

// ask asks every rule.
func ask(w Window, rules []Rule) []Found {
	all := make([]Found, len(rules))
	for i, r := range rules {
		all[i] = r.Find(w)
	}
	return all
}

// unmoved is what was refused because its cover is gone, with what was passed over for its sake, and every part that this hung on. Rules leave it out of
// what they find.
type unmoved struct {
	ledger Ledger // when it was looked at last
	// It holds for one factor, guard and list of pins.
	factor float64
	guard  *Guard
	pins   []Pin

	elisions map[refusedKey]bool
	parts    map[string]*hanging
	all      []*hanger // in the order in which they were refused
	gone     int       // how many of all were released
	refusals []Refusal // of the others, nil where that must be made
	loose    bool      // it hung on something found by a rule that may not find it again: on the letter of S000, which stops at what is pruned

	noted, released int // how often something came to it, and left it

	fresh []hanger // to take new ones from
}

// hangersAtOnce is how many refused elisions are made room for at a time.
const hangersAtOnce = 16

type refusedKey struct {
	rule string
	key  Key
}

// hanger is an elision that was refused.
type hanger struct {
	key  refusedKey
	why  Refusal
	gone bool // it is looked at again
}

// hanging is what hangs on a part.
type hanging struct {
	refused []*hanger
	passed  []refusedKey // elisions of the part itself for which another one was taken
}

func newUnmoved(w Window) *unmoved {
	return &unmoved{ledger: w.Ledger, factor: w.Facts.factor, guard: w.Guard, pins: slices.Clone(w.Pins), elisions: map[refusedKey]bool{}, parts: map[string]*hanging{}}
}

// holds reports whether it says anything about a window, and is worth it: what left it is dropped with it.
func (u *unmoved) holds(w Window) bool {
	return w.Ledger.extends(u.ledger) && u.factor == w.Facts.factor && u.guard == w.Guard && slices.Equal(u.pins, w.Pins) && u.gone <= 64+len(u.all)/2
}

// release takes out what hung on the parts that were come across when what was found besides was settled, and on those of which more was committed, so that it is
// looked at again. It reports whether there was any.
func (u *unmoved) release(parts map[string]*standingPart, ledger Ledger) bool {
	before := u.released
	for id := range parts {
		u.let(id)
	}
	for _, e := range ledger.elisions[len(u.ledger.elisions):] {
		u.let(e.Part)
	}
	u.ledger = ledger
	return u.released != before
}

func (u *unmoved) let(part string) {
	on := u.parts[part]
	if on == nil {
		return
	}
	delete(u.parts, part)
	for _, h := range on.refused {
		if h.gone {
			continue
		}
		h.gone = true
		u.gone++
		u.released++
		delete(u.elisions, h.key)
		if own := u.parts[h.key.key.Part]; own != nil {
			u.forget(own)
		}
	}
	u.forget(on)
}

// forget takes out what was passed over of a part.
func (u *unmoved) forget(on *hanging) {
	for _, key := range on.passed {
		delete(u.elisions, key)
		u.released++
	}
	on.passed = nil
}

// tell returns the refusals.
func (u *unmoved) tell() []Refusal {
	if u.refusals == nil || len(u.refusals) != len(u.all)-u.gone {
		u.refusals = make([]Refusal, 0, len(u.all)-u.gone)
		for _, h := range u.all {
			if !h.gone {
				u.refusals = append(u.refusals, h.why)
			}
		}
	}
	return u.refusals
}

// take takes in what was refused besides.
func (u *unmoved) take(next *unmoved) {
	if len(next.all) == 0 {
		return
	}
	u.noted++
	u.all, u.refusals = append(u.all, next.all...), nil
	maps.Copy(u.elisions, next.elisions)
	for part, more := range next.parts {
		on := u.hanging(part)
		on.refused, on.passed = append(on.refused, more.refused...), append(on.passed, more.passed...)
	}
}

func (u *unmoved) hanging(part string) *hanging {
	on := u.parts[part]
	if on == nil {
		on = &hanging{}
		u.parts[part] = on
	}
	return on
}

// note takes in what was refused, and the parts that were looked at for it.
func (u *unmoved) note(e *Elision, why Refusal, looked []string) {
	if len(u.fresh) == 0 {
		u.fresh = make([]hanger, hangersAtOnce)
	}
	h := &u.fresh[0]
	u.fresh = u.fresh[1:]
	*h = hanger{key: refusedKey{e.Rule, e.Key()}, why: why}
	u.elisions[h.key] = true
	u.all = append(u.all, h)
	on := u.hanging(e.Part)
	on.refused = append(on.refused, h)
	for _, part := range looked {
		if part != e.Part {
			on := u.hanging(part)
			on.refused = append(on.refused, h)
		}
	}
}

// passed takes in what another elision of its part was taken for, where that was refused.
func (u *unmoved) passed(over []*Elision) {
	for _, e := range over {
		if on := u.parts[e.Part]; on != nil {
			key := refusedKey{e.Rule, e.Key()}
			u.elisions[key] = true
			on.passed = append(on.passed, key)
		}
	}
}

// refused reports whether all that a redundant item was built as is.
func (u *unmoved) refused(r *redundant) bool {
	return len(r.built) > 0 && !slices.ContainsFunc(r.built, func(e Elision) bool { return !u.elisions[refusedKey{e.Rule, e.Key()}] })
}

// set puts aside what is refused and takes back what was put aside before and is not, in the order in which it was found.
func (o *open) set(u *unmoved) {
	if o.unmoved == u && (u == nil || o.noted == u.noted && o.released == u.released) {
		return
	}
	if len(o.aside) > 0 && (o.unmoved != u || o.released != u.released) {
		back := 0
		o.aside = slices.DeleteFunc(o.aside, func(r *redundant) bool {
			if u != nil && o.unmoved == u && u.refused(r) {
				return false
			}
			o.list = append(o.list, r)
			back++
			return true
		})
		if back > 0 {
			slices.SortStableFunc(o.list, func(a, b *redundant) int { return a.seq - b.seq })
		}
	}
	if o.unmoved = u; u == nil {
		return
	}
	o.noted, o.released = u.noted, u.released
	o.list = slices.DeleteFunc(o.list, func(r *redundant) bool {
		refused := u.refused(r)
		if refused {
			o.aside = append(o.aside, r)
		}
		return refused
	})
}
