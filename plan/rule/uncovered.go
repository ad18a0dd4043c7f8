package rule

import "slices"

// uncovered sets aside findings that Resolve refused because the part that shows them again is left
// out itself. While the ledger leaves that part out and nothing covers it, each further step would
// refuse them again. They come back when something may cover it, or the ledger takes a field of
// their own part.
//
// It lasts as long as its timeline, while the same rules look at it in the same circumstances and
// the ledger only grows.
type uncovered struct {
	rules  []Rule
	now    circumstances
	pins   []Pin
	ledger Ledger

	followed []followed            // by rule
	asking   int                   // the rule that is being asked
	ends     map[string]*deadEnd   // by part
	byPart   map[string][]setAside // by the finding's own part
	refused  []refused             // by the last Resolve
	again    bool                  // it was asked before; a first look sets nothing aside
	silent   bool                  // nobody reads refusals
}

// circumstances are what a refusal depends on, besides log, pins and ledger.
type circumstances struct {
	guard   *Guard
	handles *Handles
	begins  string
	factor  float64
	after   int
}

// followed has the findings of a rule that follows the timeline.
type followed struct {
	open    []*Finding // neither left out nor set aside, with something to leave out
	upTo    int        // how many of all were looked at
	offered []*Finding // for which there are elisions, in their order
	aside   []refused  // in the order of the findings
	changed bool       // some came back: ask the rule again
}

// deadEnd is a part that the ledger leaves out with nothing in its place.
type deadEnd struct {
	part string
	has  []setAside // findings that lead here
}

// setAside is a finding that is set aside.
type setAside struct {
	*Finding
	rule int
	end  *deadEnd
}

// refused is the refusal of a finding.
type refused struct {
	at int32 // of the finding
	setAside
	Refusal
}

// setAside returns the memory of a window's timeline, without the findings that came back.
func (w Window) setAside(rules []Rule) *uncovered {
	u := w.timeline.uncovered
	now := circumstances{w.Guard, w.Handles, w.opening(), w.Facts.factor, w.After}
	if u == nil || !sameSlice(u.rules, rules) || u.now != now || !slices.Equal(u.pins, w.Pins) ||
		!w.Ledger.extends(u.ledger) {
		u = &uncovered{rules: rules, now: now, pins: slices.Clone(w.Pins), followed: make([]followed, len(rules)),
			ends: map[string]*deadEnd{}, byPart: map[string][]setAside{}}
		w.timeline.uncovered = u
	} else {
		u.again = true
	}
	for _, e := range w.Ledger.elisions[len(u.ledger.elisions):] {
		u.restore(u.ends[e.Part])
		for len(u.byPart[e.Part]) > 0 {
			u.restore(u.byPart[e.Part][0].end)
		}
	}
	u.ledger, u.silent = w.Ledger, w.Unexplained
	return u
}

// sameSlice reports whether two slices are one.
func sameSlice(a, b []Rule) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }

// look returns the findings of the rule being asked that are open.
func (u *uncovered) look(w Window, all []*Finding) []*Finding {
	f := &u.followed[u.asking]
	f.open = slices.DeleteFunc(append(f.open, all[f.upTo:]...), func(f *Finding) bool {
		return f.Item.LeftOut(f.Field) || f.shown.current(w) && f.shown.text == ""
	})
	f.upTo = len(all)
	return f.open
}

// offers notes the finding that the next elision is made from.
func (u *uncovered) offers(f *Finding) {
	if u != nil && u.again && f.at > 0 {
		one := &u.followed[u.asking]
		one.offered = append(one.offered, f)
	}
}

// find asks every rule, and again each whose findings come back because of what others found.
func (u *uncovered) find(w Window) []Found {
	all := make([]Found, len(u.rules))
	w.uncovered = u
	for first := true; first || u.touched(all); first = false {
		for i, r := range u.rules {
			if f := &u.followed[i]; first || f.changed {
				u.asking, f.offered, f.changed = i, f.offered[:0], false
				all[i] = r.Find(w)
			}
		}
	}
	return all
}

// touched brings back findings that elisions just found concern: those that a newer part may now
// show again, and those of a field that an earlier rule takes. It reports whether there are any.
func (u *uncovered) touched(all []Found) bool {
	var touched []*deadEnd
	if len(u.ends) == 0 {
		return false
	}
	for i := range all {
		for j := range all[i].Elisions {
			e := &all[i].Elisions[j]
			if end := u.ends[e.Part]; end != nil && e.By != "" {
				touched = append(touched, end)
			}
			for _, s := range u.byPart[e.Part] {
				if s.rule >= i && bit(s.Field)&(bit(e.Field)|clash(e.Field)) != 0 {
					touched = append(touched, s.end)
				}
			}
		}
	}
	for _, end := range touched {
		u.restore(end)
	}
	return len(touched) > 0
}

// restore brings back all findings that lead to a part.
func (u *uncovered) restore(end *deadEnd) {
	if end == nil || u.ends[end.part] != end {
		return // they are back
	}
	delete(u.ends, end.part)
	for _, s := range end.has {
		id := s.Item.Part.ID
		others := slices.DeleteFunc(u.byPart[id], func(o setAside) bool { return o.end == end })
		if u.byPart[id] = others; len(others) == 0 {
			delete(u.byPart, id)
		}
		f := &u.followed[s.rule]
		f.open, f.changed = append(f.open, s.Finding), true
	}
	for i := range u.followed {
		if f := &u.followed[i]; f.changed {
			slices.SortFunc(f.open, func(a, b *Finding) int { return int(a.at - b.at) })
			f.aside = slices.DeleteFunc(f.aside, func(r refused) bool { return r.end == end })
		}
	}
}

// offered are the findings that the elisions of a rule were made from, nil where they are not known.
func (u *uncovered) offered(rule int, elisions []Elision) []*Finding {
	if u == nil || len(u.followed[rule].offered) != len(elisions) {
		return nil
	}
	return u.followed[rule].offered
}

// decided notes that a part with findings that are set aside is left out.
func (u *uncovered) decided(id string, p *decision) {
	if u == nil {
		return
	}
	for _, s := range u.byPart[id] {
		p.gone, p.asked = true, true
		p.taken |= bit(s.Field)
	}
}

// keep sets aside what was refused and leads to a dead end.
func (u *uncovered) keep(s *resolving) {
	if u == nil || len(u.refused) == 0 {
		return
	}
	for more := true; more; {
		more = false
		for i := len(u.refused) - 1; i >= 0; i-- { // a chain ends with what is newest
			r := &u.refused[i]
			if r.end != nil {
				continue
			}
			if r.end = u.deadEnd(s, r.By); r.end != nil {
				r.end.has = append(r.end.has, r.setAside)
				id := r.Item.Part.ID
				u.byPart[id] = append(u.byPart[id], r.setAside)
				more = true
			}
		}
	}
	kept := slices.DeleteFunc(u.refused, func(r refused) bool { return r.end == nil })
	for from := 0; from < len(kept); {
		to := from
		for to < len(kept) && kept[to].rule == kept[from].rule {
			to++
		}
		f, fresh := &u.followed[kept[from].rule], kept[from:to]
		f.aside = merge(f.aside, fresh)
		f.open = slices.DeleteFunc(f.open, func(one *Finding) bool {
			is := len(fresh) > 0 && fresh[0].Finding == one
			if is {
				fresh = fresh[1:]
			}
			return is
		})
		from = to
	}
	clear(u.refused)
	u.refused = u.refused[:0]
}

// deadEnd is where some of the parts that show a finding again lead to, nil if all may yet stay.
func (u *uncovered) deadEnd(s *resolving, by []*Item) *deadEnd {
	for _, x := range by {
		id := x.Part.ID
		if others := u.byPart[id]; len(others) > 0 {
			return others[0].end
		}
		whole := func(e Elision) bool { return !e.Partial() }
		if p := s.part(id); p.gone && len(p.covers) == 0 && slices.ContainsFunc(s.ledger.Of(id), whole) {
			if u.ends[id] == nil {
				u.ends[id] = &deadEnd{part: id}
			}
			return u.ends[id]
		}
	}
	return nil
}

// merge merges two lists in the order of the findings into the first.
func merge(into, fresh []refused) []refused {
	old, last := len(into)-1, len(fresh)-1
	into = append(into, fresh...)
	for at := len(into) - 1; last >= 0; at-- {
		if old >= 0 && into[old].at > fresh[last].at {
			into[at] = into[old]
			old--
		} else {
			into[at] = fresh[last]
			last--
		}
	}
	return into
}

// refusals adds those of what is set aside to others, in the order of rules and findings.
type refusals struct {
	*uncovered
	rule, next int
}

// before adds those before a finding of a rule.
func (s *refusals) before(rule int, at int32, to []Refusal) []Refusal {
	if s.uncovered == nil || s.silent {
		return to
	}
	for ; s.rule < len(s.followed); s.rule, s.next = s.rule+1, 0 {
		aside := s.followed[s.rule].aside
		for ; s.next < len(aside) && (s.rule < rule || aside[s.next].at < at); s.next++ {
			to = append(to, aside[s.next].Refusal)
		}
		if s.rule == rule {
			break
		}
	}
	return to
}

// count is how many there are.
func (s *refusals) count() (n int) {
	if s.uncovered != nil && !s.silent {
		for i := range s.followed {
			n += len(s.followed[i].aside)
		}
	}
	return n
}
