package model_test

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/model"
)

func TestCost(t *testing.T) {
	const unknown = -1.0
	million := 1_000_000
	tiered := model.Price{
		Input: 2, Output: 8, CacheRead: 0.2, CacheWrite: 2,
		Tiers: []model.Tier{
			{Above: 500_000, Price: model.Price{Input: 5, Output: 12, CacheRead: 0.5}},
			{Above: 200_000, Price: model.Price{Input: 3, Output: 4}},
		},
	}
	tests := []struct {
		name  string
		price model.Price
		usage model.Usage
		want  float64
	}{
		{"input and output", model.Price{Input: 3, Output: 15}, model.Usage{Input: million, Output: 100_000}, 4.5},
		{"reasoning costs what output costs", model.Price{Output: 15}, model.Usage{Output: 750_000, Reasoning: 250_000},
			15},
		{"cache", model.Price{Input: 3, CacheRead: 0.3, CacheWrite: 3.75, CacheWrite1h: 6},
			model.Usage{CacheRead: million, CacheWrite: million, CacheWrite1h: million}, 10.05},
		{"at the tier's edge the base price holds", tiered, model.Usage{Input: 200_000}, 0.4},
		{"a middle tier", tiered, model.Usage{Input: 300_000, Output: 100_000}, 0.9 + 0.4},
		{"the highest tier, reached by what the cache served", tiered,
			model.Usage{Input: 550_000, CacheRead: 100_000, Output: 50_000}, 2.75 + 0.6 + 0.05},
		{"one token more, read from a cache that has no price of its own", tiered,
			model.Usage{Input: 1, CacheRead: 200_000}, 0.600003},
		{"an hour in the cache", model.Price{Input: 4, Output: 1, CacheWrite: 5, CacheWrite1h: 8},
			model.Usage{CacheWrite: million, CacheWrite1h: million}, 13},
		{"nothing", tiered, model.Usage{}, 0},
		{"nothing, of a model without a price", model.Price{}, model.Usage{}, 0},
		{"no price", model.Price{}, model.Usage{Input: million, Output: million}, unknown},
		{"not a number", model.Price{Input: math.NaN(), Output: 1}, model.Usage{Input: million, Output: million},
			unknown},
		{"not a number, of what was not used", model.Price{Input: math.NaN(), Output: 1}, model.Usage{Output: million},
			1},
		{"a negative price", model.Price{Input: -3, Output: 1}, model.Usage{Input: million, Output: million}, unknown},
		{"an infinite price", model.Price{Input: math.Inf(1)}, model.Usage{Input: million}, unknown},
		{"negative tokens", model.Price{Input: 3, Output: 1}, model.Usage{Input: -million, Output: million}, unknown},
		{"more tokens than there can be", model.Price{Input: 3, Output: 1},
			model.Usage{Input: math.MaxInt, CacheRead: 1}, unknown},
		{"a service with other prices", model.Price{Input: 3, Output: 1}, model.Usage{Input: million, Tier: "fast"},
			unknown},
		{"a search of the web that nobody prices", model.Price{Input: 3, Output: 1},
			model.Usage{Input: million, Searches: 1}, unknown},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := (model.Model{Price: tt.price}).Cost(tt.usage)
			if !ok {
				got = unknown
			}
			if math.Abs(got-tt.want) > 1e-12 {
				t.Errorf("Cost(%+v) = %v, want %v", tt.usage, got, tt.want)
			}
		})
	}
}

func TestCost_searchesOfTheWeb(t *testing.T) {
	m := model.Default().Lookup("anthropic/claude-sonnet-4-5")
	// a prompt of a million is long: 6 dollars
	if got, ok := m.Cost(model.Usage{Input: 1_000_000, Searches: 3}); !ok || math.Abs(got-6.03) > 1e-9 {
		t.Errorf("a million tokens and three searches cost %v, %v; want 6.03", got, ok)
	}
}

func TestCost_isNeverNegativeAndGrows(t *testing.T) {
	models := model.Default().Models
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.SampledFrom(models).Draw(t, "model")
		n := rapid.IntRange(-1000, 1_000_000)
		u := model.Usage{Input: n.Draw(t, "in"), Output: n.Draw(t, "out"), CacheRead: n.Draw(t, "read"),
			CacheWrite: n.Draw(t, "write")}
		more := u
		more.Output += 1000
		a, ok := m.Cost(u)
		b, also := m.Cost(more)
		if a < 0 || ok && also && b < a || ok && !u.Plausible() {
			t.Errorf("%s: Cost(%+v) = %v, with more output %v", m, u, a, b)
		}
	})
}

func TestPrice_Relative(t *testing.T) {
	read, write, output := model.Default().Lookup("claude-sonnet-4-5").Price.Relative()
	if diff := cmp.Diff([]float64{0.1, 1.25, 5}, []float64{read, write, output},
		cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if read, write, output = (model.Price{}).Relative(); read != 0.1 || write != 1.25 || output != 5 {
		t.Errorf("unknown price: %v %v %v, want 0.1 1.25 5", read, write, output)
	}
}

func TestDefault_wellKnownModels(t *testing.T) {
	c := model.Default()
	tests := []struct {
		name                   string
		context, input, output int
		price                  float64
		lifetime               time.Duration
		minPrefix              int
		explicit               bool
	}{
		{"anthropic/claude-sonnet-4-5", 200_000, 0, 64_000, 3, 5 * time.Minute, 1024, true},
		{"anthropic/claude-opus-4-5", 200_000, 0, 64_000, 5, 5 * time.Minute, 4096, true},
		{"anthropic/claude-opus-4-7", 1_000_000, 0, 128_000, 5, 5 * time.Minute, 2048, true},
		{"anthropic/claude-haiku-4-5", 200_000, 0, 64_000, 1, 5 * time.Minute, 4096, true},
		{"openai/gpt-5", 400_000, 272_000, 128_000, 1.25, 5 * time.Minute, 1024, false},
		{"openai/gpt-5.5", 400_000, 272_000, 128_000, 5, 5 * time.Minute, 1024, false},
		{"openai/gpt-4.1", 1_047_576, 0, 32_768, 2, 5 * time.Minute, 1024, false},
		{"openai/gpt-4o", 128_000, 0, 16_384, 2.5, 5 * time.Minute, 1024, false},
		{"google/gemini-2.5-pro", 1_048_576, 0, 65_536, 1.25, 5 * time.Minute, 4096, false},
		{"xai/grok-code-fast-1", 256_000, 0, 10_000, 0.2, 5 * time.Minute, 1024, false},
		{"anthropic/claude-opus-5-5", 1_000_000, 0, 128_000, 4, 5 * time.Minute, 512, true},
		{"anthropic/claude-haiku-5-5", 1_000_000, 0, 128_000, 0.1, 5 * time.Minute, 1024, true},
		{"openai/gpt-6.1-sol", 400_000, 272_000, 128_000, 2, 30 * time.Minute, 1024, false},
		{"google/gemini-3.8-flash", 1_048_576, 0, 65_536, 0.75, 5 * time.Minute, 1024, false},
		{"deepseek/deepseek-v4-pro", 1_000_000, 0, 384_000, 1.32, time.Hour, 64, false},
		{"mistral/codestral-latest", 256_000, 0, 4096, 0.3, 5 * time.Minute, 1024, false},
		{"mistral/mistral-medium-3.5", 262_144, 0, 0, 1.5, 0, 0, false},
		{"moonshotai/kimi-k2.5", 262_144, 0, 0, 0.6, 5 * time.Minute, 1024, false},
		{"github-copilot/gpt-5.2", 264_000, 0, 64_000, 0, 5 * time.Minute, 1024, false},
		{"groq/openai/gpt-oss-120b", 131_072, 0, 65_536, 0.15, 5 * time.Minute, 1024, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := c.Lookup(tt.name)
			if m.String() != tt.name || len(m.Assumed) > 0 {
				t.Fatalf("found %s, assumed %q", m, m.Assumed)
			}
			if want := (model.Limits{Context: tt.context, Input: tt.input, Output: tt.output}); m.Limits != want {
				t.Errorf("limits %+v, want %+v", m.Limits, want)
			}
			if m.Price.Input != tt.price {
				t.Errorf("input price %v, want %v", m.Price.Input, tt.price)
			}
			if want := (model.Cache{Lifetime: tt.lifetime, MinPrefix: tt.minPrefix,
				Explicit: tt.explicit}); m.Cache != want {
				t.Errorf("cache %+v, want %+v", m.Cache, want)
			}
		})
	}
}

func TestDefault_everyEntryIsSound(t *testing.T) {
	c := model.Default()
	if len(c.Models) < 60 || c.Source == "" {
		t.Fatalf("%d models from %q, want at least 60 and a source", len(c.Models), c.Source)
	}
	if _, err := time.Parse(time.DateOnly, c.Date); err != nil {
		t.Errorf("date: %v", err)
	}
	seen := map[string]bool{}
	for _, m := range c.Models {
		switch {
		case seen[m.String()]:
			t.Errorf("%s is listed twice", m)
		case m.Provider == "" || m.Name == "" || m.Limits.Context <= 0:
			t.Errorf("%s lacks a fact: %+v", m, m)
		case m.Limits.Output >= m.Limits.Context:
			t.Errorf("%s answers more than fits: %+v", m, m.Limits)
		case m.Price.Known() && (m.Price.CacheRead <= 0 || m.Price.CacheWrite <= 0):
			t.Errorf("%s reads or writes its cache for nothing: %+v", m, m.Price)
		case m.Cache.Lifetime > 0 && m.Price.Known() && m.Price.CacheRead >= m.Price.Input:
			t.Errorf("%s has a cache without a discount", m)
		case m.Provider == "anthropic" && math.Abs(m.Price.CacheWrite1h-2*m.Price.Input) > 1e-9:
			t.Errorf("%s: an hour costs %v, want double of %v", m, m.Price.CacheWrite1h, m.Price.Input)
		}
		seen[m.String()] = true
	}
}

func TestLookup_spellings(t *testing.T) {
	c := model.Default()
	for asked, want := range map[string]string{
		"claude-sonnet-4-5":                           "anthropic/claude-sonnet-4-5",
		"  Claude-Sonnet-4-5 ":                        "anthropic/claude-sonnet-4-5",
		"claude-sonnet-4-5-20250929":                  "anthropic/claude-sonnet-4-5-20250929",
		"claude-opus-4-5-20991231":                    "anthropic/claude-opus-4-5",
		"claude-sonnet-4.5":                           "anthropic/claude-sonnet-4-5",
		"anthropic/claude-sonnet-4.5":                 "anthropic/claude-sonnet-4-5",
		"claude-haiku-4-5-latest":                     "anthropic/claude-haiku-4-5",
		"us.anthropic.claude-haiku-4-5-20251001-v1:0": "anthropic/claude-haiku-4-5",
		"claude-opus-4-1@20250805":                    "anthropic/claude-opus-4-1",
		"openrouter/anthropic/claude-opus-4.5":        "openrouter/anthropic/claude-opus-4.5",
		"gpt-5-2025-08-07":                            "openai/gpt-5",
		"openai/gpt-5.1-codex":                        "openai/gpt-5.1-codex",
		"openai/gpt-oss-20b":                          "groq/openai/gpt-oss-20b",
		"gemini-2.5-pro":                              "google/gemini-2.5-pro",
	} {
		m := c.Lookup(asked)
		if strings.HasPrefix(m.String(), want) && len(m.Assumed) == 0 {
			continue
		}
		t.Errorf("Lookup(%q) = %s, assumed %q; want %s", asked, m, m.Assumed, want)
	}
}

func TestLookup_longWindow(t *testing.T) {
	m := model.Default().Lookup("claude-sonnet-4-5[1m]")
	if m.Limits.Context != 1_000_000 || m.ID != "claude-sonnet-4-5[1m]" || m.Provider != "anthropic" {
		t.Errorf("got %s with %+v, want the long window", m, m.Limits)
	}
	if got, _ := m.Cost(model.Usage{Input: 300_000}); math.Abs(got-1.8) > 1e-9 {
		t.Errorf("300,000 tokens cost %v, want 1.8: the price of long prompts", got)
	}
}

func TestLookup_newerMembersOfAFamilyAreLikeTheNewestListed(t *testing.T) {
	c := model.Default()
	for _, tt := range []struct {
		asked, like string
		bound       bool
	}{
		{"claude-opus-5-1", "anthropic/claude-opus-5-5", false}, // like a model that binds, and older
		{"anthropic/claude-sonnet-6", "anthropic/claude-sonnet-5-5", true},
		{"gpt-5.1-codex-max-preview", "openai/gpt-5.1-codex-max", false},
		{"gpt-5.6", "openai/gpt-5.5", true},
	} {
		m := c.Lookup(tt.asked)
		if len(m.Assumed) == 0 || !strings.Contains(m.Assumed[0], tt.like) {
			t.Errorf("Lookup(%q) assumed %q, want something about %s", tt.asked, m.Assumed, tt.like)
			continue
		}
		if like := c.Lookup(tt.like); m.Limits != like.Limits || m.Price.Input != like.Price.Input {
			t.Errorf("Lookup(%q) has %+v, want the limits of %s: %+v", tt.asked, m.Limits, tt.like, like.Limits)
		}
		if !strings.HasSuffix(tt.asked, m.ID) || m.BoundReasoning != tt.bound {
			t.Errorf("Lookup(%q) = %s, bound %t; want the name asked for, bound %t", tt.asked, m, m.BoundReasoning,
				tt.bound)
		}
	}
}

// By the name alone: whether the catalogue lists it, lists a relative, or has heard of nothing like it,
// and regardless of who offers it.
func TestLookup_whichModelsBindTheirReasoning(t *testing.T) {
	c := model.Default()
	for id, want := range map[string]bool{
		"claude-opus-5-5": true, "claude-opus-5.5": true, "claude-opus-5-5-20261001": true, "claude-opus-5-5[1m]": true,
		"us.anthropic.claude-opus-5-5-v1:0": true, "anthropic/claude-haiku-5.5": true, "claude-sonnet-6": true,
		"claude-fable-5-1": true, "claude-fable-5-2": true, "claude-mythos-5-1": true, "claude-mythos-5.2": true,
		"claude-fable-6": true, "claude-fable-5": false, "claude-mythos-5": false, "claude-mythos-5-0": false,
		"claude-opus-5": false, "claude-opus-5-1": false, "claude-opus-4-8": false, "claude-sonnet-4-5-20250929": false,
		"gpt-5.6": true, "gpt-5.6-sol": true, "gpt-6-astra": true, "gpt-5.5": false, "gpt-5": false, "gpt-4o": false,
		"gpt-oss-120b": false, "gemini-3.8-flash": false, "gemini-4-argon": false, "kimi-k3": false, "": false, "claude": false,
	} {
		if got := model.BindsReasoning(id); got != want {
			t.Errorf("BindsReasoning(%q) = %t, want %t", id, got, want)
		}
		for _, m := range []model.Model{c.Lookup(id), c.At("anthropic", id), c.At("house", id), c.At("openrouter", id)} {
			said := strings.Contains(strings.Join(m.Assumed, "; "), "its reasoning is taken to be bound")
			if m.BoundReasoning != want || said != (want && len(m.Assumed) > 0) {
				t.Errorf("%q is %s: bound %t, assumed %q; want %t", id, m, m.BoundReasoning, m.Assumed, want)
			}
		}
	}
	free := with(t, `{"house/*": {"boundReasoning": false}}`).At("house", "claude-mythos-5-1")
	if free.BoundReasoning || strings.Contains(strings.Join(free.Assumed, "; "), "reasoning") {
		t.Errorf("the user says otherwise: bound %t, assumed %q", free.BoundReasoning, free.Assumed)
	}
}

// What was in the catalogue stays in it, with the prices of its time: recorded sessions name it.
func TestDefault_keepsWhatIsRetired(t *testing.T) {
	for name, price := range map[string]float64{
		"anthropic/claude-opus-4-1": 15, "anthropic/claude-3-5-haiku-20241022": 0.8, "openai/gpt-5-codex": 1.25,
		"xai/grok-code-fast-1": 0.2,
	} {
		if m := model.Default().Lookup(name); !m.Retired || m.Price.Input != price || m.Assumed != nil {
			t.Errorf("%s: %+v, want it retired at %v", name, m, price)
		}
	}
	if m := model.Default().Lookup("anthropic/claude-opus-4-1-preview"); m.Retired || m.Price.Input != 15 {
		t.Errorf("%s: %+v, want the price of a retired relative, and nothing said of itself", m, m)
	}
}

func TestLookup_unknown(t *testing.T) {
	c := model.Default()
	m := c.Lookup("local/my-finetune")
	if m.String() != "local/my-finetune" || m.Limits.Context != model.AssumedContext ||
		m.Limits.Output != model.AssumedOutput {
		t.Errorf("got %s with %+v", m, m.Limits)
	}
	if len(m.Assumed) != 3 || !strings.Contains(m.Assumed[0], "128000") {
		t.Errorf("assumed %q, want limits, prices and cache", m.Assumed)
	}
	if got := c.Lookup("  "); got.String() != "unknown" {
		t.Errorf("the empty name is %q, want unknown", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-z/.@:\[\]0-9-]{0,30}`)).Draw(t, "name")
		if m := c.Lookup(name); m.ID == "" || m.Limits.Context <= 0 {
			t.Errorf("Lookup(%q) = %+v, want an id and a window", name, m)
		}
	})
}

func TestWith_overridesByPattern(t *testing.T) {
	var patches map[string]model.Patch
	config := `{"anthropic/claude-sonnet-*": {"context": 1000000, "price": {"input": 2}},
		"anthropic/*": {"context": 150000},
		"local/**": {"context": 32768, "output": 4096, "cache": {"seconds": 60}, "boundReasoning": true}}`
	if err := json.Unmarshal([]byte(config), &patches); err != nil {
		t.Fatal(err)
	}
	overrides, err := model.Overrides(patches)
	if err != nil {
		t.Fatal(err)
	}
	base := model.Default()
	c := base.With(overrides...)
	if got := c.Lookup("claude-sonnet-4-5"); got.Limits.Context != 1_000_000 || got.Price.Input != 2 ||
		got.Price.Output != 15 || got.Price.Tiers != nil {
		t.Errorf("sonnet has %+v %+v, want the longer pattern's window and price", got.Limits, got.Price)
	}
	if got := c.Lookup("claude-haiku-4-5").Limits.Context; got != 150_000 {
		t.Errorf("haiku has a window of %d, want 150,000", got)
	}
	if got := c.Lookup("gpt-5").Limits.Context; got != 400_000 {
		t.Errorf("gpt-5 has a window of %d, want its own", got)
	}
	if got := c.Lookup("local/qwen/coder"); got.Limits.Context != 32_768 || got.Cache.Lifetime != time.Minute ||
		!got.BoundReasoning {
		t.Errorf("a local model has %+v %+v, want what was said of it", got.Limits, got.Cache)
	}
	if got := base.Lookup("claude-haiku-4-5").Limits.Context; got != 200_000 {
		t.Errorf("the original catalogue has %d now, want it unchanged", got)
	}
	if _, err := model.Overrides(map[string]model.Patch{"a[": {}}); err == nil ||
		!strings.Contains(err.Error(), `"a["`) {
		t.Errorf("a broken pattern: %v, want an error that names it", err)
	}
}

func TestParse_readsWhatIsWritten(t *testing.T) {
	c := model.Default()
	data, err := c.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	again, err := model.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(c, again, cmpopts.IgnoreUnexported(model.Catalogue{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, bad := range []string{"", "[]", `{"models":[{"provider":"x"}]}`} {
		if _, err := model.Parse([]byte(bad)); err == nil {
			t.Errorf("Parse(%q) has no error", bad)
		}
	}
}

func TestNotice_isThere(t *testing.T) {
	notice, err := os.ReadFile("NOTICE")
	if err != nil || !strings.Contains(string(notice), "Permission is hereby granted") {
		t.Errorf("the notice of the catalogue's source is missing: %v", err)
	}
}

// with is the embedded catalogue with the overrides of a configuration.
func with(t testing.TB, config string) *model.Catalogue {
	t.Helper()
	var patches map[string]model.Patch
	if err := json.Unmarshal([]byte(config), &patches, json.RejectUnknownMembers(true)); err != nil {
		t.Fatal(err)
	}
	overrides, err := model.Overrides(patches)
	if err != nil {
		t.Fatal(err)
	}
	return model.Default().With(overrides...)
}

func TestWith_whatIsNamedWinsOverWhatIsMatched(t *testing.T) {
	c := with(t, `{"openai/gpt-5": {"context": 1000}, "openai/{gpt-5,gpt-5-mini,gpt-5-nano}": {"context": 2000, "output": 10},
		"claude-haiku-4-5": {"context": 3000}, "anthropic/claude-sonnet-4.5": {"context": 4000}}`)
	for name, want := range map[string]int{"openai/gpt-5": 1000, "gpt-5": 1000, "openai/gpt-5-mini": 2000,
		"anthropic/claude-haiku-4-5": 3000, "openrouter/anthropic/claude-haiku-4.5": 200_000, "claude-sonnet-4-5": 4000} {
		if got := c.Lookup(name); got.Limits.Context != want {
			t.Errorf("%s has a context of %d, want %d", name, got.Limits.Context, want)
		}
	}
	if got := c.Lookup("openai/gpt-5").Limits.Output; got != 10 {
		t.Errorf("an output of %d, want what the pattern says besides", got)
	}
}

func TestWith_aModelThatIsNamedIsListedAndKeepsItsProvider(t *testing.T) {
	c := with(t, `{"house/claude-sonnet-4-5": {"context": 32768, "output": 4096}, "my-own": {"context": 5000},
		"shop/*": {"context": 6000}, "anthropic/claude-opus-9": {"context": 7000}}`)
	for name, want := range map[string]struct {
		name    string
		context int
		assumed string
	}{
		"house/claude-sonnet-4-5": {"house/claude-sonnet-4-5", 32_768, "its prices are unknown"},
		"House/Claude-Sonnet-4-5": {"house/claude-sonnet-4-5", 32_768, "its prices are unknown"},
		"claude-sonnet-4-5":       {"anthropic/claude-sonnet-4-5", 200_000, ""},
		"my-own":                  {"my-own", 5000, "an output of 16384 tokens is assumed"},
		"shop/claude-sonnet-4-5":  {"shop/claude-sonnet-4-5", 6000, "limits are taken from anthropic/claude-sonnet-4-5"},
		"shop/other":              {"shop/other", 6000, "an output of 16384 tokens is assumed"},
		"anthropic/claude-opus-9": {"anthropic/claude-opus-9", 7000, "limits, prices and cache are taken from"},
	} {
		for _, got := range []model.Model{c.Lookup(name), at(c, name)} {
			if got.String() != want.name || got.Limits.Context != want.context || got.Unknown ||
				!strings.Contains(strings.Join(got.Assumed, "; "), want.assumed) || want.assumed == "" && got.Assumed != nil {
				t.Errorf("%s is %s with %+v, assumed %q; want %+v", name, got, got.Limits, got.Assumed, want)
			}
		}
	}
	// What is known of another model of the provider is not changed by it.
	if got := c.At("house", "gpt-5"); got.Limits.Context != 400_000 || got.Unknown {
		t.Errorf("house/gpt-5 has %+v, want the limits that are known of gpt-5", got.Limits)
	}
	listed := 0
	for _, m := range c.Models {
		if len(m.Set) > 0 {
			listed++
		}
	}
	if listed != 3 { // the three that were named
		t.Errorf("%d models are listed as set by the user, want 3", listed)
	}
}

func at(c *model.Catalogue, name string) model.Model {
	provider, id, slashed := strings.Cut(name, "/")
	if !slashed {
		return c.Lookup(name)
	}
	return c.At(provider, id)
}

func TestWith_limits(t *testing.T) {
	for config, want := range map[string]struct {
		model.Limits
		unlimited bool
	}{
		`{}`:                                         {model.Limits{Context: 400_000, Input: 272_000, Output: 128_000}, false},
		`{"openai/gpt-5": {"context": 0}}`:           {model.Limits{Output: 128_000}, true},
		`{"openai/gpt-5": {"context": 1000000}}`:     {model.Limits{Context: 1_000_000, Input: 272_000, Output: 128_000}, false},
		`{"openai/gpt-5": {"context": 100000}}`:      {model.Limits{Context: 100_000, Output: 128_000}, false},
		`{"*": {"context": 100000, "input": 90000}}`: {model.Limits{Context: 100_000, Input: 90_000, Output: 128_000}, false},
	} {
		if got := with(t, config).Lookup("gpt-5"); got.Limits != want.Limits || got.Unlimited() != want.unlimited {
			t.Errorf("%s: %+v, unlimited %t; want %+v", config, got.Limits, got.Unlimited(), want)
		}
	}
	if got := model.Default().Lookup("nobody/knows"); got.Unlimited() || !got.Unknown ||
		got.Line(0) != `"models": {"nobody/knows": {"context":128000,"output":16384}}` {
		t.Errorf("%+v, %s", got, got.Line(0))
	}
}

func TestCost_aPriceThatIsSetToNothingIsFree(t *testing.T) {
	used := model.Usage{Input: 1000, Output: 1000, CacheRead: 1_000_000}
	for config, want := range map[string]float64{
		`{"house/x": {"price": {"input": 0, "output": 0}}}`:                  0,
		`{"house/x": {"price": {"input": 1, "output": 2, "cacheRead": 0}}}`:  0.003,
		`{"house/x": {"price": {"input": 1, "output": 2}}}`:                  1.003,
		`{"house/*": {"price": {"input": 1, "output": 2, "cacheRead": 3}}}`:  3.003,
		`{"gpt-5": {"price": {"input": 1}}, "house/x": {"context": 100000}}`: -1,
		`{"house/x": {"price": {"output": 2}}}`:                              -1,
	} {
		got, ok := with(t, config).Lookup("house/x").Cost(used)
		if ok != (want >= 0) || ok && math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: %v, known %t; want %v", config, got, ok, want)
		}
	}
}

func TestPatch_namesTheFactThatCannotBe(t *testing.T) {
	var p model.Patch
	text := `{"context": -1, "output": 1, "price": {"cacheRead": -0.1}, "cache": {"seconds": -5}}`
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		t.Fatal(err)
	}
	keys, errs := p.Validate()
	slices.Sort(keys)
	if want := []string{"cache.seconds", "context", "price.cacheRead"}; !slices.Equal(keys, want) || len(errs) != len(keys) {
		t.Errorf("%q with %v, want %q", keys, errs, want)
	}
}
