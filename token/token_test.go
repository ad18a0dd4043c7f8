package token_test

import (
	"math"
	"strings"
	"sync"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/token"
)

func TestChars4_isTheSpecificationsEstimate(t *testing.T) {
	tests := []struct {
		name, text string
		want       int
	}{
		{"empty", "", 0},
		{"one letter rounds down", "a", 0},
		{"two letters round up", "ab", 1},
		{"five letters", "abcde", 1},
		{"six letters", "abcdef", 2},
		{"4,000 letters", strings.Repeat("x", 4000), 1000},
		{"20,000 letters", strings.Repeat("x", 20000), 5000},
		{"accents count once", "éééé", 1},
		{"Chinese counts once", strings.Repeat("漢", 8), 2},
		{"a picture counts twice", "😀😀", 1},
		{"bytes that are not UTF-8 count once each", "\xff\xfe\xfd\xfc", 1},
		{"a lone surrogate is three such bytes", "\xed\xa0\x80\xed\xa0\x80", 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := (token.Chars4{}).Count(tt.text); got != tt.want {
				t.Errorf("Count(%.20q) = %d, want %d", tt.text, got, tt.want)
			}
		})
	}
}

func TestUTF16Len_agreesWithTheStandardLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-z ]{0,40}[é漢😀]?[a-z]{0,20}`),
			rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "text")
		if got, want := token.UTF16Len(text), len(utf16.Encode([]rune(text))); got != want {
			t.Errorf("UTF16Len(%q) = %d, want %d", text, got, want)
		}
	})
}

func TestLinear_countsAnything(t *testing.T) {
	if got := (token.Linear{}).Count(""); got != 0 {
		t.Errorf(`Count("") = %d, want 0`, got)
	}
	rapid.Check(t, func(t *rapid.T) {
		bytes := rapid.SliceOfN(rapid.Byte(), 1, 300).Draw(t, "bytes")
		text := rapid.SampledFrom([]string{string(bytes), rapid.String().Draw(t, "text") + "x"}).Draw(t, "of")
		n := token.Linear{}.Count(text)
		if n < 1 || n > 4*len(text)+1 {
			t.Errorf("Count(%q) = %d, want 1 to %d", text, n, 4*len(text)+1)
		}
		if again := (token.Linear{}).Count(text); again != n {
			t.Errorf("Count(%q) = %d, then %d", text, n, again)
		}
	})
}

// A text is not smaller than a beginning of it that ends with a line, whatever follows.
func TestLinear_moreLinesAreNotLess(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		head := rapid.StringMatching(`([a-zA-Z0-9_.,;(){} ]{0,30}\n){1,4}`).Draw(t, "head")
		tail := rapid.StringMatching(`([a-zA-Z0-9_.,;(){} é漢]{0,30}\n){0,4}`).Draw(t, "tail")
		if got, least := (token.Linear{}).Count(head+tail), (token.Linear{}).Count(head); got < least-1 {
			t.Errorf("Count of all = %d, less than %d of its beginning %q", got, least, head)
		}
	})
}

func TestLinear_aLongerWordIsNotLess(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before := rapid.SampledFrom([]string{"", " ", "a ", "\n\t", ".", "x_", "7", "A"}).Draw(t, "before")
		word := rapid.StringMatching(`[A-Z]{0,3}[a-z]{1,30}`).Draw(t, "word")
		least := token.Linear{}.Count(before)
		for n := range len(word) {
			got := token.Linear{}.Count(before + word[:n+1])
			if got < least {
				t.Fatalf("Count(%q) = %d, less than %d without the last letter", before+word[:n+1], got, least)
			}
			least = got
		}
	})
}

func TestLinear_aWordIsATokenAtLeast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[A-Z]?[a-z]{1,12}`), 1, 200).Draw(t, "words")
		if got := (token.Linear{}).Count(strings.Join(words, " ")); got < len(words) {
			t.Errorf("Count of %d words = %d", len(words), got)
		}
	})
}

func TestScan_seesWhatTheTokenizerSees(t *testing.T) {
	tests := []struct {
		text string
		want map[string]int32
	}{
		{"the it", map[string]int32{"glued a": 1, "glued b": 1, "glued c": 1, "spaced a": 1, "spaced b": 1}},
		{"aUs", map[string]int32{"glued a": 1, "camel a": 1, "camel b": 1}},
		{"a HTs", map[string]int32{"glued a": 1, "titled a": 1, "upper spaced b": 1, "mixed b": 1}},
		{"a.b", map[string]int32{"glued a": 1, "dotted a": 1}},
		{"a@b_C", map[string]int32{"glued a": 1, "signed a": 1, "titled scored a": 1}},
		{"a.", map[string]int32{"glued a": 1, "sign": 1}},
		{"a's 's", map[string]int32{"glued a": 2, "contraction": 1, "sign": 1}},
		{"1234567 8", map[string]int32{"digits": 4, "blank": 1}},
		{"x := 1", map[string]int32{"glued a": 1, "sign": 1, "sign 2": 1, "blank": 1, "digits": 1}},
		{"f();\n\n", map[string]int32{"glued a": 1, "sign": 1, "sign 2": 1, "sign 3": 1, "sign lines": 2}},
		{"a\n    b", map[string]int32{"glued a": 1, "lines": 1, "space run": 2, "indent": 1, "spaced a": 1}},
		{"a\n \n\tb", map[string]int32{"glued a": 1, "lines": 1, "more lines": 1, "tabbed a": 1}},
		{"  ", map[string]int32{"indent": 1}},
		{"----------", map[string]int32{"sign": 1, "sign 2": 1, "sign triple": 1, "sign run": 7}},
		{"aaaaa", map[string]int32{"glued a": 1, "glued b": 1, "letter run": 3}},
		{" fü", map[string]int32{"spaced a": 1, "latin": 1}},
		{"漢字かな", map[string]int32{"foreign": 1, "han": 2, "kana": 2}},
		{"\x00\xff", map[string]int32{"control": 1, "invalid": 1}},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			got := map[string]int32{}
			features, _ := token.Scan(tt.text)
			for i, n := range features {
				if n != 0 {
					got[token.FeatureName(i)] = n
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Scan(%q) (-want +got):\n%s", tt.text, diff)
			}
		})
	}
}

func TestCalibrated_learnsTheFactorOfEachModel(t *testing.T) {
	c := token.NewCalibrated("auto", token.Chars4{})
	text := strings.Repeat("word", 1000)
	for range 20 {
		c.Observe("claude", 10_000, 13_000)
	}
	c.Observe("tiny", 999, 2000)
	c.Observe("tiny", 2000, 999)
	if got := c.Factor("claude"); math.Abs(got-1.3) > 1e-9 {
		t.Errorf("Factor(claude) = %v, want 1.3", got)
	}
	if got := c.Factor("tiny"); got != 1 {
		t.Errorf("Factor(tiny) = %v, want 1: small samples teach nothing", got)
	}
	if got := c.For("claude").Count(text); got != 1300 {
		t.Errorf("For(claude).Count = %d, want 1300", got)
	}
	if got := c.Count(text); got != 1000 {
		t.Errorf("Count = %d, want 1000, uncorrected", got)
	}
	if got := c.For("claude").Count(""); got != 0 {
		t.Errorf(`For(claude).Count("") = %d, want 0`, got)
	}
	if c.Name() != "auto" || c.For("claude").Name() != "auto" {
		t.Errorf("names are %q and %q, want auto", c.Name(), c.For("claude").Name())
	}
}

func TestCalibrated_followsAChange(t *testing.T) {
	c := token.NewCalibrated("", token.Linear{})
	for range 10 {
		c.Observe("m", 10_000, 10_000)
	}
	for range 10 {
		c.Observe("m", 10_000, 15_000)
	}
	if got := c.Factor("m"); got < 1.4 || got > 1.5 {
		t.Errorf("Factor = %v after ten reports of 1.5, want nearly that", got)
	}
}

func TestCalibrated_staysWithinBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := token.NewCalibrated("", token.Linear{})
		for range rapid.IntRange(1, 20).Draw(t, "reports") {
			c.Observe("m", rapid.Int().Draw(t, "estimated"), rapid.Int().Draw(t, "reported"))
		}
		if f := c.Factor("m"); !(f >= 0.5 && f <= 2) {
			t.Errorf("Factor = %v, want 0.5 to 2", f)
		}
	})
}

func TestCalibrated_factorOfACounterIsThatOfItsMoment(t *testing.T) {
	c := token.NewCalibrated("", token.Chars4{})
	before := c.For("m")
	c.Observe("m", 1000, 2000)
	if got := before.Count("12345678"); got != 2 {
		t.Errorf("an earlier counter says %d, want 2: it must not change under a plan", got)
	}
	if got := c.For("m").Count("12345678"); got != 4 {
		t.Errorf("a new counter says %d, want 4", got)
	}
}

// looked counts how many texts a counter is asked for.
type looked struct {
	token.Linear
	n *int
}

func (l looked) Count(text string) int {
	*l.n++
	return l.Linear.Count(text)
}

func TestMemo_countsATextOnce(t *testing.T) {
	misses := 0
	m := token.NewMemo(looked{n: &misses}, 0)
	text := strings.Repeat("some words here ", 100)
	first := m.Count(text)
	if second := m.Count(strings.Clone(text)); second != first || first != (token.Linear{}).Count(text) {
		t.Errorf("counts are %d and %d, want %d", first, second, (token.Linear{}).Count(text))
	}
	if misses != 1 {
		t.Errorf("the text was counted %d times, want once", misses)
	}
	if m.Name() != "linear" {
		t.Errorf("Name = %q, want linear", m.Name())
	}
}

func TestMemo_isBoundedAndKeepsWhatIsUsed(t *testing.T) {
	misses := 0
	m := token.NewMemo(looked{n: &misses}, 10)
	m.Count("used")
	for i := range 1000 {
		m.Count(strings.Repeat("x", i))
		m.Count("used")
		if m.Len() > 10 {
			t.Fatalf("Len = %d after %d texts, want at most 10", m.Len(), i)
		}
	}
	if misses != 1001 { // 1,000 texts, and "used" once
		t.Errorf("%d texts were counted, want 1001: what is asked for again must stay", misses)
	}
}

func TestCounters_areSafeTogether(t *testing.T) {
	c := token.NewCalibrated("auto", token.NewMemo(token.Linear{}, 16))
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 200 {
				text := strings.Repeat("word ", 1+(g+i)%50)
				c.Observe("m", 2000+i, 2100)
				if got, want := c.Count(text), (token.Linear{}).Count(text); got != want {
					t.Errorf("Count = %d, want %d", got, want)
				}
				c.For("m").Count(text)
			}
		})
	}
	wg.Wait()
}
