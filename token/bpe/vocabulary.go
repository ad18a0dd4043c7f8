package bpe

import (
	"bytes"
	"compress/flate"
	_ "embed"
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"math/bits"
	"strings"
	"sync"
)

// The vocabularies are those that OpenAI published with tiktoken, see NOTICE. A token is one byte,
// or two tokens of lower ranks in a row: a file is the 256 bytes in the order of their ranks, then
// the ranks of the two halves of each further token. These are numbers of three bytes: first the
// lowest bytes of all of them, then the middle ones, then the highest. So the compressed file has
// two thirds of the size of the tokens' text, compressed. A test writes it from a library:
// go test -run Vocabulary -update.
var (
	//go:embed o200k_base.flate
	o200kFile []byte

	//go:embed cl100k_base.flate
	cl100kFile []byte
)

var (
	o200kVocabulary  = sync.OnceValues(func() (*vocabulary, error) { return unpack(o200kFile) })
	cl100kVocabulary = sync.OnceValues(func() (*vocabulary, error) { return unpack(cl100kFile) })
)

// A vocabulary ranks the tokens. It is a hash table of its own: a map of strings takes twice the
// memory and twice the time to fill, and every garbage collection looks through it.
type vocabulary struct {
	text  string   // all tokens, in the order of their ranks
	ends  []uint32 // where each ends; it begins where the one before it does
	slots []uint32 // a power of two of them, more than there are tokens
	seed  maphash.Seed
}

// A slot that is taken holds a token's rank and one more, in its lower bits, and a part of the
// token's hash above them, so that few other tokens are compared.
const rankBits = 18

// none is the rank of what is no token. It is higher than any.
const none = math.MaxUint32

// rank is that of a token, or none.
func (v *vocabulary) rank(token string) uint32 {
	at, tag := v.hash(token)
	for ; v.slots[at] != 0; at = v.next(at) {
		if v.slots[at]>>rankBits != tag {
			continue
		}
		if rank := v.slots[at]&(1<<rankBits-1) - 1; v.token(rank) == token {
			return rank
		}
	}
	return none
}

// add gives the next rank to the token that the text ends with.
func (v *vocabulary) add(text string) {
	v.text = text
	rank := uint32(len(v.ends))
	v.ends = append(v.ends, uint32(len(text)))
	at, tag := v.hash(v.token(rank))
	for v.slots[at] != 0 {
		at = v.next(at)
	}
	v.slots[at] = tag<<rankBits | (rank + 1)
}

func (v *vocabulary) token(rank uint32) string {
	if rank == 0 {
		return v.text[:v.ends[0]]
	}
	return v.text[v.ends[rank-1]:v.ends[rank]]
}

// hash says at which slot to begin to look for a token, and what is above its rank there.
func (v *vocabulary) hash(token string) (at, tag uint32) {
	h := maphash.String(v.seed, token)
	return uint32(h) & uint32(len(v.slots)-1), uint32(h >> (32 + rankBits))
}

func (v *vocabulary) next(at uint32) uint32 { return (at + 1) & uint32(len(v.slots)-1) }

var errDamaged = errors.New("the file is damaged")

// unpack makes the vocabulary of a file.
func unpack(file []byte) (*vocabulary, error) {
	plain := bytes.NewBuffer(make([]byte, 0, 2*len(file))) // which is enough for both
	if _, err := plain.ReadFrom(flate.NewReader(bytes.NewReader(file))); err != nil {
		return nil, fmt.Errorf("decompress: %w", err)
	}
	data := plain.Bytes()
	if len(data) < 256 || (len(data)-256)%6 != 0 {
		return nil, errDamaged
	}
	single, data := data[:256], data[256:]
	halves := len(data) / 3
	low, middle, high := data[:halves], data[halves:2*halves], data[2*halves:]
	n := len(single) + halves/2
	if n >= 1<<rankBits {
		return nil, errDamaged
	}
	v := &vocabulary{
		ends: make([]uint32, 0, n), slots: make([]uint32, 1<<bits.Len(uint(n))), seed: maphash.MakeSeed(),
	}
	var text strings.Builder
	text.Grow(7 * n) // just above what the tokens of either have in the mean
	for _, b := range single {
		text.WriteByte(b)
		v.add(text.String())
	}
	for i := range halves {
		half := int(low[i]) | int(middle[i])<<8 | int(high[i])<<16
		if half >= len(v.ends) {
			return nil, errDamaged
		}
		text.WriteString(v.token(uint32(half)))
		if i%2 == 1 {
			v.add(text.String())
		}
	}
	return v, nil
}
