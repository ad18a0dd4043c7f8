package pi

import (
	"errors"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/text/span"
)

var _ format.Outliner = Format{}

// Outline reads a file's lines for the branch that the product resumes from. See format.Outliner.
func (Format) Outline() format.Outline {
	return &outlining{}
}

type outlining struct {
	branch branch
	talks  []bool // whether an entry is a message
	uses   []format.Use
	counts format.Counts
	open   int // calls that wait for their result
	joins  format.Joins
}

func (o *outlining) Line(text []byte) error {
	e, err := parse(text)
	o.counts.Entries++
	if err != nil {
		o.branch.damage()
		return errors.New(span.Reason(err, "the line"))
	}
	header := o.branch.add(&e)
	use := format.Inside
	switch {
	case header:
		use = format.Always
	case e.Kind == sessionEntry:
		use = format.Aside
	case e.Kind == messageEntry && e.Message != nil:
		use = o.message(e.Message)
	case e.Kind == compactionEntry:
		use = format.Begins
	}
	if use == format.Begins {
		if m := e.mark(); m != nil && m.Of != "" {
			use = format.Inside // it goes on with the message of an entry before it
		}
	}
	o.uses, o.talks = append(o.uses, use), append(o.talks, e.Kind == messageEntry && e.Message != nil)
	return nil
}

// message counts a message, and tells whether a stretch may begin with it.
func (o *outlining) message(m *message) format.Use {
	o.counts.Messages++
	use := format.Inside
	switch m.Role {
	case resultRole, shellRole:
		o.counts.ToolResults++
		if m.Role == resultRole {
			o.open = max(0, o.open-1)
			o.joins.Result(m.CallID, len(o.uses))
		}
	case userRole:
		o.open = 0 // a call that has no result by now gets none
		use = format.Begins
	case assistantRole:
		if o.open == 0 {
			use = format.Begins
		}
		for i := range m.Content {
			if m.Content[i].Kind == callBlock {
				o.counts.ToolCalls++
				o.open++
				o.joins.Call(m.Content[i].ID, len(o.uses))
			}
		}
	}
	return use
}

func (o *outlining) End() ([]format.Use, format.Counts) {
	in := make([]bool, len(o.uses))
	for _, at := range o.branch.path() {
		in[at] = true
	}
	for i, is := range in {
		if !is && o.branch.nodes[i].chain {
			o.uses[i] = format.Aside
			if o.talks[i] {
				o.counts.Aside++
			}
		}
	}
	o.joins.Keep(o.uses, in)
	return o.uses, o.counts
}
