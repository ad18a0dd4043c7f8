package call

import (
	"iter"
	"slices"
	"strings"
	"unsafe"
)

// Lines are the lines of an output as they are read to somebody: without white space around them,
// colours and control characters. Empty ones are left out. Of very long outputs they are those of
// the head and the tail.
func Lines(output string) []string {
	output = Bound(output)
	return AppendLines(make([]string, 0, min(1+strings.Count(output, "\n"), 1+len(output)/8)), output)
}

// AppendLines puts them behind others.
func AppendLines(lines []string, output string) []string {
	for rest := Bound(output); rest != ""; {
		line, end := rest, strings.IndexByte(rest, '\n')
		if rest = ""; end >= 0 {
			line, rest = line[:end], line[end+1:]
		}
		if line = strings.TrimSpace(line); controlled(line) {
			line = strings.TrimSpace(Plain(line))
		}
		if line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// ErrorLines picks the lines of an output that say what went wrong: errors, failed tests, places
// ("path:line"), the cause. At most n, in their order, each at most 240 bytes and an ellipsis. A
// text without such lines gives its last ones.
func ErrorLines(output string, n int) []string { return PickErrors(Lines(output), n) }

// statusLines are left out, because callers state the status themselves.
var statusLines = newWords([]string{"exit code", "exit status", "exited with code"})

// most is how many lines of one output may tell something.
const most = 2000

// PickErrors is ErrorLines for lines that were read already.
func PickErrors(lines []string, n int) []string {
	found := scores(lines, n)
	if len(found) == 0 {
		return lastOf(lines, n)
	}
	picked := make([]string, len(found))
	for i, f := range found {
		picked[i] = f.text
	}
	return picked
}

// NumberedErrors yields the lines of an output that PickErrors picks, with their numbers, from 1
// on. A text without such lines has none.
func NumberedErrors(output string, n int) iter.Seq2[int, string] {
	lines := strings.Split(output, "\n")
	for i, line := range lines {
		if line = strings.TrimSpace(line); controlled(line) {
			line = strings.TrimSpace(Plain(line))
		}
		lines[i] = line
	}
	return func(yield func(int, string) bool) {
		for _, f := range scores(lines, n) {
			if !yield(int(f.at)+1, f.text) {
				return
			}
		}
	}
}

// scored is a line that tells something.
type scored struct {
	at, score int32
	text      string
}

// scores are the lines that tell most, in their order, at most n.
func scores(lines []string, n int) []scored {
	var few [64]scored
	found := few[:0]
	seen := known{}
	for at, line := range lines {
		if len(found) == most {
			break
		}
		text, ok := readable(line)
		if !ok {
			continue
		}
		if score := weight(text); score > 0 && !isStatusLine(text) && seen.fresh(text) {
			found = append(found, scored{int32(at), int32(score), text})
		}
	}
	slices.SortStableFunc(found, func(a, b scored) int { return int(b.score - a.score) })
	found = found[:min(n, len(found))]
	slices.SortFunc(found, func(a, b scored) int { return int(a.at - b.at) })
	return found
}

// readable shortens a line for people. ok is false for one that is too long.
func readable(line string) (text string, ok bool) {
	if len(line) > 4000 && !strings.Contains(line[:240], "rror") {
		return "", false
	}
	if strings.HasPrefix(line, "<tool_use_error>") {
		line = strings.TrimSuffix(line[len("<tool_use_error>"):], "</tool_use_error>")
	}
	return Cut(line, 240), true
}

// isStatusLine reports whether a line only states the exit status.
func isStatusLine(text string) bool { return len(text) < 40 && statusLines.in(text) }

// lastOf are the last lines that can be told, n of them, but at most three.
func lastOf(lines []string, n int) (picked []string) {
	for at := len(lines) - 1; at >= 0 && len(picked) < min(n, 3); at-- {
		if text, ok := readable(lines[at]); ok && !isStatusLine(text) {
			picked = append(picked, text)
		}
	}
	slices.Reverse(picked)
	return picked
}

// known are texts that were seen, told apart by their bytes. Few are kept in a list, many in a map.
type known struct {
	few  [64]string
	n    int
	many map[string]bool
}

// fresh takes a text in and reports whether it is new.
func (k *known) fresh(text string) bool {
	if slices.Contains(k.few[:k.n], text) || k.many[text] {
		return false
	}
	if k.n < len(k.few) {
		k.few[k.n] = text
		k.n++
		return true
	}
	if k.many == nil {
		k.many = map[string]bool{}
	}
	k.many[text] = true
	return true
}

// telling are the words that tell of a failure.
var telling = newWords([]string{
	"not found", "no such file", "cannot ", "could not ",
	" expected", " want ", "assert", "denied", "timed out", "caused by",
	"error", "failed", "failure",
	" 0 failed", "level=info",
}, "--- FAIL", "DATA RACE", "Error: ", "error: ", "error TS", "error[", "Exception: ", "undefined: ")

// The groups of these words, as sets of their numbers.
const (
	tellsPlainly = 0xF | 0xFF<<15
	tellsOfWants = 0x3F << 4
	tellsVaguely = 0x7 << 10
	tellsNothing = 0x3 << 13
)

// weight says how much a line tells of a failure.
func weight(line string) int {
	switch begins := beginning(line); {
	case begins == beginsWrapper:
		return 1
	case begins == beginsNothing:
		return 0
	default:
		score := 0
		switch found := telling.of(line, 200); {
		case found&tellsNothing != 0:
			return 0
		case begins == beginsPlainly || found&tellsPlainly != 0:
			score = 4
		case found&tellsOfWants != 0:
			score = 3
		case found&tellsVaguely != 0:
			score = 2
		}
		if _, ok := Place(line); ok {
			score += 2
		}
		return score
	}
}

const (
	beginsAnyhow  = iota
	beginsWrapper // the wrapper around an error
	beginsPlainly // an error
	beginsNothing // no information, whatever it says
)

// beginning says what a line is by its first words.
func beginning(line string) int {
	if line == "" {
		return beginsAnyhow
	}
	switch c := line[0]; {
	case c|0x20 == 'n' && (hasPrefixFold(line, "npm error") || hasPrefixFold(line, "npm err!")), c|0x20 == 'm' &&
		hasPrefixFold(line, "make: ***"),
		c|0x20 == 'e' && hasPrefixFold(line, "error: command failed"):
		return beginsWrapper
	case c == '=' && strings.HasPrefix(line, "=== "), c == 'a' && strings.HasPrefix(line, "at "), c == '0' &&
		hasPrefixFold(line, "0 error"), c == '/' && strings.HasPrefix(line, "//"):
		return beginsNothing
	case c == 'F' && strings.HasPrefix(line, "FAILED "), c == 'E' && strings.HasPrefix(line, "E   "), c == 'p' &&
		strings.HasPrefix(line, "panic:"),
		c == 'n' && strings.HasPrefix(line, "not ok "), c|0x20 == 'f' && hasPrefixFold(line, "fatal"), c == 0xE2 &&
			(strings.HasPrefix(line, "✗") || strings.HasPrefix(line, "✖")):
		return beginsPlainly
	}
	return beginsAnyhow
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
		if at = end; end == colon+1 {
			continue
		}
		start := colon
		for start > 0 && isPathByte(line[start-1]) {
			start--
		}
		name := line[start:colon]
		if len(name) > 3 && strings.Contains(name, ".") && !strings.HasSuffix(name, ".") &&
			!strings.HasPrefix(name, "//") && !numeric(name) {
			return line[start:end], true
		}
	}
	return "", false
}

// numeric reports whether a name has nothing but digits, dots and dashes: an address, a version, a
// time.
func numeric(name string) bool {
	for i := range len(name) {
		if c := name[i]; (c < '0' || c > '9') && c != '.' && c != '-' {
			return false
		}
	}
	return true
}

func isPathByte(b byte) bool {
	return b == '/' || b == '.' || b == '_' || b == '-' || b == '@' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' ||
		b >= 'A' && b <= 'Z' || b >= 0x80
}

// Verdict is the line in which tests or a build sum up a success, "" if there is no such line.
func Verdict(output string) string {
	text := Bound(output)
	text = text[max(0, len(text)-3000):]
	best := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(Plain(strings.TrimSpace(line)))
		if len(line) > 160 || line == "" {
			continue
		}
		if ContainsAny(line, " passed", " passing", "test result: ok", "BUILD SUCCESS", "Tests: ", "Test Suites:",
			"# pass", "files changed", "file changed") || strings.HasPrefix(line, "ok  ") ||
			strings.HasPrefix(line, "OK (") || strings.HasPrefix(line, "Ran ") {
			best = line
		}
	}
	return best
}

// Plain takes terminal colours and other control characters out of a line.
func Plain(line string) string {
	if !controlled(line) {
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

// controlled reports whether a text has control characters in it, tabs aside.
func controlled(text string) bool {
	b, i := unsafe.Slice(unsafe.StringData(text), len(text)), 0
	for ; i+8 <= len(b); i += 8 {
		if mayControl(eightAt(b, i)) {
			break
		}
	}
	if n := len(b); n-8 < i && i < n && n >= 8 && !mayControl(eightAt(b, n-8)) {
		return false
	}
	for ; i < len(b); i++ {
		if c := b[i]; c < ' ' && c != '\t' || c == 0x7F {
			return true
		}
	}
	return false
}

// mayControl reports whether there may be control characters or tabs among eight bytes.
func mayControl(eight uint64) bool { return below(eight, ' ')|equal(eight, 0x7F) != 0 }
