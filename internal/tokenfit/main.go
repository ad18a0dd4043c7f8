// Fit finds the weights of token.Linear: it writes token/weights.txt, and prints how far the
// estimate is off.
//
//	go run ./internal/tokenfit                                  # what the Go distribution offers: source, documents, tool output
//	go run ./internal/tokenfit -add 'python=/usr/lib/python3/**/*.py' -add 'prose-de=texts/de/**' ... -o token/weights.txt
//	go run ./internal/tokenfit -judge 'sessions=outputs/**'     # measures on text that is never learned from
//
// Texts are cut into chunks of 2 to 4 KB. Three files of four are learned from, the fourth is held
// out; every kind has about the same weight, and an error counts relative to the size of its chunk.
// The truth is the o200k_base vocabulary. First the chance of a cut between each pair of letters is
// counted inside the words of the learned text; from there the weights of all features and pairs
// follow by bounded least squares: what begins a piece of text is one token or more, and nothing
// weighs less than nothing.
//
// The same texts give the same weights. Those in the repository learned from what the first line
// names, and with -add from Debian packages (python3, perl, the headers of libc6-dev, shell
// scripts, rust-doc, debian-reference, fortunes and program translations in thirty languages,
// handbooks) and npm packages (openai, zod and what they need). Agent sessions and Vim scripts were
// judges.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/token/bpe"
)

func main() {
	var more, judges sources
	flag.Var(&more, "add", "kind=pattern: files to learn from, may be repeated; ** is any folders")
	flag.Var(&judges, "judge", "kind=pattern: files to measure on alone, may be repeated")
	out := flag.String("o", "", "file to write the weights to; empty: only report")
	most := flag.Int("chunks", 160, "most chunks of one kind")
	flag.Parse()
	if err := run(more, judges, *out, *most); err != nil {
		fmt.Fprintln(os.Stderr, "fit:", err)
		os.Exit(1)
	}
}

func run(more, judges sources, out string, most int) error {
	counter, err := bpe.New(bpe.O200k)
	if err != nil {
		return err
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return fmt.Errorf("go env GOROOT: %w", err)
	}
	kinds, err := distribution(strings.TrimSpace(string(root)))
	if err != nil {
		return err
	}
	kinds = append(kinds, synthetic()...)
	kinds = append(kinds, plain(kinds)...)
	for _, list := range []struct {
		sources sources
		judge   bool
	}{{more, false}, {judges, true}} {
		for _, s := range list.sources {
			k, err := s.read()
			if err != nil {
				return err
			}
			k.judge = list.judge
			kinds = append(kinds, k)
		}
	}
	var learned, held []chunk
	for _, k := range kinds {
		l, h := k.chunks(most)
		learned, held = append(learned, l...), append(held, h...)
	}
	if len(learned) == 0 {
		return errors.New("no text to learn from")
	}
	for _, list := range [][]chunk{learned, held} {
		for i := range list {
			list[i].tokens = counter.Count(list[i].text)
		}
	}
	pairs, err := cuts(learned)
	if err != nil {
		return err
	}
	weights := fit(learned, pairs)
	measured := report(kinds, learned, held, weights)
	if out == "" {
		return nil
	}
	return write(out, weights, fmt.Sprintf("Fitted to %s on %d chunks. How far off it is on chunks held out:\n\n%s",
		bpe.O200k, len(learned), measured))
}

// sources are the kinds of text named on the command line.
type sources []source

type source struct{ kind, pattern string }

func (s *sources) String() string { return "" }

func (s *sources) Set(v string) error {
	kind, pattern, ok := strings.Cut(v, "=")
	if !ok || kind == "" || pattern == "" {
		return fmt.Errorf("%q: write kind=pattern", v)
	}
	*s = append(*s, source{kind, pattern})
	return nil
}

func report(kinds []kind, learned, held []chunk, weights []float64) (measured string) {
	names := make([]string, 0, len(kinds))
	for _, k := range kinds {
		if !slices.Contains(names, k.name) {
			names = append(names, k.name)
		}
	}
	var table strings.Builder
	fmt.Fprintf(&table, "%-16s %6s %6s %8s %8s %8s\n", "kind", "learn", "held", "bytes/t", "bias %", "error %")
	var all tally
	kindsHeld, mean, bias := 0.0, 0.0, 0.0
	for _, name := range names {
		var t tally
		n := 0
		for _, c := range learned {
			if c.kind == name {
				n++
			}
		}
		for _, c := range held {
			if c.kind == name {
				got := estimate(counts(c.text), weights)
				t.add(c, got)
				all.add(c, got)
			}
		}
		if t.n == 0 {
			continue
		}
		kindsHeld, mean, bias = kindsHeld+1, mean+t.err(), bias+t.bias()
		fmt.Fprintf(&table, "%-16s %6d %6d %8.2f %+8.1f %8.1f\n", name, n, t.n, t.bytes/t.tokens, t.bias(), t.err())
	}
	fmt.Fprintf(&table, "%d chunks: mean error %.2f %%, bias of all together %+.2f %%.\n%.0f kinds: mean error %.2f %%, mean bias %+.2f %%.\n",
		all.n, all.err(), all.bias(), kindsHeld, mean/kindsHeld, bias/kindsHeld)
	fmt.Print(table.String())
	return table.String()
}

type tally struct {
	n                            int
	bytes, tokens, estimate, sum float64
}

func (t *tally) add(c chunk, got float64) {
	t.n++
	t.bytes += float64(len(c.text))
	t.tokens += float64(c.tokens)
	t.estimate += got
	t.sum += abs(got-float64(c.tokens)) / float64(c.tokens)
}

func (t *tally) err() float64 { return 100 * t.sum / float64(max(1, t.n)) }

func (t *tally) bias() float64 { return 100 * (t.estimate/t.tokens - 1) }

func abs(f float64) float64 { return max(f, -f) }
