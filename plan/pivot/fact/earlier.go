package fact

import "strings"

// withoutStruck removes from an earlier summary what was struck in it: an invention found once must
// not be a source for the next summary. What a note names is removed from the span before it, or
// from the whole text if the span is unknown.
func withoutStruck(text string) string {
	if !strings.Contains(text, "(unconfirmed") {
		return text
	}
	b := []byte(text)
	blank := func(start, end int) {
		for i := start; i < end; i++ {
			if b[i] != '\n' {
				b[i] = ' '
			}
		}
	}
	for at := 0; ; {
		i := strings.Index(text[at:], "(unconfirmed")
		if i < 0 {
			return string(b)
		}
		i += at
		begin := strings.LastIndexByte(text[:i], '\n') + 1
		before := strings.TrimRight(text[begin:i], " ")
		switch {
		case strings.HasPrefix(text[i:], "(unconfirmed: `"):
			end := i + noteLength(text[i:])
			note := text[i:end]
			blank(i, end)
			for _, name := range noteNames(note) {
				stretch := text[:i]
				for from := max(0, lastBlock(stretch)); ; {
					k := strings.Index(stretch[from:], name)
					if k < 0 {
						break
					}
					from += k
					blank(from, from+len(name))
					from += len(name)
				}
			}
			at = end
		case strings.HasPrefix(text[i:], unconfirmed):
			at = i + len(unconfirmed)
			if struck, ok := strings.CutSuffix(before, "~~"); ok {
				if open := strings.LastIndex(struck, "~~"); open >= 0 {
					blank(begin+open, i)
				}
				continue
			}
			// Behind what could not be struck: the word, or the span in backticks.
			start := strings.LastIndexAny(before, " \t|") + 1
			if strings.HasSuffix(before, "`") {
				if open := strings.LastIndexByte(before[:len(before)-1], '`'); open >= 0 {
					start = open
				}
			}
			blank(begin+start, i)
		default:
			at = i + 1
		}
	}
}

// lastBlock returns where the code block or the line begins that a note at the end of a text refers
// to.
func lastBlock(text string) int {
	line := strings.LastIndexByte(text, '\n') + 1
	if strings.TrimLeft(text[line:], " \t>") != "" {
		return line
	}
	fences := 0
	for end := line - 1; end > 0; {
		start := strings.LastIndexByte(text[:end], '\n') + 1
		if mark, _ := opensFence(text[start:end]); mark != "" {
			if fences++; fences == 2 {
				return start
			}
		}
		end = start - 1
	}
	return 0
}

// noteNames returns the claims that a note names.
func noteNames(note string) (names []string) {
	for i := len("(unconfirmed: "); i < len(note) && note[i] == '`'; {
		n := run(note[i:], '`')
		end := closing(note[i+n:], n)
		if end < 0 {
			return names
		}
		name := note[i+n : i+n+end]
		if n > 1 {
			name = strings.TrimSuffix(strings.TrimPrefix(name, " "), " ")
		}
		names = append(names, name)
		i += 2*n + end
		i += len(", ")
	}
	return names
}
