package seat

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/text/span"
)

// with is a file of settings with the members in it. text is nil if there is no file.
func with(path string, text []byte, members []Member) ([]byte, error) {
	if isTOML(path) {
		return withTables(path, text, members)
	}
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}\n")
	}
	if err := object(path, text); err != nil {
		return nil, err
	}
	for _, m := range members {
		value := []byte(m.Value)
		if m.Append {
			var err error
			if value, err = appended(span.Get(text, m.Keys...), m); err != nil {
				return nil, err
			}
		}
		text = inside(text, func(o []byte) []byte { return span.Set(o, "", value, m.Keys...) })
	}
	return text, object(path, text)
}

// without is a file of settings without the members: what they had before is put back, and what
// somebody else set since stays.
func without(text, before []byte, members []Member) []byte {
	if len(members) > 0 && isTOML(members[0].Path) {
		return withoutTables(text, members)
	}
	for _, m := range slices.Backward(members) {
		now, was := span.Get(text, m.Keys...), span.Get(before, m.Keys...)
		switch {
		case now == nil:
		case m.Append:
			if left, some := removed(now, m.Value); some {
				text = inside(text, func(o []byte) []byte {
					if len(left) == 0 && was == nil {
						return dropped(o, before, m.Keys)
					}
					return span.Set(o, "", span.Array(left), m.Keys...)
				})
			}
		case !same(now, m.Value): // it is somebody else's now
		case was != nil:
			text = inside(text, func(o []byte) []byte { return span.Set(o, "", was, m.Keys...) })
		default:
			text = inside(text, func(o []byte) []byte { return dropped(o, before, m.Keys) })
		}
	}
	return text
}

// dropped is an object without a member, and without the objects around it that this leaves empty
// and that were not there before.
func dropped(o, before []byte, keys []string) []byte {
	o = span.Remove(o, false, keys...)
	for n := len(keys) - 1; n > 0; n-- {
		outer := keys[:n]
		if span.Get(before, outer...) != nil || !span.Bare(span.Get(o, outer...)) {
			break
		}
		o = span.Remove(o, false, outer...)
	}
	return o
}

// inside changes the object of a text, and leaves the white space around it.
func inside(text []byte, change func([]byte) []byte) []byte {
	object := bytes.TrimSpace(text)
	at := bytes.Index(text, object)
	return slices.Concat(text[:at], change(object), text[at+len(object):])
}

// appended is an array with the value of a member behind it.
func appended(array []byte, m Member) ([]byte, error) {
	if array == nil {
		return span.Array([]jsontext.Value{m.Value}), nil
	}
	if span.Kind(array) != '[' {
		return nil, fmt.Errorf("%s: %s is not an array", m.Path, strings.Join(m.Keys, "."))
	}
	var values []jsontext.Value
	for v := range span.Values(array, span.All(array)) {
		value := v.Of(array)
		if same(value, m.Value) {
			return array, nil
		}
		values = append(values, value)
	}
	return span.Array(append(values, m.Value)), nil
}

// removed is an array without a value, and whether it was there.
func removed(array []byte, value []byte) (left []jsontext.Value, some bool) {
	if span.Kind(array) != '[' {
		return nil, false
	}
	for v := range span.Values(array, span.All(array)) {
		if is := v.Of(array); !same(is, value) {
			left = append(left, is)
		} else {
			some = true
		}
	}
	return left, some
}

// same compares two JSON values by what they say.
func same(a, b []byte) bool {
	x, y := jsontext.Value(slices.Clone(a)), jsontext.Value(slices.Clone(b))
	return x.Canonicalize() == nil && y.Canonicalize() == nil && bytes.Equal(x, y)
}

// object checks that a file of settings is one JSON object, which can be changed in its place.
func object(path string, text []byte) error {
	if err := span.Check(bytes.TrimSpace(text)); err != nil {
		return fmt.Errorf("%s is not valid JSON, so winnow cannot add a setting to it: %w", path, err)
	}
	if span.Kind(bytes.TrimSpace(text)) != '{' {
		return fmt.Errorf("%s is not a JSON object, so winnow cannot add a setting to it", path)
	}
	return nil
}
