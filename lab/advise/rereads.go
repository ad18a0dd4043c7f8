package advise

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/quantity"
)

// rereads are the reads of one file in a session that gave the very bytes of an earlier one.
type rereads struct {
	// in the window in which the earlier one stood
	again int
	cost  float64
	// behind a fold that took the earlier one away
	after                int
	afterCost, afterGain float64
}

// shown is a read that gave some bytes.
type shown struct {
	message int
	until   int // the last window that it is in
}

// leastRead is how many tokens a read gives at least that is counted: less is not a file, but a
// line such as "unchanged since it was read".
const leastRead = 100

// rereadsOf finds reads that gave the very bytes of an earlier read of the same file.
func rereadsOf(src Source, c *carried) map[string]*rereads {
	log, all := src.Doc.Session.Messages, map[string]*rereads{}
	directory := call.Directory(log)
	before := map[uint64]shown{}
	for i := range log {
		m := &log[i]
		if m.Role != session.Assistant || m.IsSummary() {
			continue
		}
		calls, folded := 0, []foldedRead(nil)
		for j := range m.Parts {
			p := &m.Parts[j]
			if p.Type != session.ToolPart {
				continue
			}
			calls++
			path, key := readOf(p, directory)
			if path == "" || src.Doc.Ledger.Touches(p.ID) {
				continue
			}
			was, known := before[key]
			before[key] = shown{i, c.until[i]}
			if !known || c.next(i) == nil || was.message == i {
				continue
			}
			tokens := src.Count.Count(p.State.Output)
			if tokens < leastRead {
				continue
			}
			of := all[path]
			if of == nil {
				of = &rereads{}
				all[path] = of
			}
			cost := c.carry(i, tokens)
			if was.until >= c.windows[i] {
				of.again, of.cost = of.again+1, of.cost+cost
				continue
			}
			of.after, of.afterCost = of.after+1, of.afterCost+cost
			folded = append(folded, foldedRead{of, tokens})
		}
		if r := c.made(i); r != nil && calls > 0 && calls == len(folded) {
			c.refold(r, folded)
		}
	}
	return all
}

// foldedRead is a read behind the fold that took the earlier one away.
type foldedRead struct {
	of     *rereads
	tokens int
}

// refold adds what a request cost that did nothing but read files again that a fold had taken away,
// less what it would have cost to carry them from the fold on.
func (c *carried) refold(made *request, reads []foldedRead) {
	spared := made.again()
	for k := range c.requests {
		if r := &c.requests[k]; r.window == made.window && r.message <= made.message {
			for _, x := range reads {
				spared -= r.marginal(x.tokens, 0)
			}
		}
	}
	for _, x := range reads {
		x.of.afterGain += spared / float64(len(reads))
		x.of.afterCost += made.again() / float64(len(reads))
	}
}

// readOf is the file that a call read, and a key of what it saw; "" if it read none, or more.
func readOf(p *session.Part, directory string) (path string, key uint64) {
	if p.State == nil || p.State.Status != session.Completed || p.State.Output == "" {
		return "", 0
	}
	one := call.Of(p, directory)
	if len(one.Actions) != 1 || one.Actions[0].Op != call.Read || !one.Actions[0].Exact || one.Actions[0].Path == "" {
		return "", 0
	}
	h := fnv.New64a()
	h.Write([]byte(one.Actions[0].Path + "\x00" + p.State.Output))
	return one.Actions[0].Path, h.Sum64()
}

// findRereads finds files that were read again although they had not changed: while the earlier
// text was still in the context, or behind a compaction that had taken it away.
//
// Only byte-identical results count, so none is counted that an edit made necessary. Cost: of
// carrying the later copies up to the next fold. Gain, in the same window: all of that. Gain behind
// a fold: the requests that did nothing but read such files again, less what carrying their text
// from the fold on would have cost. Error: over sessions; and tokens are estimated. It takes for
// granted that agents heed the line.
func findRereads(sessions []Session) []Finding {
	again := func(r *rereads) (int, float64, float64) { return r.again, r.cost, r.cost }
	after := func(r *rereads) (int, float64, float64) { return r.after, r.afterCost, r.afterGain }
	return slices.Concat(findFiles(sessions, Rereads, again), findFiles(sessions, Refolds, after))
}

func findFiles(sessions []Session, kind string, of func(*rereads) (times int, cost, gain float64)) []Finding {
	x := sampleOf(sessions)
	times, in := 0, 0
	files := map[string]*named{}
	count := map[string]int{}
	for i := range sessions {
		s := &sessions[i]
		sum, cost, gain := 0, 0.0, 0.0
		for _, path := range slices.Sorted(maps.Keys(s.rereads)) {
			n, c, g := of(s.rereads[path])
			if n == 0 {
				continue
			}
			sum, cost, gain = sum+n, cost+c, gain+g
			short := call.Shorten(path, s.Project)
			if files[short] == nil {
				files[short] = &named{name: short}
			}
			files[short].dollars += c
			count[short] += n
		}
		if sum > 0 {
			times, in = times+sum, in+1
			x.add(s, cost, gain)
		}
	}
	if times == 0 {
		return nil
	}
	f := Finding{Kind: kind, Cost: x.cost, Gain: x.gain, Error: x.error(true), Where: "AGENTS.md"}
	dearest := slices.Collect(maps.Values(files))
	slices.SortFunc(dearest, func(a, b *named) int {
		return cmp.Or(cmp.Compare(b.dollars, a.dollars), cmp.Compare(a.name, b.name))
	})
	var list, names []string
	for _, n := range dearest[:min(3, len(dearest))] {
		names = append(names, "`"+n.name+"`")
		list = append(list, fmt.Sprintf("%s (%s, %s)", n.name, quantity.Times(count[n.name]),
			quantity.Dollars(n.dollars)))
	}
	f.Evidence = []string{"The most expensive files: " + strings.Join(list, ", ") + ".", x.dearest()}
	where := fmt.Sprintf("%s in %s", quantity.Times(times), quantity.Plural(in, "session", "sessions"))
	if kind == Rereads {
		f.Title = "Files were read again " + where + ", unchanged and still in the context"
		f.Change = "tell agents that what they have read stays with them"
		f.Line = "Do not read a file again that you have read and that has not changed since: " +
			"its text is still in your context."
		return []Finding{f}
	}
	f.Title = "Files were read again " + where + " because a compaction had taken them away"
	f.Change = "have compactions keep the text of these files"
	f.Line = "# Compact instructions: keep the whole text of " + strings.Join(names, ", ") + "."
	f.Where = "CLAUDE.md"
	return []Finding{f}
}
