package rule

import (
	"fmt"
	"strings"
)

// CodeBlocks shortens blocks of code in old messages of the user (S002 8). What stands outside of the blocks stays to the byte.
//
// By the letter a block of four lines or more goes with its fences; a block without a language is called "unknown", where S002 says nothing. The
// sound form keeps the fences, the first two lines and the last, and is off by default: what the user typed cannot be read again.
type CodeBlocks struct {
	Letter bool
	Age    Age
}

// Name is "code".
func (*CodeBlocks) Name() string { return "code" }

func (r *CodeBlocks) fresh() *codes { return &codes{} }

func (r *CodeBlocks) remembers(w Window) []reads { return []reads{recollect(w, r, r.fresh)} }

// Find looks at texts of the user.
func (r *CodeBlocks) Find(w Window) Found {
	w = w.Read()
	seen := remember(w, r, r.fresh)
	return w.propose(r.Name(), r.Age, r.Letter, seen.found, func(d *redundant) []Elision {
		text := d.old.Part.Text
		var shown strings.Builder
		kept := 0 // how much of text was written
		for _, b := range blocksOf(text) {
			from, to, instead := b.letter()
			if !r.Letter {
				from, to, instead = b.sound(opening + w.handleOf(d.old))
			}
			if to-from <= len(instead) {
				continue
			}
			shown.WriteString(text[kept:from])
			shown.WriteString(instead)
			kept = to
		}
		if kept == 0 {
			return nil
		}
		return []Elision{{Field: Text, Shown: shown.String() + text[kept:]}}
	})
}

// codes is what CodeBlocks remembers: texts with blocks.
type codes struct{ found []*redundant }

func (c *codes) read(x *Item) {
	if x.Call == nil && x.Part.Text != "" && len(blocksOf(x.Part.Text)) > 0 {
		c.found = append(c.found, &redundant{old: x, why: "the block of code is old"})
	}
}

// shortBlock is how many lines a block may have to stay whole (S002 8, t43).
const shortBlock = 3

// block is a fenced block of code that is long enough to be shortened, by positions in its text.
type block struct {
	open, end   int   // from the first fence to behind the last, the end of its line left out
	lines       []int // where each line between the fences begins; the last one is where the closing fence's does
	language    string
	fence, line string // the fence that opened it; how its lines end
}

// blocksOf finds fenced blocks of more than shortBlock lines. A fence is closed by one at least as long, of the same sign; one that nobody closes
// goes on to the end of the text, which stays.
func blocksOf(text string) []block {
	if !strings.Contains(text, "```") && !strings.Contains(text, "~~~") {
		return nil
	}
	var found []block
	var b *block
	for at := 0; at < len(text); {
		next := len(text)
		if n := strings.IndexByte(text[at:], '\n'); n >= 0 {
			next = at + n + 1
		}
		line := strings.TrimRight(text[at:next], "\r\n")
		fence, info, indent := fenceOf(line)
		switch {
		case b == nil && fence != "" && (fence[0] == '~' || !strings.Contains(info, "`")):
			language, _, _ := strings.Cut(info, " ")
			b = &block{open: at + indent, lines: []int{next}, language: Shorten(strings.Trim(language, "{}.,"), 20), fence: fence}
			b.line = text[at+len(line) : next]
		case b == nil:
		case fence != "" && info == "" && fence[0] == b.fence[0] && len(fence) >= len(b.fence) && indent <= b.indent(text)+3:
			b.end = at + len(line)
			if len(b.lines)-1 > shortBlock {
				found = append(found, *b)
			}
			b = nil
		default:
			b.lines = append(b.lines, next)
		}
		at = next
	}
	return found
}

// fenceOf is the fence that a line begins with, "" when it begins with none, what stands behind it, and how far it is indented.
func fenceOf(line string) (fence, info string, indent int) {
	rest := strings.TrimLeft(line, " \t")
	indent = len(line) - len(rest)
	for _, sign := range []string{"`", "~"} {
		if after := strings.TrimLeft(rest, sign); len(rest)-len(after) >= 3 {
			return rest[:len(rest)-len(after)], strings.TrimSpace(after), indent
		}
	}
	return "", "", indent
}

// indent is how far the opening fence is indented.
func (b *block) indent(text string) int {
	return b.open - (strings.LastIndexByte(text[:b.open], '\n') + 1)
}

func (b *block) count() int { return len(b.lines) - 1 }

// letter replaces the block with its fences. S002 knows fences of backticks alone.
func (b *block) letter() (from, to int, instead string) {
	if b.fence[0] != '`' {
		return b.open, b.open, ""
	}
	language := b.language
	if language == "" {
		language = "unknown"
	}
	return b.open, b.end, fmt.Sprintf("[Code block: %s, %d lines - truncated to save context]", language, b.count())
}

// sound replaces what is between the first two lines and the last.
func (b *block) sound(name string) (from, to int, instead string) {
	left := b.count() - shortBlock
	what := "code block, "
	if b.language != "" {
		what += b.language + ", "
	}
	return b.lines[2], b.lines[b.count()-1], fmt.Sprintf("%s: %s%d of %d lines left out]%s", name, what, left, b.count(), b.line)
}
