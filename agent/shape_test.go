package agent

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/plan/call"
)

func numbers(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&b, "%d\n", i)
	}
	return b.String()
}

func TestShape_toTheByte(t *testing.T) {
	const again = "ask for less"
	keep := func() string { return "the whole is kept" }
	less := func() string { return again }
	small := Limits{Lines: 10, Bytes: 60, ShownLines: 4, ShownBytes: 20}
	for _, c := range []struct {
		name, output string
		limits       Limits
		how          func() string
		want         string
	}{
		{"empty", "", small, keep, ""},
		{"as many lines as may be", numbers(1, 10), small, keep, numbers(1, 10)},
		{"one line more", numbers(1, 11), small, keep,
			"1\n2\n[7 lines, 14 bytes omitted here, of 11 lines and 24 bytes in all; the whole is kept]\n10\n11\n"},
		{"nobody keeps it", numbers(1, 11), small, less,
			"1\n2\n[7 lines, 14 bytes omitted here, of 11 lines and 24 bytes in all; " + again + "]\n10\n11\n"},
		{"as many bytes as may be", strings.Repeat("x", 60), small, keep, strings.Repeat("x", 60)},
		{"one byte more, in one line", strings.Repeat("x", 61), small, less,
			"xxxxxxxxxx\n[41 bytes omitted here, of 1 line and 61 bytes in all; " + again + "]\nxxxxxxxxxx"},
		{"characters stay whole", strings.Repeat("日", 30), small, less,
			"日日日\n[72 bytes omitted here, of 1 line and 90 bytes in all; " + again + "]\n日日日"},
		{"whole lines where they fit", "aaaa\nbbbb\ncccc\n" + strings.Repeat("x", 50) + "\ndddd\neeee\n", small, less,
			"aaaa\nbbbb\n[2 lines, 56 bytes omitted here, of 6 lines and 76 bytes in all; " + again +
				"]\ndddd\neeee\n"},
		{"no newline at the end", strings.TrimSuffix(numbers(1, 11), "\n"), small, less,
			"1\n2\n[7 lines, 14 bytes omitted here, of 11 lines and 23 bytes in all; " + again + "]\n10\n11"},
		{"2,000 lines", numbers(1, 2000), Limits{}, less, numbers(1, 2000)},
		{"2,001 lines", numbers(1, 2001), Limits{}, less,
			numbers(1, 200) + "[1,601 lines, 7,206 bytes omitted here, of 2,001 lines and 8,898 bytes in all; " +
				again + "]\n" + numbers(1802, 2001)},
		{"51,200 bytes", strings.Repeat("x", 51_200), Limits{}, less, strings.Repeat("x", 51_200)},
		{"51,201 bytes", strings.Repeat("x", 51_201), Limits{}, less,
			strings.Repeat("x", 8192) + "\n[34,817 bytes omitted here, of 1 line and 51,201 bytes in all; " + again +
				"]\n" + strings.Repeat("x", 8192)},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Shape(c.output, c.limits, c.how); got != c.want {
				t.Errorf("got\n%q\nwant\n%q", got, c.want)
			}
		})
	}
}

func TestShape_asksHowOnceAndOnlyForWhatIsTooLong(t *testing.T) {
	asked := 0
	how := func() string { asked++; return "" }
	Shape(numbers(1, 2000), Limits{}, how)
	if asked != 0 {
		t.Errorf("asked %d times for an output that is sent whole", asked)
	}
	if Shape(numbers(1, 2001), Limits{}, how); asked != 1 {
		t.Errorf("asked %d times, want 1", asked)
	}
}

func TestShape_isTheBeginningAndTheEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		output := rapid.StringOf(rapid.SampledFrom([]rune("ab日\n\n\r🎉"))).Draw(t, "output")
		l := Limits{Lines: rapid.IntRange(1, 6).Draw(t, "lines"), Bytes: rapid.IntRange(1, 40).Draw(t, "bytes"),
			ShownLines: rapid.IntRange(1, 9).Draw(t, "shown lines"),
			ShownBytes: rapid.IntRange(1, 60).Draw(t, "shown bytes")}
		got := Shape(output, l, func() string { return Less })
		if got == output {
			return
		}
		if !utf8.ValidString(got) {
			t.Fatalf("%q is no UTF-8", got)
		}
		at := strings.Index(got, "[")
		head, tail := got[:at], got[strings.Index(got, "]")+1:]
		tail = strings.TrimPrefix(tail, "\n")
		if !strings.HasPrefix(output, head) && !strings.HasPrefix(output, strings.TrimSuffix(head, "\n")) ||
			!strings.HasSuffix(output, tail) {
			t.Fatalf("of %q: head %q, tail %q", output, head, tail)
		}
		if len(head)+len(tail) > l.ShownBytes+2 || call.LineCount(head)+call.LineCount(tail) > l.ShownLines+1 {
			t.Fatalf("of %q: head %q, tail %q are more than %+v", output, head, tail, l)
		}
	})
}
