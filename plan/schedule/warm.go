package schedule

import "time"

// Lull is the time in which an agent is at work on the calls of an answer and asks nothing, at the
// moment at which the provider's cache is about to forget its conversation.
//
// While an agent waits for its user, the cache is not kept: fewer come back, and what was found by
// then is left out for nothing when the cache is cold.
type Lull struct {
	Kept int // requests that have kept the cache since the answer
	// Lifetime is how long the cache keeps a prompt after its last use.
	Lifetime time.Duration
	// Read and Write are the prices of reading a prompt from the cache and of writing it there, in
	// any unit.
	Read, Write float64
}

// Margin is how long before the end of a cache's lifetime it is kept: providers count from the
// beginning of a request, and a request takes a while to arrive.
const Margin = 30 * time.Second

// After is when the cache has to be kept next, from its last use on.
func (l Lull) After() time.Duration { return l.Lifetime - Margin }

// Pays reports whether a request that keeps the cache for one more lifetime is worth what it costs:
// reading the prompt once, against writing it again if the agent asks within that time.
func (l Lull) Pays() bool {
	return l.Lifetime > Margin && l.Read > 0 && l.returns()*(l.Write-l.Read) > l.Read
}

// The shares of lulls that end within one more lifetime of those that have lasted that long, by how
// often the cache was kept; the last share stands for all that follow. They are counts over 72
// recorded sessions of 15 sources, 175 lulls of five minutes and 14 of an hour, ends of sessions
// among them; neighbours that differ by chance are pooled.
var (
	ofMinutes = []float64{0.57, 0.42, 0.32, 0.14, 0.14, 0.14, 0.14, 0.14, 0.02}
	ofAnHour  = []float64{0.36, 0.039, 0.039, 0.039, 0.018}
)

// returns is the chance that the agent asks within one more lifetime.
func (l Lull) returns() float64 {
	shares := ofMinutes
	if l.Lifetime >= time.Hour {
		shares = ofAnHour
	}
	return shares[min(max(l.Kept, 0), len(shares)-1)]
}
