package tui

import (
	"cmp"
	"slices"
	"strings"
)

// segment is a stretch of a bar.
type segment struct {
	size  int // tokens
	glyph string
	style style
}

// length is how many of width cells show a part of the whole. What is there gets at least one cell.
func length(part float64, width int) int {
	if !(part > 0) || width <= 0 {
		return 0
	}
	return min(width, max(1, int(part*float64(width)+0.5)))
}

// Divide gives cells to sizes by their share. Every size above zero gets at least one while there
// are enough; the cells that rounding leaves go to the largest remainders. Negative sizes count as
// zero. The sum is cells, or 0 when there is nothing to show.
func Divide(sizes []int, cells int) []int {
	out := make([]int, len(sizes))
	var order []int // the sizes that are there, largest first
	var whole float64
	for i, s := range sizes {
		if s > 0 {
			order = append(order, i)
			whole += float64(s)
		}
	}
	if len(order) == 0 || cells <= 0 {
		return out
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(sizes[b], sizes[a]) })
	if len(order) >= cells {
		for _, i := range order[:cells] {
			out[i] = 1
		}
		return out
	}
	remainders := make([]float64, len(sizes))
	given := 0
	for _, i := range order {
		exact := float64(sizes[i]) / whole * float64(cells)
		out[i] = max(1, int(exact))
		remainders[i] = exact - float64(out[i])
		given += out[i]
	}
	for ; given > cells; given-- { // the cells of those that were lifted to one come from the largest
		largest := order[0]
		for _, i := range order {
			if out[i] >= out[largest] { // of equal ones the last: it is the smallest of them
				largest = i
			}
		}
		out[largest]--
		remainders[largest]++
	}
	for ; given < cells; given++ {
		most := order[0]
		for _, i := range order {
			if remainders[i] > remainders[most] {
				most = i
			}
		}
		out[most]++
		remainders[most]--
	}
	return out
}

// stacked draws segments one after the other over exactly the given cells.
func stacked(segments []segment, cells int) line {
	sizes := make([]int, len(segments))
	for i, s := range segments {
		sizes[i] = s.size
	}
	var l line
	for i, n := range Divide(sizes, cells) {
		if n > 0 {
			l = append(l, span{text: strings.Repeat(segments[i].glyph, n), style: segments[i].style})
		}
	}
	return l
}

// bar is one plain bar, padded to its width.
func bar(part float64, width int, s style) line {
	return line{span{text: strings.Repeat("█", length(part, width)), style: s}}.pad(width)
}

// gauge shows how much of a limit is used. Within the limit the rest is drawn as free; beyond it
// the bar shows all that is used, with a mark where the limit is and the colour of alarm behind it.
func gauge(used []segment, limit, cells int) line {
	total := 0
	for _, s := range used {
		total += s.size
	}
	if limit <= 0 || cells < 4 {
		return stacked(used, cells)
	}
	if total <= limit {
		return stacked(append(slices.Clone(used), segment{size: limit - total, glyph: "─", style: faint}), cells)
	}
	drawn := stacked(used, cells-1)
	at := min(cells-2, max(1, int(float64(limit)/float64(total)*float64(cells-1)+0.5)))
	var l line
	for _, s := range drawn {
		glyphs := []rune(s.text)
		before := min(len(glyphs), max(0, at))
		at -= before
		if before > 0 {
			l = append(l, span{text: string(glyphs[:before]), style: s.style})
		}
		if at == 0 {
			l = append(l, span{text: "┃", style: strong})
			at = -1
		}
		if before < len(glyphs) {
			l = append(l, span{text: string(glyphs[before:]), style: alarm})
		}
	}
	return l
}
