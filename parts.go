package winnow

import (
	"context"
	"slices"
	"sort"

	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/schedule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/view"
)

// PartReport explains one part of a log, as [Engine.Explain] does, and itemises its size.
type PartReport struct {
	Explanation
	// Whole is its size as the log has it; Rendered what of it the ledger leaves, also of a part before the window.
	Whole, Rendered rule.Size
}

// Parts explains every part of the log, in its order: what Explain says of each, found in one go. The members Text and Pieces are left empty; the
// log has them.
func (e *Engine) Parts(ctx context.Context, id string) ([]PartReport, error) {
	l, err := e.lock(ctx, "explain", id)
	if err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	x := e.explainer(l)
	all := make([]PartReport, 0, len(x.places))
	for i := range l.log {
		for j := range l.log[i].Parts {
			m, p := &l.log[i], &l.log[i].Parts[j]
			all = append(all, PartReport{
				Explanation: x.explain(m, p, i), Whole: l.facts.Size(p), Rendered: view.Part(p, l.state.Ledger, l.facts),
			})
		}
	}
	return all, nil
}

// explainer holds what explaining any part of a session needs. Making it costs one look at everything, so that each part then costs only what
// there is to say of it.
type explainer struct {
	engine     *Engine
	live       *live
	window     []session.Message
	inWindow   map[string]bool
	prunable   map[string]bool
	candidates map[string][]rule.Elision
	waits      map[rule.Key]schedule.Wait // of the candidates
	refusals   map[string][]rule.Refusal
	general    []rule.Refusal // of no part
	pins       rule.Window
	active     int            // position of the first message that belongs to the last turns
	marker     int            // position of the pivot that the window begins with, -1 for none
	positions  map[string]int // of messages, in the log
	places     map[string]place
	standsFor  map[string][]string // part → those that were elided for it
	wouldStand map[string][]string
	commits    map[commitKey]commit
	quoted     map[string]*Quoted // by part
	steps      []session.Millis   // when each step and turn began, sorted
	turns      []session.Millis
	newest     map[string]bool // outputs within the newest tokens that the backward scan leaves
}

// place is where a part stands in the log.
type place struct {
	part       *session.Part
	step, turn int
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

func (e *Engine) explainer(l *live) *explainer {
	x := &explainer{
		engine: e, live: l, window: l.window(), inWindow: map[string]bool{}, prunable: map[string]bool{}, candidates: map[string][]rule.Elision{},
		waits: map[rule.Key]schedule.Wait{}, refusals: map[string][]rule.Refusal{}, pins: rule.Window{Pins: l.state.Pins}, active: e.firstActive(l.log), marker: -1,
		positions: make(map[string]int, len(l.log)), places: make(map[string]place, 2*len(l.log)), standsFor: map[string][]string{}, wouldStand: map[string][]string{}, commits: map[commitKey]commit{},
	}
	relied := relations{}
	state, next := e.starting(l)
	found := e.policy.Find(state)
	for i, w := range e.policy.Waits(state, next, found.Elisions) {
		x.waits[found.Elisions[i].Key()] = w
	}
	for _, el := range found.Elisions {
		x.prunable[el.Part] = true
		x.candidates[el.Part] = append(x.candidates[el.Part], el)
		relied.note(x.wouldStand, el)
	}
	for _, r := range found.Refusals {
		if r.Part == "" {
			x.general = append(x.general, r)
		} else if !slices.Contains(x.refusals[r.Part], r) {
			x.refusals[r.Part] = append(x.refusals[r.Part], r)
		}
	}
	clear(relied)
	for _, el := range l.state.Ledger.All() {
		relied.note(x.standsFor, el)
	}
	for i := range x.window {
		x.inWindow[x.window[i].ID] = true
	}
	if view.Pivot(x.window) != nil {
		x.marker = session.Index(l.log, x.window[0].ID)
	}
	for i := range l.state.Receipts {
		r := &l.state.Receipts[i]
		parts := r.Parts()
		for _, el := range r.Committed {
			x.commits[commitKey{el.Key(), el.Time}] = commit{r.ID, "winnow undo " + l.id + " " + r.ID, parts}
		}
	}
	x.quoted = l.quotations(x.window)
	x.walk()
	return x
}

// relations are pairs of a part and one that was elided for it: two fields of one part count once.
type relations map[[2]string]bool

// note notes for which parts an elision relies on others.
func (seen relations) note(of map[string][]string, el rule.Elision) {
	for _, by := range el.Covers() {
		if pair := [2]string{by, el.Part}; !seen[pair] {
			seen[pair] = true
			of[by] = append(of[by], el.Part)
		}
	}
}

// walk notes where each part stands, and when steps and turns began.
func (x *explainer) walk() {
	l, step, turn := x.live, 0, 0
	for i := range l.log {
		m := &l.log[i]
		x.positions[m.ID] = i
		if m.Written() {
			turn++
			x.turns = append(x.turns, m.Time.Created)
		}
		begun, finished, total := step, 0, session.Steps(l.log[i:i+1])
		for range total {
			x.steps = append(x.steps, m.Time.Created)
		}
		step += total
		for j := range m.Parts {
			p := &m.Parts[j]
			x.places[p.ID] = place{p, begun + min(total, 1+finished), turn}
			if p.Type == session.StepFinishPart {
				finished++
			}
		}
	}
	slices.Sort(x.steps)
	slices.Sort(x.turns)
	x.newest = x.withinProtect()
}

// withinProtect are the newest tool outputs, as the backward scan counts them.
func (x *explainer) withinProtect() map[string]bool {
	within, total := map[string]bool{}, 0
	scan, ok := x.engine.policy.Backward()
	for i := len(x.window) - 1; i >= 0 && ok; i-- {
		m := &x.window[i]
		if x.positions[m.ID] >= x.active {
			continue
		}
		for j := len(m.Parts) - 1; j >= 0; j-- {
			p := &m.Parts[j]
			if p.Type != session.ToolPart || p.State == nil || p.State.Status != session.Completed || slices.Contains(scan.ProtectedTools, p.Tool) ||
				x.live.state.Ledger.Has(rule.Key{Part: p.ID, Field: rule.Output}) {
				continue
			}
			if total += x.live.facts.Size(p).Output; total > scan.Protect {
				return within
			}
			within[p.ID] = true
		}
	}
	return within
}

// activeTurns is how many of the newest turns the policy leaves alone.
func (e *Engine) activeTurns() int {
	if b, ok := e.policy.Backward(); ok {
		return b.Turns
	}
	return rule.DefaultProtectTurns
}

// firstActive is the position of the first message that belongs to the last turns.
func (e *Engine) firstActive(log []session.Message) int {
	if turns, active := session.Turns(log), e.activeTurns(); len(turns) > 0 && active > 0 {
		return turns[max(0, len(turns)-active)].Start
	}
	return len(log)
}

// explain explains the part of the message at a position of the log.
func (x *explainer) explain(m *session.Message, p *session.Part, at int) Explanation {
	l := x.live
	where := x.places[p.ID]
	out := Explanation{
		Part: p.ID, Message: m.ID, Handle: l.handles.Of(p), Type: string(p.Type), Tool: p.Tool, Target: l.facts.Target(p), Step: where.step, Turn: where.turn,
		Tokens: l.facts.Size(p).Total(), Elisions: []Reason{}, Candidates: []Reason{}, Refusals: append([]rule.Refusal{}, x.refusals[p.ID]...),
		StandsFor: x.refs(x.standsFor[p.ID]), WouldStandFor: x.refs(x.wouldStand[p.ID]), Pinned: x.pins.Pinned(p.ID, m.ID), Pieces: []Piece{},
	}
	for _, el := range l.state.Ledger.Of(p.ID) {
		out.Elisions = append(out.Elisions, x.standing(el))
	}
	for _, el := range x.candidates[p.ID] {
		out.Candidates = append(out.Candidates, Reason{
			Elision: el, Covering: x.refs(el.Covers()), Switch: Switch(el.Rule, x.engine.policy.Name), When: x.waits[el.Key()].String(), Restored: l.restored()[el.Key()],
		})
	}
	if len(out.Candidates) > 0 {
		first := out.Candidates[0].Elision
		out.Candidate = &first
	}
	out.Zone = zoneOf(l, m, p, x.inWindow[m.ID], x.prunable, at >= x.active)
	if out.Zone != Folded {
		out.Shown = l.partTokens(p, l.state.Ledger)
	} else if out.Quoted = x.quoted[p.ID]; out.Quoted != nil {
		out.Shown = x.engine.quotedTokens(l, p.ID)
	}
	x.because(&out, p, at)
	return out
}

func (x *explainer) standing(el rule.Elision) Reason {
	r := Reason{Elision: el, Covering: x.refs(el.Covers()), Switch: Switch(el.Rule, x.engine.policy.Name)}
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
		if at, ok := x.places[id]; ok {
			ref.Handle, ref.Type, ref.Tool, ref.Target, ref.Step = x.live.handles.Of(at.part), string(at.part.Type), at.part.Tool, x.live.facts.Target(at.part), at.step
		}
		out = append(out, ref)
	}
	return out
}
