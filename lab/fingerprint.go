package lab

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"reflect"
	"slices"
)

// fingerprint is equal for equal values, behind pointers and interfaces too, types included. Of
// functions only presence counts.
func fingerprint(values ...any) string {
	sum := sha256.New()
	for _, v := range values {
		spell(sum, reflect.ValueOf(v))
	}
	return hex.EncodeToString(sum.Sum(nil)[:12])
}

func spell(w io.Writer, v reflect.Value) {
	if !v.IsValid() {
		io.WriteString(w, "nil;")
		return
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			io.WriteString(w, "nil;")
			return
		}
		spell(w, v.Elem())
	case reflect.Struct:
		fmt.Fprintf(w, "%s{", v.Type())
		for i := range v.NumField() {
			fmt.Fprintf(w, "%s:", v.Type().Field(i).Name)
			spell(w, v.Field(i))
		}
		io.WriteString(w, "};")
	case reflect.Slice, reflect.Array:
		fmt.Fprintf(w, "%s[%d:", v.Type(), v.Len())
		for i := range v.Len() {
			spell(w, v.Index(i))
		}
		io.WriteString(w, "];")
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int {
			return slices.Compare([]byte(fmt.Sprint(a)), []byte(fmt.Sprint(b)))
		})
		fmt.Fprintf(w, "%s[%d:", v.Type(), v.Len())
		for _, k := range keys {
			spell(w, k)
			spell(w, v.MapIndex(k))
		}
		io.WriteString(w, "];")
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
		fmt.Fprintf(w, "%s %v;", v.Type(), v.IsNil())
	default:
		fmt.Fprintf(w, "%s %q;", v.Type(), fmt.Sprint(v)) // fmt reads unexported fields too
	}
}

// Same reports whether two setups differ in name alone.
func (s Setup) Same(other Setup) bool { return s.fingerprint() == other.fingerprint() }

func (s Setup) fingerprint() string {
	p := s.Policy
	p.Name = ""
	return fingerprint(p, s.Window, s.KeepWarm)
}

// fingerprint covers what a result depends on besides session and setup.
func (o Options) fingerprint() string {
	return fingerprint(o.Terms, o.Hour, o.Uncached, o.Logged, o.Regions, o.Idle.String(), o.Unsure.String(), o.Unmissed,
		o.FreeSummaries, o.Detail,
		fmt.Sprintf("%T", o.Summarizer))
}
