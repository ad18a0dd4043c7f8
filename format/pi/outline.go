package pi

import (
	"errors"

	"github.com/winnowhq/winnow/format"
)

var _ format.Outliner = Format{}

// Outline reads a file's lines for the branch that the product resumes from. See format.Outliner.
func (Format) Outline() format.Outline {
	return &outlining{}
}

// outlining follows the branch as file.findPath does, with a few bytes an entry.
type outlining struct {
	d        decoder
	names    format.Names
	byID     []int32 // number of an id → its newest entry, plus one
	entries  []slim
	uses     []format.Use
	counts   format.Counts
	headless bool // the first line that can be read is no header
	linear   bool
	damaged  bool // a line could not be read
	recent   bool // since the newest entry
	named    int
	open     int // calls that wait for their result
	joins    format.Joins
}

// slim is an entry as far as the branch needs it: numbers of names, and the newest entry before the newest damage.
type slim struct {
	id, parent   int32
	beforeDamage int32
	talks, chain bool
}

func (o *outlining) Line(text []byte) error {
	e, err := o.d.line(text)
	o.counts.Entries++
	if err != nil {
		o.damaged, o.recent = true, true
		return errors.New(reason(err))
	}
	at := int32(len(o.entries))
	s := slim{id: int32(o.names.Of(e.id)), parent: int32(o.names.Of(e.parent)), beforeDamage: -1, chain: e.kind != sessionEntry}
	if at > 0 {
		s.beforeDamage = o.entries[at-1].beforeDamage
		if o.recent && o.entries[at-1].chain {
			s.beforeDamage = at - 1
		}
	}
	o.recent = false
	use := format.Inside
	switch {
	case e.kind == sessionEntry:
		use = format.Aside
		if at == 0 && e.id != "" {
			use = format.Always
			o.linear = e.version < 2
		}
	case e.kind == messageEntry && e.message != nil:
		s.talks = true
		use = o.message(e.message)
	case e.kind == compactionEntry:
		use = format.Begins
	}
	if use == format.Begins && len(e.winnow) > 0 {
		if m := readMark(e.winnow); m != nil && m.Of != "" {
			use = format.Inside // it goes on with the message of an entry before it
		}
	}
	o.headless = o.headless || at == 0 && use != format.Always
	if s.chain && s.id > 0 {
		o.named++
	}
	o.entries, o.uses = append(o.entries, s), append(o.uses, use)
	return nil
}

// message counts a message, and tells whether a stretch may begin with it.
func (o *outlining) message(m *message) format.Use {
	o.counts.Messages++
	use := format.Inside
	switch m.role {
	case resultRole, shellRole:
		o.counts.ToolResults++
		if m.role == resultRole {
			o.open = max(0, o.open-1)
			o.joins.Result(m.callID, len(o.entries))
		}
	case userRole:
		o.open = 0 // a call that has no result by now gets none
		use = format.Begins
	case assistantRole:
		if o.open == 0 {
			use = format.Begins
		}
		for i := range m.content {
			if m.content[i].kind == callBlock {
				o.counts.ToolCalls++
				o.open++
				o.joins.Call(m.content[i].id, len(o.entries))
			}
		}
	}
	return use
}

func (o *outlining) End() ([]format.Use, format.Counts) {
	in := make([]bool, len(o.entries))
	if o.linear || o.headless && o.named == 0 {
		for i := range o.entries {
			in[i] = o.entries[i].chain
		}
	} else {
		o.follow(in)
	}
	for i := range o.entries {
		if e := &o.entries[i]; e.chain && !in[i] {
			o.uses[i] = format.Aside
			if e.talks {
				o.counts.Aside++
			}
		}
	}
	o.joins.Keep(o.uses, in)
	return o.uses, o.counts
}

// follow marks the branch, from its end.
func (o *outlining) follow(in []bool) {
	o.byID = make([]int32, o.names.Len()+1)
	leaf := int32(-1)
	for i := range o.entries {
		if e := &o.entries[i]; e.chain {
			if e.id > 0 {
				o.byID[e.id] = int32(i) + 1
			}
			leaf = int32(i)
		}
	}
	before := func(at int32) int32 {
		if at > 0 && o.entries[at-1].chain {
			return at - 1
		}
		return -1
	}
	for at := leaf; at >= 0 && !in[at]; {
		in[at] = true
		e := &o.entries[at]
		next := int32(-1)
		if e.parent > 0 {
			next = o.byID[e.parent] - 1
		}
		switch b := before(at); {
		case b >= 0 && o.entries[b].id == 0, e.id == 0 && next < 0:
			next = b
		case e.parent == 0:
			next = -1
		case next < 0 && o.damaged:
			next = e.beforeDamage
		}
		at = next
	}
}
