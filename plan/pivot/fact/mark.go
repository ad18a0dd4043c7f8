package fact

import (
	"cmp"
	"slices"
	"strings"
)

// unconfirmed is what Mark writes after an invention.
const unconfirmed = "(unconfirmed)"

// Mark returns the text with each invention struck, so that a reader, a model above all, takes it
// for unconfirmed:
//
//	~~internal/foo.go~~ (unconfirmed)
//	~~`internal/foo.go`~~ (unconfirmed)
//	`see internal/foo.go` (unconfirmed: `internal/foo.go`)
//
// The first form is for sentences, the second for a claim that is all of a code span, the third for
// longer code spans, targets of links and text that is struck already. Below a code block a line
// names what in it is unconfirmed. Everything else stays as it was, byte for byte. Claims skips
// what is marked, so that marking again changes nothing. A claim that is not at its position is
// skipped.
func Mark(text string, invented []Claim) string {
	type edit struct {
		at    int
		order int // of several at one position: closing marks, notes, opening marks
		text  string
	}
	var edits []edit
	notes := map[int][]string{} // by the end of a span, what in it is unconfirmed
	indents := map[int]string{}
	spans := layout(text)
	claims := slices.Clone(invented)
	slices.SortStableFunc(claims, func(a, b Claim) int { return a.Start - b.Start })
	last := 0
	for _, c := range claims {
		if c.Start < last || c.Start >= c.End || c.End > len(text) || text[c.Start:c.End] != c.Text {
			continue
		}
		i := slices.IndexFunc(spans, func(s span) bool { return s.start <= c.Start && c.End <= s.end })
		if i < 0 {
			continue
		}
		last = c.End
		s := &spans[i]
		from, to := c.Start, c.End
		switch {
		case s.kind == code && strings.TrimSpace(text[s.start:s.end]) == c.Text:
			from, to = s.from, s.to
		case s.kind != prose:
			notes[s.to] = addNote(notes[s.to], c.Text, lineOf(text, c.Start))
			if line := text[s.start:s.end]; s.kind == fenced {
				indents[s.to] = line[:len(line)-len(strings.TrimLeft(line, " \t>"))]
			}
			continue
		}
		// ~~~ would open a block
		if lineHas(text, from, "~~") || from > 0 && text[from-1] == '~' || to < len(text) && text[to] == '~' {
			edits = append(edits, edit{to, 0, " " + unconfirmed})
			continue
		}
		edits = append(edits, edit{from, 2, "~~"}, edit{to, 0, "~~ " + unconfirmed})
	}
	for at, names := range notes {
		note := "(unconfirmed: " + strings.Join(names, ", ") + ")"
		indent, block := indents[at]
		open := openFence(text)
		switch {
		case !block:
			note = " " + note
		case at == len(text) && open != "":
			note = open + "\n" + indent + note
			if !strings.HasSuffix(text, "\n") {
				note = "\n" + note
			}
		default:
			note = "\n" + indent + note
		}
		edits = append(edits, edit{at, 1, note})
	}
	slices.SortStableFunc(edits, func(a, b edit) int { return cmp.Or(a.at-b.at, a.order-b.order) })
	var b strings.Builder
	at := 0
	for _, e := range edits {
		b.WriteString(text[at:e.at])
		b.WriteString(e.text)
		at = e.at
	}
	b.WriteString(text[at:])
	return b.String()
}

// addNote adds a claim to those that a note names.
func addNote(names []string, claim, line string) []string {
	if name := inBackticks(claim, line); !slices.Contains(names, name) {
		names = append(names, name)
	}
	return names
}

// inBackticks quotes a claim for a note, with more backticks than it contains, and with a number of
// them that matches no unclosed run in the line: our backticks would close it.
func inBackticks(claim, line string) string {
	longest := 0
	for _, ticks := range strings.FieldsFunc(claim, func(r rune) bool { return r != '`' }) {
		longest = max(longest, len(ticks))
	}
	n, open := longest+1, unclosed(line)
	for open[n] {
		n++
	}
	ticks := strings.Repeat("`", n)
	if longest > 0 {
		return ticks + " " + claim + " " + ticks
	}
	return ticks + claim + ticks
}

// unclosed returns the lengths of the runs of backticks in a line that open no code span.
func unclosed(line string) map[int]bool {
	open := map[int]bool{}
	for i := 0; i < len(line); {
		switch {
		case line[i] == '\\':
			i += 2
		case line[i] == '`':
			n := run(line[i:], '`')
			i += n
			if close := closing(line[i:], n); close >= 0 {
				i += close + n
			} else {
				open[n] = true
			}
		default:
			i++
		}
	}
	return open
}

// noteBehind returns the note that Mark left after a span or below a block, or "".
func noteBehind(text string) string {
	rest := strings.TrimLeft(text, " \t\r\n>")
	if strings.HasPrefix(rest, unconfirmed) {
		return unconfirmed
	}
	if !strings.HasPrefix(rest, "(unconfirmed: `") {
		return ""
	}
	line, _, _ := strings.Cut(rest, "\n")
	return line
}

// noteLength returns the length of the note at the beginning of a text.
func noteLength(text string) int {
	i := len("(unconfirmed: ")
	for i < len(text) && text[i] == '`' {
		n := run(text[i:], '`')
		close := closing(text[i+n:], n)
		if close < 0 {
			return i
		}
		i += 2*n + close
		if !strings.HasPrefix(text[i:], ", ") {
			break
		}
		i += 2
	}
	if i < len(text) && text[i] == ')' {
		i++
	}
	return i
}

// struckBehind returns the note of a span that is struck as a whole, or "".
func struckBehind(text string) string {
	if strings.HasPrefix(text, "~~ "+unconfirmed) {
		return unconfirmed
	}
	return ""
}

// noted reports whether a note names a claim.
func noted(note, claim string) bool {
	return note == unconfirmed || strings.Contains(note, "`"+claim+"`") || strings.Contains(note, "` "+claim+" `")
}

// struck reports whether text[from:to] is already marked as a whole.
func struck(text string, from, to int) bool {
	return strings.HasPrefix(text[to:], " "+unconfirmed) ||
		from >= 2 && text[from-2:from] == "~~" && strings.HasPrefix(text[to:], "~~ "+unconfirmed)
}

// lineOf returns the line that contains a position.
func lineOf(text string, at int) string {
	start := strings.LastIndexByte(text[:at], '\n') + 1
	line, _, _ := strings.Cut(text[start:], "\n")
	return line
}

// lineHas reports whether the line around a position has a mark that ours could be confused with.
func lineHas(text string, from int, mark string) bool {
	line := lineOf(text, from)
	return strings.Contains(strings.ReplaceAll(line, "~~ "+unconfirmed, ""), mark) &&
		strings.Count(line, mark) != 2*strings.Count(line, "~~ "+unconfirmed)
}

// openFence returns the fence that a text leaves open, or "".
func openFence(text string) string {
	fence := ""
	for line := range strings.Lines(text) {
		mark, info := opensFence(strings.TrimRight(line, "\r\n"))
		switch {
		case fence == "":
			fence = mark
		case mark != "" && mark[0] == fence[0] && len(mark) >= len(fence) && strings.TrimSpace(info) == "":
			fence = ""
		}
	}
	return fence
}
