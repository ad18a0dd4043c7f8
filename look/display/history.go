package display

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/quantity"
)

// Layer is one kind of content of a window.
type Layer struct{ Class, Name string }

// The layers that every history has, from the bottom up. Those of tools follow, and what was
// elided.
const (
	SystemLayer = iota
	SummaryLayer
	userLayer
	assistantLayer
	fileLayer
	firstTool
)

// mostNamed is how many tools of a layer are named.
const mostNamed = 3

// History is what the window was made of after each message of a session.
type History struct {
	Layers  []Layer // the last one is what was elided: it is not in the window, and drawn on top of it
	Moments []Moment
	Pivots  []Pivot
	Now     Moment // with everything that was committed since the last message
}

// Moment is the window after one message.
type Moment struct {
	Amounts Amounts
	Pivot   bool    // a pivot completes here
	Before  Amounts // of a pivot: the window just before it
}

// Amounts are tokens by layer.
type Amounts []int

// Shown is what the model is sent: everything except what was elided.
func (a Amounts) Shown() int { return a.All() - a[len(a)-1] }

// All is the sum of all layers.
func (a Amounts) All() int {
	sum := 0
	for _, n := range a {
		sum += n
	}
	return sum
}

// copied are the amounts of a moment. Placeholders that are together longer than what they replace
// do not make a negative layer.
func (a Amounts) copied() Amounts {
	out := slices.Clone(a)
	out[len(out)-1] = max(0, out[len(out)-1])
	return out
}

// Pivot is a pivot that counts.
type Pivot struct {
	Marker, Summary int // positions in the log
	Before, After   int // tokens of the window, with system and tools
}

// HistoryOf goes once over a log. Elisions count from the first message that was created after they
// were committed, a pivot from its summary on; what was undone counts as if it had never been. The
// parts are those of the log in its order.
func HistoryOf(log []session.Message, undone map[string]bool, r *report.Report, parts []report.Part) History {
	b := historian{parts: parts, index: map[*session.Part]int{}, byTool: map[string]int{},
		overhead: max(0, r.Window.Overhead)}
	output := map[string]int{}
	for i := range log {
		for j := range log[i].Parts {
			p, k := &log[i].Parts[j], len(b.refs)
			if p.Type == session.ToolPart {
				output[p.Tool] += parts[k].Whole.Output + parts[k].Whole.Files
			}
			b.refs, b.index[p] = append(b.refs, ref{&log[i], p}), k
		}
	}
	h := History{Layers: b.layers(output, r.Tokens.ByKind[view.KindSynthetic] > 0)}
	b.width = len(h.Layers)
	elided := b.elidedFrom(log)
	current := b.empty()
	for i := range log {
		m := &log[i]
		marker := report.PivotAt(log, undone, i)
		if marker >= 0 { // the window is another one, with what was committed until now elided
			before := current.copied()
			current = b.window(view.Window(log[:i+1], undone), i)
			h.Moments = append(h.Moments, Moment{Amounts: current.copied(), Pivot: true, Before: before})
			h.Pivots = append(h.Pivots, Pivot{marker, i, before.Shown(), current.Shown()})
			continue
		}
		for _, k := range elided[i] {
			if b.counts[k] {
				b.elide(current, k)
			}
		}
		if m.Marker() == nil && !m.IsSummary() && !undone[m.Companion()] {
			b.add(current, m, i)
		}
		h.Moments = append(h.Moments, Moment{Amounts: current.copied()})
	}
	h.Now = Moment{Amounts: b.window(view.Window(log, undone), len(log)).copied()}
	return h
}

// historian adds up windows.
type historian struct {
	parts    []report.Part
	refs     []ref // of each part
	index    map[*session.Part]int
	from     map[int]int // from which message on a part is elided
	counts   map[int]bool
	byTool   map[string]int
	width    int
	overhead int
}

type ref struct {
	message *session.Message
	part    *session.Part
}

// layers names all layers. Tools that do the same share one.
func (b *historian) layers(output map[string]int, synthetic bool) []Layer {
	user := "user"
	if synthetic {
		user = "user and synthetic"
	}
	layers := []Layer{
		SystemLayer: {systemTone.Class, "system, tools"}, SummaryLayer: {summaryTone.Class, "summary"},
		userLayer: {userTone.Class, user}, assistantLayer: {assistantTone.Class, "assistant and its calls"},
		fileLayer: {fileTone.Class, "files"},
	}
	groups := map[string][]string{}
	for _, name := range slices.SortedFunc(maps.Keys(output), func(x, y string) int {
		return cmp.Or(output[y]-output[x], cmp.Compare(x, y))
	}) {
		group := toolGroup(name)
		groups[group] = append(groups[group], name)
	}
	for _, group := range toolOrder {
		names := groups[group]
		if len(names) == 0 {
			continue
		}
		for _, name := range names {
			b.byTool[name] = len(layers)
		}
		if len(names) > mostNamed {
			names = append(slices.Clone(names[:mostNamed-1]), quantity.Number(len(names)-mostNamed+1)+" more")
		}
		layers = append(layers, Layer{tools[group].Class, "output of " + strings.Join(names, ", ")})
	}
	return append(layers, Layer{"l-elided", "left out, not sent"})
}

func (b *historian) empty() Amounts {
	b.counts = map[int]bool{}
	amounts := make(Amounts, b.width)
	amounts[SystemLayer] = b.overhead
	return amounts
}

// window adds up a window as it was at a position of the log.
func (b *historian) window(messages []session.Message, at int) Amounts {
	amounts := b.empty()
	for i := range messages {
		m := &messages[i]
		answered := i+1 < len(messages) && messages[i+1].Completes() && messages[i+1].ParentID == m.ID
		if m.IsSummary() && !m.Completes() || m.Marker() != nil && !answered {
			continue
		}
		b.add(amounts, m, at)
	}
	return amounts
}

// add counts a message as it was shown at a position of the log. Messages of a window share their
// parts with the log; others are not counted.
func (b *historian) add(amounts Amounts, m *session.Message, at int) {
	for j := range m.Parts {
		k, ok := b.index[&m.Parts[j]]
		if !ok {
			continue
		}
		b.counts[k] = true
		b.put(amounts, k, b.parts[k].Whole, 1)
		if from, ok := b.from[k]; ok && from <= at {
			b.elide(amounts, k)
		}
	}
}

// elide takes away what an elision hides of a part that is counted whole.
func (b *historian) elide(amounts Amounts, k int) {
	whole, rendered := b.parts[k].Whole, b.parts[k].Rendered
	b.put(amounts, k, whole, -1)
	b.put(amounts, k, rendered, 1)
	amounts[len(amounts)-1] += whole.Total() - rendered.Total() // negative if the placeholder is longer
}

// put adds the size of a part to the layers that it belongs to.
func (b *historian) put(amounts Amounts, k int, size rule.Size, sign int) {
	m, p := b.refs[k].message, b.refs[k].part
	layer := userLayer
	switch {
	case m.IsSummary() || m.Marker() != nil:
		layer = SummaryLayer
	case p.Type == session.ToolPart:
		amounts[assistantLayer] += sign * (size.Input + size.Text)
		amounts[b.byTool[p.Tool]] += sign * (size.Output + size.Files)
		return
	case p.Type == session.FilePart:
		layer = fileLayer
	case m.Role == session.Assistant:
		layer = assistantLayer
	}
	amounts[layer] += sign * size.Total()
}

// elidedFrom finds at which messages elisions were committed: the parts by message.
func (b *historian) elidedFrom(log []session.Message) map[int][]int {
	var elisions []rule.Elision
	for k := range b.parts {
		for _, el := range b.parts[k].Elisions {
			elisions = append(elisions, el.Elision)
		}
	}
	committed := report.CommittedAt(log, elisions)
	b.from = map[int]int{}
	at := map[int][]int{}
	for k := range b.parts {
		if from, ok := committed[b.parts[k].Part]; ok {
			b.from[k] = from
			at[from] = append(at[from], k)
		}
	}
	return at
}
