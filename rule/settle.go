package rule

import (
	"slices"
	"strings"
)

// Settle makes of what several rules found one decision that stands by itself: whatever is left out because something newer shows it is covered
// by something that is kept. Where what covers it is itself left out because something newer covers that, the newer part takes its place, as often as
// needed. A part that others were left out for stays, unless something newer covers it in turn. Of two elisions of one field the earlier counts.
//
// free reports the rules that answer to nobody: what the letter of S000 prunes is not held back.
func Settle(found Found, ledger Ledger, free func(rule string) bool) Found {
	out, _ := settle([]Found{found}, ledger, free, nil)
	return out
}

// settle does so of what each rule found, in their order, and tells what it came across. What it refuses because its cover is gone is noted, unless note is nil.
func settle(found []Found, ledger Ledger, free func(rule string) bool, note *unmoved) (Found, map[string]*standingPart) {
	elisions, refusals := 0, 0
	for i := range found {
		elisions, refusals = elisions+len(found[i].Elisions), refusals+len(found[i].Refusals)
	}
	out := Found{}
	if refusals > 0 {
		out.Refusals = make([]Refusal, 0, refusals)
	}
	for i := range found {
		out.Refusals = append(out.Refusals, found[i].Refusals...)
	}
	if elisions == 0 {
		return out, nil
	}
	s := settling{ledger: ledger, parts: make(map[string]*standingPart, elisions/2)} // of many parts several rules found something
	type candidate struct {
		elision *Elision
		part    *standingPart
		covers  []string // by what it goes
	}
	all := make([]candidate, 0, elisions)
	var over []*Elision // another one of the field counts
	take := func(e *Elision) {
		part := s.part(e.Part)
		if part.taken&(bit(e.Field)|clash(e.Field)) != 0 {
			over = append(over, e)
			return
		}
		part.taken |= bit(e.Field)
		c := candidate{e, part, s.covers(e)}
		all = append(all, c)
		if e.By != "" || free(e.Rule) {
			part.found = true
			if len(c.covers) != 1 || len(part.covers) != 1 || part.covers[0] != c.covers[0] {
				part.covers = append(part.covers, c.covers...)
			}
		}
	}
	for i := range found {
		for j := range found[i].Elisions {
			take(&found[i].Elisions[j])
		}
	}
	refuse := func(e *Elision, code Code, reason string) {
		if len(out.Refusals) == cap(out.Refusals) {
			out.Refusals = slices.Grow(out.Refusals, 1+len(all)/2)
		}
		out.Refusals = append(out.Refusals, Refusal{Code: code, Rule: e.Rule, Part: e.Part, Reason: reason, Tokens: e.Saves})
	}
	settled := all[:0]
	for _, c := range all {
		if c.elision.By != "" {
			covers := s.stillShown(c.covers)
			if covers == nil {
				refuse(c.elision, Uncovered, "what shows it again is left out itself")
				if note != nil {
					note.note(c.elision, out.Refusals[len(out.Refusals)-1], s.looked)
				}
				continue
			}
			for _, part := range covers {
				s.part(part).stands = true
			}
			c.covers = covers
		}
		settled = append(settled, c)
	}
	if note != nil {
		note.passed(over)
		for _, c := range settled {
			note.loose = note.loose || note.parts[c.elision.Part] != nil && free(c.elision.Rule)
		}
	}
	for _, c := range settled {
		e := *c.elision
		if e.By == "" && (c.part.stands || ledger.Covers(e.Part)) && !free(e.Rule) {
			refuse(&e, Covers, coversReason)
			continue
		}
		if e.By != "" {
			e.By = strings.Join(c.covers, " ")
		}
		if out.Elisions == nil {
			out.Elisions = make([]Elision, 0, len(settled))
		}
		out.Elisions = append(out.Elisions, e)
	}
	return out, s.parts
}

const coversReason = "others were left out because it shows what they showed"

// clash are the fields that cannot be left out beside another: with an output its attachments go, and a call that failed has one result, whatever it
// is called.
func clash(f Field) uint8 {
	switch f {
	case Output:
		return bit(Attachments) | bit(Error)
	case Error:
		return bit(Output)
	case Attachments:
		return bit(Output)
	}
	return 0
}

// bit stands for a field in a set of them.
func bit(f Field) uint8 { return 1 << max(0, slices.Index(fields[:], f)+1) }

var fields = [...]Field{Output, Error, Input, Attachments, Text, Whole}

// settling is what Settle knows of the parts that it comes across, each looked up once.
type settling struct {
	ledger Ledger
	parts  map[string]*standingPart
	fresh  []standingPart // to take new ones from
	ids    []string       // likewise
	round  int            // of stillShown
	looked []string       // at in that round
	open   []string       // what is to be followed
}

// standingPart is a part, and what of it is left out: committed, or found now.
type standingPart struct {
	taken              uint8 // fields that somebody has taken
	found, committed   bool
	covers, fromLedger []string // what covers it, nothing when it went for another reason
	stands             bool     // others are left out for it
	seen               int      // round in which it was seen last
	end                string   // the part that is kept at the end of a chain that begins here, "" while that is not known
}

func (s *settling) part(id string) *standingPart {
	if p := s.parts[id]; p != nil {
		return p
	}
	if len(s.fresh) == 0 {
		s.fresh = make([]standingPart, 64)
	}
	p := &s.fresh[0]
	s.fresh = s.fresh[1:]
	s.parts[id] = p
	if s.ledger.Touches(id) {
		p.committed = true
		for _, positions := range [][]int{s.ledger.index[id].at, s.ledger.recent[id].at} {
			for _, at := range positions {
				e := &s.ledger.elisions[at]
				p.taken |= bit(e.Field)
				p.fromLedger = append(p.fromLedger, s.covers(e)...)
			}
		}
	}
	return p
}

// covers are the parts by which an elision goes.
func (s *settling) covers(e *Elision) []string {
	switch {
	case e.By == "":
		return nil
	case strings.IndexByte(e.By, ' ') >= 0:
		return e.Covers()
	}
	return s.one(e.By)
}

// one is a list of one part.
func (s *settling) one(part string) []string {
	if len(s.ids) == cap(s.ids) {
		s.ids = make([]string, 0, 64)
	}
	s.ids = append(s.ids, part)
	n := len(s.ids)
	return s.ids[n-1 : n : n]
}

// stillShown follows parts that are left out to those that are kept and cover them. It is nil when one went and nothing covers it.
func (s *settling) stillShown(by []string) []string {
	if !slices.ContainsFunc(by, func(id string) bool { p := s.part(id); return p.found || p.committed }) {
		return by
	}
	if len(by) == 1 {
		if end := s.end(by[0]); end != "" {
			return s.one(end)
		}
	}
	s.round++
	s.looked = s.looked[:0]
	var kept []string
	s.open = append(s.open[:0], by...)
	for i := 0; i < len(s.open); i++ {
		part := s.part(s.open[i])
		if part.seen == s.round {
			continue
		}
		part.seen = s.round
		s.looked = append(s.looked, s.open[i])
		switch {
		case !part.found && !part.committed:
			kept = append(kept, s.open[i])
		case len(part.covers)+len(part.fromLedger) == 0:
			return nil
		default:
			s.open = append(append(s.open, part.covers...), part.fromLedger...)
		}
	}
	return kept
}

// end follows a chain of parts of which each is covered by one other to the part that is kept, "" where there is none, or more is to be followed. Of each part on
// the way it is remembered.
func (s *settling) end(id string) string {
	s.round++
	end := ""
	for at := id; end == ""; {
		part := s.part(at)
		if part.seen == s.round {
			return "" // a circle
		}
		part.seen = s.round
		switch {
		case part.end != "":
			end = part.end
		case !part.found && !part.committed:
			end = at
		case len(part.covers) == 1 && len(part.fromLedger) == 0:
			at = part.covers[0]
		case len(part.covers) == 0 && len(part.fromLedger) == 1:
			at = part.fromLedger[0]
		default:
			return ""
		}
	}
	for at := id; at != end; {
		part := s.part(at)
		if part.end != "" {
			break
		}
		part.end = end
		if at = end; len(part.covers) == 1 {
			at = part.covers[0]
		} else if len(part.fromLedger) == 1 {
			at = part.fromLedger[0]
		}
	}
	return end
}
