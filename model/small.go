package model

import (
	"cmp"
	"slices"
	"strings"
)

// smallFamilies are the words in an id by which providers call their small models (S004: haiku,
// flash, nano). A model belongs to the first that it has.
var smallFamilies = []string{"nano", "luna", "flash-lite", "haiku", "flash", "mini", "mistral-small"}

// special are words in the ids of models that are made for something else, or do not stay.
var special = []string{"audio", "code", "coder", "codex", "embedding", "exp", "image", "live", "preview", "realtime",
	"search", "thinking", "transcribe", "tts", "vision"}

// smallFamily is the small family that an id belongs to, "" if it does to none.
func smallFamily(id string) string {
	words := "-" + canonical(id) + "-"
	has := func(word string) bool { return strings.Contains(words, "-"+word+"-") }
	if i := slices.IndexFunc(smallFamilies, has); i >= 0 && !slices.ContainsFunc(special, has) {
		return smallFamilies[i]
	}
	return ""
}

// Small is the model for small tasks beside m: of the same provider and maker, the newest member of
// the small family that costs least, or m itself if it is small and none costs less. It is false if
// the catalogue has none whose price is known and lower.
func (c *Catalogue) Small(m Model) (Model, bool) {
	newest := map[string]Model{}
	for _, one := range c.Models {
		family := smallFamily(one.ID)
		if family == "" || !strings.EqualFold(one.Provider, m.Provider) || maker(one.ID) != maker(m.ID) ||
			one.Retired || !one.Price.Known() {
			continue
		}
		if other, ok := newest[family]; !ok || newer(one.ID, other.ID) {
			newest[family] = one
		}
	}
	best, found := Model{}, false
	for _, family := range smallFamilies {
		one, ok := newest[family]
		if ok && (!found || cheaper(one, best)) {
			best, found = one, true
		}
	}
	switch {
	case m.Price.Known() && (!found || !cheaper(best, m)):
		return m, smallFamily(m.ID) != ""
	case !found:
		return m, false
	}
	return best, true
}

// maker is who made a model that somebody else offers: "anthropic" of
// "anthropic/claude-haiku-4.5".
func maker(id string) string { return strings.ToLower(id[:max(0, strings.LastIndexByte(id, '/'))]) }

// cheaper compares what a short answer to a longer question costs.
func cheaper(a, b Model) bool {
	return cmp.Or(cmp.Compare(a.Price.Input, b.Price.Input), cmp.Compare(a.Price.Output, b.Price.Output)) < 0
}

// newer compares two ids of one family. An alias without a version is the newest there is; of two
// spellings of one version the shorter one is kept up by the provider.
func newer(a, b string) bool {
	_, version := kin(canonical(a))
	_, other := kin(canonical(b))
	if alias, than := len(version) == 0 && strings.HasSuffix(a, "-latest"), len(other) == 0 &&
		strings.HasSuffix(b, "-latest"); alias != than {
		return alias
	}
	return cmp.Or(slices.Compare(version, other), cmp.Compare(len(b), len(a)), cmp.Compare(b, a)) > 0
}
