package model

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
)

// Model describes one model as one provider offers it. The zero value is a model of which nothing
// is known.
type Model struct {
	Provider string // "anthropic"
	ID       string // "claude-sonnet-4-5": what a request names
	Name     string // "Claude Sonnet 4.5": for people
	Limits   Limits
	Price    Price
	Cache    Cache
	// BoundReasoning says that reasoning is valid only after the exact prompt that it was made for:
	// when anything before it changes, the provider rejects or drops it. Elisions for such a model
	// wait for a cold cache or a pivot, and take the earlier reasoning with them.
	BoundReasoning bool
	// BindingUnknown says that BoundReasoning is not known: the model is like none in the
	// catalogue, and the user did not set it.
	BindingUnknown bool
	// Retired says that the catalogue's source does not list it any more: what is known is of when
	// it did.
	Retired bool
	// Assumed lists, in words, which of the facts are assumptions. Empty for entries of the
	// catalogue.
	Assumed []string
	// Unknown says that nothing is known of it, and that its window is assumed.
	Unknown bool
	// Set lists the facts that the user set, by their keys in the configuration: "context",
	// "price.input".
	Set []string
}

// Sets reports whether the user set one of these facts.
func (m Model) Sets(keys ...string) bool {
	return slices.ContainsFunc(keys, func(key string) bool { return slices.Contains(m.Set, key) })
}

// Named reports whether the model has a name that a session or a user gave it.
func (m Model) Named() bool { return m.Provider != "" || m.ID != nameless && m.ID != "" }

// Unlimited reports whether the user said that there is no limit.
func (m Model) Unlimited() bool { return m.Limits.Context == 0 && m.Sets("context") }

// Line is the line of the configuration that sets the limits, to a context of that many tokens; 0:
// to what is taken for them now.
func (m Model) Line(context int) string {
	name, _ := json.Marshal(m.String())
	output := ""
	if context == 0 {
		context = cmp.Or(m.Limits.Context, AssumedContext)
		output = fmt.Sprintf(`,"output":%d`, cmp.Or(m.Limits.Output, AssumedOutput))
	}
	return fmt.Sprintf(`"models": {%s: {"context":%d%s}}`, name, context, output)
}

// String returns "provider/id", or the id alone when there is no provider.
func (m Model) String() string {
	if m.Provider == "" {
		return m.ID
	}
	return m.Provider + "/" + m.ID
}

// Limits are in tokens; 0 means unknown, or unlimited where [Model.Unlimited] says so.
type Limits struct {
	Context int `json:"context"`         // prompt and answer together
	Input   int `json:"input,omitzero"`  // the prompt alone, where the provider limits it apart
	Output  int `json:"output,omitzero"` // the answer, reasoning included
}

// Cache describes the provider's prompt cache.
type Cache struct {
	// Lifetime is how long a prefix stays after its last use. 0 means that there is no cache, or
	// that it gives no discount.
	Lifetime time.Duration
	// MinPrefix is the shortest prompt, in tokens, that is cached.
	MinPrefix int
	// Explicit says that a prefix is cached only where the request asks for it.
	Explicit bool
}

// Price is in US dollars per million tokens. All zero means unknown, or a plan that does not bill
// tokens.
type Price struct {
	Input        float64 `json:"input"`
	Output       float64 `json:"output"`
	CacheRead    float64 `json:"cacheRead"`
	CacheWrite   float64 `json:"cacheWrite"`            // for the cache's usual lifetime, five minutes at Anthropic
	CacheWrite1h float64 `json:"cacheWrite1h,omitzero"` // for an hour
	// Tiers are the prices of longer prompts. Their own tiers are not looked at.
	Tiers []Tier `json:"tiers,omitempty"`
}

// Tier is the price of a request whose whole prompt, what came from the cache included, has more
// than Above tokens. It holds for all tokens of that request.
type Tier struct {
	Above int   `json:"above"`
	Price Price `json:"price"`
}

// For returns the price of a request with a prompt of that many tokens: the highest tier that it
// exceeds.
func (p Price) For(prompt int) Price {
	at, above := p, -1
	for _, tier := range p.Tiers {
		if prompt > tier.Above && tier.Above > above {
			at, above = tier.Price, tier.Above
		}
	}
	at.Tiers = nil
	return at
}

// Known reports whether there is a price at all.
func (p Price) Known() bool { return p.Input > 0 || p.Output > 0 }

// Relative returns the prices of reading from the cache, writing to it, and output, as multiples of
// the input price. Where the price is unknown they are 0.1, 1.25 and 5, the terms on which most
// agent sessions are billed, so that what pays can be judged without a price list.
func (p Price) Relative() (read, write, output float64) {
	if !(p.Input > 0) {
		return 0.1, 1.25, 5
	}
	return plain(p.CacheRead) / p.Input, plain(p.CacheWrite) / p.Input, plain(p.Output) / p.Input
}

func plain(price float64) float64 {
	if math.IsNaN(price) || math.IsInf(price, 0) || price < 0 {
		return 0
	}
	return price
}
