package token

import (
	_ "embed"
	"strconv"
	"strings"
)

// fitted are the weights, by the text that they were fitted to.
//
//go:embed weights.txt
var fitted string

// pairs holds how many 255ths of a token a pair of letters adds, at the places of [Pairs]; weights
// holds how many tokens one of each feature takes. A test checks that all of them are there.
var pairs, weights = func() (p [64 * 64]uint8, w [featCount]float64) {
	row, feature := 0, 0
	for line := range strings.Lines(fitted) {
		switch fields := strings.Fields(line); fields[0] {
		case "#":
		case "pairs":
			for second, text := range fields[2:] {
				n, _ := strconv.ParseUint(text, 10, 8)
				p[row<<6|second] = uint8(n)
			}
			row++
		default:
			w[feature], _ = strconv.ParseFloat(fields[0], 64)
			feature++
		}
	}
	return p, w
}()
