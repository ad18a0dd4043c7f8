package draw

import (
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/winnowhq/winnow/look/tui"
)

// table is a table of Markdown as far as it is known.
type table struct {
	rows  [][]string
	raw   []string // the lines of rows
	ruled bool     // the line under its heads was there
	sides []string // of each column: "", "center", "right"
}

const (
	// narrowest is how wide a column is at least; where there is less room, the rows are shown one
	// under the other.
	narrowest = 6
	between   = " │ "
	mostCells = 64 // columns of a table at most
)

// cellsOf are the cells of a line of a table. A bar behind a backslash, or in code, ends none.
func cellsOf(line string) []string {
	line = strings.TrimSpace(line)
	line = strings.TrimPrefix(line, "|")
	var cells []string
	from, code := 0, false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\\':
			i++
		case c == '`':
			code = !code && strings.IndexByte(line[i+1:], '`') >= 0
		case c == '|' && !code && len(cells) < mostCells:
			cells = append(cells, line[from:i])
			from = i + 1
		}
	}
	if rest := strings.TrimSpace(line[from:]); rest != "" {
		cells = append(cells, rest)
	}
	for i := range cells {
		cells[i] = strings.ReplaceAll(strings.TrimSpace(cells[i]), `\|`, "|")
	}
	return cells
}

// sidesOf reads the line under the heads of a table: |---|:-:|--:|. ok is false for another line.
func sidesOf(line string) (sides []string, ok bool) {
	if strings.Trim(line, " |:-") != "" || !strings.Contains(line, "-") {
		return nil, false
	}
	for _, cell := range cellsOf(line) {
		side := ""
		switch left, right := strings.HasPrefix(cell, ":"), strings.HasSuffix(cell, ":"); {
		case strings.Trim(cell, ":") == "":
			return nil, false
		case left && right:
			side = "center"
		case right:
			side = "right"
		}
		sides = append(sides, side)
	}
	return sides, len(sides) > 0
}

// lines lays out a table in a number of columns. half says that its last row is being written.
func (t *table) lines(room int, s Style, half bool) []string {
	columns := 0
	for _, row := range t.rows {
		columns = max(columns, len(row))
	}
	if columns == 0 {
		return nil
	}
	cells := make([][][]run, len(t.rows))
	wide := make([]int, columns)
	for i, row := range t.rows {
		for j := range columns {
			text, look := "", Look("")
			if i == 0 {
				look = s.Bold
			}
			if j < len(row) {
				text = row[j]
			}
			one := spans(text, s, look, half && i == len(t.rows)-1)
			cells[i] = append(cells[i], one)
			wide[j] = max(wide[j], tui.Columns(plainText(one)), 1)
		}
	}
	if !shrink(wide, room-tui.Columns(between)*(columns-1)) {
		return t.records(cells, room, s)
	}
	var lines []string
	for i, row := range cells {
		lines = append(lines, t.row(row, wide, s)...)
		if i == 0 && t.ruled {
			var rules []string
			for _, w := range wide {
				rules = append(rules, strings.Repeat("─", w))
			}
			lines = append(lines, Paint(s.Dim, strings.Join(rules, "─┼─")))
		}
	}
	return lines
}

// shrink takes from the widest columns until all of them have room together, and reports whether
// that leaves something of each.
func shrink(wide []int, room int) bool {
	sum := 0
	for _, w := range wide {
		sum += w
	}
	for sum > room {
		most := slices.Max(wide)
		if most <= narrowest {
			return false
		}
		next := narrowest // the widest but one: what the widest ones come down to together
		count := 0
		for _, w := range wide {
			if w == most {
				count++
			} else if w > next {
				next = w
			}
		}
		by := max(1, min(most-next, (sum-room)/count))
		for i := range wide {
			if wide[i] == most && sum > room {
				wide[i] -= by
				sum -= by
			}
		}
	}
	return true
}

// row draws one row, over as many lines as its longest cell takes.
func (t *table) row(cells [][]run, wide []int, s Style) []string {
	drawn, tall := make([][]string, len(cells)), 1
	for j, cell := range cells {
		drawn[j] = wrapCell(cell, wide[j])
		tall = max(tall, len(drawn[j]))
	}
	lines := make([]string, tall)
	for k := range lines {
		var b strings.Builder
		for j := range cells {
			text := ""
			if k < len(drawn[j]) {
				text = drawn[j][k]
			}
			space := wide[j] - tui.Columns(ansi.Strip(text))
			before := 0
			switch {
			case j < len(t.sides) && t.sides[j] == "right":
				before = space
			case j < len(t.sides) && t.sides[j] == "center":
				before = space / 2
			}
			if j > 0 {
				b.WriteString(Paint(s.Dim, between))
			}
			b.WriteString(strings.Repeat(" ", max(0, before)) + text)
			if j < len(cells)-1 {
				b.WriteString(strings.Repeat(" ", max(0, space-before)))
			}
		}
		lines[k] = strings.TrimRight(b.String(), " ")
	}
	return lines
}

// wrapCell breaks a cell into lines that are no wider than its column.
func wrapCell(cell []run, wide int) []string {
	if wide >= 4 {
		return wrapRuns(cell, wide, "")
	}
	text := plainText(cell)
	return []string{paintRuns(cell, 0, len(text))} // it is the widest of its column
}

// records shows a table that is too wide for the screen: each row as lines of head and cell.
func (t *table) records(cells [][][]run, room int, s Style) []string {
	var lines []string
	for i, row := range cells {
		if i == 0 && len(cells) > 1 {
			continue // its heads stand before each cell
		}
		if len(lines) > 0 {
			lines = append(lines, "")
		}
		for j, cell := range row {
			if plainText(cell) == "" {
				continue
			}
			one := cell
			if head := plainText(cells[0][j]); i > 0 && head != "" {
				one = append([]run{{text: head + ": ", look: s.Bold}}, cell...)
			}
			lines = append(lines, wrapRuns(one, room, Gutter)...)
		}
	}
	return lines
}
