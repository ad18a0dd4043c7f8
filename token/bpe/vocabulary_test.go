package bpe_test

import (
	"bytes"
	"compress/flate"
	"flag"
	"os"
	"slices"
	"testing"

	"github.com/tiktoken-go/tokenizer"

	"github.com/winnowhq/winnow/token/bpe"
)

var update = flag.Bool("update", false, "write the vocabularies anew, as the library has them")

// The embedded vocabularies are those of the library, to the last rank.
func TestVocabulary_isThatOfTheLibrary(t *testing.T) {
	for _, name := range []string{bpe.O200k, bpe.Cl100k} {
		tokens := published(t, name)
		if *update {
			if err := os.WriteFile(name+".flate", pack(t, tokens), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		file, err := os.ReadFile(name + ".flate")
		if err != nil {
			t.Fatal(err)
		}
		n, rankOf, err := bpe.Unpack(file)
		if err != nil || n != len(tokens) {
			t.Fatalf("%s: %d tokens, %v; want %d", name, n, err, len(tokens))
		}
		for rank, token := range tokens {
			if got := rankOf(token); int(got) != rank {
				t.Errorf("%s: the rank of %q is %d, want %d", name, token, got, rank)
			}
			if len(token) > bpe.LongestToken {
				t.Errorf("%s: %q has %d bytes, want at most %d", name, token, len(token), bpe.LongestToken)
			}
		}
	}
}

func TestVocabulary_damagedFilesAreErrors(t *testing.T) {
	whole, err := os.ReadFile(bpe.Cl100k + ".flate")
	if err != nil {
		t.Fatal(err)
	}
	for name, file := range map[string][]byte{
		"empty": nil, "cut off": whole[:len(whole)/2], "too few bytes": deflate(t, make([]byte, 255)),
		"a half token":               deflate(t, make([]byte, 256+3)),
		"a token made of later ones": deflate(t, append(make([]byte, 256), 0, 0, 1, 0, 0, 0)),
	} {
		if n, _, err := bpe.Unpack(file); err == nil {
			t.Errorf("%s: %d tokens, want an error", name, n)
		}
	}
}

// published are the tokens of the library, by rank.
func published(t *testing.T, name string) (tokens []string) {
	t.Helper()
	codec, err := tokenizer.Get(tokenizer.Encoding(name))
	if err != nil {
		t.Fatal(err)
	}
	for {
		token, err := codec.Decode([]uint{uint(len(tokens))})
		if err != nil {
			return tokens // special tokens follow after a gap
		}
		tokens = append(tokens, token)
	}
}

// pack writes a vocabulary as Unpack reads it. Where a token can be cut in several places, the cut
// into the two of the lowest ranks makes the smallest file.
func pack(t *testing.T, tokens []string) []byte {
	t.Helper()
	ranks := map[string]int{}
	var single []byte
	var planes [3][]byte
	for rank, token := range tokens {
		ranks[token] = rank
		if len(token) == 1 {
			single = append(single, token[0])
			continue
		}
		var halves []int
		for cut := 1; cut < len(token); cut++ {
			first, ok1 := ranks[token[:cut]]
			second, ok2 := ranks[token[cut:]]
			if ok1 && ok2 && (halves == nil || (first+1)*(second+1) < (halves[0]+1)*(halves[1]+1)) {
				halves = []int{first, second}
			}
		}
		if halves == nil || len(single) != 256 {
			t.Fatalf("%q of rank %d is not two tokens of lower ranks behind 256 bytes", token, rank)
		}
		for _, half := range halves {
			for i := range planes {
				planes[i] = append(planes[i], byte(half>>(8*i)))
			}
		}
	}
	return deflate(t, slices.Concat(single, planes[0], planes[1], planes[2]))
}

func deflate(t *testing.T, data []byte) []byte {
	t.Helper()
	var file bytes.Buffer
	w, err := flate.NewWriter(&file, flate.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}
