package token

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestLinear_countIsTheSumOfWhatScanCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		group := rapid.StringMatching(`[a-zA-Z]{0,14}|[.,;_'(){}]{1,4}|[0-9]{1,7}| {1,20}|\n{1,4}|\t{1,3}|x{1,20}|0{1,20}|─{1,9}|[éữж漢カ한😀]`)
		join := func(groups []string) string { return strings.Join(groups, "") }
		text := rapid.OneOf(rapid.Map(rapid.SliceOfN(group, 1, 40), join),
			rapid.Map(rapid.SliceOfN(rapid.Byte(), 1, 200), func(b []byte) string { return string(b) })).Draw(t, "text")
		features, counted := Scan(text)
		want := 0.0
		for i, n := range features {
			want += float64(n) * weights[i]
		}
		for i, n := range counted {
			want += float64(n) * float64(pairs[i]) / 255
		}
		if text != "" {
			want = max(1, want)
		}
		// Each cost is rounded to a part of a token, and the sum to a token.
		if got := (Linear{}).Count(text); math.Abs(float64(got)-want) > 0.5+float64(len(text))*2/unit {
			t.Errorf("Count(%q) = %d, want %.3f", text, got, want)
		}
	})
}

func TestMoves_leadToStatesThatAre(t *testing.T) {
	if stateCount > 256 || columns<<8 > machineSize || colEnd >= sameColumn {
		t.Fatalf("%d states of %d columns do not fit into %d entries", stateCount, colEnd+1, machineSize)
	}
	for i, m := range moves {
		if m.next < 0 || m.next >= stateCount {
			t.Errorf("state %d, column %d leads to %d of %d states", i/columns, i%columns, m.next, stateCount)
		}
		cost := 0.0
		for _, feature := range m.counts {
			cost += weights[feature]
		}
		if fixed(cost) > math.MaxUint16 {
			t.Errorf("state %d, column %d costs %.1f tokens, more than an entry holds", i/columns, i%columns, cost)
		}
	}
}

func TestWeights_areWithinTheirBounds(t *testing.T) {
	for i, w := range weights {
		if least, most := Bounds(i); w < least-1e-4 || w > most+1e-4 {
			t.Errorf("%s weighs %.4f, want %.4f to %.4f", FeatureName(i), w, least, most)
		}
	}
}

func TestWeights_areAllThere(t *testing.T) {
	pairRows, features := 0, 0
	for line := range strings.Lines(fitted) {
		switch fields := strings.Fields(line); fields[0] {
		case "#":
		case "pairs":
			if pairRows++; len(fields) != 2+52 {
				t.Errorf("%d figures in %q, want 52", len(fields)-2, line)
			}
		default:
			if _, err := strconv.ParseFloat(fields[0], 64); err != nil {
				t.Errorf("%q: %v", line, err)
			}
			if _, name, _ := strings.Cut(strings.TrimSpace(line), " "); name != FeatureName(features) {
				t.Errorf("weight %d is of %q, want %q", features, name, FeatureName(features))
			}
			features++
		}
	}
	if pairRows != 52 || features != int(featCount) {
		t.Errorf("%d rows of pairs and %d features, want 52 and %d", pairRows, features, featCount)
	}
}
