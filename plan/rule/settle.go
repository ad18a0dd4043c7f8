package rule

import (
	"slices"
	"strings"
)

// Decide asks every rule and settles what they found.
func Decide(w Window, rules []Rule) Found {
	w.line = w.Facts.timeline(w.Messages)
	w.readAhead(rules)
	w = w.Read()
	all := make([]Found, len(rules))
	var free []string
	for i, r := range rules {
		all[i] = r.Find(w)
		if f, ok := r.(Free); ok && f.Free() {
			free = append(free, r.Name())
		}
	}
	return Settle(all, w.Ledger, func(rule string) bool { return slices.Contains(free, rule) })
}

// Settle makes of what several rules found one decision that is true by itself: whatever is left
// out because something newer shows it is covered by something that is kept. Where what covers it
// is itself left out because something newer covers that, the newer part takes its place, as often
// as needed. A part that others were left out for stays, unless something newer covers it in turn.
// Of two elisions of one field the earlier counts.
//
// found is what each rule found, one behind the other. free reports the rules that need not stay
// for others, see Free.
func Settle(found []Found, ledger Ledger, free func(rule string) bool) Found {
	elisions, refusals := 0, 0
	for _, f := range found {
		elisions, refusals = elisions+len(f.Elisions), refusals+len(f.Refusals)
	}
	out := Found{Refusals: slices.Grow([]Refusal(nil), refusals)}
	for _, f := range found {
		out.Refusals = append(out.Refusals, f.Refusals...)
	}
	if elisions == 0 {
		return out
	}
	s := settling{ledger, make(map[string]*fate, elisions/2), nil} // of many parts several rules found something
	type candidate struct {
		*Elision
		part   *fate
		covers []string // by which it goes
	}
	all := make([]candidate, 0, elisions)
	for _, f := range found {
		for i := range f.Elisions {
			e := &f.Elisions[i]
			part := s.part(e.Part)
			if part.taken&(bit(e.Field)|clash(e.Field)) != 0 {
				continue // another one of the field counts
			}
			part.taken |= bit(e.Field)
			c := candidate{e, part, e.Covers()}
			if all = append(all, c); e.By != "" || free(e.Rule) {
				part.gone = true
				part.covers = append(part.covers, c.covers...)
			}
		}
	}
	refuse := func(e *Elision, code Code, reason string) {
		out.Refusals = append(out.Refusals, Refusal{Code: code, Rule: e.Rule, Part: e.Part, Reason: reason,
			Tokens: e.Saves})
	}
	covered := all[:0]
	for _, c := range all {
		if c.By != "" {
			if c.covers = s.kept(c.covers); c.covers == nil {
				refuse(c.Elision, Uncovered, "what shows it again is left out itself")
				continue
			}
			for _, part := range c.covers {
				s.part(part).needed = true
			}
		}
		covered = append(covered, c)
	}
	for _, c := range covered {
		if c.By == "" && (c.part.needed || ledger.Covers(c.Part)) && !free(c.Rule) {
			refuse(c.Elision, Covers, coversReason)
			continue
		}
		if out.Elisions == nil {
			out.Elisions = make([]Elision, 0, len(covered))
		}
		e := *c.Elision
		e.By = strings.Join(c.covers, " ")
		out.Elisions = append(out.Elisions, e)
	}
	return out
}

const coversReason = "others were left out because it shows what they showed"

// bit stands for a field in a set of them.
func bit(f Field) uint8 {
	switch f {
	case Output:
		return outputBit
	case Input:
		return 1 << 1
	case Error:
		return errorBit
	case Attachments:
		return attachmentsBit
	case Text:
		return 1 << 4
	case Whole:
		return wholeBit
	}
	return 1 << 6
}

const outputBit, errorBit, attachmentsBit, wholeBit = uint8(1 << 0), uint8(1 << 2), uint8(1 << 3), uint8(1 << 5)

// clash are the fields that cannot be left out beside another: with an output its attachments go,
// and a call that failed has one result, whatever it is called.
func clash(f Field) uint8 {
	switch f {
	case Output:
		return attachmentsBit | errorBit
	case Error, Attachments:
		return outputBit
	}
	return 0
}

// settling is what Settle knows of the parts that it meets.
type settling struct {
	ledger Ledger
	parts  map[string]*fate
	fresh  stock[fate]
}

// fate is a part and what of it is left out, committed or found now.
type fate struct {
	taken  uint8    // fields that somebody has taken
	gone   bool     // something of it is left out
	covers []string // what covers it; nothing when it went for another reason
	needed bool     // others are left out for it
	asked  bool
	end    []string // the parts that are kept at the ends of the ways that begin here, once it was asked
}

func (s *settling) part(id string) *fate {
	p := s.parts[id]
	if p == nil {
		p = s.fresh.next()
		s.parts[id] = p
		for _, e := range s.ledger.Of(id) {
			if e.Partial() {
				continue
			}
			p.gone = true
			p.taken |= bit(e.Field)
			p.covers = append(p.covers, e.Covers()...)
		}
	}
	return p
}

// kept follows parts that are left out to those that are kept and cover them. It is nil when one of
// them went and nothing covers it.
func (s *settling) kept(by []string) []string {
	var kept []string
	for _, id := range by {
		part := s.part(id)
		ends := []string{id}
		if part.gone {
			if !part.asked {
				part.asked = true // in a damaged log the way may be a circle
				part.end = s.kept(part.covers)
			}
			ends = part.end
		}
		if len(ends) == 0 {
			return nil
		}
		for _, end := range ends {
			if !slices.Contains(kept, end) {
				kept = append(kept, end)
			}
		}
	}
	return kept
}
