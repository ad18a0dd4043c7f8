package rule

import (
	"fmt"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/session"
)

// Defaults of the backward scan (S000, S001 phase 2).
const (
	DefaultProtect      = 40_000 // tokens of the newest tool output: recent reads are what the next edit is made from
	DefaultMinimum      = 20_000 // tokens: a commit rewrites the prompt from its first change on, small ones do not pay
	DefaultProtectTurns = 2      // the request being worked on, and the one before
)

// DefaultProtectedTools are the tools whose output is never pruned: a skill is an instruction, not a finding.
func DefaultProtectedTools() []string { return []string{"skill"} }

// Backward prunes old tool outputs, newest first: it protects the newest ones and the last turns, and collects what lies
// before, up to the latest summary or the first output that was pruned already (S000).
type Backward struct {
	Protect        int // tokens; see DefaultProtect
	Minimum        int // tokens; see DefaultMinimum
	Turns          int // see DefaultProtectTurns
	ProtectedTools []string

	// Letter follows the specification's program to the letter: every user message counts as a turn, what is pruned is
	// shown as Cleared, and an output goes however small it is. Otherwise only what the user wrote counts as a turn, the walk passes over
	// outputs that are elided already, the placeholder has a handle, and pins, what the window guards and outputs no larger than their
	// placeholder stay.
	Letter bool
}

// Name is "backward".
func (b Backward) Name() string { return "backward" }

// Find walks the window from its newest part to its oldest.
func (b Backward) Find(w Window) Found {
	if b.Letter {
		return b.letter(w)
	}
	var found Found
	w = w.Read()
	s := b.scan(w)
	border := s.border(b, w)
	b.elideAtOnce(w, s, border)
	for i := len(s.behind) - 1; i >= 0; i-- {
		x := s.behind[i]
		if x.At > border {
			continue
		}
		refusal, ok := w.may(b.Name(), x, Output, Age{}, false)
		if ok && w.unsent(x, Output) {
			refusal, ok = notSent(b.Name(), x), false
		}
		gone := !ok
		switch {
		case !ok && refusal.Code != "":
			found.Refusals, gone = append(found.Refusals, refusal), false
		case ok:
			switch e := b.elision(w, s, x); {
			case e.Saves < w.Guard.least():
				gone = true
			case w.Ledger.Covers(e.Part):
				gone = true
				s.covering.add(x, nil, Refusal{Code: Covers, Rule: e.Rule, Part: e.Part, Reason: coversReason, Tokens: e.Saves})
			default:
				if found.Elisions == nil {
					found.Elisions = make([]Elision, 0, i+1)
				}
				found.Elisions = append(found.Elisions, *e)
			}
		}
		if gone {
			s.behind[i] = nil
		}
	}
	s.behind = slices.DeleteFunc(s.behind, func(x *Item) bool { return x == nil })
	found.Refusals = s.covering.tell(found.Refusals)
	return b.worth(found, Saves(found.Elisions))
}

// scan is what the walk remembers of a window, so that a step looks at the protected zone and at what left it. It holds for a ledger that grows, one
// factor, guard and list of pins; where one of them is another it begins again.
type scan struct {
	upTo    int     // how far the timeline was read
	all     []*Item // outputs that could be pruned by what they are, oldest first, but for some that are elided
	behind  []*Item // of them those that lay behind the zone once and may still go
	crossed int     // position of the newest that lay there, -1 for none
	// covering are those that stay because others went for them. While the ledger grows they do so until something newer covers them, by another rule.
	covering standing
	because  string

	ledger Ledger
	factor float64
	guard  *Guard
	pins   []Pin
}

// scanKey is under which scans are remembered.
type scanKey struct {
	protect, turns int
	tools          string
}

func (b Backward) scan(w Window) *scan {
	line, key := w.line(), scanKey{b.Protect, b.Turns, strings.Join(b.ProtectedTools, "\x00")}
	s, ok := line.memory[key].(*scan)
	if !ok || s.factor != w.Facts.factor || s.guard != w.Guard || !w.Ledger.extends(s.ledger) || !slices.Equal(s.pins, w.Pins) {
		s = &scan{crossed: -1, factor: w.Facts.factor, guard: w.Guard, pins: slices.Clone(w.Pins), because: b.because()}
		line.memory[key] = s
	}
	for _, e := range s.covering.touched(s.ledger, w.Ledger) {
		at, _ := slices.BinarySearchFunc(s.behind, e.item.At, func(x *Item, at int) int { return x.At - at })
		s.behind = slices.Insert(s.behind, at, e.item)
	}
	s.ledger = w.Ledger
	w.Facts.goneOutputs(w.Ledger)
	for ; s.upTo < len(line.items); s.upTo++ {
		if x := line.items[s.upTo]; x.Call != nil && ended(x.Part) && !slices.Contains(b.ProtectedTools, x.Part.Tool) {
			if s.all = append(s.all, x); w.Ledger.Has(Key{x.Part.ID, Output}) {
				x.size.gone = w.Facts.gone // it may have been elided before anything was known of it
			}
		}
	}
	return s
}

// goneOutputs marks what is known of the parts whose outputs a ledger elides, so that a walk over thousands of them need not look up each. Of a ledger that grows
// only what is new is marked.
func (f *Facts) goneOutputs(ledger Ledger) {
	if f.gone == 0 || !ledger.extends(f.ledger) {
		f.gone++
		f.ledger = Ledger{}
	}
	for _, e := range ledger.elisions[len(f.ledger.elisions):] {
		if known := f.parts[e.Part]; known != nil && e.Field == Output {
			known.gone = f.gone
		}
	}
	f.ledger = ledger
}

// outputGone reports whether the ledger that was marked last elides the output of an item. Where the index has another part with its id, it is looked up.
func (f *Facts) outputGone(x *Item) bool {
	return x.size.gone == f.gone || !x.size.indexed && f.ledger.Has(Key{x.Part.ID, Output})
}

// border is the position of the newest output behind the protected zone, -1 when there is none. What crossed it since the last time is added to behind.
func (s *scan) border(b Backward, w Window) int {
	now, total, border := &w.line().now, 0, -1
	i := len(s.all) - 1
	for ; i >= 0; i-- {
		x := s.all[i]
		if now.Turn-x.Turn < b.Turns {
			continue
		}
		if w.Facts.outputGone(x) {
			s.all[i] = nil
			continue
		}
		if total += x.Size().Output; total > b.Protect {
			border = x.At
			break
		}
	}
	if border > s.crossed {
		from := i
		for from > 0 && (s.all[from-1] == nil || s.all[from-1].At > s.crossed) {
			from--
		}
		s.behind = append(s.behind, s.all[from:i+1]...)
		s.crossed = border
	}
	zone := slices.DeleteFunc(s.all[i+1:], func(x *Item) bool { return x == nil })
	s.all = s.all[:i+1+len(zone)]
	return border
}

// elision of an output, made once.
func (b Backward) elision(w Window, s *scan, x *Item) *Elision {
	if !x.elided(w) {
		b.elide(w, s, x, new(Elision))
		w.Facts.decided++
	}
	return x.size.backward
}

func (b Backward) elide(w Window, s *scan, x *Item, e *Elision) {
	shown := w.plainly(x)
	*e = Elision{Part: x.Part.ID, Message: x.Message, Field: Output, Rule: b.Name(), Shown: shown.text, Because: s.because, Saves: shown.saves}
	x.size.backward, x.size.backwardFactor = e, w.Facts.factor
}

// elided reports whether the elision of an item was made, with the factor of now.
func (x *Item) elided(w Window) bool {
	return x.size.backward != nil && x.size.backwardFactor == w.Facts.factor
}

// elideAtOnce makes the elisions of many outputs on all processors.
func (b Backward) elideAtOnce(w Window, s *scan, border int) {
	if len(s.behind) < atOnce {
		return
	}
	wanted := make([]*Item, 0, len(s.behind))
	for _, x := range s.behind {
		if x.At <= border && !x.elided(w) && w.ready(x) {
			if _, ok := w.may(b.Name(), x, Output, Age{}, false); ok {
				wanted = append(wanted, x)
			}
		}
	}
	if len(wanted) < atOnce {
		return
	}
	elisions := make([]Elision, len(wanted))
	spread(len(wanted), func(at int) { b.elide(w, s, wanted[at], &elisions[at]) })
	w.Facts.decided += len(wanted)
}

func (b Backward) because() string {
	return fmt.Sprintf("it lies behind the newest %d tokens of tool output and the last %d turns", b.Protect, b.Turns)
}

// letter walks as the specification's program does (S000).
func (b Backward) letter(w Window) Found {
	var found Found
	turns, total, pruned := 0, 0, 0
	because, cleared := b.because(), w.Facts.Count(Cleared)
walk:
	for i := len(w.Messages) - 1; i >= 0; i-- {
		m := &w.Messages[i]
		if _, kept := m.Kept(); m.Role == session.User && !kept { // which the specification does not know
			turns++
		}
		if turns < b.Turns {
			continue
		}
		if m.IsSummary() {
			break
		}
		for j := len(m.Parts) - 1; j >= 0; j-- {
			p := &m.Parts[j]
			if p.Type != session.ToolPart || p.State == nil || p.State.Status != session.Completed || slices.Contains(b.ProtectedTools, p.Tool) {
				continue
			}
			if w.Ledger.Has(Key{p.ID, Output}) {
				break walk
			}
			size := w.Facts.Size(p)
			if total += size.Output; total <= b.Protect {
				continue
			}
			pruned += size.Output
			found.Elisions = append(found.Elisions, Elision{
				Part: p.ID, Message: m.ID, Field: Output, Rule: b.Name(), Shown: Cleared, Because: because, Saves: size.Output + size.Files - cleared,
			})
		}
	}
	return b.worth(found, pruned)
}

// worth drops what would be pruned when it is too little.
func (b Backward) worth(found Found, pruned int) Found {
	if len(found.Elisions) > 0 && pruned <= b.Minimum {
		found.Elisions = nil
		found.Refusals = append(found.Refusals, Refusal{
			Code: BelowMinimum, Rule: b.Name(), Tokens: pruned,
			Reason: fmt.Sprintf("%d tokens of old tool output could go; it takes more than %d to be worth a commit", pruned, b.Minimum),
		})
	}
	return found
}
