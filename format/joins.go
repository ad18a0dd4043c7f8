package format

import (
	"cmp"
	"slices"
)

// Joins keeps what is one message in one stretch: a call and its result, which may come after
// another message of the user. The zero value is ready.
type Joins struct {
	names Names
	seen  []joined
}

// joined is a call, or a result, on a line that was shown.
type joined struct {
	id     uint32
	line   int32
	result bool
}

// farthest is how many lines a result may be behind its call. One farther away is reported as a
// message of its own: otherwise a file could make us hold all of it at once.
const farthest = 1 << (perStretch - 2)

// Call notes a call on a line, by its number among those that were shown.
func (j *Joins) Call(id string, line int) {
	j.seen = append(j.seen, joined{j.names.Of(id), int32(line), false})
}

// Result notes a result.
func (j *Joins) Result(id string, line int) {
	j.seen = append(j.seen, joined{j.names.Of(id), int32(line), true})
}

// Keep lets no stretch begin between a call and its results. Only lines in the session count; a
// result belongs to the newest call with its id, and the first result without a call takes the
// call's place.
func (j *Joins) Keep(uses []Use, in []bool) {
	newest := make([]int32, j.names.Len()+1) // line of the call, plus one
	spans := NewSpans(len(uses))
	for _, s := range j.seen {
		if !in[s.line] {
			continue
		}
		call := newest[s.id] - 1
		switch {
		case !s.result || call < 0:
			newest[s.id] = s.line + 1
		default:
			spans.Add(int(call), int(s.line))
		}
	}
	spans.Keep(uses)
}

// Reorder numbers the lines anew: order says which line comes at which place.
func (j *Joins) Reorder(order []int32) {
	place := make([]int32, len(order))
	for at, line := range order {
		place[line] = int32(at)
	}
	for i := range j.seen {
		j.seen[i].line = place[j.seen[i].line]
	}
	slices.SortStableFunc(j.seen, func(a, b joined) int { return cmp.Compare(a.line, b.line) })
}

// Spans are lines between which no stretch may begin.
type Spans []int32

// NewSpans returns an empty set of spans for this many lines.
func NewSpans(lines int) Spans { return make(Spans, lines+1) }

// Add keeps two lines, and everything between them, in one stretch. Lines that are too far from
// one another are not kept.
func (s Spans) Add(from, to int) {
	if to-from <= farthest {
		s[from+1]++
		s[to+1]--
	}
}

// Keep lets no stretch begin behind the first line of a span, up to its last.
func (s Spans) Keep(uses []Use) {
	within := int32(0)
	for i := range uses {
		if within += s[i]; within > 0 && uses[i] == Begins {
			uses[i] = Inside
		}
	}
}
