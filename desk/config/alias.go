package config

import (
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/winnowhq/winnow/plan/policy"
)

// canonical is a key by its own name, also where it was given by its alias.
func canonical(key string) string {
	for _, k := range Keys() {
		if key != "" && policy.Alias(k) == key {
			return k
		}
	}
	return key
}

// renamed is the text of a configuration with the own names of the keys in it. Where a name is
// shorter than its alias, blanks behind it keep what follows in its column.
func renamed(data []byte) []byte {
	doc, err := hujson.Parse(data)
	if err != nil {
		return data // the mistake is reported where the file is read
	}
	text := slices.Clone(data)
	var visit func(object *hujson.Object, prefix string)
	visit = func(object *hujson.Object, prefix string) {
		for i := len(object.Members) - 1; i >= 0; i-- { // from the end: what is before it keeps its place
			m := &object.Members[i]
			literal, ok := m.Name.Value.(hujson.Literal)
			if !ok {
				continue
			}
			key := prefix + literal.String()
			if inner, ok := m.Value.Value.(*hujson.Object); ok {
				visit(inner, key+".")
			}
			if name := canonical(key); name != key {
				quoted := `"` + last(name) + `"`
				quoted += strings.Repeat(" ", max(0, len(literal)-len(quoted)))
				text = slices.Replace(text, m.Name.StartOffset, m.Name.EndOffset, []byte(quoted)...)
			}
		}
	}
	if object, ok := doc.Value.(*hujson.Object); ok {
		visit(object, "")
	}
	return text
}
