// Package advise finds what would make a user's sessions cheaper: up to ten findings over many
// sessions, the dearest first, each with what it cost, what a change would save, how sure that is,
// the evidence, and the line to change.
//
// Everything is computed from what logs report: a session whose log reports no usage, or whose
// model has no price, is not judged. Costs are list prices. Findings overlap, so their gains are no
// sum.
//
// # Error
//
// A gain is what the change would have saved on the sessions that were looked at. Its error says
// where it would lie, nine times in ten, on as many other sessions: 1.645 standard errors of the
// sum over sessions, those of sub-agents counted with the session that they work for. Where tokens
// are estimated, Estimate of the cost is added. A gain that is not larger than its error is not
// advised, nor one below Least of all that was spent, nor anything by fewer than three sessions.
package advise

import (
	"cmp"
	"math"
	"slices"

	"github.com/winnowhq/winnow/lab"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/quantity"
)

// Most is how many findings there are at most, and Least the share of all costs that a gain must
// reach: a change that saves less is not worth making.
const (
	Most  = 10
	Least = 0.005
)

// Estimate is how far off estimated tokens may be, as a share: the mean error of package token's
// estimator on texts that it was not fitted to (docs/performance.md). The vocabularies of some
// models make up to 40 % more tokens of the same text: there, too little is claimed.
const Estimate = 0.05

// The kinds of findings.
const (
	Tools        = "tools"        // declared, and never called
	Outputs      = "outputs"      // that no step ever quoted
	Rereads      = "rereads"      // files that were read again, unchanged
	Refolds      = "refolds"      // files that were read again after each compaction
	Serial       = "serial"       // looks at files, one after the other
	Pauses       = "pauses"       // that outlived the provider's cache
	Threshold    = "threshold"    // of a product's compaction
	Policy       = "policy"       // of winnow
	Models       = "models"       // dear ones, for what small ones do
	Instructions = "instructions" // that the user repeats
)

// Finding is something that could be cheaper.
type Finding struct {
	// "tools", "outputs", "rereads", "refolds", "serial", "pauses", "threshold", "policy",
	// "models" or "instructions".
	Kind  string  `json:"kind"`
	Title string  `json:"title"` // the finding in a sentence, for people
	Cost  float64 `json:"cost"`  // its cost
	// The saving that the change would have made on these sessions; it is larger than the error.
	Gain float64 `json:"gain"`
	// How far off the gain may be on as many others, nine times in ten.
	Error float64 `json:"error"`
	// Sentences for people: counts, examples, sessions by name.
	Evidence []string `json:"evidence"`
	Change   string   `json:"change"`         // the change to make, in words
	Line     string   `json:"line"`           // the command to run, or the text to write
	Where    string   `json:"where,omitzero"` // the file in which the text belongs
	// The keys of the configuration, with JSON values, that "--apply" writes.
	Settings map[string]string `json:"settings,omitempty"`
}

// Dollars is what a finding cost, for people.
func (f *Finding) Dollars() string { return quantity.Dollars(f.Cost) }

// Saves is what its change would have saved, for people: "$8.10 ± $2.30".
func (f *Finding) Saves() string {
	return quantity.Dollars(f.Gain) + " ± " + quantity.Dollars(f.Error)
}

// Repeated is an instruction that the user gives again and again, and that would save no money, as
// far as can be told, if it stood in the project's instructions.
type Repeated struct {
	Text     string `json:"text"`     // the instruction
	Project  string `json:"project"`  // the folder
	Sessions int    `json:"sessions"` // in how many sessions it was given
	Days     int    `json:"days"`     // on how many days it was given
}

// Report is what was found.
type Report struct {
	// How many sessions were looked at, those of sub-agents among them.
	Sessions int `json:"sessions"`
	// How many of them report no usage, or none at a known price: nothing is said of them.
	Unreported int     `json:"unreported"`
	Cost       float64 `json:"cost"` // the cost of all of them, as far as it is known
	// Findings that are worth acting on, the largest gain first, ten at most; empty if there is
	// nothing.
	Findings []Finding `json:"findings"`
	// How many findings were left out because their gain is within its error, or too small.
	Dropped int `json:"dropped"`
	// Instructions that belong into AGENTS.md and save no money, as far as can be told.
	Repeated []Repeated `json:"repeated"`
}

const (
	// leastGain is what a change has to save to be told at length, in US dollars, and leastShare how
	// much of what the sessions cost.
	leastGain  = 1.0
	leastShare = 0.02
)

// WithoutSmall takes out the findings that save less than $1, or less than 2 % of what the sessions
// cost, and returns them.
func (r *Report) WithoutSmall() (small []Finding) {
	all := r.Findings
	r.Findings = nil
	for _, f := range all {
		if f.Gain < leastGain || f.Gain < leastShare*r.Cost {
			small = append(small, f)
		} else {
			r.Findings = append(r.Findings, f)
		}
	}
	return small
}

// Input is what findings are made from.
type Input struct {
	Sessions []Session
	// Tools are the declarations that were seen by the gateway; Dropped what its settings leave
	// out.
	Tools   report.Uncalled
	Dropped []string
	// Asides are requests beside the conversations that the gateway saw.
	Asides []Aside
	// KeepWarm is gateway.keepWarm in force.
	KeepWarm int
	// Replay is a replay of the sessions, nil if there was none. Advised are the settings, with
	// JSON values, that it takes for what it recommends to be in force.
	Replay  *lab.Report
	Advised map[string]string
	// Written is what a project's AGENTS.md and CLAUDE.md say, by project.
	Written func(project string) string
}

// Find finds what is worth saying.
func Find(in Input) Report {
	r := Report{Sessions: len(in.Sessions), Findings: []Finding{}, Repeated: []Repeated{}}
	var judged []Session
	for i := range in.Sessions {
		s := &in.Sessions[i]
		r.Cost += s.Cost
		if s.Requests == 0 {
			r.Unreported++
			continue
		}
		judged = append(judged, *s)
	}
	found := slices.Concat(findTools(in.Tools, in.Dropped), findOutputs(judged), findRereads(judged),
		findSerial(judged), findPauses(judged, in.KeepWarm), findReplay(in.Replay, in.Advised), findModels(in.Asides))
	said, repeated := findInstructions(judged, in.Written)
	found = append(found, said...)
	for i := range found {
		if f := &found[i]; f.Gain > f.Error && f.Gain >= Least*r.Cost && f.Gain >= 0.01 {
			r.Findings = append(r.Findings, *f)
		} else {
			r.Dropped++
		}
	}
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(b.Gain, a.Gain), cmp.Compare(a.Title, b.Title))
	})
	r.Findings = r.Findings[:min(len(r.Findings), Most)]
	r.Repeated = append(r.Repeated, repeated...)
	return r
}

// within is the error of a sum of gains over all families of sessions, of which some have one:
// 1.645 standard errors. Fewer than three families say nothing of others.
func within(families map[string]float64, all int) float64 {
	n := float64(max(all, len(families)))
	if n < 3 {
		return math.Inf(1)
	}
	sum, squares := 0.0, 0.0
	for _, v := range families {
		sum += v
		squares += v * v
	}
	deviations := squares - sum*sum/n
	if deviations < 1e-12*squares { // rounding
		return 0
	}
	return 1.645 * math.Sqrt(n*deviations/(n-1))
}

// sample sums up gains by family.
type sample struct {
	gains    map[string]float64
	families int
	gain     float64
	cost     float64
	most     []named
}

type named struct {
	name    string
	dollars float64
}

func sampleOf(sessions []Session) *sample {
	seen := map[string]bool{}
	for i := range sessions {
		seen[sessions[i].family()] = true
	}
	return &sample{gains: map[string]float64{}, families: len(seen)}
}

// family names the family of a session.
func (s *Session) family() string { return s.Product + " " + cmp.Or(s.Family, s.ID, s.Title) }

// add adds what a change costs and saves in a session.
func (x *sample) add(s *Session, cost, gain float64) {
	if cost == 0 && gain == 0 {
		return
	}
	x.gains[s.family()] += gain
	x.gain, x.cost = x.gain+gain, x.cost+cost
	x.most = append(x.most, named{cmp.Or(s.Title, s.ID), cost})
}

// error is how far off the gain may be, with an estimate of tokens in it or not.
func (x *sample) error(estimated bool) float64 {
	off := within(x.gains, x.families)
	if estimated {
		off += Estimate * x.cost
	}
	return off
}

// dearest names up to three sessions that it cost most in.
func (x *sample) dearest() string {
	sums := map[string]float64{}
	for _, n := range x.most {
		sums[n.name] += n.dollars
	}
	var most []named
	for name, sum := range sums {
		most = append(most, named{name, sum})
	}
	slices.SortFunc(most, func(a, b named) int {
		return cmp.Or(cmp.Compare(b.dollars, a.dollars), cmp.Compare(a.name, b.name))
	})
	text := ""
	for _, n := range most[:min(3, len(most))] {
		if text != "" {
			text += ", "
		}
		text += "“" + n.name + "” " + quantity.Dollars(n.dollars)
	}
	return "Most of it in " + text + "."
}
