package config

import (
	_ "embed"
	"strings"

	"github.com/winnowhq/winnow/plan/policy"
)

//go:embed descriptions.txt
var descriptions string

// Describe says in a line what a setting is, "" of an unknown key. A key below one of the maps, as
// providers.NAME, is described as the map.
func Describe(key string) string {
	key = canonical(key)
	for _, s := range policy.All() {
		for _, group := range []string{"strategies.balancedPruning.", "strategies.aggressivePruning."} {
			if key == group+s.Name {
				return "prune " + s.Does
			}
		}
	}
	for ; key != ""; key = above(key) {
		for line := range strings.Lines(descriptions) {
			name, text, _ := strings.Cut(line, " ")
			if name == key && wanted(key) != "" {
				return strings.TrimSpace(text)
			}
		}
	}
	return ""
}

// above is the key of the group that a key is in, "" if it is in none.
func above(key string) string {
	return key[:max(0, strings.LastIndexByte(key, '.'))]
}
