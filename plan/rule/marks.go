package rule

import (
	"slices"
	"strings"
)

// phrases are those of which every placeholder has one, behind its handle.
var phrases = []string{" left out", " distilled", " failed;"}

// ContainsPlaceholder reports whether a text holds something that stands in place of what was left
// out, or a line that shows a handle. Models imitate what they see: a host should refuse to write
// such a text into a file. A text that only speaks of placeholders, as a program that makes them
// does, is not one; nor is an example with a 9 in its handle, which no handle has.
func ContainsPlaceholder(text string) bool {
	for _, known := range []string{Cleared, Superseded, " - truncated to save context]", "[Error output truncated - "} {
		if strings.Contains(text, known) {
			return true
		}
	}
	for rest := text; ; {
		at := strings.Index(rest, opening)
		if at < 0 {
			break
		}
		rest = rest[at+len(opening):]
		line, _, _ := strings.Cut(rest, "\n")
		line = strings.TrimPrefix(line, strings.TrimPrefix(recalled, opening))
		if said, ok := strings.CutPrefix(line[handleIn(line):], ": "); ok && handleIn(line) >= HandleLength {
			if slices.ContainsFunc(phrases, func(words string) bool { return strings.Contains(said, words) }) {
				return true
			}
		}
	}
	for rest := text; ; {
		at := strings.Index(rest, labelOpening)
		if at < 0 {
			return false
		}
		begins := at == 0 || rest[at-1] == '\n'
		rest = rest[at+len(labelOpening):]
		n := handleIn(rest)
		if after, ok := strings.CutPrefix(rest[n:], "]"); begins && ok && n >= HandleLength &&
			(after == "" || after[0] == '\n' || after[0] == '\r') {
			return true
		}
	}
}

// handleIn is how many characters at the beginning of a text could be of a handle.
func handleIn(text string) int {
	n := 0
	for n < len(text) && (text[n] >= 'a' && text[n] <= 'z' || text[n] >= '2' && text[n] <= '7') {
		n++
	}
	return n
}

const labelOpening = "[handle "

// Label is the line that shows a handle under the result of a call.
func Label(handle string) string { return labelOpening + handle + "]" }
