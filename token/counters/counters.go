// Package counters makes token counters by name.
//
// It is apart from package token because it knows the byte-pair vocabularies, which are large: a
// program that needs none of them imports package token alone.
package counters

import (
	"fmt"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/token"
	"github.com/winnowhq/winnow/token/bpe"
)

// Names returns the names that [New] knows, the default first.
func Names() []string {
	return []string{"auto", "linear", "chars4", "bpe:" + bpe.O200k, "bpe:" + bpe.Cl100k}
}

// New returns the counter of that name:
//
//   - "auto", or the empty name: the linear estimator, remembered by content, and calibrated by
//     what providers report. The counter is a *[token.Calibrated].
//   - "linear": the same estimator, bare.
//   - "chars4": a quarter of the UTF-16 length, as the classic policy counts.
//   - "bpe:o200k_base" and "bpe:cl100k_base": real vocabularies, remembered by content.
//
// Spaces around a name and upper case are forgiven.
func New(name string) (token.Counter, error) {
	switch known := strings.ToLower(strings.TrimSpace(name)); known {
	case "", "auto":
		return token.NewCalibrated("auto", token.NewMemo(token.Linear{}, 0)), nil
	case "linear":
		return token.Linear{}, nil
	case "chars4":
		return token.Chars4{}, nil
	default:
		vocabulary, isBPE := strings.CutPrefix(known, "bpe:")
		if !isBPE || !slices.Contains(Names(), known) {
			return nil, fmt.Errorf("counters: no token counter %q; there are %s", name, strings.Join(Names(), ", "))
		}
		counter, err := bpe.New(vocabulary)
		if err != nil {
			return nil, fmt.Errorf("counters: %s: %w", known, err)
		}
		return token.NewMemo(counter, 0), nil
	}
}
