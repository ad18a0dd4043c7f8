package lab

import (
	"math"
	"time"

	"github.com/winnowhq/winnow/plan/schedule"
)

// warm reports whether the cache has something of the prompt of step k, and bills what keeping it
// takes. r.terms are still those of the step before.
func (r *run) warm(k int) bool {
	cold := r.trace.cold(k, r.rates, r.opts.Idle)
	if r.idle = r.trace.idle(k, r.opts.Idle); k == 0 || r.setup.KeepWarm <= 0 || !r.keepable() {
		return !cold
	}
	if r.trace.steps[k-1].calls {
		r.idle = r.keep(r.idle)
	}
	kept := r.trace.steps[k-1].calls && r.idle <= r.terms.Lifetime
	if !cold || !kept || r.rates[k].Lifetime <= 0 || r.trace.answers(k) != r.trace.answers(k-1) {
		return !cold
	}
	r.out.Bridged++
	return true
}

// unsure reports whether the cache is cold before step k, but not for long enough to be taken for
// it.
func (r *run) unsure(k int) bool {
	if k == 0 || r.opts.Unsure <= 0 {
		return false
	}
	beyond := r.idle - r.rates[k-1].Lifetime
	return r.rates[k-1].Lifetime > 0 && 0 < beyond && beyond <= r.opts.Unsure
}

// left bills what keeps the cache warm after a last step that calls tools, in vain: the gateway
// cannot know that nobody comes back.
func (r *run) left() {
	n := len(r.trace.steps)
	if n == 0 || !r.trace.steps[n-1].calls || r.setup.KeepWarm <= 0 || !r.keepable() {
		return
	}
	r.keep(math.MaxInt64)
	if r.opts.Detail {
		r.out.Curve[n-1] = r.out.Bill.Total()
	}
}

// keep bills the requests that keep the provider's cache during a pause, as the gateway sends them:
// each repeats the newest request, for one token of an answer. It returns how long the pause lasts
// after the last of them.
//
// Where something was left out or folded since that request, the next one begins differently, and
// none is sent.
func (r *run) keep(pause time.Duration) (rest time.Duration) {
	lull := schedule.CacheKeepAlive{Lifetime: r.terms.Lifetime}
	if r.kept < r.sent || r.sent < max(1, r.terms.MinPrefix) {
		return pause
	}
	read, write, output := r.terms.at(r.sent)
	lull.Read, lull.Write = read, write
	for rest = pause; rest > lull.After() && lull.Repeats < r.setup.KeepWarm && lull.Pays(); rest -= lull.After() {
		lull.Repeats++
		r.out.Warm++
		r.out.Bill.Warm += float64(r.sent)*read + output
		r.out.Tokens.Sent += r.sent
		r.out.Tokens.Cached += r.sent
		r.out.Tokens.Output++
	}
	return rest
}

// keepable reports whether the gateway could keep the cache of the session's model: one of which
// requests mark what is to be cached. Chosen prices are those of such a provider.
func (r *run) keepable() bool { return r.opts.Terms != nil || r.terms.Marked }
