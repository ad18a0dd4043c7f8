package tui

// canvas is a field of cells that a chart is drawn into. What is put there first stays: texts
// before points that they name, points before lines.
type canvas struct {
	width, height int
	cells         []rune // row by row; 0: free
	styles        []style
}

func newCanvas(width, height int) *canvas {
	return &canvas{width: width, height: height, cells: make([]rune, width*height), styles: make([]style, width*height)}
}

// free reports whether there is such a cell and nothing is in it.
func (c *canvas) free(x, y int) bool {
	return x >= 0 && y >= 0 && x < c.width && y < c.height && c.cells[y*c.width+x] == 0
}

// put fills a cell if it is free.
func (c *canvas) put(x, y int, glyph rune, s style) bool {
	if !c.free(x, y) {
		return false
	}
	c.cells[y*c.width+x], c.styles[y*c.width+x] = glyph, s
	return true
}

// write puts a text where it fits with a free cell, or the frame, on both sides of it; beside is
// the column of the glyph that it may touch. Texts whose letters take more than a cell are not
// written.
func (c *canvas) write(x, y, beside int, text string, s style) bool {
	runes := []rune(text)
	if len(runes) == 0 || Columns(text) != len(runes) {
		return false
	}
	for i := range runes {
		if !c.free(x+i, y) {
			return false
		}
	}
	for _, at := range []int{x - 1, x + len(runes)} {
		if at != beside && at >= 0 && at < c.width && !c.free(at, y) {
			return false
		}
	}
	for i, r := range runes {
		c.put(x+i, y, r, s)
	}
	return true
}

// line connects two cells with a glyph, where nothing else is.
func (c *canvas) line(x1, y1, x2, y2 int, glyph rune, s style) {
	dx, dy := abs(x2-x1), abs(y2-y1)
	steps := max(dx, dy)
	for i := 1; i < steps; i++ {
		c.put(x1+rounded((x2-x1)*i, steps), y1+rounded((y2-y1)*i, steps), glyph, s)
	}
}

// row is a line of the screen.
func (c *canvas) row(y int) line {
	var l line
	for x := range c.width {
		r, s := c.cells[y*c.width+x], c.styles[y*c.width+x]
		if r == 0 {
			r, s = ' ', normal
		}
		if n := len(l); n > 0 && l[n-1].style == s {
			l[n-1].text += string(r)
		} else {
			l = append(l, span{text: string(r), style: s})
		}
	}
	return l
}

func abs(n int) int { return max(n, -n) }

// rounded is a quotient to the nearest whole number; b is above zero.
func rounded(a, b int) int {
	if a < 0 {
		return -rounded(-a, b)
	}
	return (2*a + b) / (2 * b)
}
