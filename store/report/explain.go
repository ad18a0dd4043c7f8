package report

import (
	"slices"
	"sort"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/schedule"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
)

// Explain says why the part named is shown as it is: by its id, its call's id or its handle.
func Explain(part string) func(*Session) (Explanation, error) {
	return func(s *Session) (Explanation, error) {
		m, p := Find(s.Log, s.Handles, part)
		if p == nil {
			return Explanation{}, &Missing{Op: "explain", What: "part " + part}
		}
		x := s.explainer().explain(m, p, session.Index(s.Log, m.ID))
		x.Text = s.shownText(p)
		x.Pieces = Pieces(p, s.State.Ledger.Of(p.ID), elisionsOf(x.Candidates))
		return x, nil
	}
}

// Parts explains every part of the log, in its order. Text and Pieces are left empty; the log has
// them.
func Parts(s *Session) ([]Part, error) {
	x := s.explainer()
	all := make([]Part, 0, len(x.parts))
	for i := range s.Log {
		m := &s.Log[i]
		for j := range m.Parts {
			p := &m.Parts[j]
			all = append(all, Part{
				Explanation: x.explain(m, p, i), Whole: s.Facts.Size(p),
				Rendered: view.Part(p, s.State.Ledger, s.Facts),
			})
		}
	}
	return all, nil
}

func elisionsOf(reasons []Reason) []rule.Elision {
	out := make([]rule.Elision, len(reasons))
	for i := range reasons {
		out[i] = reasons[i].Elision
	}
	return out
}

// shownText is what the model sees of a part.
func (s *Session) shownText(p *session.Part) string {
	alone := session.Message{MessageInfo: session.MessageInfo{Role: session.Assistant}, Parts: []session.Part{*p}}
	rendered := s.View.Render([]session.Message{alone}, s.State.Ledger)
	if len(rendered) == 0 || len(rendered[0].Parts) == 0 {
		return ""
	}
	shown := &rendered[0].Parts[0]
	if shown.State != nil {
		return shown.State.Result()
	}
	return shown.Text
}

// explainer holds what explaining any part of a session needs. Making it takes one look at
// everything, so that each part then takes only what there is to say about it.
type explainer struct {
	s        *Session
	window   []session.Message
	inWindow map[string]bool
	prunable map[string]bool
	waits    map[rule.Key]schedule.Wait // of the candidates
	general  []rule.Refusal             // of no part
	pins     rule.Window
	active   int               // position of the first message of the last turns
	marker   int               // position of the pivot that the window begins with, -1 for none
	parts    map[string]*place // by id
	commits  map[commitKey]commit
	quoted   map[string]*Quoted // by part
	steps    []session.Millis   // when each step and turn began, sorted
	turns    []session.Millis
	newest   map[string]bool // outputs within the newest tokens that the backward scan leaves
}

// place is where a part stands in the log, and what is known about it.
type place struct {
	part       *session.Part
	step, turn int
	candidates []rule.Elision
	refusals   []rule.Refusal
	standsFor  []string // parts that were elided for it
	wouldStand []string // parts that would be
}

// commitKey tells an elision of now from one of the same field that was undone before.
type commitKey struct {
	rule.Key
	time session.Millis
}

type commit struct {
	receipt  string
	undo     string
	together int
}

func (s *Session) explainer() *explainer {
	x := &explainer{
		s: s, window: s.window(), prunable: map[string]bool{}, waits: map[rule.Key]schedule.Wait{},
		pins: rule.Window{Pins: s.State.Pins}, active: s.firstActive(), marker: -1,
		parts: make(map[string]*place, 2*len(s.Log)), commits: map[commitKey]commit{},
	}
	x.inWindow, x.quoted = idsOf(x.window), s.quotations()
	x.walk()
	x.newest = x.withinProtect()
	x.find()
	for _, el := range s.State.Ledger.All() {
		x.relied(el, func(p *place) *[]string { return &p.standsFor })
	}
	if view.Pivot(x.window) != nil {
		x.marker = session.Index(s.Log, x.window[0].ID)
	}
	for i := range s.State.Receipts {
		r := &s.State.Receipts[i]
		parts := r.Parts()
		for _, el := range r.Committed {
			x.commits[commitKey{el.Key(), el.Time}] = commit{r.ID, "winnow undo " + s.id() + " " + r.ID, parts}
		}
	}
	return x
}

// walk notes where each part stands, and when steps and turns began.
func (x *explainer) walk() {
	step, turn := 0, 0
	for i := range x.s.Log {
		m := &x.s.Log[i]
		if m.Written() {
			turn++
			x.turns = append(x.turns, m.Time.Created)
		}
		begun, finished, total := step, 0, session.Steps(x.s.Log[i:i+1])
		for range total {
			x.steps = append(x.steps, m.Time.Created)
		}
		step += total
		for j := range m.Parts {
			p := &m.Parts[j]
			x.parts[p.ID] = &place{part: p, step: begun + min(total, 1+finished), turn: turn}
			if p.Type == session.StepFinishPart {
				finished++
			}
		}
	}
	slices.Sort(x.steps)
	slices.Sort(x.turns)
}

// find notes what the rules find now, and what they refuse.
func (x *explainer) find() {
	found := x.s.Policy.Find(x.s.Planner)
	for i, w := range x.s.Policy.Waits(x.s.Planner, x.s.Next, found.Elisions) {
		x.waits[found.Elisions[i].Key()] = w
	}
	for _, el := range found.Elisions {
		x.prunable[el.Part] = true
		if p := x.parts[el.Part]; p != nil {
			p.candidates = append(p.candidates, el)
		}
		x.relied(el, func(p *place) *[]string { return &p.wouldStand })
	}
	for _, r := range found.Refusals {
		if r.Part == "" {
			x.general = append(x.general, r)
		} else if p := x.parts[r.Part]; p != nil && !slices.Contains(p.refusals, r) {
			p.refusals = append(p.refusals, r)
		}
	}
}

// relied adds the part of an elision, once, to those that it relies on.
func (x *explainer) relied(el rule.Elision, list func(*place) *[]string) {
	for _, by := range el.Covers() {
		if p := x.parts[by]; p != nil {
			if parts := list(p); !slices.Contains(*parts, el.Part) {
				*parts = append(*parts, el.Part)
			}
		}
	}
}

// withinProtect are the newest tool outputs, as the backward scan counts them.
func (x *explainer) withinProtect() map[string]bool {
	within, total := map[string]bool{}, 0
	scan, ok := x.s.Policy.Backward()
	if !ok {
		return within
	}
	recent := idsOf(x.s.Log[x.active:])
	for i := len(x.window) - 1; i >= 0; i-- {
		m := &x.window[i]
		if recent[m.ID] {
			continue
		}
		for j := len(m.Parts) - 1; j >= 0; j-- {
			p := &m.Parts[j]
			if p.Type != session.ToolPart || p.State == nil || p.State.Status != session.Completed ||
				slices.Contains(scan.ProtectedTools, p.Tool) ||
				x.s.State.Ledger.Has(rule.Key{Part: p.ID, Field: rule.Output}) {
				continue
			}
			if total += x.s.Facts.Size(p).Output; total > scan.Protect {
				return within
			}
			within[p.ID] = true
		}
	}
	return within
}

// explain explains the part of the message at a position of the log.
func (x *explainer) explain(m *session.Message, p *session.Part, at int) Explanation {
	s, where := x.s, x.parts[p.ID]
	out := Explanation{
		Part: p.ID, Message: m.ID, Handle: s.Handles.Of(p), Type: string(p.Type), Tool: p.Tool,
		Target: s.Facts.Target(p),
		Step:   where.step, Turn: where.turn, Tokens: s.Facts.Size(p).Total(),
		Findings: Findings{
			Elisions: []Reason{}, Candidates: []Reason{}, Refusals: append([]rule.Refusal{}, where.refusals...),
			StandsFor: x.refs(where.standsFor), WouldStandFor: x.refs(where.wouldStand),
		},
		Pinned: x.pins.Pinned(p.ID, m.ID), Pieces: []Piece{},
	}
	for _, el := range s.State.Ledger.Of(p.ID) {
		out.Elisions = append(out.Elisions, x.standing(el))
	}
	for _, el := range where.candidates {
		r := x.reason(el)
		r.When, r.Restored = x.waits[el.Key()].String(), s.Planner.Restored[el.Key()]
		out.Candidates = append(out.Candidates, r)
	}
	if len(out.Candidates) > 0 {
		first := out.Candidates[0].Elision
		out.Candidate = &first
	}
	out.Zone = s.zone(m, p, x.inWindow[m.ID], x.prunable, at >= x.active)
	if out.Zone != Folded {
		out.Shown = s.shown(p)
	} else if out.Quoted = x.quoted[p.ID]; out.Quoted != nil {
		out.Shown = s.quotedTokens(p.ID)
	}
	x.because(&out, p, at)
	return out
}

func (x *explainer) reason(el rule.Elision) Reason {
	return Reason{Elision: el, Covering: x.refs(el.Covers()), Switch: Switch(el.Rule, x.s.Policy.Name)}
}

func (x *explainer) standing(el rule.Elision) Reason {
	r := x.reason(el)
	if el.Time != 0 {
		r.StepsSince, r.TurnsSince = since(x.steps, el.Time), since(x.turns, el.Time)
	}
	if c, ok := x.commits[commitKey{el.Key(), el.Time}]; ok {
		r.Receipt, r.Undo, r.Together = c.receipt, c.undo, c.together
	}
	return r
}

// since counts what began later than a moment.
func since(began []session.Millis, at session.Millis) int {
	return len(began) - sort.Search(len(began), func(i int) bool { return began[i] > at })
}

func (x *explainer) refs(parts []string) []Ref {
	out := make([]Ref, 0, len(parts))
	for _, id := range parts {
		ref := Ref{Part: id}
		if at := x.parts[id]; at != nil {
			p := at.part
			ref.Handle, ref.Type, ref.Tool = x.s.Handles.Of(p), string(p.Type), p.Tool
			ref.Target, ref.Step = x.s.Facts.Target(p), at.step
		}
		out = append(out, ref)
	}
	return out
}

// quotations are the quotations of the window, by the parts that they show.
func (s *Session) quotations() map[string]*Quoted {
	by := map[string]*Quoted{}
	for _, m := range s.window() {
		n, kept := m.Kept()
		if !kept {
			continue
		}
		q := &Quoted{Message: m.ID, By: n.Kept, Pin: n.Pin, Time: m.Time.Created,
			Undo: "winnow undo " + s.id() + " " + n.Kept}
		for _, r := range s.State.Receipts {
			if r.ID == n.Kept {
				q.Time = r.Time
			}
		}
		for _, p := range s.State.Pins {
			if p.ID == n.Kept {
				q.Time, q.Undo = p.Time, "winnow protect --remove "+s.id()+" "+p.ID
			}
		}
		for _, part := range n.Quotes {
			by[part] = q
		}
	}
	return by
}
