package quality

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Kind is what a planted fact is.
type Kind string

// The kinds of facts.
const (
	Rule        Kind = "rules"        // the user said how to work: "never touch db/migrations"
	Value       Kind = "values"       // a port, a limit, a name that was agreed on
	Path        Kind = "paths"        // a file that a call wrote
	Decision    Kind = "decisions"    // what is used, with the reason
	Override    Kind = "overrides"    // what took the place of one of these
	Attribution Kind = "attributions" // what holds for one of two, and not for the other
)

// Kinds are all of them, in the order of the table.
func Kinds() []Kind { return []Kind{Rule, Value, Path, Decision, Override, Attribution} }

// Fact is something that was planted in a session.
type Fact struct {
	Kind Kind
	Part int    // in which it was planted, from 1
	Text string // as it was said

	// needs are the words that a line has which tells the fact, each with others that would do.
	needs [][]string
	// other is what a line has that tells the counterpart of an attribution.
	other [][]string
	// replaces is what the fact took the place of: old is what a paragraph has that states it
	// still, now what one has that says that it is replaced.
	replaces *Fact
	old, now [][]string
	replaced bool // it no longer holds
}

// stands reports whether a line of a text tells the fact.
func (f *Fact) stands(text string) bool { return tells(text, f.needs) }

// stale reports whether a paragraph of a text has what this fact replaced without what took its
// place.
func (f *Fact) stale(paragraphs []string) bool {
	if f.replaces == nil {
		return false
	}
	for _, p := range paragraphs {
		if meets(p, f.old) && !meets(p, f.now) {
			return true
		}
	}
	return false
}

// mixed reports whether a line of a text gives the one what is the other's, or says of what holds
// that it was replaced.
func (f *Fact) mixed(text string) bool {
	if f.other == nil {
		return false
	}
	for line := range linesWith(text, f.needs[1][0]) {
		if meets(line, f.needs[1:]) && meets(line, f.other[:1]) && !meets(line, f.needs[:1]) &&
			!meets(line, f.other[1:]) {
			return true
		}
		for _, note := range replacedNotes.FindAllString(line, -1) {
			if meets(note, f.needs[1:]) {
				return true
			}
		}
	}
	return false
}

// replacedNotes match what is said of a value that no longer holds: "(was 7070)".
var replacedNotes = regexp.MustCompile(`\(was [^)]*\)`)

// tells reports whether a line of a text has all words that are needed.
func tells(text string, needs [][]string) bool {
	rare := needs[0]
	for _, n := range needs {
		if len(n) == 1 {
			rare = n
		}
	}
	for _, word := range rare {
		for line := range linesWith(text, word) {
			if meets(line, needs) {
				return true
			}
		}
	}
	return false
}

// linesWith are the lines of a text that have a word.
func linesWith(text, word string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for from := 0; from < len(text); {
			at := strings.Index(text[from:], word)
			if at < 0 {
				return
			}
			at += from
			start := strings.LastIndexByte(text[:at], '\n') + 1
			end := len(text)
			if n := strings.IndexByte(text[at:], '\n'); n >= 0 {
				end = at + n
			}
			if !yield(text[start:end]) {
				return
			}
			from = end
		}
	}
}

// meets reports whether a text has a word of each of the needs.
func meets(text string, needs [][]string) bool {
	for _, alternatives := range needs {
		found := false
		for _, word := range alternatives {
			if found = hasWord(text, word); found {
				break
			}
		}
		if !found {
			return false
		}
	}
	return true
}

// hasWord reports whether a text has a word that is not a part of a longer one. Capitals do not
// matter where it begins.
func hasWord(text, word string) bool {
	return findWord(text, word) || findWord(text, capital(word))
}

func findWord(text, word string) bool {
	for from := 0; ; {
		at := strings.Index(text[from:], word)
		if at < 0 {
			return false
		}
		at += from
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[at+len(word):])
		if (at == 0 || !inWord(before) || word == "n't") && (at+len(word) == len(text) || !inWord(after)) {
			return true
		}
		from = at + 1
	}
}

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }

// paragraphs splits a text at blank lines and bullets.
func paragraphs(text string) []string {
	return strings.Split(strings.ReplaceAll(text, "\n- ", "\n\n- "), "\n\n")
}
