package bpe_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/winnowhq/winnow/token"
	"github.com/winnowhq/winnow/token/bpe"
)

func o200k(t testing.TB) *bpe.Counter {
	t.Helper()
	c, err := bpe.New(bpe.O200k)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCount_knownTexts(t *testing.T) {
	cl100k, err := bpe.New(bpe.Cl100k)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		text          string
		o200k, cl100k int
	}{
		{"", 0, 0},
		{"hello world", 2, 2},
		{"<|endoftext|>", 7, 7}, // plain text, not the end of anything
		{"1234567", 3, 3},
	}
	for _, tt := range tests {
		if got := o200k(t).Count(tt.text); got != tt.o200k {
			t.Errorf("o200k %q = %d, want %d", tt.text, got, tt.o200k)
		}
		if got := cl100k.Count(tt.text); got != tt.cl100k {
			t.Errorf("cl100k %q = %d, want %d", tt.text, got, tt.cl100k)
		}
	}
	if _, err := bpe.New("r50k"); err == nil || !strings.Contains(err.Error(), "o200k_base") {
		t.Errorf("New(r50k): %v, want an error that names the vocabularies", err)
	}
}

// The estimator against the vocabulary that it was fitted to, on texts that it was not: each within 15 %, which
// is wide because they are short, and all together within 5 %.
func TestLinear_isNearTheVocabulary(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) < 9 {
		t.Fatalf("%d texts, %v; want 9", len(files), err)
	}
	estimated, exact := 0, 0
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		got, want := token.Linear{}.Count(string(data)), o200k(t).Count(string(data))
		off := 100 * (float64(got)/float64(want) - 1)
		t.Logf("%-28s %5d tokens, estimated %5d, %+.1f %%", filepath.Base(name), want, got, off)
		if off < -15 || off > 15 {
			t.Errorf("%s: estimated %d, %d by the vocabulary: %+.1f %%, want within 15 %%", name, got, want, off)
		}
		estimated, exact = estimated+got, exact+want
	}
	if off := 100 * (float64(estimated)/float64(exact) - 1); off < -5 || off > 5 {
		t.Errorf("together %d, %d by the vocabulary: %+.1f %%, want within 5 %%", estimated, exact, off)
	}
}

func TestCount_hostileTextTakesTimeInProportion(t *testing.T) {
	if testing.Short() {
		t.Skip("counts some megabytes")
	}
	c := o200k(t)
	for name, unit := range map[string]string{
		"one letter": "a", "spaces": " ", "line ends": "\n", "signs": "{", "wide spaces": "\u3000", "indents": "x\n" + strings.Repeat(" ", 300), "spaces and line ends": " \n", "Chinese": "漢",
		"pictures": "👩‍👩‍👧", "invalid": "\xff", "capitals": "A", "digits": "7", "apostrophes": "'s", "combining": "é",
	} {
		text := strings.Repeat(unit, (256<<10)/len(unit))
		start := time.Now()
		n := c.Count(text)
		t.Logf("%-22s %8d tokens in %v", name, n, time.Since(start).Round(time.Millisecond))
		if n < len(text)/1000 || n > 2*len(text) {
			t.Errorf("%s: %d tokens for %d bytes", name, n, len(text))
		}
	}
}

func TestCount_cuttingCostsNearlyNothing(t *testing.T) {
	data, err := os.ReadFile("testdata/code.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	c := o200k(t)
	unit := string(data) + "\n"
	one := c.Count(unit)
	got, want := c.Count(strings.Repeat(unit, 400)), 400*one
	if diff := got - want; diff < -400 || diff > 400 {
		t.Errorf("400 copies of a text of %d tokens: %d, want %d", one, got, want)
	}
}

func TestCount_isSafeTogether(t *testing.T) {
	c := o200k(t)
	want := c.Count("func main() { fmt.Println(\"hello\") }")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				if got := c.Count("func main() { fmt.Println(\"hello\") }"); got != want {
					t.Errorf("Count = %d, want %d", got, want)
				}
			}
		})
	}
	wg.Wait()
}

func FuzzCount(f *testing.F) {
	f.Add("plain text")
	f.Add("\xff\x00漢字 \r\n\t'S")
	c := o200k(f)
	f.Fuzz(func(t *testing.T, text string) {
		n, m := c.Count(text), token.Linear{}.Count(text)
		if (n == 0) != (text == "") || (m == 0) != (text == "") {
			t.Errorf("%q has %d tokens by vocabulary, %d by estimate", text, n, m)
		}
	})
}

func BenchmarkO200k(b *testing.B) {
	data, err := os.ReadFile("testdata/code.go.txt")
	if err != nil {
		b.Fatal(err)
	}
	text := strings.Repeat(string(data), 200)
	c := o200k(b)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		c.Count(text)
	}
}
