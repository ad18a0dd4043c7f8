package model

import (
	"slices"
	"time"
)

// Terms are the prices of reading from the cache, writing to it, and output, for a prompt of that
// many tokens, as multiples of the input price. Where there is no cache, or nothing is asked for
// writing to it, they are 1; where no price is known they are those of Price.Relative.
func (m Model) Terms(prompt int) (read, write, output float64) {
	p := m.Price.For(prompt)
	read, write, output = p.Relative()
	if m.Cache.Lifetime <= 0 && p.Input > 0 {
		return 1, 1, output
	}
	if read <= 0 {
		read = 1
	}
	if write <= 0 {
		write = 1
	}
	return read, write, output
}

// AssumedLifetime is how long the cache of a provider is taken to live of which nothing is known.
const AssumedLifetime = 5 * time.Minute

// CacheLifetime is how long a prefix stays in the provider's cache after its last use, 0 without a
// cache. Where no price is known a cache is assumed, as Terms does: to take one for none would
// rewrite what it has at every step.
func (m Model) CacheLifetime() time.Duration {
	if m.Cache.Lifetime <= 0 && !m.Price.Known() {
		return AssumedLifetime
	}
	return max(0, m.Cache.Lifetime)
}

// MostCached is how long the provider's cache may keep a prefix after its last use, where a request
// asks for nothing else. Unlike CacheLifetime, which is how long it does so at least, it is told by
// few providers: false if nobody knows it. What a configuration says of a model's cache counts.
func (m Model) MostCached() (most time.Duration, known bool) {
	switch {
	case m.CacheLifetime() == 0, m.Cache.Explicit, slices.Contains(m.Set, "cache.seconds"):
		return m.CacheLifetime(), true
	case m.Provider == "openai" && m.Cache.Lifetime > 0 && m.Cache.Lifetime < promised:
		return Retention, true
	}
	return 0, false
}

// promised is the lifetime that OpenAI promises since GPT-5.6, without saying when it ends.
const promised = 30 * time.Minute

// Retention is how long OpenAI keeps prompts at most where an account has not agreed on zero data
// retention, and no request asks for less.
const Retention = 24 * time.Hour
