package call

import (
	"slices"
	"strings"
)

// Telling picks the lines of an output that say what went wrong: errors, failed tests, places ("path:line"), the cause. At most n, in
// their order, each at most 240 bytes. A text without such lines gives its last ones.
func Telling(output string, n int) []string {
	type scored struct {
		at, score int
		text      string
	}
	var found []scored
	var last []string
	seen := map[string]bool{}
	at := 0
	for line := range strings.Lines(Bound(output)) {
		at++
		text := strings.TrimSpace(Plain(strings.TrimSpace(line)))
		if text == "" || len(text) > 4000 && !strings.Contains(text[:240], "rror") {
			continue
		}
		if strings.HasPrefix(text, "<tool_use_error>") {
			text = strings.TrimSuffix(text[len("<tool_use_error>"):], "</tool_use_error>")
		}
		text = Cut(text, 240)
		if len(text) < 40 && ContainsAny(strings.ToLower(text), "exit code", "exit status", "exited with code") {
			continue // said beside the lines already
		}
		if len(last) == 3 {
			last = last[1:]
		}
		last = append(last, text)
		if score := weight(text); score > 0 && !seen[text] && len(found) < 2000 {
			seen[text] = true
			found = append(found, scored{at, score, text})
		}
	}
	if len(found) == 0 {
		return last[max(0, len(last)-n):]
	}
	slices.SortStableFunc(found, func(a, b scored) int { return b.score - a.score })
	found = found[:min(n, len(found))]
	slices.SortFunc(found, func(a, b scored) int { return a.at - b.at })
	picked := make([]string, len(found))
	for i, f := range found {
		picked[i] = f.text
	}
	return picked
}

// weight says how much a line tells of a failure.
func weight(line string) int {
	lower := strings.ToLower(Cut(line, 200))
	score := 0
	switch {
	case strings.HasPrefix(lower, "npm error"), strings.HasPrefix(lower, "npm err!"), strings.HasPrefix(lower, "make: ***"), strings.HasPrefix(lower, "error: command failed"):
		return 1 // the wrapper around the error
	case strings.Contains(line, "--- FAIL"), strings.HasPrefix(line, "FAILED "), strings.HasPrefix(line, "E   "), strings.HasPrefix(line, "panic:"),
		strings.Contains(line, "DATA RACE"), strings.HasPrefix(line, "✗"), strings.HasPrefix(line, "✖"), strings.HasPrefix(line, "not ok "), strings.HasPrefix(lower, "fatal"):
		score = 4
	case strings.Contains(line, "Error: "), strings.Contains(line, "error: "), strings.Contains(line, "error TS"), strings.Contains(line, "error["), strings.Contains(line, "Exception: "),
		strings.Contains(line, "undefined: "), strings.Contains(lower, "not found"), strings.Contains(lower, "no such file"), strings.Contains(lower, "cannot "), strings.Contains(lower, "could not "):
		score = 4
	case strings.Contains(lower, " expected"), strings.Contains(lower, " want "), strings.Contains(lower, "assert"), strings.Contains(lower, "denied"), strings.Contains(lower, "timed out"), strings.Contains(lower, "caused by"):
		score = 3
	case strings.Contains(lower, "error"), strings.Contains(lower, "failed"), strings.Contains(lower, "failure"):
		score = 2
	}
	if _, ok := Place(line); ok {
		score += 2
	}
	if strings.HasPrefix(line, "=== ") || strings.HasPrefix(line, "at ") || strings.HasPrefix(lower, "0 error") || strings.Contains(lower, " 0 failed") || strings.HasPrefix(line, "//") ||
		strings.Contains(lower, "level=info") {
		return 0
	}
	return score
}

// Place finds "path:line" in a line of output.
func Place(line string) (place string, ok bool) {
	for at := 0; at < len(line); {
		colon := strings.IndexByte(line[at:], ':')
		if colon < 0 {
			return "", false
		}
		colon += at
		end := colon + 1
		for end < len(line) && line[end] >= '0' && line[end] <= '9' {
			end++
		}
		start := colon
		for start > 0 && isPathByte(line[start-1]) {
			start--
		}
		name := line[start:colon]
		if end > colon+1 && len(name) > 3 && strings.Contains(name, ".") && !strings.HasSuffix(name, ".") && !strings.HasPrefix(name, "//") && !AllDigits(strings.ReplaceAll(name, ".", "")) {
			return line[start:end], true
		}
		at = colon + 1
	}
	return "", false
}

func isPathByte(b byte) bool {
	return b == '/' || b == '.' || b == '_' || b == '-' || b == '@' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= 0x80
}

// Verdict is the line in which tests or a build sum up a success, "" when there is none.
func Verdict(output string) string {
	text := Bound(output)
	text = text[max(0, len(text)-3000):]
	best := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(Plain(strings.TrimSpace(line)))
		if len(line) > 160 || line == "" {
			continue
		}
		if ContainsAny(line, " passed", " passing", "test result: ok", "BUILD SUCCESS", "Tests: ", "Test Suites:", "# pass", "files changed", "file changed") || strings.HasPrefix(line, "ok  ") || strings.HasPrefix(line, "OK (") || strings.HasPrefix(line, "Ran ") {
			best = line
		}
	}
	return best
}

// Plain takes terminal colours and other control characters out of a line.
func Plain(line string) string {
	if strings.IndexFunc(line, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) < 0 {
		return line
	}
	var b strings.Builder
	for i := 0; i < len(line); i++ {
		c := line[i]
		if c == 0x1b && i+1 < len(line) && line[i+1] == '[' {
			i += 2
			for i < len(line) && (line[i] < '@' || line[i] > '~') {
				i++
			}
			continue
		}
		if c >= ' ' && c != 0x7f || c == '\t' {
			b.WriteByte(c)
		}
	}
	return b.String()
}
