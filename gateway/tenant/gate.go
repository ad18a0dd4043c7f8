package tenant

import (
	"fmt"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Gate counts what one tenant asks, and lets through what its limits and its budget allow. It is
// safe for concurrent use.
type Gate struct {
	mu     sync.Mutex
	tenant Tenant
	bucket *rate.Limiter // nil without a limit
	under  int           // requests under way
	held   float64       // what they may cost, in US dollars
	day    string        // that spent is of
	spent  Spent
	warned string           // period and its beginning of the newest warning that was logged
	people map[string]*Gate // each with the budget of a person alone; nil of a person
}

// Person is the gate of a person within the tenant, who has a budget and no limits.
func (g *Gate) Person(name string) *Gate {
	g.mu.Lock()
	defer g.mu.Unlock()
	one := g.people[name]
	if one == nil {
		one = NewGate(Tenant{Name: name, Budget: g.tenant.PersonBudget()})
		if g.people == nil {
			g.people = map[string]*Gate{}
		}
		g.people[name] = one
	}
	return one
}

// NewGate is the gate of a tenant, of which nothing is known to have been spent.
func NewGate(t Tenant) *Gate {
	g := &Gate{}
	g.Set(t)
	return g
}

// Set puts other limits in force. What is under way counts on; a changed number of requests a
// minute begins anew.
func (g *Gate) Set(t Tenant) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if n := t.Limits.PerMinute; n != g.tenant.Limits.PerMinute {
		g.bucket = nil
		if n > 0 {
			g.bucket = rate.NewLimiter(rate.Limit(float64(n)/60), n)
		}
	}
	g.tenant = t
	for _, one := range g.people {
		one.Set(Tenant{Budget: t.PersonBudget()})
	}
}

// Refusal is why a request is not let through.
type Refusal struct {
	// Kind is "rate", "concurrency", "budget", "reserved" (the rest of the budget may be spent by
	// requests that are under way), "unmetered" (nobody can tell what it costs), "route" or "model"
	// (the tenant may not ask for it).
	Kind    string
	Message string        // for people
	After   time.Duration // when to ask again, 0 if that cannot be said
	Verdict *Verdict      // of a budget
	Person  string        // whose budget it is; "" for the tenant's
}

// Error implements error.
func (r *Refusal) Error() string { return r.Message }

// Pass is a request that was let through.
type Pass struct {
	// Leave is called when it has ended.
	Leave func()
	// Warning is what the budget says, nil for nothing.
	Warning *Verdict
	// First reports that this warning is the first of its period.
	First bool
}

// concurrencyWait is when to come again if too many requests are under way: nobody knows when one
// ends, and one of a model seldom takes less.
const concurrencyWait = 2 * time.Second

// Enter lets a request through, or says why not.
func (g *Gate) Enter(now time.Time) (Pass, *Refusal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	verdict := g.tenant.Budget.Judge(g.spentAt(now), now)
	if verdict != nil && verdict.Stop {
		return Pass{}, &Refusal{Kind: "budget", Message: verdict.Message(), After: verdict.Begins.Sub(now),
			Verdict: verdict}
	}
	limits := g.tenant.Limits
	if limits.Concurrent > 0 && g.under >= limits.Concurrent {
		return Pass{}, &Refusal{Kind: "concurrency", After: concurrencyWait,
			Message: fmt.Sprintf("%d requests are under way, which is the limit", g.under)}
	}
	if g.bucket != nil {
		taken := g.bucket.ReserveN(now, 1)
		if wait := taken.DelayFrom(now); wait > 0 {
			taken.CancelAt(now)
			return Pass{}, &Refusal{Kind: "rate", After: wait,
				Message: fmt.Sprintf("the limit is %d requests a minute", limits.PerMinute)}
		}
	}
	g.under++
	pass := Pass{Leave: sync.OnceFunc(g.leave), Warning: verdict}
	if verdict != nil {
		period := verdict.Period + verdict.Begins.String()
		pass.First, g.warned = period != g.warned, period
	}
	return pass, nil
}

// Reserve sets aside what a request may cost at most, in US dollars, until release, or says why it
// may not be sent. What the request did cost is told by Spend before that.
func (g *Gate) Reserve(most float64, now time.Time) (release func(), refused *Refusal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if refused := g.tenant.Budget.Admit(g.spentAt(now), g.held, now); refused != nil {
		return nil, refused
	}
	g.held += most
	return sync.OnceFunc(func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.held -= most
	}), nil
}

func (g *Gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.under--
}

// spentAt is what was spent within the day and the month of a time. The lock is held.
func (g *Gate) spentAt(now time.Time) Spent {
	g.turn(now)
	return g.spent
}

// turn begins a new day, or month, where it is time. The lock is held. A clock that goes back
// changes nothing.
func (g *Gate) turn(now time.Time) {
	day := DayOf(now)
	if day <= g.day {
		return
	}
	if g.day == "" || day[:len("2026-01")] != g.day[:len("2026-01")] {
		g.spent.Month = 0
	}
	g.day, g.spent.Day = day, 0
}

// Spend counts what a request cost, in US dollars.
func (g *Gate) Spend(dollars float64, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.turn(now)
	g.spent.Day += dollars
	g.spent.Month += dollars
}

// Learn takes what is known elsewhere to have been spent within the day and the month of a time, by
// other processes too. What this one alone knows more is kept: amounts only grow.
func (g *Gate) Learn(known Spent, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.turn(now)
	g.spent.Day, g.spent.Month = math.Max(g.spent.Day, known.Day), math.Max(g.spent.Month, known.Month)
	g.spent.Estimated = math.Max(g.spent.Estimated, known.Estimated)
}

// Now is what was spent, and how many requests are under way.
func (g *Gate) Now(now time.Time) (spent Spent, under int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.spentAt(now), g.under
}

// Verdict is what the budget says, nil for nothing.
func (g *Gate) Verdict(now time.Time) *Verdict {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.tenant.Budget.Judge(g.spentAt(now), now)
}
