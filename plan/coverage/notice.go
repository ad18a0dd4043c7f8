package coverage

import (
	"strings"

	"github.com/winnowhq/winnow/plan/call"
)

// tail is what stands behind the lines of a reader.
type tail struct {
	end  bool // the reader says that the file ends here
	more bool // it says that there is more, or something that is not understood
	only bool // nothing but the reader's own words
}

// readTail understands the notices behind numbered lines: where to go on, closing tags, reminders.
func readTail(text string) tail {
	t := tail{only: true}
	for {
		text = strings.TrimSpace(text)
		if text == "" {
			return t
		}
		if reminder, ok := strings.CutPrefix(text, "<system-reminder>"); ok {
			reminder, text, ok = strings.Cut(reminder, "</system-reminder>")
			t.more = t.more || !ok || leavesOut(reminder)
			// Instructions that come with the first file of a folder are said nowhere else.
			t.only = t.only && ok && !strings.Contains(reminder, "Instructions from") &&
				!strings.Contains(reminder, "AGENTS.md") && !strings.Contains(reminder, "CLAUDE.md")
			continue
		}
		var line string
		line, text = cut(text)
		switch {
		case line == "</content>" || line == "</file>":
		case strings.HasPrefix(line, "(End of file"):
			t.end = true
		case strings.HasPrefix(line, "Review the changes and make sure"):
		case isNotice(line):
			t.more = true
		default:
			return tail{more: true}
		}
	}
}

// leavesOut reports whether a text says that something was not shown.
func leavesOut(text string) bool {
	return call.ContainsAny(text, "truncated", "TRUNCATED", "omitted", "clipped", "more lines", "not shown",
		"Showing lines", "PARTIAL", "partial", "capped", "too large", "to read beyond", "characters]", "lines]")
}

// isNotice reports whether a line is a tool's notice that something was left out: in brackets or
// behind dots, and with a number, as in "[90 more lines in file]", "... (12 more lines not shown)",
// "(Output capped at 50 KB)".
func isNotice(line string) bool { return isNoticeWith(line, true) }

// isNoticeWith looks for an ellipsis only if the text is known to have one.
func isNoticeWith(line string, dots bool) bool {
	line = strings.TrimLeft(line, " -*")
	if line == "" {
		return false
	}
	switch line[0] {
	case '[', '(':
	case '<':
		if strings.HasPrefix(line, "<response clipped>") {
			return true
		}
	case '.':
		if !strings.HasPrefix(line, "...") {
			return false
		}
	case 'W', 'S':
		if !strings.HasPrefix(line, "Warning:") && !strings.HasPrefix(line, "Some lines were ") {
			return false
		}
	default:
		if !dots || !strings.Contains(line, "…") {
			return false
		}
	}
	return leavesOut(line) && (strings.ContainsAny(line, "0123456789") ||
		strings.HasPrefix(line, "(File has more lines"))
}

// noticed finds the first line in which a tool says that it left something out: where it begins and
// ends, at is -1 if there is no such line. Codex writes its notice into the middle of a line. A
// line of a file that reads like one ends a view too early, which is safe.
func noticed(text string) (at, end int) {
	dots := strings.Contains(text, "…")
	for at < len(text) {
		line, after := cut(text[at:])
		end = len(text) - len(after)
		if isNoticeWith(line, dots) {
			return at, end
		}
		at = end
	}
	return -1, 0
}

// cleared reports whether a product put a note in the place of an output, or says that there is
// none.
func cleared(output string) bool {
	if len(output) > 400 {
		output = output[:400]
	}
	head, _ := cut(strings.TrimSpace(output))
	head = strings.ToLower(head)
	if head == "" || strings.HasPrefix(head, "<persisted-output>") ||
		strings.HasPrefix(head, "[old tool result content cleared") || strings.HasPrefix(head, "file unchanged since") {
		return true
	}
	if len(head) > 80 {
		return false
	}
	for _, words := range []string{"no output", "without output", "no content", "file is empty", "output too large",
		"contents are empty", "read image file", "read successfully"} {
		if strings.Contains(head, words) {
			return true
		}
	}
	return false
}
