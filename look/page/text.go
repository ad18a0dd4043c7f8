package page

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/quantity"
	see "github.com/winnowhq/winnow/text/visible"
)

// visible makes a foreign text fit to be read: what would act unseen is written out.
func visible(text string) string { return see.Text(text) }

// line is the beginning of a foreign text on one line of at most that many characters. Escape
// sequences go: colour is nothing to read.
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

// excerpt is the beginning of a text, at most that many bytes, cut between characters.
func excerpt(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// counted is a sentence fit to be read, with the digits of its large numbers grouped.
func counted(sentence string) string { return quantity.Sentence(visible(sentence)) }

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
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("_-./:=@%+,~", r))
	}) {
		return name
	}
	return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
}
