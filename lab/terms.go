package lab

import (
	"slices"
	"time"

	"github.com/winnowhq/winnow/model"
)

// Terms are a provider's prices in US dollars per million tokens, or in multiples of the input
// price if that is unknown.
type Terms struct {
	Price    model.Price   // CacheRead and CacheWrite are always set; without a cache they equal Input
	Lifetime time.Duration // in the cache after the last use; 0: no cache
	// MinPrefix is the shortest cached prompt, in tokens.
	MinPrefix int
	// Marked: of a prompt that was changed only the part up to the end of an earlier request is
	// still in the cache, as where requests mark what is to be kept ([model.Cache.Explicit]).
	Marked bool
	// Step is what a cached prefix grows by, in tokens; 0: by any number.
	Step int
	// Relative: prices are multiples of the input price.
	Relative bool
}

// Hour is the longer cache lifetime that some providers sell at a higher write price.
const Hour = time.Hour

// TermsOf returns the terms of a model, with hour those of the one-hour cache if its price is
// known.
func TermsOf(m model.Model, hour bool) Terms {
	t := Terms{Price: m.Price, Lifetime: m.CacheLifetime(), MinPrefix: m.Cache.MinPrefix,
		Marked: m.Cache.Explicit}
	if m.Provider == "openai" {
		t.Step = 128 // its guide to prompt caching
	}
	if !m.Price.Known() || !(m.Price.Input > 0) {
		read, write, output := m.Price.Relative()
		t.Price, t.Relative = model.Price{Input: 1, CacheRead: read, CacheWrite: write, CacheWrite1h: 2,
			Output: output}, true
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

// Priced tells a trace the prices of the models that its log names: each step is billed at those of
// the model that answered it. A step of a model whose price is unknown is billed as the trace's.
func (t *Trace) Priced(find func(name string) model.Model) {
	t.models = map[string]model.Model{}
	for i := range t.steps {
		name := t.steps[i].model
		if _, known := t.models[name]; known || name == "" {
			continue
		}
		if m := find(name); m.Price.Known() && m.Price.Input > 0 && t.Model.Price.Known() && t.Model.Price.Input > 0 {
			t.models[name] = m
		}
	}
}

// rates are the terms of each step. Steps with the same terms share them.
func (t *Trace) rates(o Options) []*Terms {
	type key struct {
		model string
		hour  bool
	}
	made := map[key]*Terms{}
	all := make([]*Terms, len(t.steps))
	hour := o.Hour || o.Logged && t.beginsHour()
	for k := range t.steps {
		s := &t.steps[k]
		if o.Logged && (s.hour || s.usual) {
			hour = s.hour
		}
		m, priced := t.models[s.model]
		if !priced {
			m = t.Model
		}
		at := key{m.String(), hour}
		if made[at] == nil {
			terms := o.terms(m, hour)
			made[at] = &terms
		}
		all[k] = made[at]
	}
	return all
}

// beginsHour reports whether the first usage that tells how long a prompt is kept says an hour.
func (t *Trace) beginsHour() bool {
	i := slices.IndexFunc(t.steps, func(s step) bool { return s.hour || s.usual })
	return i >= 0 && t.steps[i].hour
}

// cold reports whether step k finds nothing in the cache: it is the first, it comes after a pause
// that the cache does not outlive, or another model answers it.
func (t *Trace) cold(k int, rates []*Terms, between time.Duration) bool {
	return k == 0 || rates[k].Lifetime <= 0 || t.idle(k, between) > rates[k-1].Lifetime ||
		t.answers(k) != t.answers(k-1)
}

// answers is the model whose prices a step has, "" for that of the trace.
func (t *Trace) answers(k int) string {
	if m, priced := t.models[t.steps[k].model]; priced {
		return m.String()
	}
	return t.Model.String()
}

// terms returns what is billed for a step of a model whose prompt is kept for an hour, or as long
// as is usual.
func (o Options) terms(m model.Model, hour bool) Terms {
	t := TermsOf(m, hour)
	if o.Terms != nil {
		least := t.MinPrefix
		if t = *o.Terms; o.Logged {
			t.MinPrefix = least
			if hour {
				t = t.forAnHour()
			}
		}
	}
	if o.Uncached {
		t = t.uncached()
	}
	return t
}

// forAnHour returns the same terms with a cache that lives for an hour. Where its write price is
// unknown it is double the input price.
func (t Terms) forAnHour() Terms {
	write := func(p model.Price) model.Price {
		if p.CacheWrite = p.CacheWrite1h; p.CacheWrite <= 0 {
			p.CacheWrite = 2 * p.Input
		}
		return p
	}
	t.Lifetime = Hour
	t.Price = write(t.Price)
	t.Price.Tiers = slices.Clone(t.Price.Tiers)
	for i := range t.Price.Tiers {
		t.Price.Tiers[i].Price = write(t.Price.Tiers[i].Price)
	}
	return t
}

// uncached returns the same terms without a cache.
func (t Terms) uncached() Terms {
	t.Lifetime = 0
	t.Price = t.cached(t.Price)
	t.Price.Tiers = slices.Clone(t.Price.Tiers)
	for i := range t.Price.Tiers {
		t.Price.Tiers[i].Price = t.cached(t.Price.Tiers[i].Price)
	}
	return t
}

// cached fills in missing cache prices: the input price.
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

// Reference returns the terms of published comparisons: cache read 0.1, cache write 1.25 and output
// 5 times the input price, kept for five minutes.
func Reference() Terms {
	return Terms{Price: model.Price{Input: 1, CacheRead: 0.1, CacheWrite: 1.25, Output: 5}, Lifetime: 5 * time.Minute,
		Relative: true}
}

// at returns the prices per token for a prompt of this size. What is too short for the cache is not
// written to it.
func (t Terms) at(prompt int) (read, write, output float64) {
	p := t.Price.For(prompt)
	if prompt < t.MinPrefix {
		p.CacheWrite = p.Input
	}
	return p.CacheRead / 1e6, p.CacheWrite / 1e6, p.Output / 1e6
}
