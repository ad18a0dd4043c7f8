package qwen

import (
	"bytes"
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

// Write writes a recording that the product resumes. See format.Format. An elision changes the
// record that holds the part, and its repetitions in compressed histories; what was there is kept
// beside it. A pivot becomes a compression of the product's: its compressed history is the summary
// and the tail, word for word.
//
// Without from, a message's id becomes a UUID that depends on it alone, and calls that have not
// ended stay without a result, which the product takes as interrupted. A marker without a completed
// summary is not written.
func (f Format) Write(w io.Writer, from *format.Document, change format.Change) error {
	change = change.Settled()
	p := &writer{index: &index{owner: map[string]int{}}, change: change}
	if from != nil && from.Format == Name {
		if x, own := from.Native.(*index); own {
			p.index, p.source, p.before, p.ledger = x, from.Source, from.Session.Messages, from.Ledger
		}
	}
	text := p.without()
	c := p.composer()
	if err := p.fresh(c); err != nil {
		return err
	}
	if len(c.out) > 0 {
		if len(text) > 0 && text[len(text)-1] != '\n' {
			text = append(slices.Clip(text), '\n')
		}
		text = slices.Concat(text, c.out)
	}
	text, err := p.elided(text, c.names.Of(change.Ledger))
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

// writer writes one file.
type writer struct {
	index  *index
	source []byte
	before []session.Message // as the file had them
	ledger rule.Ledger       // the same
	change format.Change
	gone   map[string]string // uuid of a record that is left out → its parent
}

// without is the file without the records of what was undone. What followed them follows what came
// before them.
func (p *writer) without() []byte {
	p.gone = map[string]string{}
	var edits []span.Edit
	out := map[int]bool{}
	for i := range p.before {
		if m := &p.before[i]; m.IsUndone(p.change.Undone) {
			out[p.index.owner[m.ID]] = true
		}
	}
	for i := range out {
		one := &p.index.records[i]
		p.gone[one.UUID] = one.Parent
		edits = append(edits, span.Edit{Span: one.whole})
	}
	if len(out) == 0 {
		return p.source
	}
	for i := range p.index.records {
		one := &p.index.records[i]
		if _, gone := p.gone[one.Parent]; !gone || out[i] {
			continue
		}
		line := span.Update(one.at.Of(p.source), jsonl.OrNull(entries.Ancestor(one.Parent, p.gone)), "parentUuid")
		edits = append(edits, span.Edit{Span: one.at, With: line})
	}
	return span.Splice(p.source, edits...)
}

// composer goes on at the end of the file.
func (p *writer) composer() *composer {
	info := &p.change.Session.Info
	c := &composer{
		keep: len(p.index.records) > 0, names: entries.Names{}, calls: map[string]bool{},
		where:    where{session: jsonl.UUIDOf(info.ID), cwd: info.Directory, version: "0.24.4"},
		contents: slices.Clip(p.index.contents),
	}
	for _, i := range p.index.path {
		one := &p.index.records[i]
		c.where = where{
			session: cmp.Or(one.Session, c.where.session), cwd: cmp.Or(one.Cwd, c.where.cwd),
			version: cmp.Or(one.Version, c.where.version), branch: cmp.Or(one.Branch, c.where.branch),
		}
		c.time = max(c.time, jsonl.Millis(one.Timestamp))
		c.parent = one.UUID
	}
	c.parent = entries.Ancestor(c.parent, p.gone)
	for _, content := range p.index.contents {
		for _, slot := range content.slots {
			c.calls[slot.Part] = true
		}
	}
	return c
}

// fresh composes the messages that the file does not have.
func (p *writer) fresh(c *composer) error {
	messages := p.change.Session.Messages
	for i := range messages {
		m := &messages[i]
		if _, have := p.index.owner[m.ID]; have || m.IsUndone(p.change.Undone) || m.IsSummary() {
			continue
		}
		if m.Marker() == nil {
			if err := c.message(m); err != nil {
				return fmt.Errorf("%s: write message %s: %w", Name, m.ID, err)
			}
			continue
		}
		summary := entries.Completed(messages, i)
		if summary == nil {
			continue
		}
		if err := c.pivot(m, summary, entries.Tail(p.change, i), jsonl.PromptBefore(messages[:i])); err != nil {
			return fmt.Errorf("%s: write message %s: %w", Name, m.ID, err)
		}
	}
	return nil
}

// elided is a file with the elisions of a ledger, and no others.
func (p *writer) elided(text []byte, ledger rule.Ledger) ([]byte, error) {
	x, before := p.index, p.ledger
	if len(text) == 0 || ledger.Len() == 0 && !bytes.Contains(text, []byte(`"elisions"`)) {
		return text, nil
	}
	if !same(text, p.source) {
		doc, err := Format{}.Read(text)
		if err != nil {
			return nil, err
		}
		x, before = doc.Native.(*index), doc.Ledger
	}
	var edits []span.Edit
	for _, i := range x.path {
		one := &x.records[i]
		line, changed, err := one.show(before, ledger)
		if err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", Name, one.line, err)
		}
		if changed {
			edits = append(edits, span.Edit{Span: one.at, With: line})
		}
	}
	return span.Splice(text, edits...), nil
}

// same reports whether two texts are one.
func same(a, b []byte) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }
