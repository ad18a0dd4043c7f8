package rule

import (
	"fmt"
	"slices"

	"github.com/winnowhq/winnow/session"
)

// Window is what a rule looks at. A rule changes none of it.
type Window struct {
	Messages []session.Message // oldest first
	Ledger   Ledger            // the elisions so far
	Pins     []Pin
	Facts    *Facts
	// Guard says what no rule touches but the letter's backward scan, which has its own; nil guards
	// nothing.
	Guard *Guard
	// Handles name parts; nil makes names from this window alone.
	Handles *Handles
	// After is how many steps follow it, if it is a stretch of a log that goes on behind it, so
	// that requests had all of it. 0: what its newest step gave was not sent yet.
	After int
	// Outline is how many tokens a placeholder may take to say at which lines of a file things
	// begin; 0 for nothing.
	Outline int
	// Unexplained: nobody reads refusals. Those that were said before may be missing.
	Unexplained bool

	timeline  *timeline  // once the window was read
	uncovered *uncovered // when Decide asks
}

// Read brings what the rules share of a window up to date. A rule reads the window that it is
// given.
func (w Window) Read() Window {
	w.timeline = w.Facts.timeline(w.Messages)
	w.timeline.mark(w.Ledger)
	if w.Handles == nil {
		w.Handles = &w.Facts.handles
	}
	return w
}

// Items are the parts of a window that a rule may look at, oldest first. The window was read.
func (w Window) Items() []*Item { return w.timeline.items }

// Newest has the counters of the newest message. The window was read.
func (w Window) Newest() *Item { return &w.timeline.now }

// handle of a part.
func (w Window) handle(p *session.Part) string {
	if w.Handles != nil && w.Handles != &w.Facts.handles {
		return w.Handles.Of(p)
	}
	w.name()
	return w.Facts.handles.Of(p)
}

// name makes names from this window alone, from its beginning on.
func (w Window) name() {
	if w.timeline == nil || w.timeline.named < len(w.timeline.read) {
		w.Facts.handles.Name(w.Messages)
	}
	if w.timeline != nil {
		w.timeline.named = len(w.timeline.read)
	}
}

// handleOf is the handle of the part of an item. It is looked up once.
func (w Window) handleOf(x *Item) string {
	if x.namer == nil || x.namer != w.Handles {
		x.handle, x.namer = w.handle(x.Part), w.Handles
	}
	return x.handle
}

// Pinned reports whether a part is pinned: by itself, or with its message where that is given.
func (w Window) Pinned(part string, message ...string) bool {
	return slices.ContainsFunc(w.Pins, func(p Pin) bool {
		return p.Part == part && part != "" || p.Message != "" && slices.Contains(message, p.Message)
	})
}

// Age is how old a part must be before a rule takes it, by whichever measure comes first. 0 leaves
// a measure out; with none of them there is no age to reach.
type Age struct {
	Turns, Steps int
	Asked        int // turns as the seeds count them, see Item.Asked
}

// reached reports whether an item is old enough. The newest turn and step have the age 0.
func (a Age) reached(x, now *Item) bool {
	return a == Age{} || a.Turns > 0 && now.Turn-x.Turn >= a.Turns ||
		a.Asked > 0 && now.Asked-x.Asked >= a.Asked || a.Steps > 0 && now.Step-x.Step >= a.Steps
}

// String says what the age asks for.
func (a Age) String() string {
	switch turns := max(a.Turns, a.Asked); {
	case turns > 0 && a.Steps > 0:
		return fmt.Sprintf("it stays for %d turns or %d steps", turns, a.Steps)
	case turns > 0:
		return fmt.Sprintf("it stays for %d turns", turns)
	case a.Steps > 0:
		return fmt.Sprintf("it stays for %d steps", a.Steps)
	}
	return "it need not be old"
}

// may says whether a field of an item that a rule found may go now.
func (w Window) may(name string, x *Item, field Field, age Age) (Refusal, bool) {
	no := func(code Code, reason string) (Refusal, bool) {
		return Refusal{Code: code, Rule: name, Part: x.Part.ID, Reason: reason}, false
	}
	switch {
	case w.Pinned(x.Part.ID, x.Message):
		return no(Protected, "pinned")
	case !age.reached(x, &w.timeline.now):
		return no(Recent, "too recent: "+age.String())
	}
	if why := w.Facts.guarded(w.Guard, x); why != "" {
		return no(Protected, why)
	}
	return Refusal{}, true
}

// LeftOut reports whether nothing more can be left out of a field. With an output its attachments
// go, and what was shortened once stays as it was shortened.
func (x *Item) LeftOut(field Field) bool {
	if x.gone == 0 {
		return false
	}
	of := bit(field)
	if field == Output || field == Error || field == Attachments {
		of = outputBit | errorBit | attachmentsBit | wholeBit
	}
	s := x.Part.State
	return x.gone&of != 0 || s != nil && s.Time != nil && s.Time.Compacted != 0
}

// unsent reports whether a field of an item is something that no request has had yet: what a call
// of the newest step gave, or what the user has said since. Arguments are the model's own.
func (w Window) unsent(x *Item, field Field) bool {
	return w.After == 0 && x.Step == w.timeline.now.Step && field != Input && (x.Call != nil || x.Role == session.User)
}

func notSent(name string, x *Item) Refusal {
	return Refusal{Code: Recent, Rule: name, Part: x.Part.ID, Reason: "no request has had it yet"}
}
