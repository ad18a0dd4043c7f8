package pivot

import "github.com/winnowhq/winnow/model"

// Cold has the cost of the next prompt of a session that the provider's cache has lost, in US
// dollars.
type Cold struct {
	Going     float64 `json:"going"`     // the whole prompt, written to the cache again
	Compacted float64 `json:"compacted"` // the compacted prompt, written the same way, and its summary
}

// DearFrom is the least difference, in US dollars, at which a cold cache is worth a sentence. Below
// it every short session that rested for an hour would have one.
const DearFrom = 0.25

// NewCold prices the next prompt of a session as it is and as a compaction would leave it. hour says
// that the cache's entries are written for an hour; summary is the cost of the calls for the
// summary, nil if it is unknown. It is nil where a price is unknown, and where there is no cache.
func NewCold(m model.Model, c Change, hour bool, summary *float64) *Cold {
	if summary == nil || m.CacheLifetime() <= 0 {
		return nil
	}
	write := func(tokens int) (float64, bool) {
		if hour {
			return m.Cost(model.Usage{CacheWrite1h: max(0, tokens)})
		}
		return m.Cost(model.Usage{CacheWrite: max(0, tokens)})
	}
	going, known := write(c.Before)
	compacted, also := write(c.After)
	if !known || !also {
		return nil
	}
	return &Cold{Going: going, Compacted: compacted + *summary}
}

// Dear reports whether going on costs so much more than compacting that somebody should hear of it.
func (c *Cold) Dear() bool { return c != nil && c.Going-c.Compacted >= DearFrom }

// Words say it in a sentence; dollars formats the amounts.
func (c *Cold) Words(dollars func(float64) string) string {
	return "the cache is gone: going on costs " + dollars(c.Going) + ", compacted " + dollars(c.Compacted)
}
