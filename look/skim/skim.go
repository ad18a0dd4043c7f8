// Package skim reports on sessions that are too large to be held in memory. It inspects a file of
// lines a stretch at a time, the newest first, and puts the reports together.
//
// The figures are those of the whole, with these differences, none of which changes what a step is
// told: rules look at one stretch at a time, so that what a much later part shows again, or quotes,
// is found by its age alone, the largest candidates are listed and the others summed up, the
// timeline joins neighbouring messages, and a tail that a pivot kept from an older stretch counts
// as folded.
package skim

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/plan/policy"
	"github.com/winnowhq/winnow/plan/recall"
	"github.com/winnowhq/winnow/plan/settings"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/token"
)

const (
	// Length of a stretch, in bytes: small against what is to be saved, and large against what a
	// policy protects.
	Length = 8 << 20

	mostCandidates = 5_000
	mostStrata     = 4_000
	fewestStrata   = 40 // of a stretch
)

// File is a file to skim.
type File struct {
	Pieces *format.Pieces
	Format format.Outliner
	// Progress is told after each stretch; nil for nobody.
	Progress func(done, of int)
}

// Inspect reports on a file, as report.Inspect does on a session. The configuration is that of an
// engine; its store is not used. Time grows with the file, memory with a few dozen bytes a line.
func Inspect(ctx context.Context, file File, c winnow.Config) (report.Report, error) {
	n := file.Pieces.Len()
	if n == 0 {
		return report.Report{}, &format.SyntaxError{Format: file.Format.Name(), Line: 1, Expected: "a message"}
	}
	oldest, err := file.read(0)
	if err != nil {
		return report.Report{}, err
	}
	s := &skimming{file: file, config: c, info: oldest.Session.Info, strata: max(fewestStrata, mostStrata/n)}
	settings := settings.Default()
	if c.Settings != nil {
		settings = *c.Settings
	}
	s.settings, s.protect, s.turns = settings, settings.Compaction.Protect, settings.Compaction.ProtectTurns
	if s.config.Calibrated == nil {
		s.config.Calibrated = token.NewCalibrated("auto", token.Linear{})
	}
	for i := n - 1; i >= 0; i-- {
		if err := ctx.Err(); err != nil {
			return report.Report{}, err
		}
		if err := s.stretch(ctx, i, i == n-1); err != nil {
			return report.Report{}, err
		}
		if file.Progress != nil {
			file.Progress(n-i, n)
		}
	}
	return s.finish(), nil
}

func (f File) read(i int) (*format.Document, error) {
	text, err := f.Pieces.Read(i)
	if err != nil {
		return nil, err
	}
	doc, err := f.Format.ReadStretch(text)
	if err != nil {
		return nil, fmt.Errorf("stretch %d of %d: %w", i+1, f.Pieces.Len(), err)
	}
	return doc, nil
}

// skimming is a report that grows towards the past.
type skimming struct {
	file     File
	config   winnow.Config
	settings settings.Settings
	info     session.Info
	strata   int // of a stretch, at most

	report  report.Report
	model   model.Model
	protect int  // tokens of tool output that are still protected
	turns   int  // turns that are still protected
	stopped bool // the letter's scan has come to what is left out already

	prices   *bill.Prices
	bill     bill.Sums
	unpriced []string // models

	rows    [][]report.Stratum // of each stretch, the newest first
	turnsOf []int
	written [][]session.Message // by the user: a wish may be taken back in another stretch
}

// leastWish is how many bytes a text must have to wish for something, or to take that back.
const leastWish = 8

// wrote are the messages that the user wrote, with their texts alone. Nothing of the stretch that
// they stand in is held by them.
func wrote(messages []session.Message) (written []session.Message) {
	for i := range messages {
		m := messages[i]
		if !m.Written() || len(m.Text()) < leastWish {
			continue
		}
		m.Parts = slices.DeleteFunc(slices.Clone(m.Parts), func(p session.Part) bool {
			return p.Type != session.TextPart
		})
		for j := range m.Parts {
			m.Parts[j].Text = strings.Clone(m.Parts[j].Text)
		}
		written = append(written, m)
	}
	return written
}

// stretch looks at one stretch. What the newer ones have protected is protected no more.
func (s *skimming) stretch(ctx context.Context, i int, newest bool) error {
	doc, err := s.file.read(i)
	if err != nil {
		return err
	}
	s.written = append(s.written, wrote(doc.Session.Messages))
	settings := s.settings
	if s.file.Pieces.Len() > 1 {
		settings.Compaction.Protect, settings.Compaction.ProtectTurns, settings.Compaction.Minimum = s.protect,
			s.turns, 0
	}
	if !newest { // whatever is in it is old
		b := &settings.Strategies.BalancedPruning
		b.QuietSteps, b.ErrorTurns, b.ErrorSteps, b.FileTurns, b.FileSteps, b.CodeBlockTurns = 0, 0, 0, 0, 0, 0
	}
	c := s.config
	c.Settings, c.Store = &settings, nil
	if !newest {
		c.After = max(1, s.report.Steps)
		s.charge(doc)
		c.Model, c.ForceModel = s.model.String(), true
		s.withoutReports(doc.Session.Messages, i == 0)
	}
	doc.Session.Info.ID, doc.Session.Info.Directory, doc.Session.Info.Title = s.info.ID, s.info.Directory,
		cmp.Or(s.info.Title, doc.Session.Info.Title)
	if doc.Session.Info.ID == "" {
		doc.Session.Info.ID = "session"
	}
	engine, err := winnow.Open(c)
	if err != nil {
		return err
	}
	defer engine.Close()
	defer engine.Store().Close()
	if err := engine.Import(ctx, doc.Session, doc.Ledger, nil); err != nil {
		return err
	}
	r, err := winnow.Look(ctx, engine, doc.Session.Info.ID, report.Inspect)
	if err != nil {
		return err
	}
	if i > 0 {
		r.Window.Overhead = 0 // learned from a report that had the older stretches in it
	}
	if newest {
		models := s.config.Models
		if models == nil {
			models = model.Default()
		}
		s.model = models.Lookup(r.Model)
		s.prices = bill.NewPrices(models.Lookup)
		if s.file.Pieces.Billed {
			s.requests(s.file.Pieces.Requests)
		}
		s.charge(doc)
	}
	s.add(r, newest)
	return nil
}

// withoutReports takes out what steps reported: of a stretch in the middle, a report says nothing
// about the sizes of what is in it. The first of all stays, for what it tells about the system
// prompt. What was reported is billed before.
func (s *skimming) withoutReports(messages []session.Message, first bool) {
	for i := range messages {
		m := &messages[i]
		if m.Tokens == nil {
			continue
		}
		if first && m.Role == session.Assistant && m.Tokens.Prompt() > 0 && !m.IsSummary() {
			first = false
			continue
		}
		m.Tokens = nil
	}
}

// charge adds what the requests of a stretch took, unless the file told it as a whole.
func (s *skimming) charge(doc *format.Document) {
	if !s.file.Pieces.Billed {
		for i := range doc.Session.Messages {
			s.requests(slices.Values(bill.Requests(&doc.Session.Messages[i])))
		}
		s.requests(slices.Values(doc.Beside))
	}
}

func (s *skimming) requests(all iter.Seq[bill.Request]) {
	for r := range all {
		r.Model = cmp.Or(r.Model, s.model.String())
		one := s.prices.Of(r)
		s.bill.Add(r.Kind, one)
		if name := r.Priced(""); one.Unpriced > 0 && !slices.Contains(s.unpriced, name) {
			s.unpriced = append(s.unpriced, name)
		}
	}
}

// add puts the report of an older stretch before what was reported so far.
func (s *skimming) add(r report.Report, newest bool) {
	s.turns = max(0, s.turns-r.Turns)
	s.protect = max(0, s.protect-r.Tokens.ByKind[view.KindToolOutput])
	s.rows, s.turnsOf = append(s.rows, r.Strata), append(s.turnsOf, r.Turns)
	if newest {
		s.report = r
		s.report.Costs = nil // of the stretch alone
		if v := s.report.Window.Verdict; v != nil {
			v.Step = "" // an id of the stretch
		}
		s.stopped = s.stops(r)
	} else {
		s.addOlder(r)
	}
	s.omit(2 * mostCandidates)
	s.thin()
}

func (s *skimming) addOlder(r report.Report) {
	t := &s.report
	t.Title = cmp.Or(r.Title, t.Title) // the oldest words of the user that mean something
	t.Messages += r.Messages
	t.Steps += r.Steps
	t.Turns += r.Turns
	t.ToolCalls += r.ToolCalls
	t.ToolResults += r.ToolResults
	t.Tokens.Total += r.Tokens.Total
	sum(t.Tokens.ByKind, r.Tokens.ByKind)
	sum(t.Tokens.ByTool, r.Tokens.ByTool)
	sum(t.Tokens.ByFile, r.Tokens.ByFile)
	w := &t.Window
	w.Overhead = r.Window.Overhead
	if w.Pivot != "" {
		w.Folded += r.Messages
		fold(s.rows[len(s.rows)-1])
		return
	}
	w.Messages += r.Window.Messages
	w.Tokens += r.Window.Tokens
	w.Elided += r.Window.Elided
	w.ElidedTokens += r.Window.ElidedTokens
	w.Pivot, w.Folded = r.Window.Pivot, r.Window.Folded
	w.Pending = cmp.Or(w.Pending, r.Window.Pending)
	if !s.stopped {
		t.Candidates = append(r.Candidates, t.Candidates...)
	}
	s.stopped = s.stopped || s.stops(r)
}

// stops reports whether the backward scan ends in a stretch: the letter's does at what is left out
// already, and that of balanced passes over it.
func (s *skimming) stops(r report.Report) bool {
	return r.Window.Elided > 0 && !policy.Sound(s.settings.Policy)
}

func sum(to, from map[string]int) {
	for k, n := range from {
		to[k] += n
	}
}

// fold makes strata part of what a summary stands for.
func fold(strata []report.Stratum) {
	for i := range strata {
		total := 0
		for _, n := range strata[i].Zones {
			total += n
		}
		strata[i].Pivot = false
		clear(strata[i].Zones)
		if total > 0 {
			strata[i].Zones[report.Folded] = total
		}
	}
}

// omit keeps the largest candidates and sums up the others, if there are more than so many.
func (s *skimming) omit(over int) {
	t := &s.report
	if len(t.Candidates) <= over {
		return
	}
	bySize := slices.Clone(t.Candidates)
	slices.SortStableFunc(bySize, func(a, b report.Candidate) int { return cmp.Compare(b.Saves, a.Saves) })
	least := bySize[mostCandidates].Saves
	kept := make([]report.Candidate, 0, mostCandidates)
	for _, c := range t.Candidates {
		if c.Saves > least {
			kept = append(kept, c)
			continue
		}
		at := slices.IndexFunc(t.Omitted, func(o report.RuleSum) bool { return o.Rule == c.Rule })
		if at < 0 {
			at = len(t.Omitted)
			t.Omitted = append(t.Omitted, report.RuleSum{Rule: c.Rule})
		}
		t.Omitted[at].Parts++
		t.Omitted[at].Saves += c.Saves
	}
	t.Candidates = kept
}

// thin joins neighbours of the newest added strata, of which there may be too many to be told one
// by one.
func (s *skimming) thin() {
	if s.file.Pieces.Len() == 1 {
		return
	}
	at := len(s.rows) - 1
	rows := s.rows[at]
	share := (len(rows) + s.strata - 1) / s.strata
	if share < 2 {
		return
	}
	var out []report.Stratum
	for _, row := range rows {
		n := len(out)
		if n == 0 || max(1, out[n-1].Messages) >= share || alone(row) || alone(out[n-1]) {
			row.Messages = 0 // stands for 1
			out = append(out, row)
			continue
		}
		last := &out[n-1]
		last.Messages = max(1, last.Messages) + 1
		last.Turn, last.Written = row.Turn, cmp.Or(last.Written, row.Written)
		for z, tokens := range row.Zones {
			last.Zones[z] += tokens
		}
	}
	s.rows[at] = slices.Clone(out)
}

// alone reports whether a stratum is not to be joined with others: pivots stand for themselves.
func alone(s report.Stratum) bool { return s.Pivot || s.Zones[report.Summary] > 0 }

// finish gives turns their numbers and says whether the whole fits.
func (s *skimming) finish() report.Report {
	s.omit(mostCandidates)
	r := s.report
	r.ID, r.Title = cmp.Or(s.info.ID, r.ID), cmp.Or(s.info.Title, r.Title)
	r.Bill, r.Cost, r.Unpriced = s.bill, s.bill.Total().Dollars(), s.unpriced
	slices.Sort(r.Unpriced)
	r.Strata, r.Constraints, r.Dismissed = nil, []string{}, []string{}
	turns := 0
	for i := len(s.rows) - 1; i >= 0; i-- {
		for _, row := range s.rows[i] {
			row.Turn += turns
			r.Strata = append(r.Strata, row)
		}
		turns += s.turnsOf[i]
	}
	slices.Reverse(s.written)
	for _, c := range recall.Constraints(slices.Concat(s.written...)) {
		r.Constraints = append(r.Constraints, c.Text)
	}
	r.ByRule = report.ByRule(r.Candidates, r.Omitted)
	r.Window.Judge(policy.Sound(r.Policy))
	return r
}
