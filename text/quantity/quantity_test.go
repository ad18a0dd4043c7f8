package quantity_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/text/quantity"
)

func TestNumber_groupsThreeDigits(t *testing.T) {
	for n, want := range map[int]string{
		0: "0", 7: "7", 999: "999", 1000: "1,000", 171000: "171,000", 1234567: "1,234,567",
		-1: "-1", -999: "-999", -1000: "-1,000",
		math.MaxInt64: "9,223,372,036,854,775,807", math.MinInt64: "-9,223,372,036,854,775,808",
	} {
		if got := quantity.Number(n); got != want {
			t.Errorf("Number(%d) = %q, want %q", n, got, want)
		}
		if got := string(quantity.AppendNumber([]byte("of "), n)); got != "of "+want {
			t.Errorf("AppendNumber(%d) = %q, want %q", n, got, "of "+want)
		}
	}
}

func TestFigures_readAsAPersonWritesThem(t *testing.T) {
	for _, c := range []struct{ name, got, want string }{
		{"count, one", quantity.Count(1, "line"), "1 line"},
		{"count, none", quantity.Count(0, "line"), "0 lines"},
		{"count, many", quantity.Count(2000, "line"), "2,000 lines"},
		{"count, match", quantity.Count(3, "match"), "3 matches"},
		{"count, miss", quantity.Count(3, "miss"), "3 misses"},
		{"count, entry", quantity.Count(2, "entry"), "2 entries"},
		{"count, one entry", quantity.Count(1, "entry"), "1 entry"},
		{"count, key", quantity.Count(2, "key"), "2 keys"},
		{"plural, one", quantity.Plural(1, "file was", "files were"), "1 file was"},
		{"plural, many", quantity.Plural(1200, "file was", "files were"), "1,200 files were"},
		{"times, one", quantity.Times(1), "once"},
		{"times, many", quantity.Times(3), "3 times"},
		{"sentence", quantity.Sentence("14729 tokens of 2000, in msg12345 of 2026-05-08"),
			"14,729 tokens of 2,000, in msg12345 of 2026-05-08"},

		{"decimal", quantity.Decimal(3.14159, 3), "3.142"},
		{"decimal, from 100 on", quantity.Decimal(314.159, 3), "314.2"},
		{"decimal, from 1,000 on", quantity.Decimal(31415.9, 3), "31,416"},
		{"decimal, not a number", quantity.Decimal(math.NaN(), 3), "–"},

		{"dollars, none", quantity.Dollars(0), "$0"},
		{"dollars, too small", quantity.Dollars(0.00004), "<$0.0001"},
		{"dollars, small", quantity.Dollars(0.0421), "$0.0421"},
		{"dollars, cents", quantity.Dollars(0.126), "$0.13"},
		{"dollars, large", quantity.Dollars(1234.5), "$1,234.50"},
		{"dollars, absurd", quantity.Dollars(1.5e13), "$1.5e+13"},
		{"dollars, not a number", quantity.Dollars(math.NaN()), "$0"},
		{"dollars, infinite", quantity.Dollars(math.Inf(1)), "$0"},
		{"price, whole", quantity.Price(3), "$3.00"},
		{"price, three decimals", quantity.Price(0.075), "$0.075"},
		{"price, four decimals", quantity.Price(0.0028), "$0.0028"},
		{"bill in dollars", quantity.Bill(3.8, false), "$3.80"},
		{"bill in tokens", quantity.Bill(3.8, true), "3.80 M"},
		{"bill in tokens, small", quantity.Bill(0.0526, true), "0.0526 M"},
		{"bill in tokens, large", quantity.Bill(5260.4, true), "5,260 M"},
		{"bill in tokens, none", quantity.Bill(0, true), "0 M"},

		{"percent, half", quantity.Percent(1, 2), "50%"},
		{"percent, little is not none", quantity.Percent(1, 1000), "<1%"},
		{"percent, nearly is not all", quantity.Percent(999, 1000), ">99%"},
		{"percent, all", quantity.Percent(7, 7), "100%"},
		{"percent, of nothing", quantity.Percent(7, 0), "0%"},
		{"percent, more than all", quantity.Percent(3, 2), "150%"},
		{"percent, absurd", quantity.Percent(math.MaxInt, 2), ">99,999%"},
		{"share", quantity.Share(0.252), "25%"},
		{"share, infinite", quantity.Share(math.Inf(1)), "–"},
		{"change, less", quantity.Change(200, 50), "−75%"},
		{"change, more", quantity.Change(100, 150), "+50%"},
		{"change, same", quantity.Change(5, 5), "±0%"},
		{"change, nearly all", quantity.Change(100_000, 14), "−99.9%"},
		{"change, nearly all, cut", quantity.Change(45_184, 126), "−99.7%"},
		{"change, all", quantity.Change(100_000, 0), "−100%"},
		{"signed, less", quantity.Signed(-0.125), "−12.5%"},
		{"signed, more", quantity.Signed(0.03), "+3.0%"},
		{"signed, same", quantity.Signed(0.0001), "±0%"},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, c.got, c.want)
		}
	}
}

func TestShort_takesFewCharacters(t *testing.T) {
	for n, want := range map[int]string{
		0: "0", 999: "999", 1000: "1k", 1234: "1.2k", 9_949: "9.9k", 9_950: "10k", 61_480: "61k", 200_000: "200k",
		999_499: "999k", 999_500: "1M", 1_048_576: "1M", 1_234_567: "1.2M", 12_345_678: "12.3M", 150_000_000: "150M",
		3_400_000_000: "3.4B", 1_234_000_000_000: "1,234B", -5000: "-5,000",
	} {
		if got := quantity.Short(n); got != want {
			t.Errorf("Short(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestBytes_countsInThousands(t *testing.T) {
	for n, want := range map[int]string{
		0: "0 B", 512: "512 B", 1000: "1 kB", 1280: "1.3 kB", 61_480: "61 kB", 1_500_000: "1.5 MB",
		45_300_000: "45.3 MB", 2e9: "2 GB",
	} {
		if got := quantity.Bytes(n); got != want {
			t.Errorf("Bytes(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestDuration_hasTwoUnitsAtMost(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0 s", 0: "0 s", 20 * time.Millisecond: "<0.1 s", 400 * time.Millisecond: "0.4 s",
		3 * time.Second:         "3 s",
		3240 * time.Millisecond: "3.2 s", 9960 * time.Millisecond: "10 s", 48700 * time.Millisecond: "49 s",
		59500 * time.Millisecond: "1 min", time.Minute: "1 min",
		125 * time.Second: "2 min 5 s", time.Hour: "1 h", time.Hour - time.Millisecond: "1 h",
		70*time.Minute + 5*time.Second: "1 h 10 min", 1200 * time.Hour: "1,200 h",
	} {
		if got := quantity.Duration(d); got != want {
			t.Errorf("Duration(%s) = %q, want %q", d, got, want)
		}
	}
}

func TestAge_hasOneUnit(t *testing.T) {
	const day = 24 * time.Hour
	for d, want := range map[time.Duration]string{
		-time.Hour: "now", 59 * time.Second: "now", time.Minute: "1 min", 59 * time.Minute: "59 min", time.Hour: "1 h",
		47 * time.Hour: "47 h",
		2 * day:        "2 days", 99 * day: "99 days", 100 * day: "3 months", 400 * day: "13 months",
	} {
		if got := quantity.Age(d); got != want {
			t.Errorf("Age(%s) = %q, want %q", d, got, want)
		}
	}
}

func TestShort_fitsAColumn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 999_499_999_999).Draw(t, "n")
		if short, size := quantity.Short(n), quantity.Bytes(n); len(short) > 6 || len(size) > 9 {
			t.Errorf("Short(%d) = %q, Bytes(%d) = %q: too long for a column", n, short, n, size)
		}
	})
}
