package rule

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
)

// Finding is a field of an item that may be left out, as a rule read it off the timeline.
type Finding struct {
	Item  *Item
	Field Field
	By    []*Item // the newer items that make it redundant, each of them needed
	Why   string  // for people; the whole sentence
	// Unsent: it may go before any request had it, because what makes it redundant shows the same,
	// byte for byte.
	Unsent bool

	at    int32 // among those of its follower, from 1
	shown *shown
}

// shown is what stands in place of a field, and what that saves.
type shown struct {
	text   string
	saves  int      // tokens
	names  *Handles // that gave the handle in the text
	begins string   // how the text does
	factor float64  // of the counter when it was counted
}

// current reports whether it is what would be shown now.
func (s *shown) current(w Window) bool {
	return s != nil && s.names == w.Handles && s.begins == w.opening() && s.factor == w.Facts.factor
}

func (w Window) shown(x *Item, field Field, text string) *shown {
	w.Facts.decided.Add(1)
	s := &shown{text: text, names: w.Handles, begins: w.opening(), factor: w.Facts.factor}
	if text != "" {
		s.saves = w.saves(x, Elision{Field: field, Shown: text})
	}
	return s
}

// Propose makes elisions of those findings that may go now, in their order. show says what stands
// in place of one, "" when there is nothing to leave out.
func (w Window) Propose(name string, age Age, all []*Finding, show func(*Finding) string) (found Found) {
	var open, fresh []*Finding
	for _, f := range all {
		if f.Item.LeftOut(f.Field) {
			continue
		}
		if open = append(open, f); !f.shown.current(w) {
			fresh = append(fresh, f)
		}
	}
	w.each(fresh, func(f *Finding) { f.shown = w.shown(f.Item, f.Field, show(f)) })
	for at, f := range open {
		x := f.Item
		if f.shown.text == "" {
			continue
		}
		refusal, ok := w.may(name, x, f.Field, age)
		switch {
		case ok && !f.Unsent && w.unsent(x, f.Field):
			refusal, ok = notSent(name, x), false
		case ok && f.shown.saves < w.Guard.least():
			refusal, ok = Refusal{Code: TooSmall, Rule: name, Part: x.Part.ID,
				Reason: "its placeholder would be about as large", Tokens: w.Facts.size(x, f.Field)}, false
		}
		if !ok {
			if found.Refusals == nil && show != nil { // most of those that are not new are refused again
				found.Refusals = make([]Refusal, 0, max(1, len(open)-len(fresh)))
			}
			found.Refusals = append(found.Refusals, refusal)
			continue
		}
		if found.Elisions == nil {
			room := len(fresh)
			if show == nil {
				room = len(open) - at
			}
			found.Elisions = make([]Elision, 0, room)
		}
		w.uncovered.offers(f)
		found.Elisions = append(found.Elisions, Elision{Part: x.Part.ID, Message: x.Message, Field: f.Field, Rule: name,
			Because: f.Why, By: idsOf(f.By), Shown: f.shown.text, Saves: f.shown.saves})
	}
	return found
}

// each does something with each of some findings, no two of which are the same field of the same
// part. Of many it does so on all processors; what is looked up once and kept is looked up before.
func (w Window) each(all []*Finding, do func(*Finding)) {
	if len(all) < spreadFrom || runtime.GOMAXPROCS(0) < 2 {
		for _, f := range all {
			do(f)
		}
		return
	}
	for _, f := range all {
		w.handleOf(f.Item)
		f.Item.target()
	}
	spread(len(all), func(at int) { do(all[at]) })
}

// A Follower reads the items of a window once each, in their order, and keeps what it found.
type Follower interface {
	Read(x *Item)
	Found() []*Finding // only grows
}

// follower is a Follower on a timeline.
type follower struct{ Follower }

func (f follower) read(x *Item) {
	known := len(f.Found())
	f.Read(x)
	for i, fresh := range f.Found()[known:] {
		fresh.at = int32(known + i + 1)
	}
}

// Follow has a rule's follower read what is new in a window, and returns those of its findings that
// are not left out yet. The key is the rule, a pointer; it follows once. The window was read.
func (w Window) Follow(key any, fresh func() Follower) []*Finding {
	all := grow(w, key, func() follower { return follower{fresh()} }).Found()
	if w.uncovered != nil {
		return w.uncovered.look(w, all)
	}
	return w.open(all)
}

// together is what several looks found, one behind the other.
func together(all ...Found) (found Found) {
	elisions, refusals := 0, 0
	for _, f := range all {
		elisions, refusals = elisions+len(f.Elisions), refusals+len(f.Refusals)
	}
	found.Elisions, found.Refusals = slices.Grow(found.Elisions, elisions), slices.Grow(found.Refusals, refusals)
	for _, f := range all {
		found.Elisions = append(found.Elisions, f.Elisions...)
		found.Refusals = append(found.Refusals, f.Refusals...)
	}
	return found
}

// saves is what an elision saves, in tokens: what the model is no longer sent, less what it is sent
// instead. It is also 0 when the text shown is longer in bytes: a placeholder is never longer than
// what it replaces.
func (w Window) saves(x *Item, e Elision) int {
	before, shown := w.Facts.size(x, e.Field), w.Facts.Count(e.Shown)
	switch {
	case e.Field == Input: // the name of the tool is counted with its arguments, and stays
		shown = w.Facts.scale(w.Facts.counter.Count(x.Part.Tool) + w.Facts.counter.Count(e.Shown))
	case e.Field == Attachments && x.Part.State != nil: // shown under the output, in a line of its own
		result := x.Part.State.Result()
		below := e.Shown
		if result != "" {
			below = result + "\n" + below
		}
		shown = w.Facts.Count(below) - w.Facts.Count(result)
	}
	if len(e.Shown) >= length(x, e.Field) && e.Field != Attachments && (e.Field == Input || x.Size().Files == 0) {
		return 0
	}
	return before - shown
}

// idsOf names parts as an elision does.
func idsOf(items []*Item) string {
	if len(items) == 1 {
		return items[0].Part.ID
	}
	ids := make([]string, len(items))
	for i, x := range items {
		ids[i] = x.Part.ID
	}
	return strings.Join(ids, " ")
}

// size is what a field of an item takes, in tokens; the attachments go with an output.
func (f *Facts) size(x *Item, field Field) int {
	s := x.Size()
	switch field {
	case Input:
		return s.Input
	case Text:
		return s.Text
	case Attachments:
		return s.Files
	case Whole:
		return s.Total()
	}
	return s.Output + s.Files
}

// length is the same in bytes, without attachments.
func length(x *Item, field Field) int { return len(fieldText(x.Part, field)) }

// SameStep reports whether two calls were made in one step: the model had not seen the outcome of
// either when it made the other.
func SameStep(a, b *Item) bool { return a.Step == b.Step && a.Message == b.Message }

// describe says what a call was, for reasons: "read src/a.go".
func (w Window) describe(x *Item) string {
	if target := x.target(); target != "" {
		return fmt.Sprintf("%s %s", x.Part.Tool, target)
	}
	return x.Part.Tool
}

// target of an item, as Facts.Target has it.
func (x *Item) target() string { return x.known.understand(x.Part).target }
