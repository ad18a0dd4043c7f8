package claudecode

import (
	"bytes"
	"errors"
	"iter"
	"slices"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

var _ format.Outliner = Format{}

// Outline reads a file's lines for the branch that the product would resume. See format.Outliner.
func (Format) Outline() format.Outline {
	o := &outlining{}
	o.spent = newSpending(&o.names)
	return o
}

type outlining struct {
	spent  *spending
	names  format.Names
	nodes  []node
	kept   []chain
	uses   []format.Use
	order  []int32
	joins  format.Joins
	keys   []int32 // position of a line's request among those that were paid for, -1 without one
	inLog  []bool  // position of a request → whether the log has it
	counts format.Counts
	size   int64 // of the lines, in bytes

	open, since int // calls that wait for their result, and the line of the first of them
}

// patient is how many lines a call is waited for: some results never come, and a stretch would have
// no end.
const patient = 1 << 10

func (o *outlining) Line(text []byte) error {
	o.size += int64(len(text)) + 1
	e, err := parse(text)
	if err != nil {
		return errors.New(span.Reason(err, "the line"))
	}
	e.unmark()
	o.counts.Entries++
	e.line = o.counts.Entries // which tells apart what has no id
	o.keys = append(o.keys, o.spent.note(&e, e.Side))
	n := nodeOf(&o.names, &e)
	if n.has(preserving) {
		o.kept = append(o.kept, chainOf(&o.names, len(o.nodes), &e))
	}
	calls, results := o.counts.ToolCalls, o.counts.ToolResults
	n.trait |= o.traits(&e)
	o.wait(&n, o.counts.ToolCalls-calls, o.counts.ToolResults-results)
	use := format.Inside
	switch {
	case !e.chained() && e.title != "":
		use = format.Always
	case !e.chained() && e.Kind != "content-replacement":
		use = format.Aside
	}
	o.nodes, o.uses = append(o.nodes, n), append(o.uses, use)
	return nil
}

// wait notes whether calls wait for their results. What ends in the midst of a step is judged as a
// step that still runs.
func (o *outlining) wait(n *node, calls, results int) {
	line := len(o.nodes)
	if o.open > 0 && line-o.since <= patient {
		n.trait |= waiting
	}
	if n.has(telling) || n.has(bounding) {
		o.open = 0 // a call that has no result by now gets none
	}
	if n.has(sideways) {
		return
	}
	if o.open == 0 {
		o.since = line
	}
	o.open = max(0, o.open+calls-results)
}

// traits are what an entry says, as far as messages are joined by it; its calls and results are
// counted.
func (o *outlining) traits(e *entry) (t trait) {
	kept := e.marks != nil && e.marks.Message != nil && !e.boundary()
	if e.speaks() {
		o.counts.Messages++
		t = o.blocks(e, kept)
	}
	switch {
	case kept && !e.Summed:
		t = keeping
		if e.marks.Message.Role == session.User {
			t |= telling
		}
	case e.Kind == "system" && e.Subtype == "local_command" && written(e.of(e.Text)),
		e.Kind == "attachment" && queues(e.of(e.Attachment)):
		t |= telling
	}
	return t
}

// blocks counts the calls and results of an entry, and tells what the user says in it.
func (o *outlining) blocks(e *entry, kept bool) (t trait) {
	if e.Kind == "assistant" && !bytes.Contains(e.content(), []byte(`"tool_`)) {
		return 0
	}
	line := len(o.nodes)
	for _, b := range blocks(e.content()) {
		switch b.Kind {
		case "tool_use":
			o.counts.ToolCalls++
			if e.Kind == "assistant" && !kept {
				o.joins.Call(b.ID, line)
			}
		case "tool_result":
			o.counts.ToolResults++
			if e.Kind == "user" && !kept && !e.Summed {
				o.joins.Result(b.Call, line)
			}
		default:
			if !t.has(telling) && b.says() {
				t = telling | said(span.String(beginning(b.text())), e.Meta)
			}
		}
	}
	if e.Kind == "user" {
		return t
	}
	return 0
}

// said tells who wrote a text in the user's name that begins like this.
func said(text string, meta bool) (t trait) {
	if isCommand(text) {
		t |= commanding
	}
	if isPrinted(text) {
		t |= printing
	}
	if !meta && !byProgram(text) {
		t |= asking
	}
	return t
}

// beginning is a JSON string without what is of no interest of it.
func beginning(text []byte) []byte {
	const enough, escape = 400, 12 // what programs begin with is shorter, even with each letter written as an escape
	if len(text) <= enough {
		return text
	}
	cut := enough
	if at := bytes.LastIndexByte(text[cut-escape:cut], '\\'); at >= 0 {
		cut += at - escape
	}
	return append(slices.Clip(bytes.TrimRight(text[:cut], `\`)), '"')
}

func (o *outlining) End() ([]format.Use, format.Counts) {
	t := newTree(&o.names, o.nodes, o.kept, o.size)
	names := o.names.Len()
	o.names, o.spent.by = format.Names{}, nil // nobody asks for a name any more, and they are most of what is held
	active, _ := t.branch()
	in := make([]bool, len(o.nodes))
	for _, i := range active {
		in[i] = true
	}
	o.sort(t)
	o.begin(active, names)
	for i, n := range o.nodes {
		if n.has(chained) && !in[i] {
			o.uses[i] = format.Aside
		}
		if n.has(speaking) && !in[i] {
			o.counts.Aside++
		}
	}
	o.inLog = make([]bool, len(o.spent.requests))
	for i, at := range o.keys {
		if at < 0 {
			continue
		}
		r := &o.spent.requests[at]
		r.side = r.side && o.nodes[i].has(sideways) // of a file that is a sub-agent's own, nothing is
		if in[i] {
			o.inLog[at] = true
		}
	}
	return o.uses, o.counts
}

// sort orders the lines if some were written twice: they belong where they came first.
func (o *outlining) sort(t *tree) {
	if len(t.first) == 0 {
		return
	}
	o.order = make([]int32, len(o.nodes))
	for i := range o.order {
		o.order[i] = int32(i)
	}
	slices.SortStableFunc(o.order, func(a, b int32) int { return t.place(int(a)) - t.place(int(b)) })
}

// Order is the order of the log. See format.Sorter.
func (o *outlining) Order() []int32 { return o.order }

// begin finds the lines of the branch with which a stretch may begin: not within what makes one
// message, or is understood by what came before it. names is how many names there are.
func (o *outlining) begin(active []int, names int) {
	places := make([]int32, len(o.nodes))
	for at := range places {
		places[o.line(at)] = int32(at)
	}
	in := make([]bool, len(o.nodes))
	uses := make([]format.Use, len(o.nodes))
	spans := format.NewSpans(len(uses))
	groups := make([]int32, names+1)   // place of the first entry of an API message, plus one
	var ended, boundary, command int32 // places, plus one
	var bounded name                   // the boundary's uuid
	for _, i := range active {
		n, at := &o.nodes[i], places[i]
		in[at] = true
		if boundary > 0 && (n.has(summarising) || n.parent == bounded) {
			spans.Add(int(boundary-1), int(at))
			if n.has(summarising) {
				boundary = 0
			}
		}
		may := format.Begins
		if n.has(waiting) {
			may = format.Inside
		}
		switch {
		case n.has(keeping):
			uses[at] = may
		case n.has(bounding):
			uses[at], boundary, bounded = format.Begins, at+1, n.uuid
		case n.has(fromModel):
			if first := groups[n.message]; n.message != 0 && first > ended {
				spans.Add(int(first-1), int(at))
			} else {
				uses[at], groups[n.message] = may, at+1
			}
		case n.has(summarising):
			ended = at + 1
		case n.has(commanding):
			command = at + 1
		case n.has(printing) && command > 0:
			spans.Add(int(command-1), int(at))
			command = 0
		case n.has(asking):
			command = 0
		}
		if n.has(telling) {
			uses[at], ended = may, at+1
		}
	}
	if o.order != nil {
		o.joins.Reorder(o.order)
	}
	o.joins.Keep(uses, in)
	spans.Keep(uses)
	for at, use := range uses {
		if i := o.line(at); use == format.Begins && o.uses[i] == format.Inside {
			o.uses[i] = use
		}
	}
}

// line is the line at a place.
func (o *outlining) line(at int) int {
	if o.order == nil {
		return at
	}
	return int(o.order[at])
}

// Requests are all requests of the file, each once, without their ids. What it returns keeps
// nothing else of the outline in memory.
func (o *outlining) Requests() iter.Seq[bill.Request] {
	all, inLog := o.spent.paid, o.inLog
	return func(yield func(bill.Request) bool) {
		for _, r := range all.all(func(at int32) bool { return inLog[at] }) {
			if !yield(r) {
				return
			}
		}
	}
}
