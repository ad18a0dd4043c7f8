// Package quantity writes numbers for people: counts, tokens, money, shares, sizes and times.
// Whatever prints a figure prints it with this package, so that the same figure reads the same
// everywhere.
package quantity

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// Number writes a whole number with a comma between every three digits: 171,000.
func Number(n int) string {
	digits := strconv.Itoa(n)
	if n < 0 {
		return "-" + group(digits[1:])
	}
	return group(digits)
}

// AppendNumber appends what Number writes.
func AppendNumber(text []byte, n int) []byte {
	if n >= 0 && n < 1000 {
		return strconv.AppendInt(text, int64(n), 10)
	}
	return append(text, Number(n)...)
}

// Count writes a number of things whose plural is regular: "1 line", "2,000 lines", "3 matches", "2
// entries".
func Count(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	rest, y := strings.CutSuffix(one, "y")
	switch {
	case strings.HasSuffix(one, "ch"), strings.HasSuffix(one, "ss"):
		one += "es"
	case y && rest != "" && !strings.ContainsRune("aeiou", rune(rest[len(rest)-1])):
		one = rest + "ies"
	default:
		one += "s"
	}
	return Number(n) + " " + one
}

// Plural writes a number with the words that follow it: "1 file was", "3 files were".
func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Number(n) + " " + many
}

// Times writes how often something happened: "once", "3 times".
func Times(n int) string {
	if n == 1 {
		return "once"
	}
	return Number(n) + " times"
}

// Sentence groups the digits of the large numbers in a sentence. Only numbers that stand alone are
// changed, not ids, versions or dates.
func Sentence(text string) string {
	words := strings.Split(text, " ")
	for i, w := range words {
		bare := strings.TrimRight(w, ".,;:")
		if len(bare) >= 4 && strings.Trim(bare, "0123456789") == "" {
			words[i] = group(bare) + w[len(bare):]
		}
	}
	return strings.Join(words, " ")
}

// Short writes a number in a few characters: 999, 1.2k, 61k, 1.2M, 3.4B.
func Short(n int) string {
	if n < 1000 {
		return Number(n)
	}
	return scaled(n, []string{"k", "M", "B"})
}

// Bytes writes a size: 512 B, 1.2 kB, 61 kB, 1.2 MB. A kB is 1,000 bytes.
func Bytes(n int) string {
	if n < 1000 {
		return Number(n) + " B"
	}
	return scaled(n, []string{" kB", " MB", " GB"})
}

// scaled writes a number of at least 1,000 in the unit that makes it shortest. Thousands of 10 and
// more have no decimal: nobody compares 61.2k with 61.3k.
func scaled(n int, units []string) string {
	v := float64(n) / 1e3
	if v >= 9.95 && v < 999.5 {
		return strconv.FormatFloat(v, 'f', 0, 64) + units[0]
	}
	for v >= 999.5 && len(units) > 1 {
		v, units = v/1e3, units[1:]
	}
	whole, tenth, _ := strings.Cut(strconv.FormatFloat(v, 'f', 1, 64), ".")
	if tenth != "0" {
		return group(whole) + "." + tenth + units[0]
	}
	return group(whole) + units[0]
}

// Unknown stands for a figure that is not a number.
const Unknown = "–"

// Decimal writes a number with at most that many decimals: fewer from 100 on, none from 1,000 on.
func Decimal(v float64, decimals int) string {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return Unknown
	case v >= 1000:
		return group(strconv.FormatFloat(v, 'f', 0, 64))
	case v >= 100:
		decimals = min(decimals, 1)
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}

// Dollars writes an amount in cents, and a small one with four decimals: $1,234.56, $0.0260,
// <$0.0001.
func Dollars(amount float64) string {
	switch {
	case !(amount > 0) || math.IsInf(amount, 0):
		return "$0"
	case amount < 0.0001:
		return "<$0.0001"
	case amount < 0.1:
		return "$" + strconv.FormatFloat(amount, 'f', 4, 64)
	case amount > 1e12:
		return "$" + strconv.FormatFloat(amount, 'g', 3, 64)
	}
	whole, cents, _ := strings.Cut(strconv.FormatFloat(amount, 'f', 2, 64), ".")
	return "$" + group(whole) + "." + cents
}

// Net writes an amount that may be negative, as Dollars does: −$0.12.
func Net(amount float64) string {
	if amount < 0 {
		return "−" + Dollars(-amount)
	}
	return Dollars(amount)
}

// Price writes what a million tokens cost, with as many decimals as the price has: $3.00, $0.075.
func Price(amount float64) string {
	for decimals := 2; decimals < 6; decimals++ {
		if scale := math.Pow10(decimals); math.Abs(amount*scale-math.Round(amount*scale)) < 1e-6 {
			return "$" + strconv.FormatFloat(amount, 'f', decimals, 64)
		}
	}
	return "$" + strconv.FormatFloat(amount, 'f', 6, 64)
}

// Bill writes an amount in dollars. A relative one is in millions of input tokens: 0.53 M.
func Bill(amount float64, relative bool) string {
	switch {
	case !relative:
		return Dollars(amount)
	case !(amount > 0) || math.IsInf(amount, 0):
		return "0 M"
	case amount < 0.1:
		return strconv.FormatFloat(amount, 'f', 4, 64) + " M"
	case amount < 1000:
		return strconv.FormatFloat(amount, 'f', 2, 64) + " M"
	}
	return Decimal(amount, 0) + " M"
}

// mostPercent is the largest percentage that is written out.
const mostPercent = 99_999

// Percent writes a part of a whole. What is there is not rounded to 0%, nor what is not all to
// 100%.
func Percent(part, whole int) string {
	if whole <= 0 || part <= 0 {
		return "0%"
	}
	switch rounded := math.Round(100 * float64(part) / float64(whole)); {
	case rounded < 1:
		return "<1%"
	case rounded == 100 && part < whole:
		return ">99%"
	case rounded > mostPercent:
		return ">" + Number(mostPercent) + "%"
	default:
		return Number(int(rounded)) + "%"
	}
}

// Share writes a share of one, such as 0.25, as Percent writes it.
func Share(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return Unknown
	}
	return Percent(int(math.Round(min(v, 10)*1e6)), 1e6)
}

// Change writes the relative difference between two sizes: −42%, +7%, ±0%. What nearly vanished has
// a decimal, which is not rounded up: −99.9%.
func Change(before, after int) string {
	before, after = max(before, 0), max(after, 0)
	switch {
	case before == 0 || before == after:
		return "±0%"
	case after > before:
		return "+" + Percent(after-before, before)
	}
	share := Percent(before-after, before)
	if share == ">99%" {
		tenths := math.Floor(1000 * float64(before-after) / float64(before))
		share = strconv.FormatFloat(tenths/10, 'f', 1, 64) + "%"
	}
	return "−" + share
}

// Signed writes a relative difference, such as -0.125, with its sign and a decimal: −12.5%.
func Signed(v float64) string {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return Unknown
	case math.Abs(v) < 0.0005:
		return "±0%"
	case v < 0:
		return "−" + Decimal(-100*v, 1) + "%"
	}
	return "+" + Decimal(100*v, 1) + "%"
}

// Duration writes how long something took, in at most two units: 0.4 s, 48 s, 2 min 5 s, 1 h 10
// min.
func Duration(d time.Duration) string {
	switch s := d.Seconds(); {
	case s <= 0:
		return "0 s"
	case s < 0.05:
		return "<0.1 s"
	case s < 9.95:
		return strings.TrimSuffix(strconv.FormatFloat(s, 'f', 1, 64), ".0") + " s"
	case s < 59.5:
		return strconv.FormatFloat(s, 'f', 0, 64) + " s"
	}
	large, small, names := time.Minute, time.Second, [2]string{" min", " s"}
	if d = d.Round(small); d >= time.Hour {
		large, small, names = time.Hour, time.Minute, [2]string{" h", " min"}
		d = d.Round(small)
	}
	text := Number(int(d/large)) + names[0]
	if rest := int(d % large / small); rest > 0 {
		text += " " + strconv.Itoa(rest) + names[1]
	}
	return text
}

// Age writes how long ago something was, in one unit: now, 5 min, 3 h, 12 days, 4 months.
func Age(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return Number(int(d/time.Minute)) + " min"
	case d < 2*day:
		return Number(int(d/time.Hour)) + " h"
	case d < 100*day:
		return Number(int(d/day)) + " days"
	}
	return Number(int(d/(30*day))) + " months"
}

// group puts a comma between every three digits.
func group(digits string) string {
	if len(digits) < 4 {
		return digits
	}
	var b strings.Builder
	for i, d := range []byte(digits) {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteByte(d)
	}
	return b.String()
}
