package recall

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/winnowhq/winnow/plan/call"
)

// Prose removes what the writer did not say: code blocks, quotes, and blocks between tags that
// programs insert.
func Prose(text string) string {
	text = withoutTags(call.Bound(text))
	if !strings.Contains(text, "```") && !strings.Contains(text, "\n>") && !strings.HasPrefix(text, ">") {
		return text
	}
	var b strings.Builder
	fenced := false
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~") {
			fenced = !fenced
			b.WriteString("\n")
			continue
		}
		if !fenced && !strings.HasPrefix(trimmed, ">") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// programTags are the beginnings of tag names that programs, not people, write.
var programTags = []string{"system-reminder", "command-", "local-command", "environment_context", "user_instructions",
	"INSTRUCTIONS", "permissions", "bash-", "task-notification", "ide_", "skill", "file", "persisted-output",
	"function_calls", "invoke", "tool_", "context", "pr_description", "uploaded_files", "thinking", "system_",
	"turn_aborted", "user_action", "attached", "image"}

// withoutTags removes blocks such as <system-reminder>…</system-reminder>. A block that is not
// closed ends at the blank line.
func withoutTags(text string) string {
	if !strings.Contains(text, "<") {
		return text
	}
	var b strings.Builder
	unclosed := map[string]bool{} // looked for once, so that the whole stays linear
	for {
		at := strings.IndexByte(text, '<')
		if at < 0 {
			break
		}
		name := tagName(text[at+1:])
		program := false
		for _, prefix := range programTags {
			// Names such as "file" must match whole; those that end in a separator are prefixes.
			if name == prefix || strings.HasPrefix(name, prefix) &&
				(strings.HasSuffix(prefix, "-") || strings.HasSuffix(prefix, "_")) {
				program = true
			}
		}
		// The text of a pull request is the task itself, so that only its tags are removed.
		if name == "pr_description" || name == "uploaded_files" {
			program = false
		}
		if !program {
			b.WriteString(text[:at+1])
			text = text[at+1:]
			continue
		}
		b.WriteString(text[:at])
		text = text[at+1:]
		end := -1
		if !unclosed[name] {
			end = strings.Index(text, "</"+name+">")
			unclosed[name] = end < 0
		}
		if end >= 0 {
			text = text[end+len(name)+3:]
		} else if end := strings.Index(text, "\n\n"); end >= 0 {
			text = text[end:]
		} else {
			text = ""
		}
	}
	b.WriteString(text)
	return b.String()
}

func tagName(text string) string {
	for i := 0; i < len(text) && i < 60; i++ {
		c := text[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '-' || c == '_' || c >= '0' && c <= '9' {
			continue
		}
		if (c == '>' || c == ' ') && i > 0 {
			return text[:i]
		}
		return ""
	}
	return ""
}

// Sentences splits prose at line ends and at full stops, question and exclamation marks that end a
// sentence. Bullets and heading marks are removed; lines without letters are dropped.
func Sentences(text string) []string {
	var all []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(call.Plain(strings.ToValidUTF8(line, "\uFFFD")))
		line = unmarked(line)
		start, first := 0, len(all)
		for i, r := range line {
			if i < start || !strings.ContainsRune(".!?。！？", r) {
				continue
			}
			end := i + utf8.RuneLen(r)
			if r < 0x80 {
				// Closing quotes and brackets belong to the sentence.
				for end < len(line) && strings.IndexByte("\"')*`!?.", line[end]) >= 0 {
					end++
				}
				if end < len(line) && line[end] != ' ' {
					continue
				}
				if r == '.' && abbreviated(line[start:i], line[end:]) {
					continue
				}
			}
			all = appendSentence(all, first, line[start:end])
			start = end
		}
		all = appendSentence(all, first, line[min(start, len(line)):])
	}
	return all
}

// unmarked removes the marks of a heading or a bullet from a line.
func unmarked(line string) string {
	for {
		mark, rest, ok := strings.Cut(line, " ")
		if !ok || strings.Trim(mark, "#") != "" && mark != "-" && mark != "*" && mark != "+" && mark != "•" ||
			mark == "" {
			return line
		}
		line = strings.TrimLeft(rest, " ")
	}
}

// appendSentence adds a sentence of a line whose first one is all[first]. To one that only says for
// how long something holds, the next belongs.
func appendSentence(all []string, first int, s string) []string {
	s = strings.TrimSpace(s)
	if strings.IndexFunc(s, unicode.IsLetter) < 0 {
		return all
	}
	if last := len(all) - 1; last >= first && scope.MatchString(all[last]) {
		all[last] += " " + s
		return all
	}
	return append(all, s)
}

// scope is a sentence that says that something holds, or for how long, and not yet what.
var scope = regexp.MustCompile(`(?i)^(?:(?:and |please |also )?(?:this is (?:an? |my )?(?:\w+ ){0,2}(?:constraint|rule|requirement)|` +
	`for the (?:rest|remainder) of (?:this|the|our) \w+|(?:for|during) this \w+|throughout (?:this|the) \w+|from (?:now|here) on|` +
	`going forward|henceforth|until further notice|(?:one|a|my) (?:\w+ )?(?:rule|constraint|requirement|preference))[,:;]? ?)+[.:!]$`)

// abbreviated reports whether a full stop belongs to a word ("e.g.", "z.B.", "1.") instead of
// ending a sentence.
func abbreviated(before, after string) bool {
	after = strings.TrimLeft(after, " ")
	word := before[strings.LastIndexAny(before, " (")+1:]
	if len(word) <= 3 && call.AllDigits(word) {
		// The number of an item, or of a thing; but "It listens on port 80. Never change that."
		r, _ := utf8.DecodeRuneInString(after)
		return strings.TrimSpace(before) == word || after != "" && !unicode.IsUpper(r)
	}
	switch strings.ToLower(word) {
	case "e.g", "i.e", "etc", "vs", "z.b", "d.h", "bzw", "ca", "p.ex", "ej", "cf", "no", "nr", "dr", "mr", "ms", "st",
		"approx", "resp":
		r, _ := utf8.DecodeRuneInString(after)
		return after != "" && !unicode.IsUpper(r) || strings.Contains(word, ".")
	}
	return false
}

// words returns the words of a sentence in lower case, without punctuation.
func words(sentence string) []string {
	return strings.FieldsFunc(strings.ToLower(sentence), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\'' && r != '’' && r != '-' && r != '_'
	})
}
