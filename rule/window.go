package rule

import (
	"slices"

	"github.com/winnowhq/winnow/session"
)

// Window is what a rule looks at. It changes none of it.
type Window struct {
	Messages []session.Message // oldest first
	Ledger   Ledger            // what is elided already
	Pins     []Pin
	Facts    *Facts
	// Guard says what no rule touches but the backward scan, which has its own; nil guards nothing.
	Guard *Guard
	// Handles name parts; nil makes names from this window alone.
	Handles *Handles
	// Sent: requests had all of it, for it is a stretch of a log that goes on behind it. Otherwise what the newest step gave was not sent yet.
	Sent bool

	read    *timeline // of the window, once it was read
	unmoved *unmoved  // what rules leave out of what they find
}

// Read brings what the rules remember of a window up to date, once for all of them. A window that was not read is read by each rule.
func (w Window) Read() Window {
	w.read = w.Facts.timeline(w.Messages)
	return w
}

// line is the timeline of the window.
func (w Window) line() *timeline {
	if w.read != nil {
		return w.read
	}
	return w.Facts.timeline(w.Messages)
}

// handle of a part.
func (w Window) handle(p *session.Part) string {
	h := w.Handles
	if h == nil {
		h = &w.Facts.handles
		h.index()
		if name, ok := h.byPart[p.ID]; ok || p.ID == "" {
			return name
		}
		h.Name(w.Messages)
	}
	return h.Of(p)
}

// handleOf is the handle of an item, looked up once.
func (w Window) handleOf(x *Item) string {
	h := w.Handles
	if h == nil {
		h = &w.Facts.handles
	}
	switch {
	case x.size == nil:
		return w.handle(x.Part)
	case x.size.namer == h:
		return x.size.handle
	}
	name := w.handle(x.Part)
	if name != "" {
		x.size.namer, x.size.handle = h, name
	}
	return name
}

// target of an item, as Facts.Target has it, looked up once.
func (w Window) target(x *Item) string {
	if x.size == nil {
		return w.Facts.Target(x.Part)
	}
	if !x.size.understood {
		x.size.understand(x.Part)
	}
	return x.size.target
}

// Pinned reports whether a part is pinned: by itself, or with its message where that is given.
func (w Window) Pinned(part string, message ...string) bool {
	return slices.ContainsFunc(w.Pins, func(p Pin) bool {
		return p.Part == part && part != "" || p.Message != "" && slices.Contains(message, p.Message)
	})
}

// Age is how old a part must be before a rule takes it: so many turns, or so many steps, whichever comes first. 0 leaves a measure out;
// with both 0 there is no age to reach.
type Age struct{ Turns, Steps int }

// reached reports whether an item is old enough. The newest turn and step have the age 0.
func (a Age) reached(x, now *Item, letter bool) bool {
	turns := now.Turn - x.Turn
	if letter {
		turns = now.Asked - x.Asked
	}
	return a.Turns == 0 && a.Steps == 0 || a.Turns > 0 && turns >= a.Turns || a.Steps > 0 && now.Step-x.Step >= a.Steps
}
