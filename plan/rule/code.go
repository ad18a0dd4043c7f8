package rule

import (
	"fmt"
	"slices"
	"strings"
)

// CodeBlocks shortens blocks of code in old messages of the user. It keeps the fences, the first
// two lines and the last; what stands outside of the blocks stays to the byte. It is off by
// default: what the user typed cannot be read again.
type CodeBlocks struct{ Age Age }

// Name is "code".
func (*CodeBlocks) Name() string { return "code" }

// Find looks at texts of the user.
func (r *CodeBlocks) Find(w Window) Found {
	w = w.Read()
	seen := grow(w, r, func() *codes { return &codes{} })
	return w.Propose(r.Name(), r.Age, w.open(seen.found), func(f *Finding) string {
		text := f.Item.Part.Text
		return ReplaceBlocks(text, func(b *Block) (from, to int, instead string) {
			if b.Count() <= shortBlock {
				return b.Open, b.Open, ""
			}
			return b.abridged(w.opening() + w.handleOf(f.Item))
		})
	})
}

// ReplaceBlocks returns a text with something shorter in place of its blocks of code, "" where
// nothing would be shorter. instead says what stands in place of which bytes.
func ReplaceBlocks(text string, instead func(*Block) (from, to int, instead string)) string {
	var shown strings.Builder
	kept := 0 // how much of text was written
	for _, b := range Blocks(text) {
		if from, to, with := instead(&b); to-from > len(with) {
			shown.WriteString(text[kept:from] + with)
			kept = to
		}
	}
	if kept == 0 {
		return ""
	}
	return shown.String() + text[kept:]
}

// codes is what CodeBlocks reads off a timeline: texts with blocks.
type codes struct{ found []*Finding }

func (c *codes) read(x *Item) {
	long := func(b Block) bool { return b.Count() > shortBlock }
	if x.Call == nil && x.Part.Text != "" && slices.ContainsFunc(Blocks(x.Part.Text), long) {
		c.found = append(c.found, &Finding{Item: x, Field: Text, Why: "the block of code is old"})
	}
}

// shortBlock is how many lines a block may have to stay whole in the sound form.
const shortBlock = 3

// Block is a fenced block of code, by positions in its text.
type Block struct {
	Open, End int    // from the first fence to behind the last, the end of its line left out
	Language  string // as it stands behind the first fence
	Fence     string // that opened it
	lines     []int  // where each line between the fences begins; the last is where the closing fence's does
	line      string // how its lines end
}

// Blocks finds fenced blocks. A fence is closed by one at least as
// long, of the same sign; one that is not closed goes on to the end of the text, which stays.
func Blocks(text string) []Block {
	if !strings.Contains(text, "```") && !strings.Contains(text, "~~~") {
		return nil
	}
	var found []Block
	var b *Block
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
			b = &Block{Open: at + indent, lines: []int{next}, Language: Shorten(strings.Trim(language, "{}.,"), 20),
				Fence: fence}
			b.line = text[at+len(line) : next]
		case b == nil:
		case fence != "" && info == "" && fence[0] == b.Fence[0] && len(fence) >= len(b.Fence) &&
			indent <= b.indent(text)+3:
			b.End = at + len(line)
			found = append(found, *b)
			b = nil
		default:
			b.lines = append(b.lines, next)
		}
		at = next
	}
	return found
}

// fenceOf is the fence that a line begins with, "" when it begins with none, what stands behind it,
// and how far it is indented.
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
func (b *Block) indent(text string) int {
	return b.Open - (strings.LastIndexByte(text[:b.Open], '\n') + 1)
}

// Count is how many lines stand between the fences.
func (b *Block) Count() int { return len(b.lines) - 1 }

// abridged replaces what is between the first two lines and the last.
func (b *Block) abridged(name string) (from, to int, instead string) {
	left := b.Count() - shortBlock
	what := "code block, "
	if b.Language != "" {
		what += b.Language + ", "
	}
	instead = fmt.Sprintf("%s: %s%d of %d lines left out]%s", name, what, left, b.Count(), b.line)
	return b.lines[2], b.lines[b.Count()-1], instead
}
