package page

import (
	"cmp"
	"maps"
	"slices"
	"sort"
	"strconv"

	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/view"
)

// layer is one kind of what a window is made of, from the bottom of the timeline to its top.
type layer struct {
	Class string // of the style
	Name  string
}

// Layers that every timeline may have; those of tools stand between files and the elided.
const (
	systemLayer = iota
	summaryLayer
	userLayer
	assistantLayer
	fileLayer
	firstTool
)

// ownTools is how many tools have a layer of their own, those with the most output; the others
// share one.
const ownTools = 4

// strata is the window over the session: what it was made of after each message.
type strata struct {
	layers  []layer // the last one is what was elided: it is not in the window, and drawn on top of it
	moments []instant
	faults  []fault
	now     instant // with everything that was committed since the last message
}

// instant is the window after one message.
type instant struct {
	amounts []int // tokens by layer
	fault   bool  // a pivot completes here
	before  []int // of a fault: the window just before it
}

// shown is what the model is sent: everything but what was elided.
func (m instant) shown() int {
	sum := 0
	for _, n := range m.amounts[:len(m.amounts)-1] {
		sum += n
	}
	return sum
}

func (m instant) all() int { return m.shown() + m.amounts[len(m.amounts)-1] }

// fault is a pivot in the strata.
type fault struct {
	marker, summary int // positions in the log
	before, after   int // tokens of the window, as a receipt counts them: without system and tools
}

// strataOf goes once over the log. Elisions count from the first message that was created after
// they were committed, a pivot from its summary on; what was undone counts as if it had never been.
func strataOf(c *Content) strata {
	b := stratifier{c: c, log: c.Session.Messages, start: make([]int, len(c.Session.Messages)),
		byTool: map[string]int{}, elided: elidedFrom(c)}
	for i := range b.log {
		if i > 0 {
			b.start[i] = b.start[i-1] + len(b.log[i-1].Parts)
		}
	}
	s := strata{layers: b.toolLayers()}
	b.width = len(s.layers)
	current := b.empty()
	for i := range b.log {
		m := &b.log[i]
		marker := b.pivotOf(i)
		if marker < 0 {
			for _, at := range b.elided.at[i] {
				if b.counts[at] {
					b.elide(current, at)
				}
			}
		}
		switch {
		case marker >= 0: // the window is another one, with what was committed until now elided
			before := drawn(current)
			current = b.window(view.Window(b.log[:i+1], c.State.Undone), i)
			s.moments = append(s.moments, instant{amounts: drawn(current), fault: true, before: before})
			s.faults = append(s.faults, fault{marker, i, sum(before), sum(current)})
			continue
		case m.Marker() != nil, m.IsSummary(), c.State.Undone[m.Companion()]:
		default:
			b.add(current, m, i, i)
		}
		s.moments = append(s.moments, instant{amounts: drawn(current)})
	}
	s.now = instant{amounts: drawn(b.window(view.Window(b.log, c.State.Undone), len(b.log)))}
	return s
}

// drawn are the amounts of a moment. Placeholders that are together longer than what they stand for
// are no negative layer.
func drawn(amounts []int) []int {
	out := slices.Clone(amounts)
	out[len(out)-1] = max(0, out[len(out)-1])
	return out
}

// sum is what messages take in a window.
func sum(amounts []int) int { return instant{amounts: amounts}.shown() - amounts[systemLayer] }

// stratifier adds up windows.
type stratifier struct {
	c      *Content
	log    []session.Message
	start  []int // position of the first part of each message in c.Parts
	byTool map[string]int
	width  int
	elided elisionTimes
	counts map[int]bool // parts that are in the current window
}

// toolLayers finds the tools that get a layer of their own, and names all layers.
func (b *stratifier) toolLayers() []layer {
	output := map[string]int{}
	for i := range b.log {
		for j := range b.log[i].Parts {
			if p := &b.log[i].Parts[j]; p.Type == session.ToolPart {
				size := b.c.Parts[b.start[i]+j].Whole
				output[p.Tool] += size.Output + size.Files
			}
		}
	}
	names := slices.SortedFunc(maps.Keys(output),
		func(x, y string) int { return cmp.Or(output[y]-output[x], cmp.Compare(x, y)) })
	user := "user"
	if b.c.Report.Tokens.ByKind[view.KindSynthetic] > 0 {
		user = "user and synthetic"
	}
	layers := []layer{
		systemLayer: {"l-system", "system, tools"}, summaryLayer: {"l-summary", "summary"}, userLayer: {"l-user", user},
		assistantLayer: {"l-assistant", "assistant and its calls"}, fileLayer: {"l-file", "files"},
	}
	for i, name := range names {
		if i < ownTools || len(names) == ownTools+1 {
			b.byTool[name] = len(layers)
			layers = append(layers, layer{"l-tool" + strconv.Itoa(i+1), "output of " + line(name, 40)})
			continue
		}
		b.byTool[name] = firstTool + ownTools
	}
	if len(names) > ownTools+1 {
		layers = append(layers, layer{"l-tool5", "output of other tools"})
	}
	return append(layers, layer{"l-elided", "elided, not sent"})
}

func (b *stratifier) empty() []int {
	b.counts = map[int]bool{}
	amounts := make([]int, b.width)
	amounts[systemLayer] = max(0, b.c.Report.Window.Overhead)
	return amounts
}

// window adds up a window as it was at a position of the log.
func (b *stratifier) window(messages []session.Message, at int) []int {
	amounts := b.empty()
	position := map[*session.Part]int{} // messages of a window share their parts with the log
	for i := range b.log {
		if len(b.log[i].Parts) > 0 {
			position[&b.log[i].Parts[0]] = i
		}
	}
	for i := range messages {
		m := &messages[i]
		answered := i+1 < len(messages) && messages[i+1].Completes() && messages[i+1].ParentID == m.ID
		if len(m.Parts) == 0 || m.IsSummary() && !m.Completes() || m.Marker() != nil && !answered {
			continue
		}
		if from, ok := position[&m.Parts[0]]; ok {
			b.add(amounts, m, from, at)
		}
	}
	return amounts
}

// add counts the message at a position of the log as it was shown at another.
func (b *stratifier) add(amounts []int, m *session.Message, position, at int) {
	for j := range m.Parts {
		k := b.start[position] + j
		b.counts[k] = true
		b.put(amounts, &m.Parts[j], m, b.c.Parts[k].Whole, 1)
		if from, ok := b.elided.from[k]; ok && from <= at {
			b.elide(amounts, k)
		}
	}
}

// elide takes away what an elision hides of a part that is counted whole.
func (b *stratifier) elide(amounts []int, k int) {
	report := &b.c.Parts[k]
	m, p := b.elided.part(b, k)
	b.put(amounts, p, m, report.Whole, -1)
	b.put(amounts, p, m, report.Rendered, 1)
	// less than nothing where a placeholder is the longer one
	amounts[len(amounts)-1] += report.Whole.Total() - report.Rendered.Total()
}

func (b *stratifier) put(amounts []int, p *session.Part, m *session.Message, size rule.Size, sign int) {
	switch {
	case m.IsSummary() || m.Marker() != nil:
		amounts[summaryLayer] += sign * size.Total()
	case p.Type == session.ToolPart:
		amounts[assistantLayer] += sign * size.Input
		amounts[b.byTool[p.Tool]] += sign * (size.Output + size.Files)
		amounts[assistantLayer] += sign * size.Text
	case p.Type == session.FilePart:
		amounts[fileLayer] += sign * size.Total()
	case m.Role == session.Assistant:
		amounts[assistantLayer] += sign * size.Total()
	default:
		amounts[userLayer] += sign * size.Total()
	}
}

// pivotOf is the position of the marker whose pivot the message completes, -1 when it completes
// none that counts.
func (b *stratifier) pivotOf(i int) int {
	m := &b.log[i]
	if !m.Completes() || b.c.State.Undone[m.ParentID] {
		return -1
	}
	for at := i - 1; at >= 0; at-- {
		if b.log[at].ID == m.ParentID && b.log[at].Marker() != nil {
			return at
		}
	}
	return -1
}

// elisionTimes says from which message on a part was shown with less.
type elisionTimes struct {
	from map[int]int   // part → message
	at   map[int][]int // message → parts
}

// elidedFrom finds where in the log elisions were committed. The log has no such entry: it is
// before the first message that was created at that time or later, at the summary of the pivot that
// it was committed with, and behind the last one when no time is known.
func elidedFrom(c *Content) elisionTimes {
	log := c.Session.Messages
	latest := make([]session.Millis, len(log)) // up to each message; clocks go back at times
	for i := range log {
		latest[i] = log[i].Time.Created
		if i > 0 {
			latest[i] = max(latest[i], latest[i-1])
		}
	}
	t := elisionTimes{map[int]int{}, map[int][]int{}}
	k := 0
	for i := range log {
		for range log[i].Parts {
			for _, el := range c.Parts[k].Elisions {
				from := len(log)
				if el.Time > 0 {
					from = max(i+1, sort.Search(len(log), func(n int) bool { return latest[n] >= el.Time }))
					if from+1 < len(log) && log[from].Marker() != nil && log[from].Time.Created == el.Time &&
						log[from+1].ParentID == log[from].ID {
						from++ // with the pivot, which is its summary
					}
				}
				if known, ok := t.from[k]; !ok || from < known {
					t.from[k] = from
				}
			}
			k++
		}
	}
	for _, k := range slices.Sorted(maps.Keys(t.from)) {
		t.at[t.from[k]] = append(t.at[t.from[k]], k)
	}
	return t
}

// part finds the message and the part at a position among all parts.
func (elisionTimes) part(b *stratifier, k int) (*session.Message, *session.Part) {
	i := sort.Search(len(b.start), func(n int) bool { return b.start[n] > k }) - 1
	return &b.log[i], &b.log[i].Parts[k-b.start[i]]
}
