package config

import (
	"bytes"
	"errors"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/tailscale/hujson"

	"github.com/winnowhq/winnow/plan/policy"
)

// put sets a dotted key in a document and makes the objects that lead to it. Everything else stays,
// comments in their places.
func put(doc *hujson.Value, key string, value jsontext.Value) error {
	parsed, err := hujson.Parse(value)
	if err != nil {
		return err
	}
	at, err := place(doc, key)
	if err != nil {
		return err
	}
	at.Value = parsed.Value
	return nil
}

// place finds the value of a dotted key in a document, and makes the objects that lead to it. A new
// value is an empty object.
func place(doc *hujson.Value, key string) (*hujson.Value, error) {
	names := names(key)
	at := doc
	for i, name := range names {
		object, ok := at.Value.(*hujson.Object)
		if !ok {
			return nil, errors.New("its present value is not an object")
		}
		if at = member(object, name); at == nil && i == len(names)-1 && policy.Alias(key) != "" {
			at = member(object, last(policy.Alias(key)))
		}
		if at == nil {
			at = add(object, name)
		}
	}
	return at, nil
}

// remove takes what names lead to out of an object, and the objects that are empty without it.
// alias is another name of the last one. It reports whether there was anything.
func remove(at *hujson.Value, names []string, alias string) bool {
	object, ok := at.Value.(*hujson.Object)
	if !ok {
		return false
	}
	was := false
	for i := len(object.Members) - 1; i >= 0; i-- {
		literal, ok := object.Members[i].Name.Value.(hujson.Literal)
		if !ok {
			continue
		}
		name := literal.String()
		if len(names) == 1 {
			if name != names[0] && (alias == "" || name != last(alias)) {
				continue
			}
		} else {
			inner := &object.Members[i].Value
			if name != names[0] || !remove(inner, names[1:], alias) {
				continue
			}
			if left, ok := inner.Value.(*hujson.Object); ok && len(left.Members) > 0 {
				return true
			}
		}
		behind := &object.AfterExtra
		if i+1 < len(object.Members) {
			behind = &object.Members[i+1].Name.BeforeExtra
		}
		if end := bytes.IndexByte(*behind, '\n'); end > 0 {
			*behind = (*behind)[end:] // a comment on the same line
		}
		object.Members = append(object.Members[:i], object.Members[i+1:]...)
		was = true
	}
	return was
}

// member is the last member with a name: the one that counts.
func member(object *hujson.Object, name string) *hujson.Value {
	for i := len(object.Members) - 1; i >= 0; i-- {
		if literal, ok := object.Members[i].Name.Value.(hujson.Literal); ok && literal.String() == name {
			return &object.Members[i].Value
		}
	}
	return nil
}

// add appends an empty object under a name. A comment behind the last member so far stays behind
// it.
func add(object *hujson.Object, name string) *hujson.Value {
	m := hujson.ObjectMember{Name: hujson.Value{Value: hujson.String(name)},
		Value: hujson.Value{Value: &hujson.Object{}}}
	if n := len(object.Members); n > 0 {
		last := &object.Members[n-1].Value
		m.Name.BeforeExtra = append(last.AfterExtra, object.AfterExtra...)
		last.AfterExtra = nil
		if object.AfterExtra != nil {
			object.AfterExtra = hujson.Extra("\n") // there is a comma behind the last member
		}
	} else {
		m.Name.BeforeExtra, object.AfterExtra = object.AfterExtra, nil
	}
	if !strings.HasSuffix(strings.TrimRight(string(m.Name.BeforeExtra), " \t"), "\n") && len(object.Members) > 0 {
		m.Name.BeforeExtra = append(m.Name.BeforeExtra, '\n')
	}
	object.Members = append(object.Members, m)
	return &object.Members[len(object.Members)-1].Value
}
