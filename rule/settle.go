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
	out := Found{Refusals: found.Refusals}
	if len(found.Elisions) == 0 {
		return out
	}
	taken := map[Key]bool{}
	gone := leftOut{ledger: ledger, found: map[string][]string{}}
	stands := map[string]bool{} // parts that others are left out for
	var all []Elision
	for _, e := range found.Elisions {
		k := e.Key()
		if taken[k] || taken[clash(k)] || ledger.Has(k) || ledger.Has(clash(k)) {
			continue
		}
		taken[k] = true
		all = append(all, e)
		if e.By != "" || free(e.Rule) {
			gone.found[e.Part] = append(gone.found[e.Part], e.Covers()...)
		}
	}
	refuse := func(e Elision, code Code, reason string) {
		out.Refusals = append(out.Refusals, Refusal{Code: code, Rule: e.Rule, Part: e.Part, Reason: reason, Tokens: e.Saves})
	}
	settled := all[:0]
	for _, e := range all {
		if e.By != "" {
			covers := stillShown(e.Covers(), gone)
			if covers == nil {
				refuse(e, Uncovered, "what shows it again is left out itself")
				continue
			}
			for _, part := range covers {
				stands[part] = true
			}
			e.By = strings.Join(covers, " ")
		}
		settled = append(settled, e)
	}
	for _, e := range settled {
		if e.By == "" && (stands[e.Part] || ledger.Covers(e.Part)) && !free(e.Rule) {
			refuse(e, Covers, coversReason)
			continue
		}
		out.Elisions = append(out.Elisions, e)
	}
	return out
}

const coversReason = "others were left out because it shows what they showed"

// clash is the field that cannot be left out beside another: with an output its attachments go.
func clash(k Key) Key {
	switch k.Field {
	case Output:
		k.Field = Attachments
	case Attachments:
		k.Field = Output
	}
	return k
}

// leftOut are the parts of which something is left out: committed, or found now.
type leftOut struct {
	ledger Ledger
	found  map[string][]string // a part → what covers it, nothing when it went for another reason
}

// of returns what covers a part that is left out, nothing when it went for another reason; is is false for one that is shown.
func (l leftOut) of(part string) (covers []string, is bool) {
	covers, is = l.found[part]
	if l.ledger.Touches(part) {
		is = true
		covers = slices.Clip(covers)
		for _, e := range l.ledger.Of(part) {
			covers = append(covers, e.Covers()...)
		}
	}
	return covers, is
}

// stillShown follows parts that are left out to those that are kept and cover them. It is nil when one went and nothing covers it.
func stillShown(by []string, gone leftOut) []string {
	if !slices.ContainsFunc(by, func(part string) bool { _, is := gone.of(part); return is }) {
		return by
	}
	var kept []string
	seen := map[string]bool{}
	for open := slices.Clone(by); len(open) > 0; open = open[1:] {
		part := open[0]
		if seen[part] {
			continue
		}
		seen[part] = true
		covers, left := gone.of(part)
		switch {
		case !left:
			kept = append(kept, part)
		case len(covers) == 0:
			return nil
		default:
			open = append(open, covers...)
		}
	}
	return kept
}
