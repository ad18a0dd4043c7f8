package fact

import (
	"math"
	"strconv"
	"strings"
)

// reckoned reports whether a number follows from two others in its sentence that the source has:
// their sum or difference, a share or a change in percent, a ratio, or their product if the text
// multiplies. In a table it may be the sum of the cells above it.
func (s *Source) reckoned(text string, c Claim) bool {
	n := numeral(c.Text)
	places := 0
	number := readings(c.Text[:n])[0]
	if i := strings.IndexByte(number, '.'); i >= 0 {
		places = len(number) - i - 1
	}
	want, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return false
	}
	unit := c.Text[n:]
	if unit == "" {
		unit = c.after
	}
	is := func(v float64) bool { return math.Abs(v-want) <= 0.5001*decimal(places) }
	given, around := operands(text, c)
	for i, one := range given {
		for _, other := range given[i+1:] {
			a, b := one.value, other.value
			low, high := min(a, b), max(a, b)
			follows := false
			switch unit {
			case "%", "percent", "Prozent":
				follows = low > 0 && (is(100*low/high) || is(100*(high-low)/high) || is(100*(high-low)/low) ||
					is(100*high/low))
			case "x", "×", "times":
				follows = low > 0 && is(high/low)
			default:
				follows = is(a+b) || is(high-low) || strings.Contains(around, "×") && is(a*b)
			}
			if follows && s.has(one) && s.has(other) {
				return true
			}
		}
	}
	return places == 0 && totals(text, c, want)
}

// operand is a number that another one may follow from.
type operand struct {
	text  string
	value float64
}

// has reports whether the source has a number. Small ones are taken as they are.
func (s *Source) has(o operand) bool { return o.value <= small || s.reads(o.text, "", Claim{}) }

// operands returns the last four numbers before a claim in its line, or else the first ones after
// it.
func operands(text string, c Claim) (given []operand, around string) {
	const reach, most = 160, 4 // bytes on either side
	start := max(strings.LastIndexByte(text[:c.Start], '\n')+1, c.Start-reach)
	end := min(len(text), c.End+reach)
	if i := strings.IndexByte(text[c.End:end], '\n'); i >= 0 {
		end = c.End + i
	}
	take := func(stretch string) (found []operand) {
		for i := 0; i < len(stretch); {
			n := 0
			if isDigit(stretch[i]) && (i == 0 || !isWord(stretch[i-1])) {
				n = numeral(stretch[i:])
			}
			if n == 0 {
				i++
				continue
			}
			bare := ungrouped(stretch[i : i+n])
			if v, err := strconv.ParseFloat(bare, 64); err == nil {
				found = append(found, operand{bare, v})
			}
			i += n
		}
		return found
	}
	before, after := take(text[start:c.Start]), take(text[c.End:end])
	given = append(before[max(0, len(before)-most):], after[:min(len(after), max(0, most-len(before)))]...)
	return given, text[start:end]
}

// totals reports whether a number is the sum of the column above it.
func totals(text string, c Claim, want float64) bool {
	begin := strings.LastIndexByte(text[:c.Start], '\n') + 1
	column := strings.Count(text[begin:c.Start], "|")
	if column == 0 {
		return false
	}
	sum, rows := 0.0, 0
	for end := begin - 1; end > 0 && rows < 200; {
		start := strings.LastIndexByte(text[:end], '\n') + 1
		cells := strings.Split(text[start:end], "|")
		if len(cells) <= column {
			break
		}
		cell := strings.Trim(cells[column], " *_`~")
		if n := numeral(cell); n > 0 {
			if v, err := strconv.ParseFloat(ungrouped(cell[:n]), 64); err == nil {
				sum += v
				rows++
			}
		}
		if rows > 1 && math.Abs(sum-want) < 0.5 {
			return true
		}
		end = start - 1
	}
	return false
}
