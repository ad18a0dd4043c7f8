package page

import (
	"cmp"
	_ "embed"
	"html/template"
	"io"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/winnowhq/winnow/lab"
	"github.com/winnowhq/winnow/look/display"
	"github.com/winnowhq/winnow/text/quantity"
	"github.com/winnowhq/winnow/text/secret"
)

// ReplayDetails are what the page of a replay says beside its report.
type ReplayDetails struct {
	// Name of what was replayed: a folder or a file, as the user gave it.
	Name string
	// KeepSecrets shows keys, tokens and passwords in names and commands as they are.
	KeepSecrets bool
	// Part says for people what a part of a session is: "read kiln/cooling.go". nil: parts are
	// named by their id.
	Part func(session, part string) string
}

var (
	//go:embed replay.html
	replayMarkup string
	//go:embed replay.css
	replayStyle string
	//go:embed replay.js
	replayScript string
)

// Replay writes what a replay showed as one page: the frontier, the table of policies and, for each
// session whose outcomes have a curve, its bill, its prompts and what happened over its steps under
// each policy. It can be read without a script, with one session's course; with one all can be
// chosen. A page of many sessions shows their curves with fewer points.
func Replay(w io.Writer, r lab.Report, details ReplayDetails) error {
	t, err := template.New("replay").Parse(replayMarkup)
	if err != nil {
		return err
	}
	if part := details.Part; part != nil && !details.KeepSecrets {
		details.Part = func(session, id string) string {
			text, _ := secret.Mask(part(session, id))
			return text
		}
	}
	d := newReplayDocument(&r, details)
	courses := &texts{}
	for i := range d.Sessions {
		var b strings.Builder
		if err := t.ExecuteTemplate(&b, "course", d.courseOf(d.Sessions[i].at)); err != nil {
			return err
		}
		d.Sessions[i].Ref = courses.add(b.String(), false)
	}
	return write(w, t, d, style+replayStyle, scriptOfKept+replayScript, courses)
}

// replayDocument is what the template fills in.
type replayDocument struct {
	source
	Title, Name, Lead, Prices string
	Headline, Whole           string // in one sentence
	Compared                  []comparedRow
	Facts                     []fact
	Advice                    *adviceView
	pictures
	policyTable
	HeldOut          []display.Evidence
	Unheld, Products []string // sentences
	Changes          []changeList
	Subject          string
	courses
	Skipped []fact
	Unit    string
}

// source is what the document is made from.
type source struct {
	r       *lab.Report
	details ReplayDetails
	named   []display.Policy
	sweeps  int
	traits  []trait // of the policies
	advised int     // -1: none
	ringed  int     // what stands for it in the table and the picture; -1: nothing
	subject int     // what gains and losses are told of; -1: none
	points  int     // of a curve at most
	rows    int     // of a policy's events at most
}

// pictures are the frontier in several sizes.
type pictures struct {
	Frontiers []frontierView
	Note      string // how to read its points
	Less      string // how far the curves are apart, "" without them
	Ring      bool   // it contains the recommended policy
}

// courses are the sessions step by step.
type courses struct {
	Sessions []sessionRow
	First    *course
	Chosen   int // of Sessions
	Base     int // the baseline among the policies
	Policies []trait
	Marks    []markLegend
}

// comparedRow is one of the two rows that a replay comes to.
type comparedRow struct {
	display.Compared
	Width string
}

type adviceView struct {
	Policy, Reason string
	Settings       []fact
}

// markLegend says what a mark means; Y is its height in a picture of sixteen pixels.
type markLegend struct {
	Symbol, Name string
	Y            int
}

type changeList struct {
	Title, Under string
	Good         bool
	Rows         []changeRow
}

type changeRow struct {
	display.Changed
	Index string // of the session's course, "" when it has none
}

type sessionRow struct {
	at                                       int
	Index                                    int
	Name, Steps, Tokens, Before, After, Diff string
	Bad                                      bool
	Ref                                      string
}

func newReplayDocument(r *lab.Report, details ReplayDetails) *replayDocument {
	d := &replayDocument{source: source{r: r, details: details, advised: -1, subject: -1}, Unit: "$"}
	if r.Relative {
		d.Unit = "M"
	}
	at := func(name string) int {
		return slices.IndexFunc(r.Policies, func(s lab.Standing) bool { return s.Name == name })
	}
	d.Base = display.Baseline(r)
	if r.Advice != nil {
		d.advised = at(r.Advice.Policy)
	}
	if d.subject = d.advised; d.subject < 0 && r.Subject != "" {
		d.subject = at(r.Subject)
	}
	named, sweeps := display.Policies(r)
	d.named, d.sweeps, d.ringed = named, len(sweeps), d.advised
	if d.advised >= 0 && named[d.advised].Replaced { // the choice that stands for it is recommended
		d.ringed = slices.IndexFunc(named, func(p display.Policy) bool { return p.Name == d.choiceOf(d.advised) })
	}
	d.traits = d.traitsOf()
	d.Policies = d.traits[:len(r.Policies)] // those that sessions have a course under
	d.bound()
	d.about()
	d.standings()
	d.heldOut()
	for _, size := range []frontierSize{{880, 430, true}, {380, 360, false}} {
		if f, ok := d.frontier(size); ok {
			d.Frontiers = append(d.Frontiers, f)
		}
	}
	d.Note, d.Less, d.Ring = display.Chosen(r), display.LessAt(r), d.ringed >= 0
	d.sessions()
	d.changes()
	for _, s := range r.Skipped[:min(len(r.Skipped), mostDamaged)] {
		d.Skipped = append(d.Skipped, fact{visible(path.Base(s.Path)), counted(s.Why)})
	}
	if n := len(r.Skipped) - mostDamaged; n > 0 {
		d.Skipped = append(d.Skipped, fact{"", quantity.Number(n) + " more"})
	}
	for _, m := range marks {
		d.Marks = append(d.Marks, markLegend{m.symbol, m.meaning, 8 - m.middle})
	}
	if len(d.Sessions) > 0 {
		c := d.courseOf(d.Sessions[d.Chosen].at)
		d.First = &c
	}
	return d
}

// choiceOf is the name of what stands for a policy of a sweep: the choice from it with sessions
// left out that on all of them is this policy; "" if none is.
func (d *replayDocument) choiceOf(policy int) string {
	for i := range d.r.Holdout {
		c, s := &d.r.Holdout[i], &d.r.Policies[policy]
		if c.Of == s.Group && c.InSample.Chosen == s.Name {
			return c.Standing.Name
		}
	}
	return ""
}

// about says what was replayed and what to do.
func (d *replayDocument) about() {
	r := d.r
	steps, tokens := 0, 0
	for i := range r.Sessions {
		steps, tokens = steps+max(0, r.Sessions[i].Steps), tokens+max(0, r.Sessions[i].Tokens)
	}
	d.Name, d.Prices = visible(d.details.Name), display.Capital(counted(r.Prices))
	d.Title = "The bill under each policy"
	if text := display.Headline(r); text != "" {
		d.Headline, d.Whole = display.Capital(visible(text))+".", display.Whole(r)
	}
	for _, one := range display.Comparison(r) {
		one.Name, one.How = line(one.Name, 60), line(one.How, 120)
		d.Compared = append(d.Compared, comparedRow{one, share(chartWidth * one.Part)})
	}
	d.Facts = []fact{{"sessions", quantity.Number(len(r.Sessions))}}
	if r.Sources > 1 {
		d.Facts = append(d.Facts, fact{"sources", quantity.Number(r.Sources)})
	}
	d.Facts = append(d.Facts, fact{"steps", quantity.Number(steps)}, fact{"tokens", quantity.Number(tokens)})
	if d.Base < len(r.Policies) {
		d.Facts = append(d.Facts, fact{"baseline", d.traits[d.Base].Name + ", " + d.traits[d.Base].Bill})
	}
	if least := r.Least(); display.Drawable(least) && least > 0 {
		d.Facts = append(d.Facts, fact{"bound", display.Ratio(least) + " of it"})
	}
	if a := r.Advice; a != nil {
		d.Advice = &adviceView{Policy: visible(a.Policy), Reason: display.Capital(counted(a.Reason))}
		for _, key := range slices.Sorted(maps.Keys(a.Settings)) {
			d.Advice.Settings = append(d.Advice.Settings, fact{visible(key), visible(a.Settings[key])})
		}
	} else {
		d.Lead = "No recommendation: " + cmp.Or(counted(r.Unadvised), "there is too little to go by") + "."
	}
}

// heldOut says what choosing is worth on sessions that were held out of the choice, and what
// reaches products that read no configuration of winnow.
func (d *replayDocument) heldOut() {
	for _, held := range display.EvidenceOf(d.r) {
		for k := range held.Words {
			held.Words[k] = visible(held.Words[k])
		}
		for _, row := range held.Rows {
			for k := range row {
				row[k] = line(row[k], 120)
			}
		}
		d.HeldOut = append(d.HeldOut, held)
	}
	for _, text := range display.Unheld(d.r) {
		d.Unheld = append(d.Unheld, visible(text))
	}
	for _, text := range display.Products(d.r) {
		d.Products = append(d.Products, visible(text))
	}
}

// sessions are those of which there is a course to draw. The first that is shown is the one that
// would gain most, else the dearest.
func (d *replayDocument) sessions() {
	if len(d.r.Policies) == 0 {
		return
	}
	dearest := -1.0
	for i := range d.r.Sessions {
		s := &d.r.Sessions[i]
		if !slices.ContainsFunc(s.Outcomes, func(o lab.Outcome) bool { return len(o.Curve) > 0 }) {
			continue
		}
		row := sessionRow{at: i, Index: len(d.Sessions), Name: line(cmp.Or(s.Name, s.ID), 120),
			Steps: quantity.Number(s.Steps), Tokens: quantity.Number(s.Tokens)}
		before := 0.0
		if d.Base < len(s.Outcomes) {
			before = s.Outcomes[d.Base].Bill.Total()
			row.Before = quantity.Bill(before, d.r.Relative)
		}
		if d.subject >= 0 && d.subject < len(s.Outcomes) {
			after := s.Outcomes[d.subject].Bill.Total()
			row.After, row.Diff, row.Bad = quantity.Bill(after, d.r.Relative), quantity.Signed(after/before-1),
				after > 1.02*before
		}
		gains := len(d.r.Gains) > 0 && d.r.Gains[0].Session == s.ID
		if gains && !math.IsInf(dearest, 1) || before > dearest {
			d.Chosen, dearest = len(d.Sessions), before
			if gains {
				dearest = math.Inf(1)
			}
		}
		d.Sessions = append(d.Sessions, row)
	}
}

func (d *replayDocument) changes() {
	index := map[string]string{}
	for i, s := range d.Sessions {
		index[d.r.Sessions[s.at].ID] = strconv.Itoa(i)
	}
	if d.subject >= 0 {
		d.Subject = d.traits[d.subject].Name
	}
	for _, list := range display.ChangesOf(d.r) {
		one := changeList{list.Title, line(list.Under, 200), list.Good, nil}
		for _, c := range list.Rows {
			c.Name, c.Why = line(cmp.Or(c.Name, c.Session), 120), visible(c.Why)
			one.Rows = append(one.Rows, changeRow{c, index[c.Session]})
		}
		d.Changes = append(d.Changes, one)
	}
}
