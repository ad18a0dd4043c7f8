package model

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/go-json-experiment/json"
)

// Override changes what is known about the models whose "provider/id" is Match, or matches it as a
// pattern: * stands for anything but a slash, ** for anything, {a,b} for either, as in
// "anthropic/claude-*" or "openrouter/**". A Match without a slash is about the id, whatever the
// provider.
type Override struct {
	Match string
	Patch Patch
}

// Patch holds the facts to change. What is nil stays as it is.
type Patch struct {
	// Context, Input and Output are in tokens; see [Limits]. A context of 0 is unlimited (S001
	// phase 1). An input limit that is not told and cannot be, beside the context that is, goes.
	Context *int `json:"context,omitzero"`
	Input   *int `json:"input,omitzero"`
	Output  *int `json:"output,omitzero"`

	Price          PricePatch `json:"price,omitzero"`
	Cache          CachePatch `json:"cache,omitzero"`
	BoundReasoning *bool      `json:"boundReasoning,omitzero"`
}

// PricePatch is in US dollars per million tokens; see [Price]. Any of its fields, once set, ends
// the catalogue's tiers: a price that was agreed on holds for prompts of any length. A price that
// is set to 0 is free.
type PricePatch struct {
	Input        *float64 `json:"input,omitzero"`
	Output       *float64 `json:"output,omitzero"`
	CacheRead    *float64 `json:"cacheRead,omitzero"`
	CacheWrite   *float64 `json:"cacheWrite,omitzero"`
	CacheWrite1h *float64 `json:"cacheWrite1h,omitzero"`
}

// CachePatch sets the terms of the prompt cache; see [Cache]. Seconds is how long a prefix lives
// after its last use, 0 for no cache.
type CachePatch struct {
	Seconds   *int  `json:"seconds,omitzero"`
	MinPrefix *int  `json:"minPrefix,omitzero"`
	Explicit  *bool `json:"explicit,omitzero"`
}

// Validate reports the facts that cannot be, each with its key.
func (p Patch) Validate() (keys []string, all []error) {
	bad := func(key, format string, args ...any) {
		keys, all = append(keys, key), append(all, fmt.Errorf(format, args...))
	}
	for key, tokens := range p.counts() {
		if tokens != nil && *tokens < 0 {
			bad(key, "%d: give 0 or more", *tokens)
		}
	}
	for key, price := range p.prices() {
		if price != nil && (!(*price >= 0) || math.IsInf(*price, 0)) {
			bad(key, "%v: give 0 or more US dollars per million tokens", *price)
		}
	}
	return keys, all
}

// Overrides turns the object of a configuration file, patterns to patches, into overrides in the
// order in which they apply: shorter patterns first, so that the more specific one has the last
// word.
func Overrides(byPattern map[string]Patch) ([]Override, error) {
	var out []Override
	for _, pattern := range slices.Sorted(maps.Keys(byPattern)) {
		if strings.TrimSpace(pattern) == "" || !doublestar.ValidatePattern(pattern) {
			return nil, fmt.Errorf("model: override %q is not a pattern; write one like \"anthropic/claude-*\"",
				pattern)
		}
		out = append(out, Override{Match: pattern, Patch: byPattern[pattern]})
	}
	slices.SortStableFunc(out, func(a, b Override) int { return len(a.Match) - len(b.Match) })
	return out, nil
}

// With returns a catalogue in which the overrides are applied in order, those that name a model
// after those that match it, to the models in it and to those that a lookup will assume. A model
// that is named and not listed is listed from then on. The receiver is not changed.
func (c *Catalogue) With(overrides ...Override) *Catalogue {
	out := &Catalogue{Source: c.Source, Date: c.Date, Models: slices.Clone(c.Models), added: c.added}
	out.overrides = append(slices.Clone(c.overrides), overrides...)
	for i := range out.Models {
		out.Models[i] = apply(out.Models[i], overrides)
	}
	for _, o := range overrides {
		if strings.ContainsAny(o.Match, `*?[{\`) || slices.ContainsFunc(out.Models, o.names) {
			continue
		}
		m := out.lookup(o.Match)
		if provider, id, slashed := strings.Cut(o.Match, "/"); slashed {
			m = out.At(provider, id)
		}
		same := func(n Model) bool { return n.String() == m.String() }
		if i := slices.IndexFunc(out.Models, same); i >= 0 { // another spelling of its name
			out.Models[i] = o.Patch.on(m)
			continue
		}
		out.Models = append(out.Models, m)
		out.added++
	}
	return out
}

// Fingerprint changes with what is known of models: with the catalogue, and with the overrides.
func (c *Catalogue) Fingerprint() string {
	h := sha256.New()
	fmt.Fprintln(h, c.Source, c.Date)
	for _, o := range c.overrides {
		patch, _ := json.Marshal(o.Patch)
		fmt.Fprintf(h, "%q %s\n", o.Match, patch)
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:8])
}

// offers reports whether the catalogue itself lists a model of a provider.
func (c *Catalogue) offers(provider string) bool {
	return slices.ContainsFunc(c.Models[:len(c.Models)-c.added], func(m Model) bool {
		return strings.EqualFold(m.Provider, provider)
	})
}

// spoken reports whether the overrides speak of a provider that the catalogue does not list, and of
// this model of it.
func (c *Catalogue) spoken(name string) bool {
	provider, id, _ := strings.Cut(name, "/")
	if provider == "" || id == "" || c.offers(provider) {
		return false
	}
	m := Model{Provider: provider, ID: id}
	return slices.ContainsFunc(c.overrides, func(o Override) bool {
		before, _, slashed := strings.Cut(o.Match, "/")
		return slashed && strings.EqualFold(before, provider) && (o.names(m) || o.matches(m))
	})
}

// names reports whether a model is the one that is meant, and matches whether it is one of them.
func (o Override) names(m Model) bool { return strings.EqualFold(o.Match, o.subject(m)) }

func (o Override) matches(m Model) bool {
	ok, err := doublestar.Match(strings.ToLower(o.Match), strings.ToLower(o.subject(m)))
	return ok && err == nil
}

func (o Override) subject(m Model) string {
	if strings.Contains(o.Match, "/") {
		return m.String()
	}
	return m.ID
}

func apply(m Model, overrides []Override) Model {
	for _, o := range overrides {
		if !o.names(m) && o.matches(m) {
			m = o.Patch.on(m)
		}
	}
	for _, o := range overrides {
		if o.names(m) {
			m = o.Patch.on(m)
		}
	}
	return m
}

// The facts of a patch by their keys.
func (p Patch) counts() map[string]*int {
	return map[string]*int{"context": p.Context, "input": p.Input, "output": p.Output,
		"cache.seconds": p.Cache.Seconds, "cache.minPrefix": p.Cache.MinPrefix}
}

func (p Patch) prices() map[string]*float64 {
	return map[string]*float64{"price.input": p.Price.Input, "price.output": p.Price.Output,
		"price.cacheRead": p.Price.CacheRead, "price.cacheWrite": p.Price.CacheWrite,
		"price.cacheWrite1h": p.Price.CacheWrite1h}
}

func (p Patch) on(m Model) Model {
	m.Set = slices.Clone(m.Set)
	if p.Context != nil {
		m.Unknown = false
		if p.Input == nil && m.Limits.Input >= *p.Context {
			m.Limits.Input = 0
		}
	}
	set(&m, "context", &m.Limits.Context, p.Context)
	set(&m, "input", &m.Limits.Input, p.Input)
	set(&m, "output", &m.Limits.Output, p.Output)
	if p.Price != (PricePatch{}) {
		m.Price.Tiers = nil
	}
	set(&m, "price.input", &m.Price.Input, p.Price.Input)
	set(&m, "price.output", &m.Price.Output, p.Price.Output)
	set(&m, "price.cacheRead", &m.Price.CacheRead, p.Price.CacheRead)
	set(&m, "price.cacheWrite", &m.Price.CacheWrite, p.Price.CacheWrite)
	set(&m, "price.cacheWrite1h", &m.Price.CacheWrite1h, p.Price.CacheWrite1h)
	if p.Cache.Seconds != nil {
		lives := lifetime(*p.Cache.Seconds)
		set(&m, "cache.seconds", &m.Cache.Lifetime, &lives)
	}
	set(&m, "cache.minPrefix", &m.Cache.MinPrefix, p.Cache.MinPrefix)
	set(&m, "cache.explicit", &m.Cache.Explicit, p.Cache.Explicit)
	set(&m, "boundReasoning", &m.BoundReasoning, p.BoundReasoning)
	m.BindingUnknown = m.BindingUnknown && p.BoundReasoning == nil
	return m
}

// lifetime of a cache that is told in seconds: more than a year is one.
func lifetime(seconds int) time.Duration {
	const longest = 365 * 24 * 60 * 60
	return time.Duration(min(max(seconds, 0), longest)) * time.Second
}

func set[T any](m *Model, key string, field, value *T) {
	if value == nil {
		return
	}
	*field = *value
	if !slices.Contains(m.Set, key) {
		m.Set = append(m.Set, key)
	}
}
