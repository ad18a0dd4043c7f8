package model_test

import (
	"math"
	"testing"

	"github.com/winnowhq/winnow/model"
)

// Prices of services are those of the providers' own pages.
func TestCost_aServiceHasItsOwnPrice(t *testing.T) {
	const million = 1_000_000
	for _, c := range []struct {
		model, tier string
		want        float64 // for a million tokens of input; -1: unknown
	}{
		{"openai/gpt-4.1", "", 2},
		{"openai/gpt-4.1", "priority", 3.50},
		{"openai/gpt-4.1", "flex", 1},
		{"openai/gpt-4.1", "batch", 1},
		{"openai/gpt-4o", "priority", 4.25},
		{"openai/gpt-5", "priority", 2.50},
		{"openai/gpt-5-mini", "priority", 0.45},
		{"openai/o4-mini", "priority", 2},
		{"openai/gpt-4.1", "quantum", -1},
		{"anthropic/claude-opus-4-6", "us", 5.50},
		{"anthropic/claude-sonnet-4-5", "batch", 3}, // a prompt of more than 200,000 tokens
		{"anthropic/claude-sonnet-4-5", "priority", 6},
		{"anthropic/claude-sonnet-4-5", "fast", -1},
		{"google/gemini-2.5-flash", "priority", -1},
	} {
		got, ok := model.Default().Lookup(c.model).Cost(model.Usage{Input: million, Tier: c.tier})
		if !ok {
			got = -1
		}
		if math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s %q: $%g, want $%g", c.model, c.tier, got, c.want)
		}
	}
	opus := model.Default().Lookup("anthropic/claude-opus-4-6")
	if factor, ok := opus.Service("fast+us"); !ok || math.Abs(factor-6.6) > 1e-9 {
		t.Errorf("two services: %g, %v", factor, ok)
	}
	if factor, ok := model.Default().Lookup("anthropic/claude-sonnet-4-5").Service("fast"); ok || factor != 6 {
		t.Errorf("unknown: %g, %v, want the highest that is known", factor, ok)
	}
}
