package lab

import (
	"slices"
	"time"

	"github.com/winnowhq/winnow/model"
)

// Terms are what a provider asks for, in US dollars per million tokens, or in multiples of the input price where no price is known.
type Terms struct {
	Price    model.Price   // with CacheRead and CacheWrite filled in where a cache is used, else equal to Input
	Lifetime time.Duration // of a prompt in the cache after its last use; 0: no cache
	// MinPrefix is the shortest prompt that is cached, in tokens.
	MinPrefix int
	// Relative says that prices are multiples of the input price: none is known.
	Relative bool
}

// Hour is the longer lifetime that some providers offer for a dearer write.
const Hour = time.Hour

// TermsOf are the terms of a model. With hour what is written to the cache is kept for an hour, where the model's price says what that costs.
func TermsOf(m model.Model, hour bool) Terms {
	t := Terms{Price: m.Price, Lifetime: m.CacheLifetime(), MinPrefix: m.Cache.MinPrefix}
	if !m.Price.Known() || !(m.Price.Input > 0) {
		read, write, output := m.Price.Relative()
		t.Price, t.Relative = model.Price{Input: 1, CacheRead: read, CacheWrite: write, CacheWrite1h: 2, Output: output}, true
	}
	if hour && t.Price.CacheWrite1h > 0 && t.Lifetime > 0 {
		t.Lifetime = Hour
		t.Price.CacheWrite = t.Price.CacheWrite1h
	}
	t.Price = t.cached(t.Price)
	tiers := make([]model.Tier, len(t.Price.Tiers))
	for i, tier := range t.Price.Tiers {
		if hour && tier.Price.CacheWrite1h > 0 && t.Lifetime == Hour {
			tier.Price.CacheWrite = tier.Price.CacheWrite1h
		}
		tiers[i] = model.Tier{Above: tier.Above, Price: t.cached(tier.Price)}
	}
	t.Price.Tiers = tiers
	return t
}

// terms are those that are billed for a session that a model reads.
func (o Options) terms(m model.Model) Terms {
	t := TermsOf(m, o.Hour)
	if o.Terms != nil {
		t = *o.Terms
	}
	if o.Uncached {
		t = t.uncached()
	}
	return t
}

// uncached are the same without a cache.
func (t Terms) uncached() Terms {
	t.Lifetime = 0
	t.Price = t.cached(t.Price)
	t.Price.Tiers = slices.Clone(t.Price.Tiers)
	for i := range t.Price.Tiers {
		t.Price.Tiers[i].Price = t.cached(t.Price.Tiers[i].Price)
	}
	return t
}

// cached fills in what a price list leaves out: a cache that is written to for nothing more than the input price, and no cache at all.
func (t Terms) cached(p model.Price) model.Price {
	if t.Lifetime <= 0 {
		p.CacheRead, p.CacheWrite = p.Input, p.Input
	}
	if p.CacheWrite <= 0 {
		p.CacheWrite = p.Input
	}
	if p.CacheRead <= 0 {
		p.CacheRead = p.Input
	}
	return p
}

// Reference are the terms that published comparisons use: reading from the cache 0.1, writing to it 1.25, output 5 times the input price, kept for
// five minutes.
func Reference() Terms {
	return Terms{Price: model.Price{Input: 1, CacheRead: 0.1, CacheWrite: 1.25, Output: 5}, Lifetime: 5 * time.Minute, Relative: true}
}

// at are the prices of a prompt of so many tokens, per token.
func (t Terms) at(prompt int) (read, write, output float64) {
	p := t.Price.For(prompt)
	return p.CacheRead / 1e6, p.CacheWrite / 1e6, p.Output / 1e6
}
