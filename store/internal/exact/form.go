package exact

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
)

// The exact form holds any value of the log to the byte: strings and raw JSON as they are, numbers
// that JSON cannot express, and it tells nil from empty. Members carry their names, so that a type
// may grow. It is
//
//	formMark, formVersion, value
//	bool, int, float64: varints (a float64 by its bits); string: length, bytes
//	pointer: 0, or 1 and value; slice: 0, or 1 + length and values; map: the same with key and value
//	struct: for each member that is not zero its name, the length of its value, the value;
//	        then the empty name
const (
	formMark    = 0x00 // no JSON begins with it
	formVersion = 0x01

	// maxDepth is how deep values may be nested. The log is about ten deep, but attachments may
	// hold attachments.
	maxDepth = 1000
)

// form writes a value in the exact form.
func form(v any) ([]byte, error) {
	return appendForm([]byte{formMark, formVersion}, reflect.ValueOf(v), 0)
}

func appendForm(b []byte, v reflect.Value, depth int) (_ []byte, err error) {
	if depth++; depth > maxDepth {
		return nil, errors.New("it is nested too deeply")
	}
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			return append(b, 1), nil
		}
		return append(b, 0), nil
	case reflect.Int, reflect.Int64:
		return binary.AppendVarint(b, v.Int()), nil
	case reflect.Float64:
		return binary.AppendUvarint(b, math.Float64bits(v.Float())), nil
	case reflect.String:
		return append(binary.AppendUvarint(b, uint64(v.Len())), v.String()...), nil
	case reflect.Pointer:
		if v.IsNil() {
			return append(b, 0), nil
		}
		return appendForm(append(b, 1), v.Elem(), depth)
	case reflect.Slice:
		if v.IsNil() {
			return append(b, 0), nil
		}
		b = binary.AppendUvarint(b, uint64(v.Len())+1)
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return append(b, v.Bytes()...), nil
		}
		for i := range v.Len() {
			if b, err = appendForm(b, v.Index(i), depth); err != nil {
				return nil, err
			}
		}
		return b, nil
	case reflect.Map:
		if v.IsNil() {
			return append(b, 0), nil
		}
		b = binary.AppendUvarint(b, uint64(v.Len())+1)
		for it := v.MapRange(); it.Next(); {
			if b, err = appendForm(b, it.Key(), depth); err != nil {
				return nil, err
			}
			if b, err = appendForm(b, it.Value(), depth); err != nil {
				return nil, err
			}
		}
		return b, nil
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).IsZero() {
				continue
			}
			member, err := appendForm(nil, v.Field(i), depth)
			if err != nil {
				return nil, err
			}
			name := v.Type().Field(i).Name
			b = append(binary.AppendUvarint(b, uint64(len(name))), name...)
			b = append(binary.AppendUvarint(b, uint64(len(member))), member...)
		}
		return binary.AppendUvarint(b, 0), nil
	}
	return nil, fmt.Errorf("a %s has no exact form", v.Type())
}

var errForm = errors.New("its exact form is damaged")

// fromForm reads the exact form into the value that v points to, and skips members that its type
// does not have.
func fromForm(data []byte, v any) error {
	if len(data) < 2 || data[1] != formVersion {
		return errForm
	}
	r := formReader{rest: data[2:]}
	if !r.value(reflect.ValueOf(v).Elem()) || len(r.rest) > 0 {
		return errForm
	}
	return nil
}

// formReader consumes rest. Its methods report whether they could read a value.
type formReader struct {
	rest  []byte
	depth int
}

func (r *formReader) uvarint() (uint64, bool) {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 {
		return 0, false
	}
	r.rest = r.rest[size:]
	return n, true
}

func (r *formReader) bytes(n uint64) ([]byte, bool) {
	if n > uint64(len(r.rest)) {
		return nil, false
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b, true
}

func (r *formReader) value(v reflect.Value) bool {
	if r.depth++; r.depth > maxDepth {
		return false
	}
	defer func() { r.depth-- }()
	switch v.Kind() {
	case reflect.Int, reflect.Int64:
		n, size := binary.Varint(r.rest)
		if size <= 0 || v.OverflowInt(n) {
			return false
		}
		r.rest = r.rest[size:]
		v.SetInt(n)
		return true
	case reflect.Struct:
		return r.members(v)
	}
	n, ok := r.uvarint()
	if !ok {
		return false
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(n != 0)
	case reflect.Float64:
		v.SetFloat(math.Float64frombits(n))
	case reflect.String:
		b, ok := r.bytes(n)
		v.SetString(string(b))
		return ok
	case reflect.Pointer:
		if n == 0 {
			return true
		}
		v.Set(reflect.New(v.Type().Elem()))
		return r.value(v.Elem())
	case reflect.Slice:
		return n == 0 || r.elements(v, n-1)
	case reflect.Map:
		return n == 0 || r.entries(v, n-1)
	default:
		return false
	}
	return true
}

func (r *formReader) elements(v reflect.Value, n uint64) bool {
	if n > uint64(len(r.rest)) { // every element takes a byte at least
		return false
	}
	if v.Type().Elem().Kind() == reflect.Uint8 {
		b, _ := r.bytes(n)
		v.Set(reflect.MakeSlice(v.Type(), int(n), int(n)))
		reflect.Copy(v, reflect.ValueOf(b))
		return true
	}
	v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	for range n {
		e := reflect.New(v.Type().Elem()).Elem()
		if !r.value(e) {
			return false
		}
		v.Set(reflect.Append(v, e))
	}
	return true
}

func (r *formReader) entries(v reflect.Value, n uint64) bool {
	v.Set(reflect.MakeMap(v.Type()))
	for range n {
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		if !r.value(key) || !r.value(value) {
			return false
		}
		v.SetMapIndex(key, value)
	}
	return true
}

func (r *formReader) members(v reflect.Value) bool {
	for {
		size, ok := r.uvarint()
		if !ok || size == 0 {
			return ok
		}
		name, ok := r.bytes(size)
		if !ok {
			return false
		}
		if size, ok = r.uvarint(); !ok {
			return false
		}
		data, ok := r.bytes(size)
		if !ok {
			return false
		}
		member, found := v.Type().FieldByName(string(name))
		if !found || len(member.Index) != 1 || !member.IsExported() {
			continue
		}
		inner := formReader{data, r.depth}
		if !inner.value(v.Field(member.Index[0])) || len(inner.rest) > 0 {
			return false
		}
	}
}
