package memory

import "reflect"

// clone copies a value with everything that it points to, so that nobody else can change it. It
// uses reflection, because code written by hand would miss the next member that a type gets.
func clone[T any](v T) T {
	to := reflect.ValueOf(&v).Elem() // v is a shallow copy already
	unshare(to)
	return v
}

// unshare replaces everything that v, a shallow copy, shares with its original.
func unshare(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return
		}
		p := reflect.New(v.Type().Elem())
		p.Elem().Set(v.Elem())
		unshare(p.Elem())
		v.Set(p)
	case reflect.Slice:
		if v.IsNil() {
			return
		}
		s := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(s, v)
		switch v.Type().Elem().Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Struct:
			for i := range s.Len() {
				unshare(s.Index(i))
			}
		}
		v.Set(s)
	case reflect.Map: // of plain values; the log has no others
		if v.IsNil() {
			return
		}
		m := reflect.MakeMapWithSize(v.Type(), v.Len())
		for it := v.MapRange(); it.Next(); {
			m.SetMapIndex(it.Key(), it.Value())
		}
		v.Set(m)
	case reflect.Struct:
		for i := range v.NumField() {
			switch f := v.Field(i); f.Kind() {
			case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Struct:
				unshare(f)
			}
		}
	}
}
