// Package wordlist reads the lists of words and phrases that packages keep in embedded text files.
package wordlist

import (
	"strconv"
	"strings"
)

// Lists are lists of words and phrases by name.
type Lists map[string][]string

// Parse reads a file of lists. A line "[name]" begins a list; the lines below it are its words and
// phrases, separated by commas. Quotation marks keep blanks and commas of an entry. Empty lines and
// lines that begin with "#" are skipped.
func Parse(text string) Lists {
	lists := Lists{}
	name := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if rest, ok := strings.CutPrefix(line, "["); ok {
			name = strings.TrimSuffix(rest, "]")
			continue
		}
		for line != "" {
			var entry, rest string
			if quoted, err := strconv.QuotedPrefix(line); err == nil {
				entry, _ = strconv.Unquote(quoted)
				_, rest, _ = strings.Cut(line[len(quoted):], ",")
			} else {
				entry, rest, _ = strings.Cut(line, ",")
				entry = strings.TrimSpace(entry)
			}
			lists[name] = append(lists[name], entry)
			line = strings.TrimSpace(rest)
		}
	}
	return lists
}

// Of returns a list. A name without a list is a mistake of the package that asks, and panics.
func (l Lists) Of(name string) []string {
	list, ok := l[name]
	if !ok {
		panic("wordlist: no list " + name)
	}
	return list
}

// Set returns a list as a set.
func (l Lists) Set(name string) map[string]bool {
	set := map[string]bool{}
	for _, entry := range l.Of(name) {
		set[entry] = true
	}
	return set
}
