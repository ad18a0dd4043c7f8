package model_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/winnowhq/winnow/model"
)

func TestTerms(t *testing.T) {
	cache := model.Cache{Lifetime: 5 * time.Minute}
	tests := []struct {
		name   string
		model  model.Model
		prompt int
		want   [3]float64 // read, write, output
	}{
		{"a provider that asks for writing",
			model.Model{Price: model.Price{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75}, Cache: cache}, 1000,
			[3]float64{0.1, 1.25, 5}},
		{"a provider whose writes are free", model.Model{Price: model.Price{Input: 1.25, Output: 10, CacheRead: 0.125},
			Cache: cache}, 1000, [3]float64{0.1, 1, 8}},
		{"a cache that gives no discount", model.Model{Price: model.Price{Input: 2, Output: 4}, Cache: cache}, 1000,
			[3]float64{1, 1, 2}},
		{"no cache", model.Model{Price: model.Price{Input: 2, Output: 4, CacheRead: 0.2, CacheWrite: 2.5}}, 1000,
			[3]float64{1, 1, 2}},
		{"an unknown price", model.Model{Cache: cache}, 1000, [3]float64{0.1, 1.25, 5}},
		{"an unknown price and an unknown cache", model.Model{}, 1000, [3]float64{0.1, 1.25, 5}},
		{"a long prompt", model.Model{Price: model.Price{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75,
			Tiers: []model.Tier{
				{Above: 200_000, Price: model.Price{Input: 6, Output: 22.5, CacheRead: 0.6, CacheWrite: 7.5}},
			}}, Cache: cache}, 200_001, [3]float64{0.1, 1.25, 3.75}},
		{"a prompt that is not long yet",
			model.Model{Price: model.Price{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75, Tiers: []model.Tier{
				{Above: 200_000, Price: model.Price{Input: 6, Output: 22.5, CacheRead: 0.6, CacheWrite: 7.5}},
			}}, Cache: cache}, 200_000, [3]float64{0.1, 1.25, 5}},
		{"a long prompt of which nothing but the input is priced",
			model.Model{Price: model.Price{Input: 1, Output: 4, CacheRead: 0.25, CacheWrite: 1, Tiers: []model.Tier{
				{Above: 128_000, Price: model.Price{Input: 2, Output: 8}},
			}}, Cache: cache}, 150_000, [3]float64{1, 1, 4}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			read, write, output := tt.model.Terms(tt.prompt)
			if diff := cmp.Diff(tt.want, [3]float64{read, write, output}, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
				t.Errorf("read, write, output of %d tokens (-want +got):\n%s", tt.prompt, diff)
			}
		})
	}
}

// Of the models of three providers in the catalogue.
func TestTerms_ofTheCatalogue(t *testing.T) {
	for name, want := range map[string][2]float64{ // read, write
		"anthropic/claude-sonnet-4-5": {0.1, 1.25},
		"openai/gpt-5":                {0.1, 1},
	} {
		m := model.Default().Lookup(name)
		read, write, _ := m.Terms(10_000)
		if diff := cmp.Diff(want, [2]float64{read, write}, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestCacheLifetime_isAssumedWhereNothingIsKnown(t *testing.T) {
	for name, tt := range map[string]struct {
		model model.Model
		want  time.Duration
	}{
		"of the catalogue": {model.Model{Price: model.Price{Input: 3}, Cache: model.Cache{Lifetime: time.Hour}},
			time.Hour},
		"a price, and no cache": {model.Model{Price: model.Price{Input: 3}}, 0},
		"nothing known":         {model.Model{}, model.AssumedLifetime},
		"no price, but a cache": {model.Model{Cache: model.Cache{Lifetime: time.Minute}}, time.Minute},
		"less than no time":     {model.Model{Price: model.Price{Input: 3}, Cache: model.Cache{Lifetime: -1}}, 0},
	} {
		if got := tt.model.CacheLifetime(); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

func TestMostCached(t *testing.T) {
	for name, want := range map[string]time.Duration{"anthropic/claude-sonnet-4-5": 5 * time.Minute,
		"openai/gpt-4.1": 24 * time.Hour, "openai/gpt-5.6-sol": 0, "google/gemini-2.5-flash": 0,
		"deepseek/deepseek-flash": 0, "nobody/nothing": 0} {
		if most, known := model.Default().Lookup(name).MostCached(); most != want || known != (want > 0) {
			t.Errorf("%s: %s, known %t", name, most, known)
		}
	}
}
