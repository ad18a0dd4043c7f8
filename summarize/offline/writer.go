package offline

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/plan/call"
)

// Headings, in the order in which they are written.
const (
	headGoal        = "Goal"
	headConstraints = "Constraints and preferences"
	headDecisions   = "Decisions and findings"
	headDone        = "Done"
	headCommands    = "Commands and their last outcome"
	headUnresolved  = "Failed and unresolved"
	headProgress    = "In progress"
	headNext        = "Next steps"
	headFiles       = "Relevant files"
	headFacts       = "Key facts"
	headEarlier     = "Earlier summary"
)

// origin is the first line of every summary. It tells readers how far to trust it, and this package
// that it can read it back.
const origin = "Made from the log without a model: quotes are verbatim, counts are computed."

// section is a heading and its items.
type section struct {
	heading string
	// must marks a section that is kept however small the budget is; it is only shortened.
	must  bool
	items []item
}

func (s *section) add(weight int, text string) {
	s.items = append(s.items, item{text: text, weight: weight})
}

// item is one bullet: its first line, and further lines indented below it.
type item struct {
	text string
	more []string
	// note says what no longer holds. It is never shortened.
	note string
	// weight decides what is dropped first: the lowest. From about 0 to 100.
	weight int
	// loose marks an item that may be dropped although its section must be kept.
	loose bool
	// unless is a text that makes the item superfluous if another section has it.
	unless string
}

func (i *item) render(b *strings.Builder) {
	b.WriteString("- " + i.text + i.note + "\n")
	for _, line := range i.more {
		b.WriteString("  " + line + "\n")
	}
}

func (i *item) cost() int {
	n := estimate(i.text) + estimate(i.note) + 2
	for _, line := range i.more {
		n += estimate(line) + 2
	}
	return n
}

// write renders sections within a budget of tokens.
func write(sections []section, budget int) string {
	sections = slices.DeleteFunc(sections, func(s section) bool { return len(s.items) == 0 })
	if all := once(sections); cost(all, false) <= budget {
		sections = all
	}
	total := cost(sections, false)
	// Sections that must be kept take at most three fifths, as long as shortening lines is enough:
	// the rest tells how far the work is.
	for size := 900; total > budget && size >= 160 && cost(sections, true) > budget*3/5; size = size * 2 / 3 {
		shorten(sections, size, true)
		total = cost(sections, false)
	}
	if total > budget {
		sections, total = drop(sections, total, budget)
	}
	for size := 1600; total > budget && size >= 60; size /= 2 {
		shorten(sections, size, false)
		total = cost(sections, false)
	}
	if total > budget {
		thin(sections, total, budget)
	}
	sections = once(sections)
	var b strings.Builder
	b.WriteString(origin + "\n")
	for i := range sections {
		if len(sections[i].items) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n", sections[i].heading)
		for j := range sections[i].items {
			sections[i].items[j].render(&b)
		}
	}
	if text := b.String(); strings.Contains(text, " left out)\n") && estimate(text)+estimate(whereElse) <= budget {
		return text + whereElse
	}
	return hard(b.String(), budget)
}

// whereElse says that what was left out is not lost. How to read it depends on the agent: some have
// a tool for it.
const whereElse = "\nWhat was left out here is still in the log.\n"

// once returns the sections without items that say what another section says as well.
func once(sections []section) []section {
	said := func(heading, text string) bool {
		has := func(row string) bool { return strings.Contains(row, text) }
		return slices.ContainsFunc(sections, func(s section) bool {
			return s.heading != heading && slices.ContainsFunc(s.items, func(it item) bool {
				return has(it.text) || slices.ContainsFunc(it.more, has)
			})
		})
	}
	all := slices.Clone(sections)
	for i := range all {
		all[i].items = slices.DeleteFunc(slices.Clone(all[i].items), func(it item) bool {
			return it.unless != "" && said(all[i].heading, it.unless)
		})
	}
	return slices.DeleteFunc(all, func(s section) bool { return len(s.items) == 0 })
}

// drop removes the lightest items until the rest fits, and notes how many went from each section.
// What must be kept stays.
func drop(sections []section, total, budget int) ([]section, int) {
	type place struct{ section, item, weight int }
	var places []place
	for i := range sections {
		for j := range sections[i].items {
			if it := &sections[i].items[j]; !sections[i].must || it.loose {
				places = append(places, place{i, j, it.weight})
			}
		}
		total += 12 // room for the note
	}
	slices.SortStableFunc(places, func(a, b place) int { return a.weight - b.weight })
	gone := make([]map[int]bool, len(sections))
	for _, p := range places {
		if total <= budget {
			break
		}
		// A long quotation first loses its middle, line by line.
		it := &sections[p.section].items[p.item]
		before := it.cost()
		for len(it.more) > 4 && total-before+it.cost() > budget {
			it.more = slices.Delete(it.more, len(it.more)-2, len(it.more)-1)
		}
		if total += it.cost() - before; total <= budget {
			break
		}
		if gone[p.section] == nil {
			gone[p.section] = map[int]bool{}
		}
		gone[p.section][p.item] = true
		total -= sections[p.section].items[p.item].cost()
		if len(gone[p.section]) == len(sections[p.section].items) {
			total -= estimate(sections[p.section].heading) + 16
		}
	}
	for i := range sections {
		if len(gone[i]) == 0 {
			continue
		}
		var kept []item
		for j := range sections[i].items {
			if !gone[i][j] {
				kept = append(kept, sections[i].items[j])
			}
		}
		if len(kept) > 0 {
			kept = append(kept, item{text: fmt.Sprintf("(%d more left out)", len(gone[i]))})
		}
		sections[i].items = kept
	}
	return sections, total
}

// cost returns how many tokens the sections take, or only those that must be kept.
func cost(sections []section, must bool) int {
	total := estimate(origin) + 2
	for i := range sections {
		if len(sections[i].items) == 0 || must && !sections[i].must {
			continue
		}
		total += estimate(sections[i].heading) + 4
		for j := range sections[i].items {
			if it := &sections[i].items[j]; !must || !it.loose {
				total += it.cost()
			}
		}
	}
	return total
}

// shorten cuts every line to size bytes, in all sections or only in those that must be kept.
func shorten(sections []section, size int, must bool) {
	for i := range sections {
		if must && !sections[i].must {
			continue
		}
		for j := range sections[i].items {
			it := &sections[i].items[j]
			it.text = clip(it.text, size)
			left := size
			for k := range it.more {
				it.more[k] = clip(it.more[k], left)
				if left -= len(it.more[k]); left <= 20 {
					it.more = it.more[:k+1]
					break
				}
			}
		}
	}
}

// thin removes the lightest items of what must be kept if not everything fits; one item of each
// section stays.
func thin(sections []section, total, budget int) {
	gone := map[int]int{}
	defer func() {
		for i, n := range gone {
			sections[i].items = append(sections[i].items, item{text: fmt.Sprintf("(%d more left out)", n)})
		}
	}()
	for total > budget-12*len(gone) {
		worst, at, weight := -1, -1, 0
		for i := range sections {
			if len(sections[i].items) < 2 {
				continue
			}
			for j := range sections[i].items {
				if w := sections[i].items[j].weight; worst < 0 || w < weight {
					worst, at, weight = i, j, w
				}
			}
		}
		if worst < 0 {
			return
		}
		total -= sections[worst].items[at].cost()
		sections[worst].items = slices.Delete(sections[worst].items, at, at+1)
		gone[worst]++
	}
}

// hard cuts a text that is still too long at the end of a line.
func hard(text string, budget int) string {
	if estimate(text) <= budget {
		return text
	}
	var b strings.Builder
	left := budget
	for line := range strings.Lines(text) {
		cost := estimate(line) + 1
		if cost > left {
			break
		}
		left -= cost
		b.WriteString(line)
	}
	return b.String()
}

// clip shortens a line to size bytes at the start of a character, preferably between words. The
// ellipsis touches a word that was cut: half a name is not a name.
func clip(text string, size int) string {
	if len(text) <= size {
		return text
	}
	size = len(call.Beginning(text, size))
	if space := strings.LastIndexByte(text[:size], ' '); space > size*2/3 {
		size = space
	}
	if text[size] != ' ' {
		return strings.TrimRight(text[:size], " ,;:") + "…"
	}
	return strings.TrimRight(text[:size], " ,;:") + " …"
}

// line turns a text into one line that is safe to quote: white space joined, control characters
// replaced, markup disarmed that a program would take for a tool call.
func line(text string, size int) string {
	if len(text) > 8*size {
		text = text[:8*size]
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text)
	return clip(disarm(bold.ReplaceAllString(strings.Join(strings.Fields(text), " "), "$1$2$3")), size)
}

// bold matches emphasis around words, but not the ** of a glob, which touches a slash.
var bold = regexp.MustCompile(`(^|[\s(\["'])\*\*([^\s*/][^*]*)\*\*($|[\s.,;:!?)\]"'])`)

// markup matches the beginnings of tool calls that models write as text. A summary that contains
// one would be rejected.
var markup = regexp.MustCompile(`(?i)<(/?(?:\w+:)?` +
	`(?:function_calls|function=|invoke|parameter|tool_call|tool_use|\||｜))|\[(TOOL_CALLS)\]`)

func disarm(text string) string {
	if !strings.ContainsAny(text, "<[") {
		return text
	}
	return markup.ReplaceAllString(text, "‹$1$2")
}

// quote puts a line between quotation marks.
func quote(text string, size int) string {
	text = line(text, size)
	if inner := strings.Trim(text, "\""); !strings.Contains(inner, "\"") {
		text = inner // it stood between such marks already
	}
	return "\"" + text + "\""
}

// code puts a line between back-ticks.
func code(text string, size int) string {
	text = line(text, size)
	if strings.Contains(text, "`") {
		return "`` " + text + " ``"
	}
	return "`" + text + "`"
}

// block quotes the first lines of a text, and the last if the middle is left out.
func block(text string, size int) []string {
	var rows []string
	used := 0
	for row := range strings.Lines(text) {
		if row = line(row, size); strings.Trim(row, "-=*_| ") == "" {
			continue
		}
		if used += len(row); used > size && len(rows) > 0 {
			rows = append(rows, "> …")
			if last := lastLine(text, size/3); last != row {
				rows = append(rows, "> "+last)
			}
			return rows
		}
		rows = append(rows, "> "+row)
	}
	return rows
}

// lastLine returns the last line of a text that is not a rule.
func lastLine(text string, size int) string {
	for text != "" {
		at := strings.LastIndexByte(text, '\n')
		if row := line(text[at+1:], size); strings.Trim(row, "-=*_| ") != "" {
			return row
		}
		text = text[:max(at, 0)]
	}
	return ""
}
