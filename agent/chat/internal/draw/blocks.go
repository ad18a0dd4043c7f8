package draw

import "strings"

// Block is a block of code in a text.
type Block struct {
	Language string
	Text     string // with the line break at its end
}

// Blocks are the blocks of code in a Markdown text, in their order. One that is not closed does not
// count.
func Blocks(text string) (all []Block) {
	fence, indent := "", 0
	var block Block
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		switch {
		case fence == "":
			if strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~") {
				fence = trimmed[:prefixed(trimmed, trimmed[0])]
				indent = len(line) - len(strings.TrimLeft(line, " "))
				name, _, _ := strings.Cut(strings.TrimSpace(trimmed[len(fence):]), " ")
				block = Block{Language: OneLine(name)}
			}
		case strings.HasPrefix(trimmed, fence) && strings.Trim(trimmed, fence[:1]) == "":
			all = append(all, block)
			fence = ""
		default:
			cut := min(indent, len(line)-len(strings.TrimLeft(line, " ")))
			block.Text += line[cut:]
		}
	}
	return all
}
