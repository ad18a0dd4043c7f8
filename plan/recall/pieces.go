package recall

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// word is a piece of a sentence.
type word struct {
	text, lower string
	value       bool // a figure, or a name that is not a word
	fresh       bool // a separator precedes it: a comma, a bracket
	sign        bool // = : →
}

// pieces splits a sentence into words. Text in backticks is one word, and so is a figure with its
// unit.
func pieces(sentence string) []word {
	var all []word
	fresh := true
	add := func(text string, quoted bool) {
		text = strings.TrimRight(text, ".,;:!?/")
		if text == "" {
			return
		}
		if name, value, ok := assigned(text); ok {
			all = append(all, word{text: name, lower: strings.ToLower(name), fresh: fresh},
				word{text: "=", lower: "=", sign: true}, word{text: value, lower: strings.ToLower(value), value: true})
			fresh = false
			return
		}
		w := word{text: text, lower: strings.ToLower(text), fresh: fresh, value: isValue(text) ||
			quoted && len(all) > 0 && (all[len(all)-1].sign || setting[all[len(all)-1].lower])}
		if n := len(all); n > 0 && all[n-1].value && !fresh && units[w.lower] && figure(all[n-1].text) {
			all[n-1].text += " " + text
			return
		}
		all = append(all, w)
		fresh = false
	}
	for i := 0; i < len(sentence); {
		r, size := utf8.DecodeRuneInString(sentence[i:])
		switch {
		case r == '`':
			end := strings.IndexByte(sentence[i+1:], '`')
			if end < 0 {
				i++
				continue
			}
			text := strings.TrimSpace(sentence[i+1 : i+1+end])
			if joined := assignment.ReplaceAllString(text, "$1=$2"); joined != text {
				text = joined
			}
			if !strings.ContainsAny(text, " \t") {
				add(text, true)
			} else {
				fresh = true
			}
			i += end + 2
		case strings.HasPrefix(sentence[i:], "->") || strings.HasPrefix(sentence[i:], "=>"):
			all = append(all, word{text: "→", lower: "→", sign: true})
			i += 2
		case r == '=' || r == '→' || r == ':':
			all = append(all, word{text: string(r), lower: string(r), sign: true})
			fresh = false
			i += size
		case inWord(r):
			j := i
			for j < len(sentence) {
				c, n := utf8.DecodeRuneInString(sentence[j:])
				if !inWord(c) && !(strings.ContainsRune(".:/-+@'’", c) && j+n < len(sentence) &&
					inWordByte(sentence, j+n)) {
					if c == ',' && digitAt(sentence, j-1) && digitAt(sentence, j+1) {
						j++
						continue
					}
					if c == '%' {
						j++
					}
					break
				}
				j += n
			}
			add(sentence[i:j], false)
			i = j
		default:
			if strings.ContainsRune(",;()[]—–", r) {
				fresh = true
			}
			i += size
		}
	}
	return all
}

func inWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '$' || r == '€' || r == '/'
}

func inWordByte(text string, i int) bool {
	r, _ := utf8.DecodeRuneInString(text[i:])
	return inWord(r)
}

func digitAt(text string, i int) bool {
	return i >= 0 && i < len(text) && text[i] >= '0' && text[i] <= '9'
}

// assigned splits "PORT=8080".
func assigned(text string) (name, value string, ok bool) {
	name, value, ok = strings.Cut(text, "=")
	if !ok {
		if name, value, ok = strings.Cut(text, ":"); !ok || strings.HasPrefix(value, "//") ||
			strings.ContainsAny(name, "./0123456789") {
			return "", "", false
		}
	}
	name, value = strings.Trim(name, "-\"' "), strings.Trim(value, "\"' ")
	return name, value, name != "" && value != "" && !strings.ContainsAny(name, "/.(){}[]") &&
		!strings.ContainsAny(value, "=(){}[]")
}

func figure(text string) bool {
	text = strings.TrimLeft(text, "$€£")
	return text != "" && strings.Trim(text, "0123456789.,_") == ""
}

// assignment matches a name with its value in code.
var assignment = regexp.MustCompile(`^([A-Za-z_][\w.-]*)\s*[:=]\s*"?([^\s"=]+)"?[;,]?$`)

// isValue reports whether a word is a figure, or a machine's name: with digits, dots or dashes
// between letters.
func isValue(text string) bool {
	bare := strings.TrimLeft(text, "$€£v")
	if bare == "" {
		return false
	}
	if bare[0] >= '0' && bare[0] <= '9' {
		return true
	}
	if strings.Contains(text, "://") {
		return !strings.HasSuffix(text, "://")
	}
	if strings.Contains(text, "/") {
		return false // a path: what was done to it is told elsewhere
	}
	digits := strings.ContainsAny(text, "0123456789")
	return digits && strings.ContainsAny(text, "-._:") || strings.Count(text, ".") > 0 && strings.Contains(text, ":")
}
