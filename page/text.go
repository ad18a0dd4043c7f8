package page

import (
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/winnowhq/winnow/quantity"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/token"
	see "github.com/winnowhq/winnow/visible"
)

// visible makes a foreign text fit to be read: what would act unseen is written out.
func visible(text string) string { return see.Text(text) }

// line is the beginning of a foreign text on one line of at most so many characters. Escape sequences go: colour is nothing to read.
func line(text string, most int) string {
	if room := 8 * most; len(text) > room { // enough, whatever is folded into one space
		for room > 0 && !utf8.RuneStart(text[room]) {
			room--
		}
		text = text[:room]
	}
	text = see.WithoutColour(text)
	var b strings.Builder
	n, space := 0, false
	for _, r := range text {
		if unicode.IsSpace(r) {
			space = n > 0
			continue
		}
		if unicode.Is(unicode.Cf, r) && see.Unseen(r) {
			continue
		}
		if n+1 >= most {
			b.WriteString("…")
			break
		}
		if space {
			b.WriteByte(' ')
			n++
		}
		b.WriteRune(r)
		n, space = n+1, false
	}
	return visible(b.String())
}

// excerpt is the beginning of a text, at most so many bytes, cut between characters.
func excerpt(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

func grouped(n int) string { return quantity.Number(max(0, n)) }

// count says how many of a thing there are, in the right number.
func count(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return grouped(n) + " " + one + "s"
}

// counted is a sentence fit to be read, with the digits of its large numbers grouped.
func counted(sentence string) string { return quantity.Sentence(visible(sentence)) }

// percent of a whole. It does not round to 0% what is there, nor to 100% what is not all.
func percent(part, whole int) string {
	if whole <= 0 || part <= 0 {
		return "0%"
	}
	p := 100 * float64(part) / float64(whole)
	switch rounded := math.Round(p); {
	case rounded < 1:
		return "<1%"
	case rounded == 100 && part < whole:
		return ">99%"
	default:
		return grouped(int(min(rounded, 99_999))) + "%"
	}
}

// change is the relative difference between two numbers, with its sign.
func change(before, after int) string {
	switch {
	case before <= 0 || before == after:
		return "±0%"
	case after < before:
		share := percent(before-after, before)
		if share == ">99%" { // to the decimal, and not rounded up to all of it
			share = strconv.FormatFloat(math.Floor(1000*float64(before-after)/float64(before))/10, 'f', 1, 64) + "%"
		}
		return "−" + share
	}
	return "+" + percent(after-before, before)
}

func dollars(amount float64) string {
	switch {
	case !(amount > 0) || math.IsInf(amount, 0):
		return "$0"
	case amount < 0.0001:
		return "under $0.0001"
	case amount < 0.1:
		return "$" + strconv.FormatFloat(amount, 'f', 4, 64)
	case amount > 1e12:
		return "$" + strconv.FormatFloat(amount, 'g', 3, 64)
	}
	whole, cents, _ := strings.Cut(strconv.FormatFloat(amount, 'f', 2, 64), ".")
	return "$" + token.GroupDigits(whole) + "." + cents
}

// weight says how much a text weighs.
func weight(n int) string {
	switch {
	case n < 1000:
		return count(n, "byte")
	case n < 1_000_000:
		return strconv.FormatFloat(float64(n)/1e3, 'f', 1, 64) + " KB"
	}
	return strconv.FormatFloat(float64(n)/1e6, 'f', 1, 64) + " MB"
}

// moment is a point in time in UTC, "" when it is unknown or no year that a session was written in.
func moment(at session.Millis, layout string) string {
	if !(at > 0) || at > 253_402_300_799_000 {
		return ""
	}
	return time.UnixMilli(int64(at)).UTC().Format(layout)
}

// span is from when to when.
func span(from, to session.Millis) string {
	a, b := moment(from, "2 January 2006, 15:04"), moment(to, "2 January 2006, 15:04")
	switch {
	case a == "":
		return b
	case b == "" || a == b:
		return a + " UTC"
	case moment(from, "2 January 2006") == moment(to, "2 January 2006"):
		b = moment(to, "15:04")
	}
	return a + " to " + b + " UTC"
}

// command is what to type, with the arguments quoted.
func command(name string, arguments ...string) string {
	for _, a := range arguments {
		name += " " + quoted(a)
	}
	return visible(name)
}

// quoted is a name as a shell takes it.
func quoted(name string) string {
	if name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-./:=@%+,~", r))
	}) {
		return name
	}
	return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
}
