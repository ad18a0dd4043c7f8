package bpe_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/dlclark/regexp2/v2"
	"github.com/tiktoken-go/tokenizer"
	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/internal/outside"
	"github.com/winnowhq/winnow/token"
	"github.com/winnowhq/winnow/token/bpe"
)

// The patterns as OpenAI published them.
const (
	o200kPattern = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+` +
		`(?i:'s|'t|'re|'ve|'m|'ll|'d)?|` +
		`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*` +
		`(?i:'s|'t|'re|'ve|'m|'ll|'d)?|` +
		`\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	cl100kPattern = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|` +
		`\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
)

// The library compiles the patterns to Go code, with two mistakes: of white space with several line
// ends it takes what is up to the first as a piece, not up to the last, so that it never finds the
// tokens that hold two lines; and it passes over U+007F. Here it runs the patterns themselves.
func init() {
	for _, pattern := range []string{o200kPattern, cl100kPattern} {
		interpreted := regexp2.MustCompile("(?:"+pattern+")", regexp2.None)
		regexp2.RegisterEngine(pattern, regexp2.RuntimeEngineData{
			CapSize:       1,
			FindFirstChar: func(r *regexp2.Runner) bool { return r.Runtextpos < len(r.Runtext) },
			Execute: func(r *regexp2.Runner) error {
				m, err := interpreted.FindRunesMatchStartingAt(r.Runtext, r.Runtextpos)
				if m != nil {
					r.Runtextpos = m.RuneIndex + m.RuneLength
					r.Capture(0, m.RuneIndex, r.Runtextpos)
				}
				return err
			},
		}, regexp2.None)
	}
}

// A judge holds what is counted against the library that the vocabularies are from.
type judge struct {
	counter *bpe.Counter
	library tokenizer.Codec
}

func judges(t testing.TB) (all []judge) {
	t.Helper()
	for _, name := range []string{bpe.O200k, bpe.Cl100k} {
		counter, err := bpe.New(name)
		if err != nil {
			t.Fatal(err)
		}
		library, err := tokenizer.Get(tokenizer.Encoding(name))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, judge{counter, library})
	}
	return all
}

// compare says how often a text is counted otherwise than by the library, with bytes that are not
// UTF-8 replaced.
func compare(t interface{ Errorf(string, ...any) }, all []judge, text string) {
	for _, j := range all {
		want, err := j.library.Count(string([]rune(text)))
		if got := j.counter.Count(text); got != want || err != nil {
			t.Errorf("%s: %d tokens, %d by the library, %v: %.2000q", j.counter.Name(), got, want, err, text)
		}
	}
}

// Characters where a range of any category begins and ends, and beside it, alone and with what
// matters to the patterns around them.
func TestCount_knowsTheCharactersOfEveryCategory(t *testing.T) {
	edges := map[rune]bool{}
	for r := range rune(0x250) {
		edges[r] = true
	}
	for _, table := range unicode.Categories {
		for _, r := range table.R16 {
			edges[rune(r.Lo)-1], edges[rune(r.Lo)], edges[rune(r.Hi)], edges[rune(r.Hi)+1] = true, true, true, true
		}
		for _, r := range table.R32 {
			edges[rune(r.Lo)-1], edges[rune(r.Lo)], edges[rune(r.Hi)], edges[rune(r.Hi)+1] = true, true, true, true
		}
	}
	all := judges(t)
	for r := range edges {
		if !utf8.ValidRune(r) {
			continue
		}
		c := string(r)
		compare(t, all, c)
		compare(t, all, "A"+c+"Bc"+c+" "+c+"\n"+c+"'s"+c+c+c+c+"7"+c+"\u0301"+c+"/\r"+c)
		if t.Failed() {
			t.Fatalf("of %U", r)
		}
	}
}

// Texts of what the patterns tell apart, in any order.
func TestCount_isThatOfTheLibraryOnAnyText(t *testing.T) {
	all := judges(t)
	words := rapid.SampledFrom([]string{
		"the", "Parser", "HTTPServer", "camelCase", "ALL", "don", "'s", "'LL", "'Re", "'ve", "'ſ", "'", "''t",
		" ", "  ", "\t", "\n", "\r\n", "\r", " \n", "\n ", "\u00a0", "\u2003", "\u3000", "\u0085", "\v", "\x00",
		"\x1c", "\x7f", "1", "22", "1234567", "²", "٣", "Ⅷ", ".", "...", "/", "//", "/\n", "{", "});", "=====", "--",
		"_", "<|endoftext|>", "漢", "汉字的编码", "日本語の", "한국어", "ไทย", "हिन्दी", "русский", "ЖУК", "ß", "ǅ", "ʰ",
		"é", "e\u0301", "\u0301", "ﬀ", "👩‍👩‍👧", "🇩🇪", "☃", "\ufeff", "\ufffd", "\u200d", "\u00ad", "\U000e0001",
		"\xff", "\xe6\xbc",
	})
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.OneOf(
			words, words, words, rapid.String(), rapid.StringMatching(`[A-Za-z]{1,9}`),
			rapid.Map(words, func(w string) string { return strings.Repeat(w, 40) }),
		), 0, 30).Draw(t, "parts")
		compare(t, all, strings.Join(parts, ""))
	})
}

// Pieces long enough for the queue, up to the longest that are merged at once.
func TestCount_isThatOfTheLibraryOnLongRuns(t *testing.T) {
	all := judges(t)
	for _, unit := range []string{
		"a", "A", "ab", "Ab", "xyzzy", " ", "\n", " \n", "\t", "\u3000", "-", "=-",
		"漢", "汉字的编码", "é", "e\u0301", "ж", "👩‍👩‍👧",
	} {
		for _, length := range []int{1, 60, 63, 64, 65, 127, 128, 129, 500, 16 << 10} {
			compare(t, all, strings.Repeat(unit, length/len(unit)))
		}
	}
}

func TestCount_isThatOfTheLibraryOnFiles(t *testing.T) {
	all := judges(t)
	root := outside.Root(t)
	for _, pattern := range []string{"token/bpe/testdata/*.txt", "docs/*.md", "*.go", "examples/long-session.json"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, name := range files {
			compareFile(t, all, name, 64<<10)
		}
	}
}

func TestCount_isThatOfTheLibraryOnRecordedSessions(t *testing.T) {
	if testing.Short() {
		t.Skip("the library needs a while")
	}
	all := judges(t)
	for _, name := range outside.Sessions(t) {
		compareFile(t, all, name, 16<<10)
	}
}

// compareFile compares the beginning of a file, as it is and with what strings of JSON stand for.
func compareFile(t *testing.T, all []judge, name string, most int) {
	t.Helper()
	data := outside.Read(t, name)
	text := string(data[:min(len(data), most)])
	compare(t, all, text)
	if plain := strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\"`, `"`).Replace(text); plain != text {
		compare(t, all, plain)
	}
	if t.Failed() {
		t.Fatalf("in %s", name)
	}
}

func FuzzCount(f *testing.F) {
	f.Add("plain text")
	f.Add("\xff\x00漢字 \r\n\t'S")
	all := judges(f)
	f.Fuzz(func(t *testing.T, text string) {
		compare(t, all, text)
		n, m := all[0].counter.Count(text), token.Linear{}.Count(text)
		if (n == 0) != (text == "") || (m == 0) != (text == "") {
			t.Errorf("%q has %d tokens by vocabulary, %d by estimate", text, n, m)
		}
	})
}

func BenchmarkCount(b *testing.B) {
	for _, vocabulary := range []string{bpe.O200k, bpe.Cl100k} {
		c, err := bpe.New(vocabulary)
		if err != nil {
			b.Fatal(err)
		}
		for _, name := range []string{"english", "code.go", "data.json", "chinese"} {
			data, err := os.ReadFile("testdata/" + name + ".txt")
			if err != nil {
				b.Fatal(err)
			}
			text := strings.Repeat(string(data), 1+(256<<10)/len(data))
			b.Run(vocabulary+"/"+name, func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					c.Count(text)
				}
			})
		}
	}
}
