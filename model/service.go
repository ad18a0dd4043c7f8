package model

import "strings"

// services are what providers ask for services with prices of their own, as multiples of a model's
// usual prices: by provider, service and model, "" for all others (price lists of OpenAI and
// Anthropic, 2026). A service that is not here has no known price. Anthropic's priority is bought
// beforehand, and OpenAI's scale too: they cost what the list says at most.
var services = map[string]map[string]map[string]float64{
	"openai": {
		"flex": {"": 0.5}, "batch": {"": 0.5}, "scale": {"": 1},
		"priority": {"": 2, "gpt-4.1": 1.75, "gpt-4.1-mini": 1.75, "gpt-4o": 1.7, "gpt-4o-mini": 5.0 / 3, "o3": 1.75,
			"o4-mini": 20.0 / 11, "gpt-5-mini": 1.8, "gpt-5.5": 2.5},
	},
	"anthropic": {
		"batch": {"": 0.5}, "priority": {"": 1}, "us": {"": 1.1},
		"fast": {"claude-opus-4-6": 6},
	},
}

// Service is how many times the usual prices of the model a service costs, as [Usage].Tier names
// it; several are joined by "+". Where no price is known ok is false, and the factor is the highest
// that is known of the provider.
func (m Model) Service(tier string) (factor float64, ok bool) {
	factor, ok = 1, true
	if tier == "" {
		return factor, ok
	}
	for name := range strings.SplitSeq(tier, "+") {
		by := services[m.Provider][name]
		one, known := by[m.ID]
		if !known {
			one, known = by[""]
		}
		if !known {
			return max(factor, dearest(m.Provider)), false
		}
		factor *= one
	}
	return factor, ok
}

// dearest is the highest factor that is known of a provider.
func dearest(provider string) float64 {
	most := 1.0
	for _, by := range services[provider] {
		for _, factor := range by {
			most = max(most, factor)
		}
	}
	return most
}
