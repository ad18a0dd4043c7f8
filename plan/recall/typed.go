package recall

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// typed removes lines that a program printed and a person pasted: logs, stacks, shell prompts, rows
// of tables and of JSON.
func typed(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if printed(strings.TrimSpace(line)) {
			b.WriteString("\n")
		} else {
			b.WriteString(line)
		}
	}
	return b.String()
}

// prompts are the beginnings of lines from shells, terminal programs and logs.
var prompts = []string{
	"$ ", "% ", "➜", "❯", "⎿", "⏺", "│", "|", "{\"", "[{", "}", "Traceback (", "Caused by:", "panic:", "goroutine ",
	"npm ERR!", "npm error", "--- ", "+++ ", "@@ ", "diff --git",
}

func printed(line string) bool {
	for _, p := range prompts {
		if strings.HasPrefix(line, p) {
			return true
		}
	}
	word, rest, _ := strings.Cut(line, " ")
	switch {
	// a stack of JavaScript or Java
	case word == "at" && strings.ContainsAny(rest, "(/") && strings.Contains(rest, ":"):
		return true
	case word == "File" && strings.Contains(rest, ", line "): // of Python
		return true
	// a log begins with the day
	case len(word) >= 10 && word[4] == '-' && word[7] == '-' && word[0] >= '0' && word[0] <= '9':
		return true
	}
	// "TypeError: …", "error: …", "[warn] …", "main.go:12:3: …"
	name := strings.ToLower(strings.Trim(word, "[]:"))
	if word != "" && (word[len(word)-1] == ':' || word[0] == '[' && word[len(word)-1] == ']') &&
		!strings.ContainsAny(name, " ") {
		return strings.HasSuffix(name, "error") || strings.HasSuffix(name, "exception") || name == "warning" ||
			name == "warn" || name == "info" || name == "debug" || name == "fatal" ||
			strings.Count(word, ":") >= 2 && strings.Contains(word, ".")
	}
	return false
}

// wide is the least length in bytes of a line that an editor may have broken: shorter lines ended
// where their writer wanted.
const wide = 50

// rejoined joins lines that an editor broke in the middle of a sentence.
func rejoined(text string) string {
	var b strings.Builder
	before := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		next := strings.TrimSpace(line)
		first, _ := utf8.DecodeRuneInString(next)
		switch end := strings.TrimRight(before, " "); {
		case b.Len() == 0:
		case len(end) >= wide && !strings.ContainsAny(end[len(end)-1:], ".!?:;") && unicode.IsLower(first) &&
			unmarked(next) == next:
			b.WriteString(" ")
			line = next
		default:
			b.WriteString("\n")
		}
		b.WriteString(line)
		before = line
	}
	return b.String()
}
