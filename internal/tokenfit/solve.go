package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/tiktoken-go/tokenizer"

	"github.com/winnowhq/winnow/token"
)

func base64Line(b []byte) string { return base64.StdEncoding.EncodeToString(b) + "\n" }

// pairAt is where the weights of the pairs of letters begin, behind those of the features.
var pairAt = len(token.Features{})

// cuts counts how often the tokenizer cuts between two letters of a piece: where the weights of the
// pairs begin.
func cuts(learned []chunk) ([]float64, error) {
	cut, seen := make([]float64, len(token.Pairs{})), make([]float64, len(token.Pairs{}))
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		return nil, err
	}
	for _, c := range learned {
		_, tokens, err := codec.Encode(c.text)
		if err != nil {
			return nil, err
		}
		last := noChar
		for _, t := range tokens {
			for i := range len(t) {
				next := place(t[i])
				if at := last<<6 | next; token.IsPair(at) {
					seen[at]++
					if i == 0 {
						cut[at]++
					}
				}
				last = next
			}
		}
	}
	for i := range cut {
		if token.IsPair(i) {
			// Ten sightings' worth of a pair that is cut half the time: rare pairs are likely to be
			// cut.
			cut[i] = (cut[i] + 5) / (seen[i] + 10)
		}
	}
	return cut, nil
}

const noChar = 63

// place is where a letter is in token.Pairs.
func place(b byte) int {
	switch {
	case b >= 'a' && b <= 'z':
		return int(b - 'a')
	case b >= 'A' && b <= 'Z':
		return int(b-'A') + 26
	}
	return noChar
}

// A count is how often a chunk has a feature, or behind pairAt a pair.
type count struct {
	at int
	n  float64
}

func counts(text string) []count {
	features, pairs := token.Scan(text)
	var out []count
	for i, n := range features {
		if n != 0 {
			out = append(out, count{i, float64(n)})
		}
	}
	for i, n := range pairs {
		if n != 0 {
			out = append(out, count{pairAt + i, float64(n)})
		}
	}
	return out
}

func estimate(counts []count, weights []float64) (sum float64) {
	for _, c := range counts {
		sum += c.n * weights[c.at]
	}
	return sum
}

// fit solves the least squares of relative errors over the chunks, every kind with about the same
// weight, by the normal equations, with every weight in its bounds. An estimate that is too small
// counts for more than one that is too large: it is the one that overflows a context window.
func fit(learned []chunk, cuts []float64) []float64 {
	prior := slices.Concat(priors(), cuts)
	n := len(prior)
	perKind := map[string]float64{}
	for _, c := range learned {
		perKind[c.kind]++
	}
	rows := make([][]count, len(learned))
	for i, c := range learned {
		rows[i] = counts(c.text)
	}
	x := slices.Clone(prior)
	for range rounds {
		a, right := make([][]float64, n), make([]float64, n)
		for i := range a {
			a[i] = make([]float64, n)
		}
		total := 0.0
		for k, c := range learned {
			want := float64(c.tokens)
			size := max(want, float64(len(c.text))/leastDensity)
			weight := 1 / math.Sqrt(perKind[c.kind])
			if slices.Contains(english, c.kind) {
				weight *= emphasis
			}
			if estimate(rows[k], x) < want {
				weight *= under
			}
			total += weight
			weight /= size * size
			for _, y := range rows[k] {
				row := a[y.at]
				for _, z := range rows[k] {
					row[z.at] += weight * y.n * z.n
				}
				right[y.at] += weight * y.n * want
			}
		}
		held := ridge * total / float64(len(learned)) // of the weight of one chunk
		for i, p := range prior {
			a[i][i] += held
			right[i] += held * p
		}
		descend(a, right, x)
	}
	return x
}

// english are kinds of plain English, those that are there.
var english = []string{"chat", "sentences", "comments", "one-sentence", "words", "one-line", "markdown", "npm-md",
	"go-doc", "fortune-en", "ref-en"}

// descend minimizes the quadratic of a and right, one weight after another, each in its
// bounds. It starts from x and leaves the result there.
func descend(a [][]float64, right, x []float64) {
	for range 500 {
		moved := 0.0
		for i := range x {
			if unused(i) {
				continue
			}
			gradient := -right[i]
			for j, v := range a[i] {
				gradient += v * x[j]
			}
			least, most := bounds(i)
			next := min(most, max(least, x[i]-gradient/a[i][i]))
			moved = max(moved, math.Abs(next-x[i]))
			x[i] = next
		}
		if moved < 1e-4 {
			return
		}
	}
}

const (
	// ridge is how strongly each weight is held to where it began.
	ridge = 1
	// under is how much more an estimate that is too small counts.
	under = 1.5
	// emphasis is how much more the kinds of plain English count: it is what sessions hold most,
	// apart from code, and the many languages that are written in the same letters would make it
	// seem larger than it is.
	emphasis = 4
	// leastDensity is how many bytes to a token a chunk has at most, when its error is weighed: a
	// run of thousands of spaces is a few tokens, and off by a factor it is still off by a few.
	leastDensity = 8
	// rounds is how often it is decided again which estimates are too small.
	rounds = 4
)

// unused says that a place is that of no pair.
func unused(at int) bool { return at >= pairAt && !token.IsPair(at-pairAt) }

func bounds(at int) (least, most float64) {
	if at >= pairAt {
		return 0, 1 // a pair is cut or not
	}
	return token.Bounds(at)
}

// priors are where the weights begin: at what they cannot be below, or at what such things usually
// take.
func priors() []float64 {
	p := make([]float64, pairAt)
	for i := range p {
		p[i], _ = token.Bounds(i)
		switch token.FeatureName(i) {
		case "letters", "latin", "cyrillic capitals", "sign 2", "sign 3", "signs":
			p[i] = 0.3
		case "letter run":
			p[i] = 1. / 8
		case "same symbol":
			p[i] = 0.1
		case "cyrillic", "greek", "hebrew", "kana", "han", "hangul", "indic", "dravidian", "thai":
			p[i] = 0.5
		case "marks", "wide", "symbols":
			p[i] = 1
		case "pictures":
			p[i] = 2
		}
	}
	return p
}

// write writes token/weights.txt.
func write(name string, weights []float64, summary string) error {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	var b bytes.Buffer
	fmt.Fprint(&b, "# Written by go run ./internal/tokenfit. Do not edit.\n#\n")
	for line := range strings.Lines(summary) {
		fmt.Fprint(&b, "# ", line)
	}
	fmt.Fprint(&b, "#\n# How many 255ths of a token a pair of letters adds: the first letter, then each second one from a to Z.\n")
	for row, letter := range letters {
		fmt.Fprintf(&b, "pairs %c", letter)
		for c := range letters {
			fmt.Fprintf(&b, " %d", int(min(255, math.Round(255*weights[pairAt+(row<<6|c)]))))
		}
		fmt.Fprintln(&b)
	}
	fmt.Fprint(&b, "# How many tokens one of each feature stands for.\n")
	for i, w := range weights[:pairAt] {
		fmt.Fprintf(&b, "%.5g %s\n", w, token.FeatureName(i))
	}
	return os.WriteFile(name, b.Bytes(), 0o644)
}
