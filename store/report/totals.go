package report

import (
	"cmp"
	"maps"
	"slices"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/schedule"
)

// ByRule sums up candidates by their rule, and with them what was summed up before. The largest sum
// comes first.
func ByRule(candidates []Candidate, omitted []RuleSum) []RuleSum {
	sums, seen, soonest := map[string]*RuleSum{}, map[[2]string]bool{}, map[string]schedule.Wait{}
	of := func(name string) *RuleSum {
		if sums[name] == nil {
			sums[name] = &RuleSum{Rule: name}
		}
		return sums[name]
	}
	for _, c := range candidates {
		s := of(c.Rule)
		s.Saves += c.Saves
		if first, known := soonest[c.Rule]; c.When != "" && (!known || c.Wait.Before(first)) {
			soonest[c.Rule], s.When = c.Wait, c.When
		}
		if pair := [2]string{c.Rule, c.Part}; !seen[pair] {
			seen[pair] = true
			s.Parts++
		}
	}
	for _, o := range omitted {
		s := of(o.Rule)
		s.Parts, s.Saves = s.Parts+o.Parts, s.Saves+o.Saves
	}
	out := []RuleSum{}
	for _, s := range sums {
		out = append(out, *s)
	}
	slices.SortFunc(out, func(a, b RuleSum) int {
		return cmp.Or(cmp.Compare(b.Saves, a.Saves),
			cmp.Compare(a.Rule, b.Rule))
	})
	return out
}

// RefusalSum sums up the refusals that one rule gave for one reason.
type RefusalSum struct {
	Rule  string // "" when no rule speaks
	Code  rule.Code
	Parts int
	// Reason is the one given most often; Others counts the other ones.
	Reason string
	Others int
}

// SumRefusals sums up refusals that are about parts, by rule and code, the most parts first.
// general are those that are about none, each once.
func SumRefusals(refusals []rule.Refusal) (sums []RefusalSum, general []rule.Refusal) {
	type kind struct {
		rule string
		code rule.Code
	}
	parts, reasons := map[kind]map[string]bool{}, map[kind]map[string]int{}
	for _, r := range refusals {
		if r.Part == "" {
			if !slices.ContainsFunc(general, func(g rule.Refusal) bool {
				return g.Code == r.Code &&
					g.Reason == r.Reason
			}) {
				general = append(general, r)
			}
			continue
		}
		k := kind{r.Rule, r.Code}
		if parts[k] == nil {
			parts[k], reasons[k] = map[string]bool{}, map[string]int{}
		}
		parts[k][r.Part] = true
		reasons[k][r.Reason]++
	}
	for k := range parts {
		s := RefusalSum{Rule: k.rule, Code: k.code, Parts: len(parts[k]), Others: len(reasons[k]) - 1}
		s.Reason = slices.MinFunc(slices.Collect(maps.Keys(reasons[k])), func(a, b string) int {
			return cmp.Or(cmp.Compare(reasons[k][b], reasons[k][a]), cmp.Compare(a, b))
		})
		sums = append(sums, s)
	}
	slices.SortFunc(sums, func(a, b RefusalSum) int {
		return cmp.Or(cmp.Compare(b.Parts, a.Parts), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Code, b.Code))
	})
	return sums, general
}

// ZoneTotal sums up the parts that stand in one zone.
type ZoneTotal struct {
	Zone   Zone `json:"zone"`        // the zone
	Parts  int  `json:"parts"`       // how many parts
	Tokens int  `json:"tokens"`      // their tokens in the log
	Shown  int  `json:"shownTokens"` // their tokens in the view
}

// RuleTotal sums up what one rule did, could do, and left alone.
type RuleTotal struct {
	Rule    string `json:"rule"`    // name of the rule
	Elided  int    `json:"elided"`  // parts that it left out
	Saved   int    `json:"saved"`   // tokens that this saved, net
	Could   int    `json:"could"`   // parts that it would leave out
	Saves   int    `json:"saves"`   // tokens that this would save
	Refused int    `json:"refused"` // parts that it found and let stay
}

// Totals sums up parts, those alone that have anything for a model to read: by zone, in the order
// of zones that a window has, and by rule, what saved and would save most first.
func Totals(parts []Part) ([]ZoneTotal, []RuleTotal) {
	byZone, byRule := map[Zone]*ZoneTotal{}, map[string]*RuleTotal{}
	of := func(name string) *RuleTotal {
		if byRule[name] == nil {
			byRule[name] = &RuleTotal{Rule: name}
		}
		return byRule[name]
	}
	for i := range parts {
		x := &parts[i]
		if x.Tokens == 0 && len(x.Elisions) == 0 {
			continue
		}
		z := byZone[x.Zone]
		if z == nil {
			z = &ZoneTotal{Zone: x.Zone}
			byZone[x.Zone] = z
		}
		z.Parts, z.Tokens = z.Parts+1, z.Tokens+x.Tokens
		if x.Quoted == nil { // otherwise its quotation is counted where it stands
			z.Shown += x.Shown
		}
		for j, r := range x.Elisions {
			if t := of(r.Rule); first(x.Elisions, j) {
				t.Elided++
			}
			of(r.Rule).Saved += r.Saves
		}
		for j, r := range x.Candidates {
			if t := of(r.Rule); first(x.Candidates, j) {
				t.Could++
			}
			of(r.Rule).Saves += r.Saves
		}
		for j, r := range x.Refusals {
			if !slices.ContainsFunc(x.Refusals[:j], func(other rule.Refusal) bool { return other.Rule == r.Rule }) &&
				r.Rule != "" {
				of(r.Rule).Refused++
			}
		}
	}
	zones, rules := []ZoneTotal{}, []RuleTotal{}
	for _, z := range Zones() {
		if t := byZone[z]; t != nil {
			zones = append(zones, *t)
		}
	}
	for _, t := range byRule {
		rules = append(rules, *t)
	}
	slices.SortFunc(rules, func(a, b RuleTotal) int {
		return cmp.Or(cmp.Compare(b.Saved+b.Saves, a.Saved+a.Saves), cmp.Compare(a.Rule, b.Rule))
	})
	return zones, rules
}

// first reports whether no reason before it is of the same rule.
func first(reasons []Reason, at int) bool {
	return !slices.ContainsFunc(reasons[:at], func(other Reason) bool { return other.Rule == reasons[at].Rule })
}

// Zones are all there are, from what is far away to what is at hand.
func Zones() []Zone { return []Zone{Folded, Summary, Pruned, Prunable, Guarded, Talk, ActiveNow} }
