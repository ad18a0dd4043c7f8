package bill

// Split is what requests cost in US dollars, by what was paid for. Its sum is the cost of their
// bill, but for rounding.
type Split struct {
	Read  float64 `json:"read"`  // prompts that were read from the provider's cache
	Write float64 `json:"write"` // prompts that were written to the provider's cache
	// Prompts that were neither read from the cache nor written to it.
	Input  float64 `json:"input"`
	Output float64 `json:"output"` // answers, with their reasoning
	// Searches of the web, and requests that the log prices without a usage.
	Other float64 `json:"other,omitzero"`
}

// Prompt is what was paid for prompts.
func (s Split) Prompt() float64 { return s.Read + s.Write + s.Input }

// Total of all of it.
func (s Split) Total() float64 { return s.Prompt() + s.Output + s.Other }

// Plus sums up what two requests cost.
func (s Split) Plus(t Split) Split {
	return Split{s.Read + t.Read, s.Write + t.Write, s.Input + t.Input, s.Output + t.Output, s.Other + t.Other}
}

// Of is a split with the same shares and another total; one of nothing is all Other.
func (s Split) Of(total float64) Split {
	whole := s.Total()
	if !(whole > 0) {
		return Split{Other: total}
	}
	each := total / whole
	return Split{s.Read * each, s.Write * each, s.Input * each, s.Output * each, s.Other * each}
}

// Split is what one request cost, by what was paid for. Where the log prices a usage that we do
// not, its price is divided as such usages are billed usually: see [model.Price.Relative].
func (p *Prices) Split(r Request) Split {
	b := p.Of(r)
	if r.Usage == nil || b.Unknown() > 0 || b.Usage.Prompt()+b.Usage.Output+b.Usage.Reasoning == 0 {
		return Split{Other: b.Cost}
	}
	usage := Usage(*r.Usage)
	m := p.Model(r.Model)
	if c, known := m.Costs(usage); known {
		return Split{c.CacheRead, c.CacheWrite, c.Input, c.Output, c.Searches}
	}
	read, write, output := m.Price.Relative()
	s := Split{
		Read: float64(usage.CacheRead) * read, Write: float64(usage.CacheWrite+usage.CacheWrite1h) * write,
		Input: float64(usage.Input), Output: float64(usage.Output+usage.Reasoning) * output,
	}
	return s.Of(b.Cost)
}
