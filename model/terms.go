package model

import "time"

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
