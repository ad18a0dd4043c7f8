package model

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Assumptions about an unknown model.
const (
	// AssumedContext is 128,000 tokens: the smallest window that is common among models which
	// agents are run on. Too small costs a summary that came early; too large costs a request that
	// is rejected.
	AssumedContext = 128_000
	// AssumedOutput is 16,384 tokens, what the models with such a window can answer.
	AssumedOutput = 16_384
)

// Lookup finds a model by "provider/id" or by id alone. It knows a model under the spellings in
// use: with a date ("claude-sonnet-4-5-20250929"), with "-latest", with a dot for a dash, with the
// affixes of Bedrock and Vertex ("us.anthropic.claude-sonnet-4-5-20250929-v1:0",
// "claude-sonnet-4-5@20250929"), and with the mark of the long window, "[1m]", which sets the
// context to a million.
//
// A lookup never fails. A newer or unlisted member of a known family is taken to be like the newest
// listed one, and of any other model a window of [AssumedContext] is assumed; [Model.Assumed] says
// so in words, and the model keeps the name that was asked for. The catalogue's overrides have the
// last word.
func (c *Catalogue) Lookup(name string) Model {
	asked := strings.TrimSpace(name)
	if c.spoken(asked) {
		provider, id, _ := strings.Cut(asked, "/")
		return c.At(provider, id)
	}
	return c.lookup(asked)
}

func (c *Catalogue) lookup(asked string) Model {
	m, _ := c.resolve(asked)
	return m
}

// resolve finds the model, or makes it up, like the one that is named; "" when it is like none.
func (c *Catalogue) resolve(asked string) (m Model, like string) {
	bare, long := strings.CutSuffix(asked, "[1m]")
	m, listed := c.find(bare)
	if like = m.String(); !listed {
		m, like = c.assume(bare)
	}
	if long {
		m.ID += "[1m]"
		m.Limits.Context = 1_000_000
		m.Limits.Input = 0
	}
	if !listed || long {
		m = apply(m, c.overrides)
	}
	if !listed {
		if m.Sets("boundReasoning") {
			m.Assumed = nil // the user knows
		}
		m.Assumed = append(c.assumed(m, bare, like), m.Assumed...)
	}
	return m, like
}

// At describes a model as one provider offers it. Unlike Lookup it takes the provider for granted,
// whether the catalogue lists it or not, and never answers with another's offer: of what only
// others are known to offer it takes the limits, not the prices. Overrides have the last word.
func (c *Catalogue) At(provider, id string) Model {
	m, like := c.resolve(provider + "/" + id)
	if strings.EqualFold(m.Provider, provider) && (c.offers(provider) || strings.EqualFold(m.ID, id) &&
		slices.ContainsFunc(c.Models, func(n Model) bool { return n.String() == m.String() })) {
		return m
	}
	own := apply(bound(Model{Provider: provider, ID: id, Name: id, Limits: m.Limits, Unknown: m.Unknown,
		BindingUnknown: m.BindingUnknown}), c.overrides)
	taken := own.Assumed
	if own.Sets("boundReasoning") {
		taken = nil // the user knows
	}
	own.Assumed = nil
	switch {
	case like == "":
		own.Assumed = c.guessed(own, own.String())
	case !own.Sets("context") || !own.Sets("output"):
		own.Assumed = []string{fmt.Sprintf("%s is not in the catalogue of %s: limits are taken from %s", own, c.Date,
			like)}
	}
	own.Assumed = slices.Concat(own.Assumed, unpriced(own), taken)
	return own
}

// find looks for the model itself: "provider/id" as written, then the provider's own spellings of
// it, then an id that itself has a slash, then, of a name without a provider, the first provider in
// the list that has it.
func (c *Catalogue) find(name string) (Model, bool) {
	provider, id := c.split(name)
	want := canonical(id)
	return c.first(
		func(m Model) bool { return strings.EqualFold(m.String(), name) },
		func(m Model) bool {
			return provider != "" && want != "" && strings.EqualFold(m.Provider, provider) && canonical(m.ID) == want
		},
		func(m Model) bool { return strings.Contains(name, "/") && strings.EqualFold(m.ID, name) },
		func(m Model) bool {
			if provider != "" || want == "" || canonical(m.ID) != want {
				return false
			}
			// Among the spellings of one provider, the requested one wins.
			return strings.EqualFold(m.ID, id) || !slices.ContainsFunc(c.Models, func(other Model) bool {
				return other.Provider == m.Provider && strings.EqualFold(other.ID, id)
			})
		},
	)
}

// first returns the first model that the first of the tests finds, else the second, and so on.
func (c *Catalogue) first(tests ...func(Model) bool) (Model, bool) {
	for _, test := range tests {
		if i := slices.IndexFunc(c.Models, test); i >= 0 {
			return c.Models[i], true
		}
	}
	return Model{}, false
}

// split parts a name into provider and id. What is before the first slash is a provider only
// when the catalogue has one of that name: "openai/gpt-oss-20b" is also an id at other providers.
func (c *Catalogue) split(name string) (provider, id string) {
	before, after, slashed := strings.Cut(name, "/")
	if !slashed {
		return "", name
	}
	if c.offers(before) {
		return before, after
	}
	return "", after
}

var (
	cloudPrefix = regexp.MustCompile(`^(?:(?:us|eu|apac|au|jp|global)\.)?(?:anthropic|amazon|meta|mistral|deepseek|qwen|openai|moonshot)\.`)
	cloudSuffix = regexp.MustCompile(`-v\d+(?::\d+)?$`)
	dateSuffix  = regexp.MustCompile(`(?:[-@](?:20\d{6}|20\d\d-\d\d-\d\d)|-latest|@latest|@default)$`)
)

// canonical brings the spellings of an id together: lower case, its last path segment, no cloud
// affixes, no date, dashes for dots. A lookup calls it for every id that is listed, so the
// expressions are only run where they can match.
func canonical(id string) string {
	id = strings.ToLower(strings.TrimSpace(id))
	id = id[strings.LastIndexByte(id, '/')+1:]
	if strings.Contains(id, ".") {
		id = cloudPrefix.ReplaceAllString(id, "")
	}
	id, _, _ = strings.Cut(id, ":free")
	if strings.Contains(id, "-v") {
		id = cloudSuffix.ReplaceAllString(id, "")
	}
	if strings.Contains(id, "20") || strings.HasSuffix(id, "latest") || strings.HasSuffix(id, "@default") {
		id = dateSuffix.ReplaceAllString(id, "")
	}
	id = strings.TrimSuffix(id, "-0") // claude-sonnet-4-0 is claude-sonnet-4
	return strings.ReplaceAll(id, ".", "-")
}

// assume makes up a model for a name that is not listed, like another one where that is known.
func (c *Catalogue) assume(name string) (m Model, like string) {
	provider, id := name, ""
	if before, after, slashed := strings.Cut(name, "/"); slashed {
		provider, id = before, after
	} else {
		provider, id = "", name
	}
	if relative, found := c.relative(name); found {
		m := relative
		m.ID, m.Name, m.Price.Tiers, m.Set = id, id, slices.Clone(relative.Price.Tiers), nil
		m.BoundReasoning, m.Retired = false, false
		if provider != "" {
			m.Provider = provider
		}
		return bound(m), relative.String()
	}
	if strings.TrimSpace(id) == "" {
		id = nameless
	}
	return bound(Model{Provider: provider, ID: id, Name: id, Unknown: true, BindingUnknown: true,
		Limits: Limits{Context: AssumedContext, Output: AssumedOutput}}), ""
}

// assumed says what of a model that is not listed is assumed: what the user did not set.
func (c *Catalogue) assumed(m Model, name, like string) []string {
	if like == "" {
		return append(c.guessed(m, name), unpriced(m)...)
	}
	var taken []string
	if !m.Sets("context") || !m.Sets("output") {
		taken = append(taken, "limits")
	}
	if !m.Sets(priceKeys...) {
		taken = append(taken, "prices")
	}
	if !m.Sets(cacheKeys...) {
		taken = append(taken, "cache")
	}
	if len(taken) == 0 {
		return nil
	}
	facts := taken[len(taken)-1]
	if n := len(taken) - 1; n > 0 {
		facts = strings.Join(taken[:n], ", ") + " and " + facts
	}
	return []string{fmt.Sprintf("%s is not in the catalogue of %s: %s are taken from %s", name, c.Date, facts, like)}
}

// guessed says which limits are guessed of a model of which nothing is known.
func (c *Catalogue) guessed(m Model, name string) []string {
	unlisted := fmt.Sprintf("%s is not in the catalogue of %s: ", orNameless(name), c.Date)
	switch context, output := m.Sets("context"), m.Sets("output"); {
	case context && output, m.Unlimited():
		return nil
	case context:
		return []string{unlisted + fmt.Sprintf("an output of %d tokens is assumed", m.Limits.Output)}
	case output:
		return []string{unlisted + fmt.Sprintf("a context of %d tokens is assumed", m.Limits.Context)}
	}
	text := fmt.Sprintf("a context of %d tokens and an output of %d are assumed", m.Limits.Context, m.Limits.Output)
	if m.Named() {
		text += "; set them in winnow.jsonc: " + m.Line(0)
	}
	return []string{unlisted + text}
}

// unpriced says that prices and cache are unknown, where the user did not set them.
func unpriced(m Model) (all []string) {
	if !m.Sets(priceKeys...) {
		all = append(all, "its prices are unknown: `models` in winnow.jsonc sets them")
	}
	if !m.Sets(cacheKeys...) {
		all = append(all, "its prompt cache is unknown: none is assumed")
	}
	return all
}

// The keys of what a user can set of prices and of the cache.
var (
	priceKeys = []string{"price.input", "price.output"}
	cacheKeys = []string{"cache.seconds"}
)

// nameless is the id of a model without a name.
const nameless = "unknown"

func orNameless(name string) string {
	if strings.TrimSpace(name) == "" {
		return "a model without a name"
	}
	return name
}

// relative finds the listed model that an unlisted one is most likely to be like: the longest
// listed id that the name extends ("gpt-5.2-codex-preview"), else the newest of the same family,
// which is the name without its numbers ("claude-sonnet-6" is of the family of claude-sonnet-4-6).
func (c *Catalogue) relative(name string) (Model, bool) {
	provider, id := c.split(name)
	want := canonical(id)
	best, found := Model{}, false
	for _, m := range c.Models[:len(c.Models)-c.added] {
		if provider != "" && !strings.EqualFold(m.Provider, provider) {
			continue
		}
		base := canonical(m.ID)
		if strings.HasPrefix(want, base+"-") && len(base) > len(canonical(best.ID)) && !versioned(want[len(base)+1:]) {
			best, found = m, true
		}
	}
	if found {
		return best, true
	}
	family, _ := kin(want)
	if len(family) == 0 {
		return Model{}, false
	}
	var newest []int
	for _, m := range c.Models[:len(c.Models)-c.added] {
		if provider != "" && !strings.EqualFold(m.Provider, provider) {
			continue
		}
		f, version := kin(canonical(m.ID))
		if len(version) > 0 && slices.Equal(f, family) && (!found || slices.Compare(version, newest) > 0) {
			best, newest, found = m, version, true
		}
	}
	return best, found
}

// versioned reports whether what follows an id begins with a number: "gpt-5" and "gpt-5-6" are two
// models.
func versioned(rest string) bool {
	_, err := strconv.Atoi(rest[:strings.IndexByte(rest+"-", '-')])
	return err == nil
}

// kin parts a canonical id into its words, which name the family, and its numbers, the version.
func kin(id string) (family []string, version []int) {
	for field := range strings.SplitSeq(id, "-") {
		if n, err := strconv.Atoi(field); err == nil {
			version = append(version, n)
		} else if field != "" {
			family = append(family, field)
		}
	}
	return family, version
}

// BindsReasoning reports whether the model of that id accepts its own reasoning only after the
// exact prompt that it was made for, by its name alone: Claude since 5.5, Fable and Mythos since
// 5.1, and GPT since 5.6. It knows the spellings that [Catalogue.Lookup] knows.
func BindsReasoning(id string) bool {
	family, version := kin(canonical(strings.TrimSuffix(strings.TrimSpace(id), "[1m]")))
	if len(family) == 0 {
		return false
	}
	since := []int{math.MaxInt}
	switch {
	case family[0] == "claude" && (slices.Contains(family, "fable") || slices.Contains(family, "mythos")):
		since = []int{5, 1}
	case family[0] == "claude":
		since = []int{5, 5}
	case family[0] == "gpt":
		since = []int{5, 6}
	}
	return slices.Compare(version, since) >= 0
}

// bound gives an assumed model what its name tells of its reasoning.
func bound(m Model) Model {
	if BindsReasoning(m.ID) {
		m.BoundReasoning, m.BindingUnknown = true, false
		m.Assumed = append(m.Assumed, "its reasoning is taken to be bound to the exact prompt before it, as in every "+
			"model of its generation")
	}
	return m
}
