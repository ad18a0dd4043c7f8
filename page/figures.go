package page

import (
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// drawable says that a figure can be drawn.
func drawable(v float64) bool { return v >= 0 && v < 1e9 }

// fixed is a figure with so many decimals.
func fixed(v float64, decimals int) string {
	if !drawable(v) {
		return "–"
	}
	whole, rest, found := strings.Cut(strconv.FormatFloat(v, 'f', decimals, 64), ".")
	if n, err := strconv.Atoi(whole); err == nil {
		whole = grouped(n)
	}
	if !found {
		return whole
	}
	return whole + "." + rest
}

// amount is a bill: in US dollars, or in millions of input tokens.
func amount(v float64, relative bool) string {
	switch {
	case !relative:
		return dollars(v)
	case !(v > 0) || v >= 1e12:
		return "0 M"
	case v >= 1000:
		return fixed(v, 0) + " M"
	case v >= 0.1:
		return fixed(v, 2) + " M"
	}
	return fixed(v, 4) + " M"
}

// shareOf is a share between 0 and 1 as percent.
func shareOf(v float64) string {
	if !drawable(v) {
		return "–"
	}
	return percent(int(math.Round(min(v, 10)*1e6)), 1e6)
}

// signed is a relative change with its sign and a decimal.
func signed(v float64) string {
	switch {
	case math.IsNaN(v) || math.Abs(v) >= 1e6:
		return "–"
	case math.Abs(v) < 0.0005:
		return "±0%"
	case v < 0:
		return "−" + fixed(-100*v, 1) + "%"
	}
	return "+" + fixed(100*v, 1) + "%"
}

// sentence begins a text with a capital letter.
func sentence(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if first == utf8.RuneError {
		return text
	}
	return string(unicode.ToUpper(first)) + text[size:]
}
