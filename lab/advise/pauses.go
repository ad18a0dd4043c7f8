package advise

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/winnowhq/winnow/plan/schedule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/quantity"
)

// Kept is how many requests in a pause gateway.keepWarm is advised with: the engine stops earlier
// where one more would not pay.
const Kept = 5

// pauses are what pauses cost in a session that the provider's cache did not outlive, and what
// would have been saved by each of the ways to keep it.
type pauses struct {
	cold    int
	cost    float64
	longest time.Duration
	warm    float64 // by requests that keep the cache while tools run
	hour    float64 // by a cache of an hour, where it is one of minutes
	minutes float64 // by a cache of minutes, where it is one of an hour
	hours   int     // requests that wrote to a cache of an hour
	usual   int     // and to one of minutes
}

// pausesOf finds the pauses of a session: a request that found less than half of the newest prompt
// in the cache, longer after that one than the cache keeps it, and in the same window with the same
// model. Otherwise something else than the pause was the reason.
func pausesOf(c *carried) (p pauses) {
	hour := false
	for k := range c.requests {
		r := &c.requests[k]
		if w := r.usage.Cache.Write; w > 0 {
			if hour = 2*r.usage.Cache.Write1h > w; hour {
				p.hours++
			} else {
				p.usual++
			}
		}
		var was *request
		if k > 0 {
			was = &c.requests[k-1]
		}
		pause, lost := broken(was, r, hour)
		if lost > 0 {
			p.cold, p.longest = p.cold+1, max(p.longest, pause)
			p.cost += r.cost(r.usage) - r.cost(served(r.usage, lost))
		}
		p.hour += r.forAnHour(lost, pause)
		p.minutes += r.forMinutes(was, pause)
		if was != nil && was.calls {
			p.warm += r.kept(was, lost, pause, hour)
		}
	}
	if n := len(c.requests); n > 0 && c.requests[n-1].calls { // nobody can know that it was the last
		p.warm += c.requests[n-1].kept(&c.requests[n-1], 0, math.MaxInt64, hour)
	}
	return p
}

// broken is the pause before a request, 0 if it is not known, and how many tokens the cache had
// forgotten in it.
func broken(was, r *request, hour bool) (pause time.Duration, lost int) {
	if was == nil || was.window != r.window || was.model.String() != r.model.String() || was.ended == 0 ||
		r.begun <= was.ended {
		return 0, 0
	}
	pause = time.Duration(float64(r.begun-was.ended) * float64(time.Millisecond))
	lifetime := lifetimeOf(r, hour)
	prompt := min(was.usage.Prompt(), r.usage.Prompt())
	if lifetime <= 0 || pause <= lifetime || 2*r.usage.Cache.Read >= prompt {
		return pause, 0
	}
	return pause, prompt - r.usage.Cache.Read
}

func lifetimeOf(r *request, hour bool) time.Duration {
	if hour {
		return time.Hour
	}
	return r.model.CacheLifetime()
}

// served is a usage of which some more tokens were read from the cache.
func served(u session.Usage, tokens int) session.Usage {
	for _, of := range []*int{&u.Cache.Write, &u.Input} {
		n := min(tokens, *of)
		*of -= n
		u.Cache.Read += n
		tokens -= n
	}
	u.Cache.Write1h = min(u.Cache.Write1h, u.Cache.Write)
	return u
}

// forAnHour is what a request would have saved if prompts were kept for an hour: what a pause of up
// to an hour lost would have been read; what was written costs more.
func (r *request) forAnHour(lost int, pause time.Duration) float64 {
	u := r.usage
	if u.Cache.Write == 0 && lost == 0 || r.model.Price.CacheWrite1h <= 0 {
		return 0
	}
	if pause <= time.Hour {
		u = served(u, lost)
	}
	u.Cache.Write1h = u.Cache.Write
	return r.cost(r.usage) - r.cost(u)
}

// forMinutes is what a request would have saved if prompts were kept for the usual time alone: what
// was written costs less; after a pause that only an hour outlives, what was read would have had to
// be written.
func (r *request) forMinutes(was *request, pause time.Duration) float64 {
	u := r.usage
	if was != nil && pause > r.model.CacheLifetime() && pause <= time.Hour {
		u.Cache.Write += u.Cache.Read
		u.Cache.Read = 0
	}
	u.Cache.Write1h = 0
	return r.cost(r.usage) - r.cost(u)
}

// kept is what it would have saved to keep the cache while the calls before a request ran: the
// gateway repeats the newest request before the cache forgets it, as often as
// schedule.CacheKeepAlive says that it pays.
func (r *request) kept(was *request, lost int, pause time.Duration, hour bool) float64 {
	if !r.model.Cache.Explicit {
		return 0
	}
	prompt := was.usage.Prompt()
	read := session.Usage{Cache: session.CacheUsage{Read: prompt}, Output: 1}
	write := session.Usage{Cache: session.CacheUsage{Write: prompt}}
	if hour {
		write.Cache.Write1h = prompt
	}
	lull := schedule.CacheKeepAlive{Lifetime: lifetimeOf(r, hour), Read: was.cost(read), Write: was.cost(write)}
	rest, spent := pause, 0.0
	for ; rest > lull.After() && lull.Repeats < Kept && lull.Pays(); rest -= lull.After() {
		lull.Repeats++
		spent += lull.Read
	}
	if lull.Repeats > 0 && rest <= lull.Lifetime && lost > 0 {
		return r.cost(r.usage) - r.cost(served(r.usage, lost)) - spent
	}
	return -spent
}

// findPauses finds pauses after which the provider's cache had forgotten the conversation, and the
// cheapest way to have kept it; or a cache of an hour that costs more than it saves.
//
// Cost: what the requests after such pauses paid for writing again what a warm cache would have
// served. Gain: the bill of every request as it was, less that bill with the change: what pauses
// lost, less what keeping it takes, in vain too. Tokens and prices are those that were reported:
// the error is that over sessions alone.
func findPauses(sessions []Session, keepWarm int) []Finding {
	warm, hour, minutes := sampleOf(sessions), sampleOf(sessions), sampleOf(sessions)
	var all, claudes outlived
	hours := 0
	for i := range sessions {
		s := &sessions[i]
		p := &s.pauses
		all.add(p)
		kept := 0.0 // by what is in force
		if keepWarm == 0 {
			warm.add(s, p.cost, p.warm)
		} else {
			kept = max(0, p.warm)
		}
		switch {
		case s.Product != "claude-code":
		case p.hours > 0:
			minutes.add(s, max(0, p.minutes), p.minutes)
			hours += p.hours
		case p.usual > 0:
			hour.add(s, p.cost, p.hour-kept)
			claudes.add(p)
		}
	}
	var found []Finding
	if all.pauses > 0 {
		again := "After pauses, conversations were written to the provider's cache again"
		byGateway, byHour := warm.pause(again, all.String()), hour.pause(again, claudes.String())
		byGateway.Change = "let the gateway keep the cache while tools run, and start agents with `winnow wrap`"
		byGateway.Line = fmt.Sprintf("winnow config set gateway.keepWarm %d", Kept)
		byGateway.Settings = map[string]string{"gateway.keepWarm": fmt.Sprint(Kept)}
		byHour.Change = "have Claude Code keep prompts for an hour, where you pay by the token"
		byHour.Line, byHour.Where = `"env": {"ENABLE_PROMPT_CACHING_1H": "1"}`, "~/.claude/settings.json"
		found = append(found, byGateway, byHour)
	}
	if hours > 0 {
		f := minutes.pause("Prompts were kept for an hour, and few pauses were long enough to need it",
			fmt.Sprintf("%s wrote to the cache for an hour, at double the price of input.",
				quantity.Plural(hours, "request", "requests")))
		f.Change = "have Claude Code keep prompts for five minutes, where you pay by the token"
		f.Line, f.Where = `"env": {"FORCE_PROMPT_CACHING_5M": "1"}`, "~/.claude/settings.json"
		found = append(found, f)
	}
	return cheapest(found)
}

// outlived counts pauses that the cache did not outlive.
type outlived struct {
	pauses, sessions int
	longest          time.Duration
}

func (o *outlived) add(p *pauses) {
	if p.cold > 0 {
		o.pauses, o.sessions, o.longest = o.pauses+p.cold, o.sessions+1, max(o.longest, p.longest)
	}
}

func (o *outlived) String() string {
	return fmt.Sprintf("%s in %s outlived the provider's cache, the longest %s.", quantity.Count(o.pauses, "pause"),
		quantity.Count(o.sessions, "session"), quantity.Duration(o.longest))
}

// pause is a finding about pauses, without what to change.
func (x *sample) pause(title, evidence string) Finding {
	return Finding{Kind: Pauses, Title: title, Cost: x.cost, Gain: x.gain, Error: x.error(false),
		Evidence: []string{evidence, x.dearest()}}
}

// cheapest is the finding with the largest gain of those whose gain is beyond its error: the others
// are other ways to the same end.
func cheapest(found []Finding) []Finding {
	best := -1
	for i := range found {
		if found[i].Gain > found[i].Error && (best < 0 || found[i].Gain > found[best].Gain) {
			best = i
		}
	}
	if best < 0 {
		return found[:min(1, len(found))]
	}
	return slices.Clone(found[best : best+1])
}
