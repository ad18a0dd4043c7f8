package span

import (
	"bytes"
	"slices"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

// FuzzWalk holds the scanner to the decoder: where a text is JSON they see the same members, and
// damage breaks nothing.
func FuzzWalk(f *testing.F) {
	for _, seed := range []string{
		`{"type":"user","message":{"role":"user","content":[{"type":"text","text":"a\"b"}]},"n":-1e3}`,
		"{\"a\":1,\n\"a\":[true,null,{\"b\":\"\\\\\"}] }", `{"a":"\ud83d\ude00","\u0061":""}`,
		`{"a":{"b":[1,2`, `{"a"1}`, `{,}`, `[1,"x`, "\ufeff{}\n\x00{}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		whole := All(text)
		var names, values []string
		end := 0
		err := Walk(text, whole, func(m Member) bool {
			if m.Key.Start < end || m.Key.End >= m.Value.Start || m.Value.Empty() || m.Value.End > len(text) {
				t.Fatalf("%q: member %+v after byte %d", text, m, end)
			}
			end = m.Value.End
			names, values = append(names, string(m.Name)), append(values, string(m.Value.Of(text)))
			for v := range Values(text, m.Value) {
				if v.Start <= m.Value.Start || v.End > m.Value.End {
					t.Fatalf("%q: element %v outside of %v", text, v, m.Value)
				}
			}
			return true
		})
		size := 0
		for l := range Lines(text) {
			size += l.Whole.Len()
		}
		if size != len(text) {
			t.Fatalf("%q: lines of %d bytes together, want %d", text, size, len(text))
		}
		set := Set(text, "", []byte(`"new"`), "added")
		Remove(text, true, "message", "content")
		if !Valid(text) {
			return
		}
		dec := jsontext.NewDecoder(bytes.NewReader(text), lenient)
		if dec.PeekKind() != '{' {
			if err != ErrNotObject {
				t.Fatalf("%q: %v, want %v", text, err, ErrNotObject)
			}
			return
		}
		if err != nil {
			t.Fatalf("%q is JSON, and Walk says: %v", text, err)
		}
		dec.ReadToken()
		for i := 0; dec.PeekKind() != '}'; i++ {
			name, _ := dec.ReadToken()
			if i >= len(names) || names[i] != name.String() {
				t.Fatalf("%q: names %q, the decoder has %q as number %d", text, names, name, i)
			}
			if value, _ := dec.ReadValue(); values[i] != string(value) {
				t.Fatalf("%q: %q is %q, want %q", text, names[i], values[i], value)
			}
		}
		var members map[string]jsontext.Value
		err = json.Unmarshal(set, &members, lenient)
		if text[0] == '{' && (err != nil || string(members["added"]) != `"new"`) {
			t.Fatalf("%q with a member is %q: %v", text, set, err)
		}
	})
}

// object draws an object with the white space and the duplicates that products write.
func object(t *rapid.T) []byte {
	space := rapid.SampledFrom([]string{"", " ", "\n  "})
	value := rapid.SampledFrom([]string{`1`, `"x"`, `""`, `{}`, `{"a":1}`, `[1,{"b":"}"}]`, `null`, `"\"\\"`})
	var text []byte
	for i := range rapid.IntRange(0, 4).Draw(t, "members") {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, space.Draw(t, "before")...)
		text = append(text, Quote(rapid.SampledFrom([]string{"a", "b", "c", "d\n"}).Draw(t, "name"))...)
		text = append(append(append(text, ':'), value.Draw(t, "value")...), space.Draw(t, "after")...)
	}
	return append(append([]byte{'{'}, text...), '}')
}

func TestSplice_changesItsSpansAndNothingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := object(t)
		before := bytes.Clone(text)
		if got := Splice(text); !bytes.Equal(got, before) {
			t.Fatalf("without edits %s becomes %s", before, got)
		}
		var same, edits []Edit
		var want []byte
		end := 0
		for m := range Members(text, All(text)) {
			same = append(same, Edit{m.Value, m.Value.Of(text)})
			if rapid.Bool().Draw(t, "edit") {
				with := rapid.SampledFrom([]string{`7`, `"longer than before"`, ``}).Draw(t, "with")
				edits = append(edits, Edit{m.Value, []byte(with)})
				want = append(append(want, text[end:m.Value.Start]...), with...)
				end = m.Value.End
			}
		}
		want = append(want, text[end:]...)
		slices.Reverse(edits)
		if got := Splice(text, edits...); !bytes.Equal(got, want) {
			t.Fatalf("%s with %v is %s, want %s", text, edits, got, want)
		}
		if got := Splice(text, same...); !bytes.Equal(got, before) {
			t.Fatalf("each value in its own place: %s, want %s", got, before)
		}
		if !bytes.Equal(text, before) {
			t.Fatalf("the text was changed: %s, before %s", text, before)
		}
	})
}

func TestSplice_leavesEverythingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringN(0, 40, -1).Draw(t, "text")
		want, at := "", 0
		var edits []Edit
		for range rapid.IntRange(0, 4).Draw(t, "edits") {
			start := rapid.IntRange(at, len(text)).Draw(t, "start")
			end := rapid.IntRange(start, len(text)).Draw(t, "end")
			with := rapid.StringN(0, 5, -1).Draw(t, "with")
			if start == at && len(edits) > 0 {
				continue // next to each other: TestSplice says which comes first
			}
			want += text[at:start] + with
			at = end
			edits = append(edits, Edit{Span{start, end}, []byte(with)})
		}
		want += text[at:]
		if len(edits) > 1 { // in any order
			edits[0], edits[len(edits)-1] = edits[len(edits)-1], edits[0]
		}
		if got := string(Splice([]byte(text), edits...)); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}

func TestRemove_takesAwayWhatSetAdded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := object(t)
		set := Set(text, "", []byte(`{"note":1}`), "winnow")
		if !Valid(set) || Find(set, All(set), "winnow").Empty() {
			t.Fatalf("%s with a member is %s", text, set)
		}
		if Bare(text) {
			return // white space in an empty object is not kept
		}
		if got := Remove(set, false, "winnow"); !bytes.Equal(got, text) {
			t.Fatalf("got %s, want %s as before", got, text)
		}
	})
}
