package span

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/go-json-experiment/json"
)

func TestWalk(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string // name=value, with a ~ if it is cut
		err        error
	}{
		{"empty", ` { } `, nil, nil},
		{"every kind of value", `{"s":"x","n":-1.5e3,"t":true,"z":null,"o":{"a":[1]},"l":[{},"]"]}`,
			[]string{`s="x"`, `n=-1.5e3`, `t=true`, `z=null`, `o={"a":[1]}`, `l=[{},"]"]`}, nil},
		{"white space", "{\n \"a\" :\t1 ,\r\n \"b\":2 }\n", []string{`a=1`, `b=2`}, nil},
		{"escaped quotes and backslashes", `{"a":"\"}\\","b":"\\\""}`, []string{`a="\"}\\"`, `b="\\\""`}, nil},
		{"an escaped name", `{"\u0061\n":1}`, []string{"a\n=1"}, nil},
		{"a name that is there twice", `{"a":1,"a":2}`, []string{`a=1`, `a=2`}, nil},
		{"cut in a string", `{"a":1,"b":"xy`, []string{`a=1`, `b="xy~`}, ErrCut},
		{"cut after an escape", `{"b":"xy\`, []string{`b="xy\~`}, ErrCut},
		{"cut in an object", `{"b":{"c":[1,`, []string{`b={"c":[1,~`}, ErrCut},
		{"cut in a name", `{"a":1,"b`, []string{`a=1`}, ErrCut},
		{"cut after a name", `{"a":1,"b":`, []string{`a=1`}, ErrCut},
		{"cut after a value", `{"a":1`, []string{`a=1`}, ErrCut},
		{"no value", `{"a":,"b":1}`, nil, ErrCut},
		{"no colon", `{"a" 1}`, nil, ErrCut},
		{"no comma", `{"a":1 "b":2}`, []string{`a=1`, `b=2`}, ErrCut},
		{"a comma too many", `{,"a":1,}`, []string{`a=1`}, ErrCut},
		{"something behind", `{"a":1}{`, []string{`a=1`}, ErrTrailing},
		{"an array", `[1]`, nil, ErrNotObject},
		{"nothing", ``, nil, ErrNotObject},
		{"deeper than a decoder goes", `{"a":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `,"b":1}`,
			[]string{"a=" + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000), "b=1"}, nil},
	} {
		var got []string
		text := []byte(c.text)
		err := Walk(text, All(text), func(m Member) bool {
			entry := string(m.Name) + "=" + string(m.Value.Of(text))
			if m.Cut {
				entry += "~"
			}
			got = append(got, entry)
			return true
		})
		if diff := cmp.Diff(c.want, got); diff != "" || !errors.Is(err, c.err) {
			t.Errorf("%s: error %v, want %v; members (-want +got)\n%s", c.name, err, c.err, diff)
		}
	}
}

func TestWalk_staysInItsSpanAndStopsWhenTold(t *testing.T) {
	text := []byte(`[{"a":{"b":1},"c":2},{"d":3}]`)
	object := Span{1, 20}
	var names []string
	err := Walk(text, object, func(m Member) bool {
		names = append(names, string(m.Name))
		return true
	})
	if err != nil {
		t.Errorf("Walk of one element: %v", err)
	}
	if !slices.Equal(names, []string{"a", "c"}) {
		t.Errorf("names %q, want a and c", names)
	}
	for m := range Members(text, object) {
		if string(m.Name) != "a" {
			t.Errorf("went on to %q", m.Name)
		}
		break
	}
	if got := Find(text, object, "a", "b"); got != (Span{11, 12}) {
		t.Errorf("a.b is at %v, want 11 to 12", got)
	}
}

func TestFind(t *testing.T) {
	for _, c := range []struct{ text, path, want string }{
		{`{"a":{"b":[1,2]}}`, "a.b", `[1,2]`},
		{`{"a":1,"a":2}`, "a", `2`},
		{`{"a":1}`, "b", ``},
		{`{"a":1}`, "a.b", ``},
		{`[]`, "a", ``},
		{``, "a", ``},
	} {
		text := []byte(c.text)
		if got := Find(text, All(text), strings.Split(c.path, ".")...).Of(text); string(got) != c.want {
			t.Errorf("%s of %s is %q, want %q", c.path, c.text, got, c.want)
		}
	}
}

func TestValues(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{`[1, "a]" ,{"b":[2]},[],null]`, []string{`1`, `"a]"`, `{"b":[2]}`, `[]`, `null`}},
		{`[]`, nil},
		{`{}`, nil},
		{`"x"`, nil},
		{``, nil},
		{`[1,,2 3`, []string{`1`, `2`, `3`}},
		{`[1,{"a":`, []string{`1`, `{"a":`}},
		{`[1}`, []string{`1`}},
	} {
		text := []byte(c.text)
		var got []string
		for s := range Values(text, All(text)) {
			got = append(got, string(s.Of(text)))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", c.text, diff)
		}
	}
}

func TestString(t *testing.T) {
	for value, want := range map[string]string{
		`12`: "", `{}`: "", ``: "", `"`: "",
		`""`: "", `"a"`: "a", `"\u00e4\n"`: "ä\n", "\"\xff\"": "\ufffd", `"\ud800"`: "\ufffd",
	} {
		if got := String([]byte(value)); got != want {
			t.Errorf("%q is %q, want %q", value, got, want)
		}
	}
}

func TestCheck(t *testing.T) {
	for _, good := range []string{`{}`, ` {"a":1,"a":2} `, "\"\xff\"", `1`} {
		if err := Check([]byte(good)); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, cut := range []string{``, `{"a":`, `[1`, `"x`} {
		if err := Check([]byte(cut)); !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
			t.Errorf("%q: %v, want an unexpected end", cut, err)
		}
	}
	var syntax *jsontext.SyntacticError
	if err := Check([]byte(`{"a":x}`)); !errors.As(err, &syntax) || syntax.ByteOffset != 5 {
		t.Errorf("a word that is not JSON: %v, want a syntactic error at byte 5", err)
	}
	if err := Check([]byte(`{} {}`)); err == nil || err.Error() != "something follows the JSON value at byte 4" {
		t.Errorf("two values: %v", err)
	}
}

func TestLines(t *testing.T) {
	for _, c := range []struct {
		src  string
		want []string // texts
	}{
		{"", nil},
		{"a", []string{"a"}},
		{"\ufeff a \r\n\n\x00\x00b\n\x00\n c", []string{"a", "", "b", "", "c"}},
	} {
		var got []string
		end := 0
		src := []byte(c.src)
		for l := range Lines(src) {
			if l.Number != len(got)+1 || l.Whole.Start != end {
				t.Errorf("%q: line %d is at %d, want line %d at %d", c.src, l.Number, l.Whole.Start, len(got)+1, end)
			}
			end = l.Whole.End
			got = append(got, string(l.Text.Of(src)))
		}
		if diff := cmp.Diff(c.want, got); diff != "" || end != len(src) {
			t.Errorf("%q: ends at %d of %d (-want +got)\n%s", c.src, end, len(src), diff)
		}
	}
}

func TestSplice(t *testing.T) {
	text := []byte("0123456789")
	for _, c := range []struct {
		edits []Edit
		want  string
	}{
		{nil, "0123456789"},
		{[]Edit{{Span{8, 9}, []byte("b")}, {Span{1, 3}, nil}}, "034567b9"},
		{[]Edit{{Span{2, 4}, []byte("x")}, {Span{2, 2}, []byte("a")}, {Span{2, 2}, []byte("b")}}, "01abx456789"},
		{[]Edit{{Span{2, 5}, []byte("x")}, {Span{4, 6}, []byte("y")}, {Span{5, 5}, []byte("z")}}, "01xz56789"},
		{[]Edit{{Span{2, 3}, []byte("x")}, {Span{2, 5}, []byte("y")}, {Span{2, 5}, []byte("z")}}, "01y56789"},
		{[]Edit{{Span{10, 10}, []byte("x")}, {Span{9, 12}, []byte("y")}}, "0123456789x"},
	} {
		if got := string(Splice(text, c.edits...)); got != c.want {
			t.Errorf("%v gives %q, want %q", c.edits, got, c.want)
		}
	}
}

func TestSetAndRemove(t *testing.T) {
	for _, c := range []struct{ name, text, outer, path, value, want string }{
		{"the first", `{}`, "", "a", `1`, `{"a":1}`},
		{"one more", `{"b":2 }`, "", "a", `1`, `{"b":2,"a":1 }`},
		{"another value", `{"a": 2,"b":3}`, "", "a", `1`, `{"a": 1,"b":3}`},
		{"in an object", `{"s":{"t":{}}}`, "", "s.t.a", `1`, `{"s":{"t":{"a":1}}}`},
		{"objects on the way", `{"b":1}`, "", "s.t", `1`, `{"b":1,"s":{"t":1}}`},
		{"in the place of what is not an object", `{"s":1}`, "", "s.t", `1`, `{"s":{"t":1}}`},
		{"over lines", "{\n  \"b\": 2\n}", "\n", "a", `{"c":[1]}`,
			"{\n  \"b\": 2,\n  \"a\": {\n    \"c\": [\n      1\n    ]\n  }\n}"},
		{"the first over lines", "{}", "\n  ", "a", `1`, "{\n    \"a\": 1\n  }"},
	} {
		path := strings.Split(c.path, ".")
		got := Set([]byte(c.text), c.outer, []byte(c.value), path...)
		if string(got) != c.want {
			t.Errorf("%s: Set gives %s, want %s", c.name, got, c.want)
		}
	}
	for _, c := range []struct {
		text, path string
		prune      bool
		want       string
	}{
		{`{"a":1}`, "a", false, `{}`},
		{`{"a":1, "b":2}`, "a", false, `{"b":2}`},
		{`{"b":2, "a":1 }`, "a", false, `{"b":2 }`},
		{`{"a":1,"a":2,"b":3,"a":4}`, "a", false, `{"b":3}`},
		{`{"b":2}`, "a", false, `{"b":2}`},
		{`{"s":{"a":1},"t":2}`, "s.a", false, `{"s":{},"t":2}`},
		{`{"s":{"a":1},"t":2}`, "s.a", true, `{"t":2}`},
		{`{"s":{},"t":2}`, "s.a", true, `{"s":{},"t":2}`},
		{`{"s":1}`, "s.a", true, `{"s":1}`},
	} {
		if got := Remove([]byte(c.text), c.prune, strings.Split(c.path, ".")...); string(got) != c.want {
			t.Errorf("%s without %s is %s, want %s", c.text, c.path, got, c.want)
		}
	}
}

func TestObject(t *testing.T) {
	var o Object
	if got := string(o.Bytes()); got != "{}" {
		t.Errorf("without members it is %s", got)
	}
	o.Add("b", map[string]int{"z": 1, "a": 2})
	o.Raw("a", []byte(`"x"`))
	o.Add("f", func() {})
	if got, want := string(o.Bytes()), `{"b":{"a":2,"z":1},"a":"x","f":null}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	made := Make("s", "x", "raw", []byte(`[1]`), "value", jsontext.Value(`{}`), "n", 1)
	if want := `{"s":"x","raw":[1],"value":{},"n":1}`; string(made) != want {
		t.Errorf("got %s, want %s", made, want)
	}
	if got, want := string(Array([][]byte{[]byte("1"), []byte("{}")})), `[1,{}]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestReason(t *testing.T) {
	for line, want := range map[string]string{
		`{"a":`:  "the line is cut short",
		`{"a":x`: "position 6: invalid character 'x' at start of value",
	} {
		if got := Reason(Check([]byte(line)), "the line"); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
	var n struct{ A int }
	misfit := json.Unmarshal([]byte(`{"A":"x"}`), &n)
	if got, want := Reason(misfit, "the line"), "a JSON string does not fit at /A"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := Reason(ErrNotObject, "the line"); got != "not a JSON object" {
		t.Errorf("got %q", got)
	}
}
func TestCommon(t *testing.T) {
	long := strings.Repeat("x", 10_000)
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"a", "", 0}, {"ab", "ac", 1}, {"ab", "ab", 2}, {"ab", "abc", 2},
		{long, long, 10_000}, {long + "a", long + "b", 10_000}, {long[:5000] + "a" + long, long, 5000},
	} {
		if got := Common([]byte(c.a), []byte(c.b)); got != c.want {
			t.Errorf("Common of %d and %d bytes is %d, want %d", len(c.a), len(c.b), got, c.want)
		}
	}
}
