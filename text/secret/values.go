package secret

import "reflect"

// Values is a value with every text in it masked that can be reached from outside its package:
// fields, elements, what pointers point to. What has no secret in it is shared with the original,
// which stays as it is. n is how many there were.
func Values[T any](v T) (masked T, n int) {
	m := masker{}
	out, changed := m.value(reflect.ValueOf(&v).Elem())
	if changed {
		return out.Interface().(T), m.n
	}
	return v, 0
}

type masker struct{ n int }

// value gives a masked copy, or reports that nothing had to change.
func (m *masker) value(v reflect.Value) (reflect.Value, bool) {
	switch v.Kind() {
	case reflect.String:
		return m.text(v, v.String())
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return m.text(v, string(v.Bytes()))
		}
		return m.each(v, v.Len(), reflect.Value.Index, func() reflect.Value {
			out := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
			reflect.Copy(out, v)
			return out
		})
	case reflect.Map:
		return m.table(v)
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return v, false
		}
		to, changed := m.value(v.Elem())
		if !changed {
			return v, false
		}
		out := reflect.New(v.Type()).Elem()
		if v.Kind() == reflect.Pointer {
			out.Set(reflect.New(v.Type().Elem()))
			out.Elem().Set(to)
		} else {
			out.Set(to)
		}
		return out, true
	case reflect.Struct:
		return m.each(v, v.NumField(), reflect.Value.Field, func() reflect.Value {
			out := reflect.New(v.Type()).Elem()
			out.Set(v)
			return out
		})
	}
	return v, false
}

func (m *masker) text(v reflect.Value, text string) (reflect.Value, bool) {
	masked, n := Mask(text)
	if n == 0 {
		return v, false
	}
	m.n += n
	if v.Kind() == reflect.String {
		return reflect.ValueOf(masked).Convert(v.Type()), true
	}
	return reflect.ValueOf([]byte(masked)).Convert(v.Type()), true
}

// each masks elements or fields. The value is copied before the first change.
func (m *masker) each(
	v reflect.Value, n int, at func(reflect.Value, int) reflect.Value, copied func() reflect.Value,
) (out reflect.Value, changed bool) {
	out = v
	for i := range n {
		if !at(v, i).CanInterface() { // an unexported field
			continue
		}
		if element, other := m.value(at(v, i)); other {
			if !changed {
				out, changed = copied(), true
			}
			at(out, i).Set(element)
		}
	}
	return out, changed
}

func (m *masker) table(v reflect.Value) (out reflect.Value, changed bool) {
	out = v
	for _, key := range v.MapKeys() {
		element, other := m.value(v.MapIndex(key))
		if !other {
			continue
		}
		if !changed {
			out, changed = reflect.MakeMapWithSize(v.Type(), v.Len()), true
			for at := v.MapRange(); at.Next(); {
				out.SetMapIndex(at.Key(), at.Value())
			}
		}
		out.SetMapIndex(key, element)
	}
	return out, changed
}
