package claudecode

import (
	"bytes"

	"github.com/winnowhq/winnow/bill"
	"github.com/winnowhq/winnow/format"
)

var _ format.Outliner = Format{}

// Outline reads a file's lines for the branch that the product would resume. See format.Outliner.
func (Format) Outline() format.Outline {
	scan := newScanner()
	return &outlining{scan: scan, spent: newSpending(scan)}
}

type outlining struct {
	scan   *scanner
	spent  *spending
	names  format.Names
	nodes  []node
	uses   []format.Use
	keys   []int32 // position of a line's request among those that were paid for, -1 without one
	inLog  map[string]bool
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
	o.spent.note(&e, e.side)
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
	if e.kind == "assistant" {
		o.keys = append(o.keys, int32(o.spent.by[keyOf(&e)]))
	} else {
		o.keys = append(o.keys, -1)
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
	o.inLog = map[string]bool{}
	for i, at := range o.keys {
		if at < 0 {
			continue
		}
		r := &o.spent.requests[at]
		r.side = r.side && o.nodes[i].has(sideways) // of a file that is a sub-agent's own, nothing is
		if in[i] {
			o.inLog[r.ID] = true
		}
	}
	return o.uses, o.counts
}

// Requests are those that the file tells of, each once. It is asked behind the end.
func (o *outlining) Requests() []bill.Request {
	log, beside := o.spent.list(func(key string) bool { return o.inLog[key] })
	return append(log, beside...)
}

// errorText is an error that says no more than its text.
type errorText string

func (e errorText) Error() string { return string(e) }
