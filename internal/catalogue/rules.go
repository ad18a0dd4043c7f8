package main

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/winnowhq/winnow/model"
)

// choices are the models that agents are run on. The order is that of a lookup without a provider:
// those who make a model come before those who pass it on.
var choices = []choice{
	{provider: "anthropic", ids: []string{"claude-*"}, not: []string{"claude-3-sonnet-*",
		"claude-3-5-sonnet-20240620"}},
	{provider: "openai", ids: []string{"gpt-4.1*", "gpt-4o", "gpt-4o-mini", "gpt-[5-9]*", "o1", "o3", "o3-mini",
		"o4-mini"}},
	{provider: "google", ids: []string{"gemini-2.5-pro", "gemini-2.5-flash", "gemini-2.5-flash-lite",
		"gemini-[3-9]*", "gemini-*latest"}},
	{provider: "xai", ids: []string{"grok-3", "grok-3-mini", "grok-[4-9]*", "grok-code-*"}},
	{provider: "mistral", ids: []string{"codestral-latest", "devstral-*", "mistral-large-*", "mistral-medium-*",
		"mistral-small-*", "magistral-*"}},
	{provider: "deepseek", ids: []string{"*"}},
	{provider: "moonshotai", ids: []string{"kimi-*"}},
	{provider: "zai", ids: []string{"glm-*"}},
	{provider: "minimax", ids: []string{"*"}},
	{provider: "github-copilot", ids: []string{"*"}},
	{provider: "groq", ids: []string{"openai/gpt-oss-*", "moonshotai/kimi-*", "qwen/*", "llama-3.*"}},
	{provider: "openrouter", ids: []string{"qwen/qwen3*coder*", "qwen/qwen3*-max*", "z-ai/glm-4.[5-9]",
		"z-ai/glm-[5-9]*", "moonshotai/kimi-k[2-9]*", "deepseek/deepseek-*", "minimax/minimax-m[2-9]*",
		"anthropic/claude-*-[4-9]*",
		"openai/gpt-[5-9]*", "google/gemini-2.5-pro", "google/gemini-[3-9]*", "x-ai/grok-[4-9]*", "x-ai/grok-code*"},
		not: []string{"*/*:free", "*/*:batch", "*/*image*", "*/*distill*"}},
}

// limits adds the limit of the prompt alone.
func limits(m *model.Model) {
	// OpenAI's reasoning models with a window of 400,000 take 272,000 of prompt and 128,000 of
	// answer.
	if m.Provider == "openai" && m.Limits.Context == 400_000 && m.Limits.Output == 128_000 {
		m.Limits.Input = 272_000
	}
	// For those with a window beyond a million the list names the prompt at which the higher price
	// begins, 272,000, as the window. It bounds the prompt, not the answer.
	if m.Provider == "openai" && m.Limits.Context == 272_000 {
		m.Limits.Input, m.Limits.Context = 272_000, 272_000+m.Limits.Output
	}
	// An answer as long as the window leaves no prompt: the list repeats the window, or nine tenths
	// of it, where the provider names no limit.
	if m.Limits.Output >= m.Limits.Context*9/10 {
		m.Limits.Output = 0
	}
}

// minPrefixes are the shortest prompts that Anthropic caches, from its documentation of prompt
// caching.
var minPrefixes = []struct {
	prefix string
	tokens int
}{
	{"claude-opus-5", 512}, {"claude-sonnet-5-5", 512}, {"claude-fable-", 512}, {"claude-mythos-", 512},
	{"claude-opus-4-7", 2048}, {"claude-opus-4-6", 4096}, {"claude-opus-4-5", 4096}, {"claude-haiku-4-5", 4096},
	{"claude-", 1024},
}

// cache sets the terms of the prompt cache. Where a provider names a range, or nothing, the shorter
// lifetime is taken: to believe in a warm cache that is cold costs a late elision, the other way
// round costs a rewrite of the prefix.
func cache(m *model.Model) {
	if m.Price.Input > 0 && (m.Price.CacheRead <= 0 || m.Price.CacheRead >= m.Price.Input) {
		return // no discount is listed: as good as no cache
	}
	m.Cache = model.Cache{Lifetime: 5 * time.Minute, MinPrefix: 1024}
	switch m.Provider {
	case "anthropic":
		// Five minutes from the start of the request, renewed by each use; only where the request
		// marks it.
		m.Cache.Explicit = true
		at := slices.IndexFunc(minPrefixes, func(p struct {
			prefix string
			tokens int
		}) bool {
			return strings.HasPrefix(m.ID, p.prefix)
		})
		m.Cache.MinPrefix = minPrefixes[at].tokens
	case "openai":
		// Automatic from 1,024 tokens; kept in memory for 5 to 10 minutes, and for 30 at least
		// since GPT-5.6, the first to ask for a price of writing.
		if m.Price.CacheWrite > 0 {
			m.Cache.Lifetime = 30 * time.Minute
		}
	case "google":
		// Implicit caching; its lifetime is not documented. Pro models start at 4,096 tokens.
		if strings.Contains(m.ID, "pro") {
			m.Cache.MinPrefix = 4096
		}
	case "deepseek":
		// On disk, in units of 64 tokens, for hours to days.
		m.Cache.Lifetime, m.Cache.MinPrefix = time.Hour, 64
	case "openrouter":
		// The upstream's terms. Claude and Qwen are cached only where the request marks it.
		m.Cache.Explicit = strings.HasPrefix(m.ID, "anthropic/") || strings.HasPrefix(m.ID, "qwen/")
	}
}

// prices completes the prices.
func prices(m *model.Model) {
	if m.Price.Input <= 0 {
		m.Price.Tiers = nil
		return // not billed by tokens, or not known
	}
	// Prompts of more than 200,000 tokens need the long window of Sonnet 4.5 to be asked for, which
	// the list does not know: double input, half as much again for output.
	if m.Provider == "anthropic" && strings.HasPrefix(m.ID, "claude-sonnet-4-5") {
		m.Price.Tiers = []model.Tier{{Above: 200_000, Price: model.Price{Input: 6, Output: 22.5, CacheRead: 0.6,
			CacheWrite: 7.5}}}
	}
	complete(m, &m.Price)
	for i := range m.Price.Tiers {
		complete(m, &m.Price.Tiers[i].Price)
	}
}

func complete(m *model.Model, p *model.Price) {
	if p.CacheRead <= 0 {
		p.CacheRead = p.Input // without a discount, what was seen before costs what it cost
	}
	// Who does not charge for writing bills what is written as input. Google's number is rent for
	// an explicit cache by the hour, not a price of writing.
	if p.CacheWrite <= 0 || m.Provider == "google" || strings.HasPrefix(m.ID, "google/") {
		p.CacheWrite = p.Input
	}
	if m.Provider == "anthropic" {
		p.CacheWrite1h = round(2 * p.Input) // an hour costs double input, five minutes 1.25 times
	}
}

// round keeps a product of prices readable: 1.6, not 1.6000000000000001.
func round(dollars float64) float64 { return math.Round(dollars*1e6) / 1e6 }
