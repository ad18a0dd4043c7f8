package config

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/budget"
	"github.com/winnowhq/winnow/plan/policy"
	"github.com/winnowhq/winnow/plan/settings"
)

// Keys are the dotted names of every setting, in the order of the documentation.
func Keys() []string {
	var keys []string
	walk(reflect.TypeFor[Settings](), "", func(key string, _ reflect.Type) { keys = append(keys, key) })
	return keys
}

// walk visits the leaves of the settings.
func walk(t reflect.Type, prefix string, visit func(key string, t reflect.Type)) {
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous { // its members are members of what it is embedded in
			walk(f.Type, prefix, visit)
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Type.Kind() == reflect.Struct {
			walk(f.Type, prefix+name+".", visit)
			continue
		}
		visit(prefix+name, f.Type)
	}
}

// typeOf is the type of the value of a key, nil for an unknown one and for a group.
func typeOf(key string) reflect.Type {
	_, t := resolve(reflect.TypeFor[Settings](), key)
	if t != nil && t.Kind() == reflect.Struct && (key == "" || isGroup(key)) {
		return nil
	}
	return t
}

// names are those that lead to the value of a key.
func names(key string) []string {
	names, t := resolve(reflect.TypeFor[Settings](), key)
	if t == nil {
		return strings.Split(key, ".")
	}
	return names
}

// resolve follows a dotted key from a value of a type on, nil if it leads nowhere. The name of an
// entry may have dots of its own, as models and providers have: it ends where members follow.
func resolve(t reflect.Type, key string) (names []string, found reflect.Type) {
	switch {
	case key == "":
		return nil, t
	case t.Kind() == reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if f.Anonymous {
				if names, found = resolve(f.Type, key); found != nil {
					return names, found
				}
			} else if rest, ok := strings.CutPrefix(key+".", name+"."); ok {
				names, found = resolve(f.Type, strings.TrimSuffix(rest, "."))
				return append([]string{name}, names...), found
			}
		}
	case t.Kind() == reflect.Map:
		for at := range len(key) {
			if key[at] != '.' || at == 0 {
				continue
			}
			if names, found = resolve(t.Elem(), key[at+1:]); found != nil && at+1 < len(key) {
				return append([]string{key[:at]}, names...), found
			}
		}
		// a provider has no other members
		if t.Elem() != reflect.TypeFor[Provider]() || !strings.Contains(key, ".") {
			return []string{key}, t.Elem()
		}
	case t.Kind() == reflect.Slice && t != reflect.TypeFor[jsontext.Value]():
		if name, rest, _ := strings.Cut(key, "."); index(name) {
			names, found = resolve(t.Elem(), rest)
			return append([]string{name}, names...), found
		}
	}
	return nil, nil
}

// thresholds says which values a threshold accepts.
const thresholds = `a fraction of the context (0.92), a number of tokens (150000), "economic" or "late"`

// errNoKey is the error of an unknown key.
var errNoKey = errors.New("there is no such key")

// wanted says in words which values a key accepts, "" for an unknown key.
func wanted(key string) string {
	t := typeOf(key)
	switch {
	case t == nil && isGroup(key), t == reflect.TypeFor[jsontext.Value]():
		return "an object"
	case t == nil:
		return ""
	}
	switch t {
	case reflect.TypeFor[budget.Thresholds]():
		return thresholds + ", or an object of model patterns and these"
	case reflect.TypeFor[budget.Threshold]():
		return thresholds
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	case reflect.Pointer:
		switch t.Elem().Kind() {
		case reflect.Bool:
			return "true, false or null"
		case reflect.Float64:
			return "a number or null"
		}
		return "a whole number or null"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Struct {
			return "a list of objects"
		}
		return "a list of texts"
	case reflect.Map:
		switch {
		case t.Elem() == reflect.TypeFor[model.Patch]():
			return "an object of models by provider/id"
		case t.Elem() == reflect.TypeFor[settings.Agent]():
			return "an object of agents by name, each with policy, threshold and summarizer"
		case t.Elem() == reflect.TypeFor[GatewayKey]():
			return "an object of keys by name"
		case t.Elem() == reflect.TypeFor[GatewayAccess]():
			return "an object of tenants by group"
		case t.Elem().Kind() == reflect.Struct:
			return "an object of providers by name"
		case t.Elem().Kind() == reflect.String:
			return "an object of texts"
		}
		return "an object"
	case reflect.Struct:
		return "an object"
	}
	return "a text"
}

// index reports whether a name is that of an entry of a list.
func index(name string) bool {
	_, err := strconv.ParseUint(name, 10, 31)
	return err == nil
}

// isGroup reports whether a name is that of several keys.
func isGroup(key string) bool {
	return slices.ContainsFunc(Keys(), func(k string) bool { return strings.HasPrefix(k, key+".") })
}

// nearest is the valid key that is the fewest letters away, "" if none is near.
func nearest(key string) string {
	best, least := "", max(3, len(key)/2)
	candidates := map[string]bool{}
	for _, k := range Keys() {
		candidates[k] = true
		if other := policy.Alias(k); other != "" {
			candidates[other] = true
		}
		for at := strings.LastIndexByte(k, '.'); at > 0; at = strings.LastIndexByte(k[:at], '.') {
			candidates[k[:at]] = true
		}
	}
	if at := strings.LastIndexByte(key, '.'); at > 0 { // a member of an entry
		if entry := typeOf(key[:at]); entry != nil && entry.Kind() == reflect.Struct {
			clear(candidates)
			walk(entry, key[:at+1], func(k string, _ reflect.Type) { candidates[k] = true })
		}
	}
	for _, k := range slices.Sorted(maps.Keys(candidates)) {
		// A key in the wrong group is as near as its last name is.
		d := min(distance(key, k), distance(last(key), last(k))+1)
		if d < least {
			best, least = k, d
		}
	}
	return canonical(best)
}

func last(key string) string { return key[strings.LastIndexByte(key, '.')+1:] }

// distance counts the letters to insert, delete or change.
func distance(a, b string) int {
	a, b = strings.ToLower(a), strings.ToLower(b)
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diagonal
			if a[i-1] != b[j-1] {
				cost++
			}
			diagonal, row[j] = row[j], min(cost, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}
