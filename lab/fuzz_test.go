package lab

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/plan/policy"
)

// A word names a policy that is the same each time, or the error says which words there are.
func FuzzNamed(f *testing.F) {
	for _, word := range append(Usual(), "", "clear", "clear:3@100k+5k", "mask:99999999999999999999", "compact@84%", "compact@-1", "balanced/200k/nolimit", "config", "a/b.jsonc/1k", "supersede/compact@economic", "compact@NaN%", "///", "clear:@") {
		f.Add(word)
	}
	f.Fuzz(func(t *testing.T, word string) {
		none := func(string) (Setup, error) { return Setup{}, errors.New("no such file") }
		s, err := Named(word, policy.Options{}, none)
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without words")
			}
			return
		}
		if again, err := Named(word, policy.Options{}, none); err != nil || !s.Same(again) {
			t.Errorf("%q is another policy the second time: %v", word, err)
		}
		if s.Window < Unlimited {
			t.Errorf("%q has a window of %d", word, s.Window)
		}
	})
}

// What is remembered is found whatever else is in the file, and what is not whole is not
// remembered.
func FuzzMemory(f *testing.F) {
	f.Add([]byte(`{"key":"k","version":"v","value":{}}`+"\n"), "k")
	f.Add([]byte(`{"key":"k","version":"`), "a\"b")
	f.Add([]byte("\x00\n{\"key\":\"\\u006b\",\"version\":\"x\",\n"), "\xff")
	f.Fuzz(func(t *testing.T, text []byte, key string) {
		path := filepath.Join(t.TempDir(), "memory")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		m := OpenMemory(path, "v1")
		m.recall(map[string]bool{"one": true, key: true})
		m.put("one", map[string]int{"n": 7})
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second time it may have been begun anew
			next := OpenMemory(path, "v1")
			next.recall(map[string]bool{"one": true})
			var got map[string]int
			if !next.get("one", &got) || got["n"] != 7 {
				t.Errorf("behind %q it is not remembered: %v", text, got)
			}
			if other := OpenMemory(path, "v2"); other.get("one", &got) {
				t.Error("it is remembered of another version")
			}
			next.Close()
		}
		if now, err := os.ReadFile(path); err != nil || !bytes.HasPrefix(now, text) {
			t.Errorf("what was in it is not: %v", err)
		}
	})
}

// Rows are those that the words of a text make, each on a line that the text has.
func FuzzRows(f *testing.F) {
	for _, text := range []string{"", "a b c d e f g", "   1→a b c\n   2→d e f g\n", "12\tx\n13\ty\n\n14: z z z z z z",
		"1|a\r\n2|b\r\n3|", "99999999999999999999\tx", "é ü → 1→\n2→", "...---/// ./a -- .", "-././some.name ./-x_yz-- x", "\x00\xff\n\n\n"} {
		f.Add(text, true)
		f.Add(text, false)
	}
	f.Fuzz(func(t *testing.T, text string, numbered bool) {
		s := &short{wanted: map[uint64]bool{}}
		for name := range names(text) {
			if name == "" || !strings.Contains(text, name) {
				t.Errorf("%q is no name of %q", name, text)
			}
			s.want(oneWord(name), 1)
		}
		if hash, length := whole(text); length > 0 {
			s.want(hash, length)
		}
		long, found := 0, map[uint64]bool{}
		lines := int32(strings.Count(text, "\n"))
		rows(text, numbered, s, func(hash uint64, line int32) {
			if line < 0 || line > lines {
				t.Errorf("line %d of %d", line, lines)
			}
			if found[hash] = true; !s.wanted[hash] {
				long++
			}
		})
		if numbered {
			return
		}
		if words := len(wordForm.FindAllString(text, -1)); long > max(0, words-Words+1) {
			t.Errorf("%d rows of %d words", long, words)
		}
		for hash := range s.wanted {
			if !found[hash] {
				t.Errorf("a short row or a name of %q is not found in it", text)
			}
		}
	})
}
