package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"
)

// Override changes what is known about the models whose "provider/id" matches a pattern. In a
// pattern * stands for anything but a slash, ** for anything, {a,b} for either, as in
// "anthropic/claude-*" or "openrouter/**".
type Override struct {
	Match string
	Patch Patch
}

// Patch holds the facts to change. What is nil stays as it is.
type Patch struct {
	Limit          LimitPatch `json:"limit,omitzero"`
	Price          PricePatch `json:"price,omitzero"`
	Cache          CachePatch `json:"cache,omitzero"`
	BoundReasoning *bool      `json:"boundReasoning,omitzero"`
}

// LimitPatch is in tokens; see [Limits].
type LimitPatch struct {
	Context *int `json:"context,omitzero"`
	Input   *int `json:"input,omitzero"`
	Output  *int `json:"output,omitzero"`
}

// PricePatch is in US dollars per million tokens; see [Price]. Any of its fields, once set, ends
// the catalogue's tiers: a price that was agreed on holds for prompts of any length.
type PricePatch struct {
	Input        *float64 `json:"input,omitzero"`
	Output       *float64 `json:"output,omitzero"`
	CacheRead    *float64 `json:"cacheRead,omitzero"`
	CacheWrite   *float64 `json:"cacheWrite,omitzero"`
	CacheWrite1h *float64 `json:"cacheWrite1h,omitzero"`
}

// CachePatch sets the terms of the prompt cache; see [Cache].
type CachePatch struct {
	Seconds   *int  `json:"seconds,omitzero"`
	MinPrefix *int  `json:"minPrefix,omitzero"`
	Explicit  *bool `json:"explicit,omitzero"`
}

// Overrides turns the object of a configuration file, patterns to patches, into overrides in the
// order in which they apply: shorter patterns first, so that the more specific one has the last
// word.
func Overrides(byPattern map[string]Patch) ([]Override, error) {
	var out []Override
	for _, pattern := range slices.Sorted(maps.Keys(byPattern)) {
		if !doublestar.ValidatePattern(pattern) {
			return nil, fmt.Errorf("model: override %q is not a pattern; write one like \"anthropic/claude-*\"",
				pattern)
		}
		out = append(out, Override{Match: pattern, Patch: byPattern[pattern]})
	}
	slices.SortStableFunc(out, func(a, b Override) int { return len(a.Match) - len(b.Match) })
	return out, nil
}

// With returns a catalogue in which the overrides are applied in order, to the models in it and to
// those that a lookup will assume. The receiver is not changed.
func (c *Catalogue) With(overrides ...Override) *Catalogue {
	out := &Catalogue{Source: c.Source, Date: c.Date, Models: slices.Clone(c.Models)}
	out.overrides = append(slices.Clone(c.overrides), overrides...)
	for i := range out.Models {
		out.Models[i] = apply(out.Models[i], overrides)
	}
	return out
}

func apply(m Model, overrides []Override) Model {
	for _, o := range overrides {
		if ok, err := doublestar.Match(strings.ToLower(o.Match), strings.ToLower(m.String())); ok && err == nil {
			m = o.Patch.on(m)
		}
	}
	return m
}

func (p Patch) on(m Model) Model {
	set(&m.Limits.Context, p.Limit.Context)
	set(&m.Limits.Input, p.Limit.Input)
	set(&m.Limits.Output, p.Limit.Output)
	if p.Price != (PricePatch{}) {
		m.Price.Tiers = nil
	}
	set(&m.Price.Input, p.Price.Input)
	set(&m.Price.Output, p.Price.Output)
	set(&m.Price.CacheRead, p.Price.CacheRead)
	set(&m.Price.CacheWrite, p.Price.CacheWrite)
	set(&m.Price.CacheWrite1h, p.Price.CacheWrite1h)
	if p.Cache.Seconds != nil {
		m.Cache.Lifetime = lifetime(*p.Cache.Seconds)
	}
	set(&m.Cache.MinPrefix, p.Cache.MinPrefix)
	set(&m.Cache.Explicit, p.Cache.Explicit)
	set(&m.BoundReasoning, p.BoundReasoning)
	return m
}

// lifetime of a cache that is told in seconds: more than a year is one.
func lifetime(seconds int) time.Duration {
	const longest = 365 * 24 * 60 * 60
	return time.Duration(min(max(seconds, 0), longest)) * time.Second
}

func set[T any](field, value *T) {
	if value != nil {
		*field = *value
	}
}
