package token

import (
	"math"
	"testing"
)

func TestGrouped(t *testing.T) {
	for n, want := range map[int]string{
		0: "0", 7: "7", 999: "999", 1000: "1,000", 171000: "171,000", 1234567: "1,234,567", -1: "-1", -999: "-999", -1000: "-1,000",
		math.MaxInt64: "9,223,372,036,854,775,807", math.MinInt64: "-9,223,372,036,854,775,808",
	} {
		if got := Grouped(n); got != want {
			t.Errorf("Grouped(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestCount_isInTheRightNumber(t *testing.T) {
	for want, got := range map[string]string{
		"1 line": Count(1, "line"), "0 lines": Count(0, "line"), "2,000 lines": Count(2000, "line"),
		"3 matches": Count(3, "match"), "2 entries": Count(2, "entry"), "2 keys": Count(2, "key"), "1 entry": Count(1, "entry"),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
