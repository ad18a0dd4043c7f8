package rule

import (
	"slices"
	"strings"
)

// Decide asks every rule and resolves their findings.
func Decide(w Window, rules []Rule) Found {
	w.timeline = w.Facts.timeline(w.Messages)
	w.readAhead(rules)
	w = w.Read()
	var free []string
	for _, r := range rules {
		if f, ok := r.(Free); ok && f.Free() {
			free = append(free, r.Name())
		}
	}
	u := w.setAside(rules)
	return resolve(u.find(w), w.Ledger, func(rule string) bool { return slices.Contains(free, rule) }, u)
}

// Resolve combines the findings of several rules so that every part that is left out because a
// newer part shows it is covered by a part that stays. If the covering part is itself left out
// because a newer one covers it, the newer one takes its place, as often as needed. A part because
// of which others were left out stays, unless a newer part covers it in turn. Of two elisions of
// one field the earlier counts.
//
// found has the findings of each rule, in the order of the rules. free reports the rules whose
// parts need not stay for others, see Free.
func Resolve(found []Found, ledger Ledger, free func(rule string) bool) Found {
	return resolve(found, ledger, free, nil)
}

func resolve(found []Found, ledger Ledger, free func(rule string) bool, u *uncovered) Found {
	aside := refusals{uncovered: u}
	elisions, refusals := 0, aside.count()
	for _, f := range found {
		elisions, refusals = elisions+len(f.Elisions), refusals+len(f.Refusals)
	}
	out := Found{Refusals: slices.Grow([]Refusal(nil), refusals)}
	for _, f := range found {
		out.Refusals = append(out.Refusals, f.Refusals...)
	}
	if elisions == 0 {
		out.Refusals = aside.before(len(found), 0, out.Refusals)
		return out
	}
	// several rules often find the same part
	s := resolving{ledger: ledger, parts: make(map[string]*decision, elisions/2), uncovered: u}
	type candidate struct {
		*Elision
		rule    int
		finding *Finding // that it was made from, if that is known
		part    *decision
		covers  []string // by which it goes
	}
	all := make([]candidate, 0, elisions)
	for i, f := range found {
		offered := u.offered(i, f.Elisions)
		for j := range f.Elisions {
			e := &f.Elisions[j]
			part := s.part(e.Part)
			if part.taken&(bit(e.Field)|clash(e.Field)) != 0 {
				continue // another one of the field counts
			}
			part.taken |= bit(e.Field)
			c := candidate{Elision: e, rule: i, part: part, covers: e.Covers()}
			if offered != nil {
				c.finding = offered[j]
			}
			if all = append(all, c); e.By != "" || free(e.Rule) {
				part.gone = true
				part.covers = append(part.covers, c.covers...)
			}
		}
	}
	covered := all[:0]
	for _, c := range all {
		if c.By != "" {
			if c.covers = s.showing(c.covers); c.covers == nil {
				refusal := c.refused(Uncovered, "what shows it again is left out itself")
				at := int32(0)
				if c.finding != nil {
					at = c.finding.at
					u.refused = append(u.refused, refused{at, setAside{c.finding, c.rule, nil}, refusal})
				}
				out.Refusals = append(aside.before(c.rule, at, out.Refusals), refusal)
				continue
			}
			for _, part := range c.covers {
				s.part(part).needed = true
			}
		}
		covered = append(covered, c)
	}
	out.Refusals = aside.before(len(found), 0, out.Refusals)
	for _, c := range covered {
		if c.By == "" && (c.part.needed || ledger.Covers(c.Part)) && !free(c.Rule) {
			out.Refusals = append(out.Refusals, c.refused(Covers, coversReason))
			continue
		}
		if out.Elisions == nil {
			out.Elisions = make([]Elision, 0, len(covered))
		}
		e := *c.Elision
		e.By = strings.Join(c.covers, " ")
		out.Elisions = append(out.Elisions, e)
	}
	u.keep(&s)
	return out
}

// refused is a refusal of an elision.
func (e *Elision) refused(code Code, reason string) Refusal {
	return Refusal{Code: code, Rule: e.Rule, Part: e.Part, Reason: reason, Tokens: e.Saves}
}

const coversReason = "it is the latest copy; older ones were left out"

// bit returns the bit of a field in a set.
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

// clash returns the fields that cannot be left out together with another: attachments go with their
// output, and a call that failed has one result, whatever it is called.
func clash(f Field) uint8 {
	switch f {
	case Output:
		return attachmentsBit | errorBit
	case Error, Attachments:
		return outputBit
	}
	return 0
}

// resolving has the decisions of all parts in the findings.
type resolving struct {
	ledger    Ledger
	parts     map[string]*decision
	fresh     stock[decision]
	uncovered *uncovered
}

// decision says which fields of a part are left out, committed or found now.
type decision struct {
	taken  uint8    // fields that a rule has taken
	gone   bool     // a field is left out
	covers []string // the parts that cover it; none if it is left out for another reason
	needed bool     // others are left out because of it
	asked  bool     // end is known
	end    []string // the parts that stay at the ends of the chains that begin here
}

func (s *resolving) part(id string) *decision {
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
		s.uncovered.decided(id, p)
	}
	return p
}

// showing follows parts that are left out to the parts that stay and cover them. It is nil if one
// of them is left out and nothing covers it.
func (s *resolving) showing(by []string) []string {
	var shown []string
	for _, id := range by {
		part := s.part(id)
		ends := []string{id}
		if part.gone {
			if !part.asked {
				part.asked = true // in a damaged log the way may be a circle
				part.end = s.showing(part.covers)
			}
			ends = part.end
		}
		if len(ends) == 0 {
			return nil
		}
		for _, end := range ends {
			if !slices.Contains(shown, end) {
				shown = append(shown, end)
			}
		}
	}
	return shown
}
