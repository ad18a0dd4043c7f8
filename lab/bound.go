package lab

import "slices"

// Bound is what a session costs at least without a pivot, however much is known of what comes: no
// schedule is billed less that commits what it likes before any step it likes, as long as
//
//   - it leaves out arguments and outputs of calls only, an output with its attachments, and
//     nothing stands in their place;
//   - each is sent once, and for as long as it is needed: by each step that would have a regret if
//     it alone were left out, that is, that has three quotations or more of it that stand nowhere
//     else before;
//   - what was left out stays so.
//
// It may be lower than what can be had: where two items say the same, neither is needed as long as
// the other one is there.
//
// A commit is a position before a step: what is needed no more and stands behind the position goes,
// all of it, for that makes nothing dearer; what stands behind and stays is written to the cache
// again. Which positions pay depends on those of the commits before and after. It is a dynamic
// program over the items from the last to the first, and for each over pairs of steps: what the
// items behind it cost between two commits that reach it. A step that finds the cache cold is a
// commit of everything that costs nothing more.
//
// Where the cache stays warm for more than 128 steps, commits in two or more neighbouring steps
// count as one at the best of them: the bound is a little lower then, on recorded sessions of up to
// 500 steps by half a per cent at most. So it is where prices have tiers: each step is billed at
// the tier that its prompt cannot be below.
//
// The money is that of Bill. A policy that lets something be needed and pays for it can undercut a
// bound in principle: by leaving out what is large for long, and fetching it again.
func Bound(t *Trace, o Options) float64 {
	b := newBound(t, o)
	total := b.fixed()
	for from := 0; from < len(t.steps); {
		to := from + 1
		for to < len(t.steps) && !b.cold[to] {
			to++
		}
		total += b.between(from, to, (to-from+spans-1)/spans)
		from = to
	}
	return total
}

// spans is how many spans of time a bound tells apart between two moments at which the cache is
// cold: 500 steps take 10 ms so, and 40 ms one by one.
const spans = 128

// bounded are items in a row that are sent first together, and needed for the last time together.
type bounded struct {
	tokens float64
	born   int // the step that sends it first
	need   int // the last step that needs it; at least born
}

type bound struct {
	items  []bounded
	cold   []bool
	sums   []float64 // of the prices of reading, before each step
	extra  []float64 // by step, what writing costs more than reading
	output float64   // what steps produced
	base   float64
}

func newBound(t *Trace, o Options) *bound {
	n := len(t.steps)
	b := &bound{cold: make([]bool, n), sums: make([]float64, n+1), extra: make([]float64, n), base: float64(t.Base)}
	rates := t.rates(o)
	last := t.needed()
	least := make([]int, n+1) // by step, how much larger its prompt is at least than that of the step before
	for i := range t.items {
		x := &t.items[i]
		born := x.step + 1
		if born >= n || x.tokens == 0 {
			continue // it is never sent
		}
		need := n
		if t.hideable(i) {
			need = max(born, int(last[i]))
			least[need+1] -= x.tokens
		}
		least[born] += x.tokens
		if k := len(b.items) - 1; k >= 0 && b.items[k].born == born && b.items[k].need == need {
			b.items[k].tokens += float64(x.tokens)
			continue
		}
		b.items = append(b.items, bounded{float64(x.tokens), born, need})
	}
	prompt := t.Base
	for k := range n {
		prompt += least[k]
		read, write, output := rates[k].at(prompt)
		b.cold[k] = t.cold(k, rates, o.Idle)
		b.sums[k+1] = b.sums[k] + read
		b.extra[k] = write - read
		b.output += float64(t.steps[k].output) * output
	}
	return b
}

// hideable reports whether an item belongs to a call.
func (t *Trace) hideable(i int) bool {
	at := t.parts[t.items[i].part]
	return at.input == int32(i) || at.output == int32(i)
}

// needed are the last steps that would have a regret if an item alone were hidden, -1 for none.
func (t *Trace) needed() []int32 {
	last := make([]int32, len(t.items))
	for i := range last {
		last[i] = -1
	}
	alone := map[int32]int{}
	for k, needs := range t.quotes.needs {
		clear(alone)
		for _, need := range needs {
			if at := t.quotes.chain[need.newest]; at.before < 0 {
				if alone[at.item]++; alone[at.item] == Quotations {
					last[at.item] = int32(k)
				}
			}
		}
	}
	return last
}

// fixed is what no schedule changes: what system prompt and tools take, what each item takes when
// it is sent first, and what steps produce.
func (b *bound) fixed() float64 {
	total := b.output
	for k := range b.extra {
		total += b.base * b.read(k, k+1)
		if b.cold[k] {
			total += b.base * b.extra[k]
		}
	}
	for _, x := range b.items {
		total += x.tokens * (b.read(x.born, x.born+1) + b.extra[x.born])
	}
	return total
}

// read is the price of reading a token at each step from one to before another.
func (b *bound) read(from, to int) float64 { return b.sums[to] - b.sums[from] }

// between is what the items cost in the steps from one that finds the cache cold to before the
// next, without what they cost when they are sent first. So many steps, width, are a span, in which
// one commit is made at most.
func (b *bound) between(from, to, width int) float64 {
	n := (to - from + width - 1) / width
	start := func(span int) int { return min(from+span*width, to) }
	extra := make([]float64, n) // by span, what it costs more at least to write than to read
	for a := range extra {
		extra[a] = slices.Min(b.extra[start(a):start(a+1)])
	}
	// cost[a][z] is what the items that were looked at cost from span a to before span z, after a
	// commit in a that reaches all of them, and before another one in z. They arrive in their
	// order: the rows below low are those of low.
	cost := make([][]float64, n+1)
	for a := range cost {
		cost[a] = make([]float64, n+1)
	}
	low := n
	reading := make([]float64, n+1) // of this item, up to before each span
	path := make([]float64, n+1)
	for i := len(b.items) - 1; i >= 0; i-- {
		x := b.items[i]
		if x.born >= to || x.need < from {
			continue
		}
		born := (x.born - from) / width // span in which it is sent first
		first := max(0, born)           // span in which it can be hidden first
		if x.born < from {
			born, first = -1, 0
		}
		if x.need < to {
			first = max(first, (x.need+1-from)/width)
		} else {
			first = n + 1
		}
		lowest := max(0, born)
		if width > 1 {
			lowest = max(0, born-1)
		}
		for ; low > lowest; low-- {
			copy(cost[low-1], cost[low])
		}
		for z := range reading {
			reading[z] = x.tokens * b.read(min(max(from, x.born+1), start(z)), start(z))
		}
		for a := low; a < min(n, first); a++ {
			row, again := cost[a], 0.0
			if x.born < start(a) {
				again = x.tokens * extra[a]
			}
			for z := a + 1; z <= n; z++ {
				path[z] = row[z] + again + reading[z] - reading[a]
			}
			copy(row[a+1:], path[a+1:])
			for s := max(first, a+1); s < n; s++ {
				// It goes in span s.
				there, after := path[s], cost[s]
				for z := s + 1; z <= n; z++ {
					row[z] = min(row[z], there+after[z])
				}
			}
		}
	}
	return cost[0][n]
}
