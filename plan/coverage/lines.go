package coverage

import (
	"math/bits"
	"strings"
)

// hash is a 64-bit hash of a text in the manner of wyhash: sixteen bytes a multiplication, the last
// sixteen once more where they are not full. It has no seed, so that it is the same everywhere.
func hash(s string) uint64 {
	const a, b = 0xa0761d6478bd642f, 0xe7037ed1a0b428db
	const c, d = 0x8ebc6af09c88c6e3, 0x589965cc75374cc3
	// Both sides of a product are mixed with a secret: a text of equal bytes is a poor factor.
	var x, y, h uint64 = 0, 0, c
	switch n := len(s); {
	case n > 16:
		for rest := s; len(rest) > 16; rest = rest[16:] {
			h = mix(word(rest)^a, word(rest[8:])^h)
		}
		x, y = word(s[n-16:]), word(s[n-8:])
	case n >= 8:
		x, y = word(s), word(s[n-8:])
	case n > 0:
		for i := range n {
			x = x<<8 | uint64(s[i])
		}
	}
	return mix(d^uint64(len(s)), mix(b^x, a^y^h))
}

func mix(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return high ^ low
}

// word is eight bytes of a text as a number; the compiler makes one load of it.
func word(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// cut takes the first line off a text, its ending left out.
func cut(text string) (line, rest string) {
	i := strings.IndexByte(text, '\n')
	if i < 0 {
		return text, ""
	}
	line = text[:i]
	if i > 0 && line[i-1] == '\r' {
		line = line[:i-1]
	}
	return line, text[i+1:]
}

// count is how many lines a text has; the last one needs no newline.
func count(text string) int {
	n := strings.Count(text, "\n")
	if text != "" && text[len(text)-1] != '\n' {
		n++
	}
	return n
}

// hashes are those of all lines of a text.
func hashes(text string) []uint64 {
	if text == "" {
		return nil
	}
	lines := make([]uint64, 0, count(text))
	for text != "" {
		var line string
		line, text = cut(text)
		lines = append(lines, hash(line))
	}
	return lines
}

// blank is the hash of an empty line.
var blank = hash("")

// style is how a tool writes the number of a line: "    12→", "    12\t", "00012| ", "L12: ", "12:
// ".
type style struct{ before, behind string }

var styles = []style{{"", "→"}, {"", "\t"}, {"", "| "}, {"L", ": "}, {"", ": "}}

// styled finds the style of a numbered line.
func styled(line string) (style, bool) {
	for _, s := range styles {
		if _, _, ok := s.number(line); ok {
			return s, true
		}
	}
	return style{}, false
}

// number takes the number off a line. An empty line may have lost the blank behind its number.
func (s style) number(line string) (n int, text string, ok bool) {
	i := 0
	for i < len(line) && line[i] == ' ' {
		i++
	}
	if !strings.HasPrefix(line[i:], s.before) {
		return 0, "", false
	}
	i += len(s.before)
	first := i
	for i < len(line) && line[i] >= '0' && line[i] <= '9' {
		n = n*10 + int(line[i]-'0')
		i++
	}
	if i == first || i > first+9 {
		return 0, "", false
	}
	if text, ok = strings.CutPrefix(line[i:], s.behind); ok {
		return n, text, true
	}
	return n, "", line[i:] != "" && line[i:] == strings.TrimRight(s.behind, " ")
}

// run is a stretch of numbered lines.
type run struct {
	start int
	lines []uint64
	short bool // one of them was shortened by the tool
}

// next takes consecutive numbered lines off a text, as far as they go. The text behind them begins
// with the first line that has no number. A reader that was asked to begin at line 0 calls the
// first line so, and every other by one too few.
func (s style) next(text string) (r run, rest string) {
	shift := 0
	var ahead counting
	for rest = text; rest != ""; {
		line, after := cut(rest)
		if shown, ok := ahead.next(line); ok {
			r.short = r.short || shortened(shown)
			r.lines = append(r.lines, hash(shown))
			rest = after
			continue
		}
		n, shown, ok := s.number(line)
		if ok {
			ahead.from(line[:len(line)-len(shown)], s)
		}
		// the last line, empty, and the output trimmed
		if !ok && len(r.lines) > 0 && strings.TrimSpace(after) == "" && s.behind == "\t" {
			n, shown, ok = s.number(line + "\t")
		}
		if !ok {
			break
		}
		if len(r.lines) == 0 && n == 0 {
			shift = 1
		}
		if n += shift; len(r.lines) > 0 && n != r.start+len(r.lines) {
			break
		}
		if len(r.lines) == 0 {
			r.start, r.lines = n, make([]uint64, 0, strings.Count(rest, "\n")+1)
		}
		r.short = r.short || shortened(shown)
		r.lines = append(r.lines, hash(shown))
		rest = after
	}
	return r, rest
}

// counting foretells what stands before the text of each line, by what stood before that of the one
// before it: most lines need not be read for their number.
type counting struct {
	room  [24]byte
	size  int // of what stands before a text, 0 where nothing is foretold
	digit int // the last of the number
}

// from begins behind a line with this before its text.
func (c *counting) from(before string, s style) {
	if c.size = 0; len(before) > len(c.room) || !strings.HasSuffix(before, s.behind) || len(before) == len(s.behind) {
		return
	}
	c.size, c.digit = copy(c.room[:], before), len(before)-len(s.behind)-1
}

// next takes off what stands before the text of the next line, ok false where it is not what was
// foretold.
func (c *counting) next(line string) (text string, ok bool) {
	if c.size == 0 || len(line) < c.size {
		return "", false
	}
	at := c.digit
	for ; at >= 0 && c.room[at] == '9'; at-- {
		c.room[at] = '0'
	}
	if at < 0 || c.room[at] < '0' || c.room[at] > '8' { // it has one more digit, or is not a number
		c.size = 0
		return "", false
	}
	if c.room[at]++; line[:c.size] != string(c.room[:c.size]) {
		c.size = 0
		return "", false
	}
	return line[c.size:], true
}

// shortened reports whether a tool took the end off a long line. Readers do so at 2,000 characters.
func shortened(line string) bool {
	return len(line) >= 2000 && (strings.HasSuffix(line, "...") || strings.HasSuffix(line, "chars)") ||
		strings.HasSuffix(line, "truncated]") || strings.HasSuffix(line, "…"))
}
