package claudecode

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/internal/entries"
	"github.com/winnowhq/winnow/format/internal/jsonl"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// Write writes a session file that the product resumes. See format.Format.
//
// Without from, a message's id becomes a UUID that depends on it alone, reasoning without this
// provider's signature is left out, and calls that have not ended stay without a result, which the
// product takes as interrupted. A marker without a completed summary is not written in either case:
// the product would hide the history behind it.
func (Format) Write(w io.Writer, from *format.Document, change format.Change) error {
	x := &index{places: map[string]place{}, leaf: -1}
	var source []byte
	if from != nil {
		if native, own := from.Native.(*index); own && from.Format == Name {
			x, source = native, from.Source
		}
	}
	p := &writer{w: w, index: x, source: source, change: change, before: x.messages}
	if err := p.old(); err != nil {
		return err
	}
	if err := p.fresh(); err != nil {
		return err
	}
	return p.err
}

// writer writes one file.
type writer struct {
	w      io.Writer
	err    error
	index  *index
	source []byte
	change format.Change
	before []session.Message // as the file had them
	gone   map[int]string    // position of an entry that is left out → uuid that takes its place as a parent
	ends   map[int]string    // position of an entry behind a boundary that is left out → its parent without it
	last   byte              // newest byte written
}

func (p *writer) emit(text []byte) {
	if p.err != nil || len(text) == 0 {
		return
	}
	_, p.err = p.w.Write(text)
	p.last = text[len(text)-1]
}

// old writes what the file had: all of it, but for what the change concerns.
func (p *writer) old() error {
	p.leaveOut()
	x := p.index
	wanted := targets(p.change.Ledger, p.places(), p.recorded())
	var edits []span.Edit
	for i := range x.entries {
		e := &x.entries[i]
		text, changed, err := p.entry(i, wanted[i])
		if err != nil {
			return err
		}
		switch {
		case !changed:
		case text == nil:
			edits = append(edits, span.Edit{Span: e.whole})
		default:
			edits = append(edits, span.Edit{Span: e.at, With: text})
		}
	}
	for piece := range span.Pieces(p.source, edits...) {
		p.emit(piece)
	}
	return nil
}

// entry is the line of an entry as it is now, without its newline; nil if it is left out.
func (p *writer) entry(i int, wanted []target) (text []byte, changed bool, err error) {
	x := p.index
	e := &x.entries[i]
	if _, out := p.gone[i]; out {
		return nil, true, nil
	}
	if own, records := x.replaced[i]; records {
		return p.record(e, own)
	}
	if x.inBranch[i] && !stands(e, wanted, p.change.Ledger) {
		owner := x.owner[i]
		hushed := len(wanted) > 0 && owner >= 0 && silent(&p.before[owner], p.change.Ledger)
		if text, err = e.show(wanted, hushed); err != nil {
			return nil, false, fmt.Errorf("%s: line %d: %w", Name, e.line, err)
		}
	}
	if len(p.gone) > 0 && e.Parent != "" {
		if to, moved := p.parent(i); moved {
			if text == nil {
				text = e.at.Of(p.source)
			}
			text = span.Update(text, jsonl.OrNull(to), "parentUuid")
		}
	}
	return text, text != nil, nil
}

// leaveOut finds the entries that go with undone pivots, and the new parents of their children.
func (p *writer) leaveOut() {
	p.gone, p.ends = map[int]string{}, map[int]string{}
	for i, owner := range p.index.owner {
		if owner < 0 || !p.before[owner].IsUndone(p.change.Undone) {
			continue
		}
		before := ""
		if at := p.index.tree.parent(i); at >= 0 {
			before = p.index.entries[at].UUID
		}
		p.gone[i] = before
	}
	for i := range p.gone {
		if p.index.tree.all[i].has(bounding) {
			p.fromTail(i)
		}
	}
	p.withCopies()
}

// withCopies leaves out what a plugin handed back behind a boundary that is left out, and behind
// those that only repeat that: what hangs on a copy hangs on the entry that it repeats.
func (p *writer) withCopies() {
	leaving := false
	for i := range p.index.entries {
		e := &p.index.entries[i]
		switch {
		case e.boundary():
			_, out := p.gone[i]
			if !out && leaving && e.marks != nil && e.marks.Mirror {
				p.gone[i] = e.Logical
				out = true
			}
			leaving = out
		case leaving && e.marks != nil && e.marks.Copy != "" && p.index.tree.find(e.marks.Copy) >= 0:
			p.gone[i] = e.marks.Copy
		}
	}
}

// places are where parts stand once copies are left out: in the entries that they repeat.
func (p *writer) places() map[string]place {
	if len(p.gone) == 0 {
		return p.index.places
	}
	stays := func(i int) int {
		for range len(p.gone) {
			if _, out := p.gone[i]; !out || i < 0 || p.index.entries[i].marks == nil ||
				p.index.entries[i].marks.Copy == "" {
				break
			}
			i = p.index.tree.find(p.index.entries[i].marks.Copy)
		}
		return i
	}
	places := make(map[string]place, len(p.index.places))
	for id, at := range p.index.places {
		at.entry, at.result = stays(at.entry), stays(at.result)
		places[id] = at
	}
	return places
}

// fromTail finds what goes on from the end of the tail of a boundary that is left out. If the
// boundary lists less than what there was, without the compaction it would have gone on from the
// last entry before the boundary.
func (p *writer) fromTail(boundary int) {
	t, tail := p.index.tree, p.index.entries[boundary].compaction().last()
	from, leaf := t.find(tail), t.parent(boundary)
	if from < 0 || leaf < 0 || from == leaf || !t.descends(leaf, from) {
		return
	}
	for _, at := range t.nodes {
		i := int(at)
		_, out := p.gone[i]
		switch {
		case i <= boundary || out:
		case t.all[i].has(bounding):
			return
		case p.index.entries[i].Parent == tail:
			p.ends[i] = p.index.entries[leaf].UUID
		}
	}
}

// parent is what an entry hangs on once entries are left out.
func (p *writer) parent(i int) (to string, moved bool) {
	if leaf, behind := p.ends[i]; behind {
		to, _ = p.ancestor(leaf)
		return to, true
	}
	return p.ancestor(p.index.entries[i].Parent)
}

// ancestor follows a parent to the next entry that stays.
func (p *writer) ancestor(uuid string) (to string, moved bool) {
	for range len(p.gone) + 1 {
		at := p.index.tree.find(uuid)
		before, out := p.gone[at]
		if at < 0 || !out {
			return uuid, moved
		}
		uuid, moved = before, true
	}
	return uuid, moved
}

// recorded recognizes the elisions that the product itself recorded, or makes whenever it reads the
// file: they do not need a mark of ours.
func (p *writer) recorded() func(rule.Elision) bool {
	own := map[rule.Elision]bool{}
	for _, e := range p.index.parted {
		own[e] = true
	}
	for _, elisions := range p.index.replaced {
		for _, e := range elisions {
			own[e] = true
		}
	}
	return func(e rule.Elision) bool { return own[e] }
}

// record is a record of the product's own elisions without those that were undone.
func (p *writer) record(e *entry, own []rule.Elision) (text []byte, changed bool, err error) {
	out := map[string]bool{}
	for _, elision := range own {
		if !p.change.Ledger.Has(elision.Key()) {
			out[elision.Part] = true
		}
	}
	if len(out) == 0 {
		return nil, false, nil
	}
	var kept [][]byte
	for at := range span.Values(e.raw, e.Replacements) {
		var record struct {
			Call string `json:"toolUseId"`
		}
		if span.Decode(at.Of(e.raw), &record) != nil || !out[record.Call] {
			kept = append(kept, at.Of(e.raw))
		}
	}
	if len(kept) == 0 {
		return nil, true, nil
	}
	return span.Replace(e.raw, e.Replacements, span.Array(kept)), true, nil
}

// fresh writes the messages that the file did not have.
func (p *writer) fresh() error {
	c := &composer{
		keep: len(p.index.entries) > 0, places: map[string]place{}, names: entries.Names{},
		calls: map[string]bool{},
		where: where{session: SessionID(p.change.Session.Info.ID), cwd: p.change.Session.Info.Directory, version: "2.1.0"},
	}
	p.join(c)
	have := make(map[string]bool, len(p.before))
	for i := range p.before {
		have[p.before[i].ID] = true
	}
	messages := p.change.Session.Messages
	for i := range messages {
		m := &messages[i]
		switch {
		case have[m.ID] || m.IsUndone(p.change.Undone) || m.IsSummary():
			continue
		case m.Marker() == nil:
			if err := c.message(m); err != nil {
				return err
			}
			continue
		}
		summary := entries.Completed(messages, i)
		if summary == nil {
			continue
		}
		if err := c.pivot(m, summary, p.tail(c, entries.Tail(p.change, i)), jsonl.PromptBefore(messages[:i])); err != nil {
			return err
		}
	}
	if len(c.entries) == 0 {
		return p.err
	}
	if len(p.source) > 0 && p.last != '\n' && p.last != 0 {
		p.emit([]byte{'\n'})
	}
	wanted := targets(p.change.Ledger, c.places, func(rule.Elision) bool { return false })
	for i := range c.entries {
		hushed := false
		if len(wanted[i]) > 0 {
			at := session.Index(messages, c.owner[i])
			hushed = silent(&messages[at], p.change.Ledger)
		}
		for j := range wanted[i] {
			c.names.Rename(&wanted[i][j].elision)
		}
		text, err := c.withMarks(i).show(wanted[i], hushed)
		if err != nil {
			return fmt.Errorf("write message %s: %w", c.owner[i], err)
		}
		p.emit(text)
		p.emit([]byte{'\n'})
	}
	return p.err
}

// withMarks is a composed entry as reading it would give it.
func (c *composer) withMarks(i int) *entry {
	e := &c.entries[i]
	if !e.Winnow.Empty() {
		e.marks = readMarks(e.of(e.Winnow))
	}
	return e
}

// join goes on at the end of the file.
func (p *writer) join(c *composer) {
	x := p.index
	for _, i := range slices.Backward(x.active) {
		e := &x.entries[i]
		if c.where.cwd == "" || x.leaf >= 0 && i == x.leaf {
			c.where.cwd = cmp.Or(e.Cwd, c.where.cwd)
		}
		c.time = max(c.time, e.time)
	}
	if x.leaf < 0 {
		return
	}
	leaf := &x.entries[x.leaf]
	c.where.session = cmp.Or(leaf.Session, c.where.session)
	c.where.version = cmp.Or(leaf.Version, c.where.version)
	c.where.branch = leaf.Branch
	c.parent = leaf.UUID
	if _, out := p.gone[x.leaf]; out {
		c.parent, _ = p.ancestor(leaf.UUID)
	}
	for id := range x.places {
		c.calls[id] = true
	}
}

// tail holds the uuids of the entries of a tail, given its messages.
func (p *writer) tail(c *composer, in map[string]bool) []string {
	var uuids []string
	for _, i := range p.index.active {
		if owner := p.index.owner[i]; owner >= 0 && in[p.before[owner].ID] && p.index.entries[i].UUID != "" {
			uuids = append(uuids, p.index.entries[i].UUID)
		}
	}
	if len(c.entries) == 0 {
		return append(uuids, p.trailing(uuids)...)
	}
	for i := range c.entries {
		if in[c.owner[i]] {
			uuids = append(uuids, c.entries[i].UUID)
		}
	}
	return uuids
}

// trailing holds the uuids of the notices with which the branch ends behind a tail. The product
// goes on behind the last entry of the tail: with them, that is where it would have gone on without
// the compaction.
func (p *writer) trailing(tail []string) (uuids []string) {
	if len(tail) == 0 {
		return nil
	}
	for at := len(p.index.active) - 1; at >= 0; at-- {
		i := p.index.active[at]
		e := &p.index.entries[i]
		_, out := p.gone[i]
		if e.UUID == tail[len(tail)-1] {
			slices.Reverse(uuids)
			return uuids
		}
		if e.Kind != "system" || e.boundary() || e.UUID == "" || out || p.index.owner[i] >= 0 {
			return nil
		}
		uuids = append(uuids, e.UUID)
	}
	return nil
}
