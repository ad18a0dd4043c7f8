package call

import (
	"fmt"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/session"
)

var objects = []string{
	`{}`, ` { } `, `{"a":"b"}`, `{"a" : "b" , "c":1}`, `{"a":"x\ny","b":"\u00e9\"","c":[1,{"d":"]}"},null],"e":{"f":{}},"g":-1.5e3,"h":true}`,
	`{"a":1,"a":2}`, `{"\u0061":1}`, `{"a":"` + "\xff" + `"}`, `{"` + "\xff" + `":1}`, `{"a":"` + "\n" + `"}`, `{"a":1,}`, `{"a":1`, `{"a"}`, `{"a":}`, `{"a":01}`, `{"a":[1,]}`,
	`{"a":1}x`, `{"a":"b"`, `{"a":"\x"}`, `{"a":"\`, `[1]`, `"a"`, ``, `null`, `{"a":tru}`, `{,}`, `{"a":1 "b":2}`, `{"a":[}]}`, `{"é":"ü 世界"}`, `{"a":"\ud800"}`, `{"a":1]`,
	`""`, `"a\n\tb\"\\\/\b\f\rc"`, `"\n"`, `"\u00e9\n"`, `"\x"`, `"a"b"`, `"a\"`, `"\`, `"a\n" `, "\"\n\"", "\"\\n\xff\"",
}

// Members and Parse say of any text what the decoder says.
func sameAsDecoded(t *testing.T, text string) {
	t.Helper()
	list := func(walk func(yield func(string, jsontext.Value) bool)) (all []string) {
		walk(func(name string, value jsontext.Value) bool {
			all = append(all, fmt.Sprintf("%q %q", name, value))
			return true
		})
		return all
	}
	object := jsontext.Value(text)
	decoded := list(func(yield func(string, jsontext.Value) bool) { decodedMembers(object, 0, yield) })
	if diff := cmp.Diff(decoded, list(Members(object))); diff != "" {
		t.Errorf("members of %q (-decoded +got):\n%s", text, diff)
	}
	var want map[string]jsontext.Value
	if object.Kind() == '{' && json.Unmarshal(object, &want, session.ReadOptions()) != nil {
		want = nil
	}
	got := Parse(object)
	if object.Kind() == '{' && (got == nil) != (want == nil) {
		t.Errorf("Parse(%q) = %v, want %v", text, got, want)
	}
	for name, value := range want {
		if !cmp.Equal(got.Get(name), value) {
			t.Errorf("Parse(%q): %q is %q, want %q", text, name, got.Get(name), value)
		}
	}
	for _, a := range got {
		if _, known := want[a.Name]; !known && object.Kind() == '{' {
			t.Errorf("Parse(%q) has %q", text, a.Name)
		}
	}
	if object.Kind() == '"' {
		want, err := jsontext.AppendUnquote(nil, object)
		if got, ok := Unquote(object); ok != (err == nil) || ok && got != string(want) {
			t.Errorf("Unquote(%q) = %q, %t, want %q, %v", text, got, ok, want, err)
		}
	}
}

func TestMembers_areThoseThatTheDecoderReads(t *testing.T) {
	for _, text := range objects {
		sameAsDecoded(t, text)
	}
}

func FuzzMembers(f *testing.F) {
	for _, text := range objects {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { sameAsDecoded(t, text) })
}
