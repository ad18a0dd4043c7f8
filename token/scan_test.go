package token

import (
	"testing"

	"pgregory.net/rapid"
)

func TestSmallRun_isTheNumberOfSmallLettersInFront(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.OneOf(rapid.ByteRange('a', 'z'), rapid.Byte(), rapid.SampledFrom([]byte{'a' - 1, 'z' + 1, 'a' | 0x80, 0, 0xFF}))
		eight := rapid.SliceOfN(b, 8, 8).Draw(t, "eight")
		want := 0
		for want < 8 && classes[eight[want]] == classLower {
			want++
		}
		if got := smallRun(word(string(eight))); got != want {
			t.Errorf("smallRun(%q) = %d, want %d", eight, got, want)
		}
	})
}
