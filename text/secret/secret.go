// Package secret masks keys, tokens and passwords in texts.
//
// It knows the shapes in which providers give keys out, private keys in PEM, JSON web tokens,
// passwords in addresses, and values beside a name such as api_key, password or
// Authorization. It guesses nothing from randomness alone: hashes, ids of commits, UUIDs and base64
// stay. The text may be prose, code, or the bytes of a JSON file: what is left is JSON of the same
// structure.
package secret

import (
	"slices"
	"strings"
)

// Masked replaces a secret.
const Masked = "[masked]"

// span is a piece of a text, from and up to.
type span struct{ from, to int }

// Mask is a text without the secrets in it, and how many there were. Each keeps what it begins
// with, so that one sees what it was: sk-ant-[masked], password=[masked]. A text that has none
// comes back as it is, and so does one that was masked before. It takes a time that grows with the
// length of the text.
func Mask(text string) (string, int) {
	all := 0
	for range passes {
		masked, n := once(text)
		if n == 0 {
			break
		}
		text, all = masked, all+n
	}
	return text, all
}

// passes is how often a text is looked at in which something was masked: what goes may uncover
// where a second secret begins.
const passes = 4

func once(text string) (string, int) {
	spans := find(text)
	if len(spans) == 0 {
		return text, 0
	}
	var b strings.Builder
	at := 0
	for _, s := range spans {
		b.WriteString(text[at:s.from])
		b.WriteString(Masked)
		at = s.to
	}
	b.WriteString(text[at:])
	return b.String(), len(spans)
}

// find are the secrets of a text in their order, none within another.
func find(text string) []span {
	if len(text) < 8 {
		return nil
	}
	var found []span
	for i := range shapes {
		found = shapes[i].find(text, found)
	}
	found = webTokens(text, found)
	found = privateKeys(text, found)
	found = settled(found)
	strong := len(found)
	weak := assignments(text, addresses(text, bearers(text, nil)))
	touching := func(have, s span) int { return have.to - s.from - 1 }
	for _, s := range weak { // secrets with a known shape keep their beginning
		at, _ := slices.BinarySearchFunc(found[:strong], s, touching)
		if at == strong || found[at].from >= s.to {
			found = append(found, s)
		}
	}
	return settled(found)
}

// settled puts spans in order, and leaves out those that begin within another.
func settled(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int {
		if a.from != b.from {
			return a.from - b.from
		}
		return b.to - a.to
	})
	kept := spans[:0]
	for _, s := range spans {
		if n := len(kept); n > 0 && s.from < kept[n-1].to {
			continue
		}
		kept = append(kept, s)
	}
	return kept
}

// each calls with every place where a word begins.
func each(text, of string, do func(at int)) {
	for from := 0; ; {
		at := strings.Index(text[from:], of)
		if at < 0 {
			return
		}
		do(from + at)
		from += at + len(of)
	}
}

func (s *shape) find(text string, found []span) []span {
	for prefix := range strings.FieldsSeq(s.prefixes) {
		each(text, prefix, func(at int) {
			if !begins(text, at) { // asked first, so that a run is gone along once
				return
			}
			from := at + len(prefix)
			to := s.set.run(text, from)
			switch {
			case to-from < s.least, s.exact && to-from != s.least:
			case s.set == upper && to < len(text) && word.has(text[to]): // it goes on
			case s.mixed && !mixed(text[from:to], 2):
			default:
				found = append(found, span{from, to})
			}
		})
	}
	return found
}

// begins reports whether a word begins at a place: no letter, digit, dash or underscore is before
// it, except those of an escape within a JSON string.
func begins(text string, at int) bool {
	if at == 0 || !(word | dash).has(text[at-1]) {
		return true
	}
	if strings.IndexByte("nrtbf", text[at-1]) >= 0 {
		return escapes(text, at-1)
	}
	return at >= 6 && text[at-5] == 'u' && escapes(text, at-5) && hexadecimal(text[at-4:at])
}

// escapes reports whether the character at a place is preceded by a backslash that is not escaped
// itself.
func escapes(text string, at int) bool {
	n := 0
	for n < at && n < 16 && text[at-1-n] == '\\' {
		n++
	}
	return n > 0
}

func hexadecimal(text string) bool {
	for i := range len(text) {
		if c := text[i]; !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F') {
			return false
		}
	}
	return text != ""
}

// mixed reports whether a text has letters and at least that many digits.
func mixed(text string, digits int) bool {
	letters := false
	for i := range len(text) {
		switch c := text[i]; {
		case c >= '0' && c <= '9':
			digits--
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			letters = true
		}
	}
	return letters && digits <= 0
}

// webTokens are JSON web tokens: three runs of base64url, the first two of JSON objects. The header
// stays: it says what it is.
func webTokens(text string, found []span) []span {
	each(text, "eyJ", func(at int) {
		if !begins(text, at) {
			return
		}
		header := (word | dash).run(text, at)
		if header-at < 10 || !strings.HasPrefix(text[header:], ".eyJ") {
			return
		}
		claims := (word | dash).run(text, header+1)
		if claims-header < 10 || claims == len(text) || text[claims] != '.' {
			return
		}
		if to := (word | dash).run(text, claims+1); to-claims > 10 {
			found = append(found, span{at + 3, to})
		}
	})
	return found
}

// privateKeys are the bodies of private keys in PEM, also within a JSON string, behind numbers of
// lines, and cut off before their end.
func privateKeys(text string, found []span) []span {
	each(text, "-----BEGIN ", func(at int) {
		at += len("-----BEGIN ")
		label := strings.Index(text[at:min(len(text), at+48)], "-----")
		if label < 0 || !strings.Contains(text[at:at+label], "PRIVATE KEY") {
			return
		}
		from := at + label + len("-----")
		to, letters := from, 0
		for to < len(text) && !strings.HasPrefix(text[to:], "-----") {
			switch c := text[to]; {
			case (alnum | plus | slash).has(c):
				letters++
				to++
			case strings.IndexByte(" \t\r\n:,-|", c) >= 0:
				to++
			case strings.HasPrefix(text[to:], "→"):
				to += len("→")
			case c == '\\':
				end := to
				for end < len(text) && text[end] == '\\' {
					end++
				}
				if end == len(text) || strings.IndexByte("nrt/", text[end]) < 0 {
					goto ended
				}
				to = end + 1
			default:
				goto ended
			}
		}
	ended:
		if letters >= 32 {
			found = append(found, span{from, to})
		}
	})
	return found
}
