package model

import (
	"strings"
	"testing"
)

func TestSmall_isTheNewestOfTheCheapestSmallFamily(t *testing.T) {
	c := Default()
	for name, want := range map[string]string{
		"anthropic/claude-opus-4-7":              "anthropic/claude-haiku-5-5",
		"anthropic/claude-sonnet-4-5":            "anthropic/claude-haiku-5-5",
		"anthropic/claude-sonnet-9":              "anthropic/claude-haiku-5-5", // not listed, of a listed family
		"anthropic/claude-haiku-4-5":             "anthropic/claude-haiku-5-5", // it is small itself, and costs more
		"anthropic/claude-haiku-5-5":             "anthropic/claude-haiku-5-5",
		"openai/gpt-5.5":                         "openai/gpt-6-luna",
		"openai/gpt-6-sol":                       "openai/gpt-6-luna",
		"openai/gpt-6-luna":                      "openai/gpt-6-luna",
		"openrouter/openai/gpt-6-luna-pro":       "openrouter/openai/gpt-6-luna-pro",
		"openai/gpt-5-nano":                      "openai/gpt-5-nano",
		"google/gemini-3.1-pro-preview":          "google/gemini-flash-lite-latest",
		"deepseek/deepseek-v4-pro":               "deepseek/deepseek-flash", // deepseek-v4-flash is retired
		"mistral/mistral-large-latest":           "mistral/mistral-small-latest",
		"xai/grok-4.7":                           "",                                      // grok-3-mini is retired
		"openrouter/anthropic/claude-sonnet-4.5": "openrouter/anthropic/claude-haiku-5.5", // of the same maker
		"zai/glm-5.2":                            "zai/glm-5.3-flash",
		"groq/openai/gpt-oss-120b":               "",
		"moonshotai/kimi-k2.6":                   "",
		"house/any":                              "",
		"ollama/gpt-5-nano":                      "",
		"":                                       "",
	} {
		provider, id, _ := strings.Cut(name, "/")
		m := c.At(provider, id)
		got, ok := c.Small(m)
		if ok != (want != "") || ok && got.String() != want {
			t.Errorf("%q: %v %v, want %q", name, got, ok, want)
		}
	}
}

// For every model of the catalogue: what is chosen is of the same provider, costs no more, and is
// small.
func TestSmall_costsNoMore(t *testing.T) {
	c := Default()
	for _, m := range c.Models {
		small, ok := c.Small(m)
		if !ok {
			continue
		}
		if small.Provider != m.Provider || !small.Price.Known() || m.Price.Known() && cheaper(m, small) || smallFamily(small.ID) == "" || maker(small.ID) != maker(m.ID) {
			t.Errorf("%v: %v", m, small)
		}
	}
}

func TestSmallFamily_isOfWholeWords(t *testing.T) {
	for id, want := range map[string]string{
		"gemini-2.5-pro": "", "minimax-m2": "", "gpt-5.1-codex-mini": "", "gemini-3-flash-preview": "", "gemini-2.5-flash-lite": "flash-lite",
		"claude-haiku-4-5-20251001": "haiku", "us.anthropic.claude-haiku-4-5-20251001-v1:0": "haiku", "gpt-4o-mini": "mini", "mistral-small-2603": "mistral-small",
		"devstral-small-2507": "", "": "",
	} {
		if got := smallFamily(id); got != want {
			t.Errorf("%q is of %q, want %q", id, got, want)
		}
	}
}
