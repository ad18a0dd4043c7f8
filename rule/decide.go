package rule

import "slices"

// Decide asks every rule and settles what they found.
//
// What was refused because its cover is gone stays refused for as long as nothing happens to a part that the refusal hung on: that the letter of S000 pruned
// what covers a thousand old outputs is found out once, not at each step. The decision is that of a look at everything.
func Decide(w Window, rules []Rule, free func(rule string) bool) Found {
	w = w.Read()
	t := w.read
	w.unmoved = t.unmoved
	found := ask(w, rules)
	if u := w.unmoved; u != nil {
		settled, parts := settle(found, w.Ledger, free, nil)
		if !u.moved(parts, w.Ledger) {
			u.ledger = w.Ledger
			settled.Refusals = slices.Concat(settled.Refusals, u.refusals)
			return settled
		}
		t.unmoved, w.unmoved = nil, nil
		found = ask(w, rules)
	}
	next := &unmoved{ledger: w.Ledger, elisions: map[refusedKey]bool{}, parts: map[string]bool{}}
	settled, _ := settle(found, w.Ledger, free, next)
	if len(next.refusals) > 0 && !next.loose {
		t.unmoved = next
	}
	return settled
}

func ask(w Window, rules []Rule) Found {
	all := make([]Found, len(rules))
	elisions, refusals := 0, 0
	for i, r := range rules {
		all[i] = r.Find(w)
		elisions, refusals = elisions+len(all[i].Elisions), refusals+len(all[i].Refusals)
	}
	found := Found{Elisions: slices.Grow([]Elision(nil), elisions), Refusals: slices.Grow([]Refusal(nil), refusals)}
	for i := range all {
		found.Elisions = append(found.Elisions, all[i].Elisions...)
		found.Refusals = append(found.Refusals, all[i].Refusals...)
	}
	return found
}

// unmoved is what was refused because its cover is gone, with what was passed over for its sake, and every part that this hung on. Rules leave it out of
// what they find.
type unmoved struct {
	ledger   Ledger // when it was looked at last
	elisions map[refusedKey]bool
	refusals []Refusal
	parts    map[string]bool
	loose    bool // it hung on something found by a rule that may not find it again: on the letter of S000, which stops at what is pruned
}

type refusedKey struct {
	rule string
	key  Key
}

// moved reports whether settling what was found besides came across any of the parts, or a commit did, so that everything must be looked at again.
func (u *unmoved) moved(parts map[string]*standingPart, ledger Ledger) bool {
	if !ledger.extends(u.ledger) {
		return true
	}
	for id := range parts {
		if u.parts[id] {
			return true
		}
	}
	return slices.ContainsFunc(ledger.elisions[len(u.ledger.elisions):], func(e Elision) bool { return u.parts[e.Part] })
}

// note takes in what was refused, and the parts that were looked at for it.
func (u *unmoved) note(e *Elision, why Refusal, looked []string) {
	u.elisions[refusedKey{e.Rule, e.Key()}] = true
	u.refusals = append(u.refusals, why)
	u.parts[e.Part] = true
	for _, part := range looked {
		u.parts[part] = true
	}
}

// passed takes in what another elision of its part was taken for, where that was refused.
func (u *unmoved) passed(over []*Elision) {
	for _, e := range over {
		if u.parts[e.Part] {
			u.elisions[refusedKey{e.Rule, e.Key()}] = true
		}
	}
}

// refused reports whether all that a redundant item was built as is.
func (u *unmoved) refused(r *redundant) bool {
	return len(r.built) > 0 && !slices.ContainsFunc(r.built, func(e Elision) bool { return !u.elisions[refusedKey{e.Rule, e.Key()}] })
}

// set puts aside what is refused and takes back what was put aside before, in the order in which it was found.
func (o *open) set(u *unmoved) {
	if o.unmoved == u {
		return
	}
	o.unmoved = u
	if len(o.aside) > 0 {
		o.list = append(o.list, o.aside...)
		slices.SortStableFunc(o.list, func(a, b *redundant) int { return a.seq - b.seq })
		o.aside = nil
	}
	if u != nil {
		o.list = slices.DeleteFunc(o.list, func(r *redundant) bool {
			refused := u.refused(r)
			if refused {
				o.aside = append(o.aside, r)
			}
			return refused
		})
	}
}
