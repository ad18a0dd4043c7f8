package model

// Usage is what one request took, in tokens, every token in one field only.
type Usage struct {
	Input        int // of the prompt, neither read from the cache nor written to it
	Output       int // of the answer, without reasoning
	Reasoning    int // billed like output
	CacheRead    int
	CacheWrite   int // for the cache's usual lifetime
	CacheWrite1h int // for an hour, where that is offered
	// Searches of the web that the provider made.
	Searches int
	// Tier is a service with prices of its own, "fast" or "priority", several joined by "+"; "" is
	// the usual one: see [Model.Service].
	Tier string
}

// most is how many tokens a request can take, at the very most: what a report says beyond that is a
// mistake.
const most = 1_000_000_000

// Plausible reports whether the usage can be: nothing in it is negative, or larger than any
// request.
func (u Usage) Plausible() bool {
	for _, n := range []int{u.Input, u.Output, u.Reasoning, u.CacheRead, u.CacheWrite, u.CacheWrite1h, u.Searches} {
		if n < 0 || n > most {
			return false
		}
	}
	return true
}

// Prompt is the size of the whole prompt: fresh, read from the cache and written to it.
func (u Usage) Prompt() int { return u.Input + u.CacheRead + u.CacheWrite + u.CacheWrite1h }

// perSearch is what providers ask for a search of the web, in US dollars, where they bill it by
// itself: 10 dollars a thousand (Anthropic's price list, 2026).
var perSearch = map[string]float64{"anthropic": 0.01}

// Costs are what a usage costs in US dollars, by what is paid for.
type Costs struct {
	Input, CacheRead, CacheWrite float64 // of the prompt
	Output                       float64 // of the answer, with its reasoning
	Searches                     float64 // of the web
}

// Cost is what the usage costs in US dollars, at the tier that its prompt falls into. It is the one
// place that says so. ok is false where nobody knows: the model, or a kind of what was used, has no
// price, or the usage cannot be.
func (m Model) Cost(u Usage) (dollars float64, ok bool) {
	dollars, _, ok = m.cost(u)
	return dollars, ok
}

// Costs is the same by what is paid for; together that is the cost, but for rounding.
func (m Model) Costs(u Usage) (costs Costs, ok bool) {
	_, costs, ok = m.cost(u)
	return costs, ok
}

func (m Model) cost(u Usage) (dollars float64, costs Costs, ok bool) {
	if !u.Plausible() {
		return 0, Costs{}, false
	}
	if u == (Usage{Tier: u.Tier}) {
		return 0, Costs{}, true
	}
	factor, served := m.Service(u.Tier)
	if !m.Price.Known() && !m.Sets(priceKeys...) || !served {
		return 0, Costs{}, false
	}
	searches := 0.0
	if u.Searches > 0 {
		each, priced := perSearch[m.Provider]
		if !priced {
			return 0, Costs{}, false
		}
		searches = each * float64(u.Searches)
	}
	p := m.Price.For(u.Prompt()).whole()
	if p.Input == 0 && u.Prompt() > 0 && !m.Sets("price.input") ||
		p.Output == 0 && u.Output+u.Reasoning > 0 && !m.Sets("price.output") {
		return 0, Costs{}, false
	}
	if m.Sets("price.cacheRead") { // 0 is free
		p.CacheRead = plain(m.Price.CacheRead)
	}
	if m.Sets("price.cacheWrite") {
		p.CacheWrite = plain(m.Price.CacheWrite)
	}
	// Tokens × price, before the division by a million: sums of whole prices stay exact.
	// The usual factor of 1 changes nothing.
	input, output := factor*float64(u.Input)*p.Input, factor*float64(u.Output+u.Reasoning)*p.Output
	read, write := factor*float64(u.CacheRead)*p.CacheRead, factor*float64(u.CacheWrite)*p.CacheWrite
	write1h := factor * float64(u.CacheWrite1h) * p.CacheWrite1h
	return (input+output+read+write+write1h)/1e6 + searches, Costs{Input: input / 1e6, CacheRead: read / 1e6,
		CacheWrite: (write + write1h) / 1e6, Output: output / 1e6, Searches: searches}, true
}

// whole fills in what a price list leaves out: reading from the cache, or writing to it, costs what
// input costs where no other price is told, and an hour of it what its usual lifetime costs. Prices
// that cannot be count as none.
func (p Price) whole() Price {
	p.Input, p.Output = plain(p.Input), plain(p.Output)
	if p.CacheRead = plain(p.CacheRead); p.CacheRead == 0 {
		p.CacheRead = p.Input
	}
	if p.CacheWrite = plain(p.CacheWrite); p.CacheWrite == 0 {
		p.CacheWrite = p.Input
	}
	if p.CacheWrite1h = plain(p.CacheWrite1h); p.CacheWrite1h == 0 {
		p.CacheWrite1h = p.CacheWrite
	}
	return p
}
