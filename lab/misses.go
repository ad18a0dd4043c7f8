package lab

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
)

// Around is how many lines of an item come back on either side of a row that was needed, and Least
// how many tokens at least, where only a region comes back.
const (
	Around = 20
	Least  = 200
)

// missed is a hidden item that a step needed, and the lines of it where the rows begin that it
// needed.
type missed struct {
	item  int32
	lines []int32
}

// piece is a range of lines of an item that a step got back, and the part that shows it.
type piece struct {
	part     string
	from, to int32 // to is behind it
}

// stands reports whether an occurrence is shown: its item, or a piece of it that came back.
func (r *run) stands(o occurrence) bool {
	if !r.hidden[o.item] {
		return true
	}
	for _, p := range r.back[o.item] {
		if p.from <= o.line && o.line < p.to {
			return true
		}
	}
	return false
}

// lost reports whether a gram that stood somewhere stands nowhere any more.
func (r *run) lost(n need) bool {
	for at := n.newest; at >= 0; {
		o := r.trace.quotes.chain[at]
		if r.stands(o) {
			return false
		}
		at = o.before
	}
	return r.visible[n.gram] == 0
}

// needed returns the hidden items that step k needed, in their order. Where several items have a
// row it is the newest that is needed for it.
func (r *run) needed(k int) []missed {
	q := &r.trace.quotes
	var all []missed
	for _, n := range q.needs[k] {
		if !r.lost(n) {
			continue
		}
		o := q.chain[n.newest]
		i := slices.IndexFunc(all, func(m missed) bool { return m.item == o.item })
		if i < 0 {
			i = len(all)
			all = append(all, missed{item: o.item})
		}
		all[i].lines = append(all[i].lines, o.line)
	}
	all = slices.DeleteFunc(all, func(m missed) bool { return len(m.lines) < Quotations })
	slices.SortFunc(all, func(a, b missed) int { return int(a.item - b.item) })
	return all
}

// loses counts the edits of step k whose old text has rows that stand nowhere any more, and the
// identifiers and paths in the arguments of its calls that do not.
func (r *run) loses(k int) {
	q := &r.trace.quotes
	for _, edit := range q.edits[k] {
		if slices.ContainsFunc(edit, r.lost) {
			r.out.LostEdits++
		}
	}
	for _, n := range q.inputs[k] {
		if r.lost(n) {
			r.out.LostInputs++
		}
	}
}

// miss bills one request more for what step k needed and did not have, and appends what it brings
// back: a call with each item, or a region of it, as its output. The policy sees it as any other
// output, and leaves it out again by its own rules.
func (r *run) miss(k, prompt int) {
	if r.hides == 0 || r.opts.Unmissed {
		return
	}
	needed := r.needed(k)
	if len(needed) > 0 && r.first == nil && r.opts.Regions && !r.regions {
		r.first, r.missedFirst = r.clone(), k
	}
	r.loses(k)
	if len(needed) == 0 {
		return
	}
	r.ids++
	m := session.Message{MessageInfo: session.MessageInfo{ID: fmt.Sprintf("r%d", r.ids), Role: session.Assistant,
		Time: session.MessageTime{Created: r.log[len(r.log)-1].Time.Created}}}
	event := Event{Step: k, Kind: Regretted}
	var files []string
	for i, x := range needed {
		m.Parts = append(m.Parts, r.fetch(x, fmt.Sprintf("r%d.%d", r.ids, i)))
		of := &r.trace.items[x.item]
		event.Parts = append(event.Parts, of.part)
		if of.file == "" || !slices.Contains(files, of.file) {
			event.N++ // one read gives back all of a file
			files = append(files, of.file)
		}
	}
	r.append(m)
	event.Tokens = messageTokens(&m, r.facts)
	read, write, output := r.terms.at(prompt)
	event.Cost = float64(prompt)*read + Asked*output + float64(event.Tokens)*write
	r.out.Bill.Regret += event.Cost
	r.out.Tokens.Sent += prompt + event.Tokens
	r.out.Tokens.Cached += prompt
	r.out.Tokens.Output += Asked
	r.out.MissedSteps++
	r.out.MissedItems += event.N
	r.account.Missed += event.N
	r.account.Back += event.Tokens
	r.sent += event.Tokens
	r.kept += event.Tokens
	r.note(event)
}

// fetch makes the call that brings an item back, with this id.
func (r *run) fetch(x missed, id string) session.Part {
	at := &r.trace.items[x.item]
	text, files := r.trace.text(at)
	pieces := []piece{{id, 0, math.MaxInt32}}
	if r.regions {
		pieces, text = r.region(x.lines, text, id)
		if len(pieces) > 1 || pieces[0].to != math.MaxInt32 {
			files = nil
		}
	}
	r.back[x.item] = append(r.back[x.item], pieces...)
	r.fetched[id] = x.item
	return session.Part{ID: id, Type: session.ToolPart, Tool: "recall", CallID: id, State: &session.ToolState{
		Status: session.Completed, Input: jsontext.Value("{}"), Output: text, Attachments: files}}
}

// region cuts out of a text what stands around some lines: more than Around lines on either side
// where that is less than Least tokens.
func (r *run) region(needed []int32, text, id string) ([]piece, string) {
	lines := strings.SplitAfter(text, "\n")
	needed = slices.Sorted(slices.Values(needed))
	for around := int32(Around); ; around += Around {
		var pieces []piece
		for _, line := range needed {
			from, to := max(0, line-around), min(line+around+1, int32(len(lines)))
			if n := len(pieces); n > 0 && from <= pieces[n-1].to {
				pieces[n-1].to = to
				continue
			}
			pieces = append(pieces, piece{id, from, to})
		}
		if pieces[0].from == 0 && int(pieces[0].to) == len(lines) {
			return []piece{{id, 0, math.MaxInt32}}, text
		}
		var b strings.Builder
		for _, p := range pieces {
			for _, line := range lines[p.from:p.to] {
				b.WriteString(line)
			}
		}
		if cut := b.String(); r.facts.Count(cut) >= Least {
			return pieces, cut
		}
	}
}

// text is what an item says, with the files that belong to it.
func (t *Trace) text(x *item) (string, []session.Part) {
	m := &t.log[x.message]
	for j := range m.Parts {
		p := &m.Parts[j]
		switch {
		case p.ID != x.part:
		case p.Type != session.ToolPart:
			return textOf(p), nil
		case x.input:
			return values(p.State.Input), nil
		default:
			return p.State.Result(), p.State.Attachments
		}
	}
	return "", nil
}

// forget takes away what a part showed that brought an item back.
func (r *run) forget(part string) {
	item, ok := r.fetched[part]
	if !ok {
		return
	}
	delete(r.fetched, part)
	r.back[item] = slices.DeleteFunc(r.back[item], func(p piece) bool { return p.part == part })
}
