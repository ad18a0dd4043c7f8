package span

import (
	"errors"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// UnmarshalJSONFrom makes a span a field of what [Decode] decodes: it becomes where the value is,
// counted from the beginning of the text that is decoded. Nothing is copied.
func (s *Span) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	value, err := dec.ReadValue()
	end := int(dec.InputOffset())
	*s = Span{end - len(value), end}
	return err
}

// Decode reads a JSON value. What is not of the type that it should be counts as missing, so that
// one odd member does not cost all others. Of members with one name the last counts. An error says
// that the text is not JSON; what was read before is kept.
func Decode[T any](text []byte, into *T) error {
	before := *into
	err := json.Unmarshal(text, into, lenient)
	if odd := (*json.SemanticError)(nil); errors.As(err, &odd) {
		*into = before
		err = json.Unmarshal(text, into, lenient, json.WithUnmarshalers(oddIsMissing))
	}
	return err
}

// oddIsMissing passes over a value that does not fit where it goes.
var oddIsMissing = json.UnmarshalFromFunc(func(dec *jsontext.Decoder, into any) error {
	t := reflect.TypeOf(into).Elem()
	if t.Kind() == reflect.Pointer && dec.PeekKind() != 'n' {
		t = t.Elem()
	}
	readsItself := reflect.PointerTo(t).Implements(reflect.TypeFor[json.UnmarshalerFrom]())
	if readsItself || t == reflect.TypeFor[jsontext.Value]() {
		return errors.ErrUnsupported
	}
	want := map[reflect.Kind]string{
		reflect.Struct: "{", reflect.Slice: "[", reflect.String: `"`, reflect.Bool: "tf",
		reflect.Int: "0", reflect.Float64: "0",
	}[t.Kind()]
	switch kind := dec.PeekKind(); {
	case want != "" && !strings.ContainsRune(want, rune(kind)):
		return dec.SkipValue()
	case kind != '0':
		return errors.ErrUnsupported
	}
	number, err := dec.ReadValue()
	if err == nil {
		_ = json.Unmarshal(number, into, lenient) // out of range, or a fraction: missing
	}
	return err
})
