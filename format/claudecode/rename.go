package claudecode

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	"github.com/winnowhq/winnow/rule"
)

// renamed gives the elisions of composed entries, and the places that they are about, under the ids
// with which reading the file gives their parts and messages: a part of another product has an id
// of its own, one of this product has that of its call or of its entry. What is about other parts
// stays as it is.
func (p *writer) renamed(c *composer) (rule.Ledger, map[string]place, error) {
	elisions := p.change.Ledger.All()
	concerned := false
	for i := range elisions {
		_, composed := c.places[elisions[i].Part]
		concerned = concerned || composed
	}
	if !concerned {
		return p.change.Ledger, c.places, nil
	}
	lines := [][]byte{bytes.TrimRight(p.source, "\n\x00")}
	if len(lines[0]) == 0 {
		lines = nil
	}
	for i := range c.entries {
		lines = append(lines, c.entries[i].raw)
	}
	doc, err := Format{}.Read(append(bytes.Join(lines, []byte{'\n'}), '\n'))
	if err != nil {
		return rule.Ledger{}, nil, fmt.Errorf("%s: reading what was composed: %w", Name, err)
	}
	x := doc.Native.(*index)
	behind := len(x.entries) - len(c.entries) // of entries that the file had
	type at struct{ entry, block int }
	read := map[at]string{}
	for id, pl := range x.places {
		read[at{pl.entry - behind, pl.block}] = id
	}
	names, places := map[string]string{}, map[string]place{}
	for id, pl := range c.places {
		name := cmp.Or(read[at{pl.entry, pl.block}], id)
		names[id], places[name] = name, pl
	}
	message := map[string]string{}
	for i := range doc.Session.Messages {
		for _, part := range doc.Session.Messages[i].Parts {
			message[part.ID] = doc.Session.Messages[i].ID
		}
	}
	out := make([]rule.Elision, len(elisions))
	for i, e := range elisions {
		if name, composed := names[e.Part]; composed {
			e.Part = name
			e.Message = cmp.Or(message[name], e.Message)
			by := e.Covers()
			for j := range by {
				by[j] = cmp.Or(names[by[j]], by[j])
			}
			e.By = strings.Join(by, " ")
		}
		out[i] = e
	}
	return rule.Ledger{}.With(out...), places, nil
}
