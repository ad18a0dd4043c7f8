package bpe

import (
	"fmt"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/token"
)

// Names returns the names that [Named] knows, the default first.
func Names() []string {
	return []string{"auto", "linear", "chars4", "bpe:" + O200k, "bpe:" + Cl100k}
}

// Named returns the counter of that name. It is in this package because it knows the vocabularies,
// which are large: a program that needs none of them imports package token alone.
//
//   - "auto", or the empty name: the linear estimator, remembered by content, and calibrated by
//     what providers report. The counter is a *[token.Calibrated].
//   - "linear": the same estimator, bare.
//   - "chars4": a quarter of the UTF-16 length, as the classic policy counts.
//   - "bpe:o200k_base" and "bpe:cl100k_base": real vocabularies, remembered by content.
//
// Spaces around a name and upper case are forgiven.
func Named(name string) (token.Counter, error) {
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
			return nil, fmt.Errorf("bpe: no token counter %q; there are %s", name, strings.Join(Names(), ", "))
		}
		counter, err := New(vocabulary)
		if err != nil {
			return nil, fmt.Errorf("bpe: %s: %w", known, err)
		}
		return token.NewMemo(counter, 0), nil
	}
}
