package claudecode

import (
	"bytes"

	"github.com/winnowhq/winnow/format"
)

var _ format.Outliner = Format{}

// Outline reads a file's lines for the branch that the product would resume. See format.Outliner.
func (Format) Outline() format.Outline {
	return &outlining{scan: newScanner()}
}

type outlining struct {
	scan   *scanner
	names  format.Names
	nodes  []node
	uses   []format.Use
	counts format.Counts

	open    int  // calls that wait for their result
	message name // of the newest step
}

func (o *outlining) Line(text []byte) error {
	var e entry
	if err := o.scan.entry(trim(text), &e); err != nil {
		return errorText(reason(err))
	}
	o.counts.Entries++
	calls, results, written := o.blocks(&e)
	o.counts.ToolCalls += calls
	o.counts.ToolResults += results
	if e.speaks() {
		o.counts.Messages++
	}
	n := nodeOf(&o.names, &e)
	use := format.Inside
	switch {
	case !e.chained() && e.title != "":
		use = format.Always
	case !e.chained() && e.kind != "content-replacement":
		use = format.Aside
	case e.boundary(), e.kind == "user" && written && !e.summary && o.open == 0,
		e.kind == "assistant" && n.message != o.message && o.open == 0:
		use = format.Begins
	}
	if e.kind == "assistant" {
		o.message = n.message
	}
	if !e.side {
		o.open = max(0, o.open+calls-results)
	}
	if e.kind == "user" && written || e.boundary() {
		o.open = 0 // a call that has no result by now gets none
	}
	o.nodes, o.uses = append(o.nodes, n), append(o.uses, use)
	return nil
}

// blocks counts the calls and results of an entry, and tells whether it says something of its own.
func (o *outlining) blocks(e *entry) (calls, results int, written bool) {
	if !e.speaks() {
		return 0, 0, false
	}
	written = true
	if bytes.Contains(e.content, []byte(`"tool_`)) {
		written = false
		for _, b := range o.scan.blocks(e.content) {
			switch b.kind {
			case "tool_use":
				calls++
			case "tool_result":
				results++
			default:
				written = true
			}
		}
	}
	return calls, results, written
}

func (o *outlining) End() ([]format.Use, format.Counts) {
	t := newTree(&o.names, o.nodes)
	active, _ := t.branch()
	in := make([]bool, len(o.nodes))
	for _, i := range active {
		in[i] = true
	}
	for i, n := range o.nodes {
		if n.has(chained) && !in[i] {
			o.uses[i] = format.Aside
		}
		if n.has(speaking) && !in[i] {
			o.counts.Aside++
		}
	}
	return o.uses, o.counts
}

// errorText is an error that says no more than its text.
type errorText string

func (e errorText) Error() string { return string(e) }
