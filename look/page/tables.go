package page

import (
	"slices"
	"strconv"
	"strings"

	"github.com/winnowhq/winnow/look/display"
	"github.com/winnowhq/winnow/text/quantity"
)

// table says what takes most.
type table struct {
	Title string
	Wide  bool   // its names are long
	Dear  bool   // it tells dollars
	Unit  string // of what it tells beside them
	Rows  []row
}

// row is what takes some of it. Share is of the dollars where there are any.
type row struct{ Name, Href, Tone, Tokens, Cost, Share, Bar string }

// Pieces of a name: a long path breaks behind a slash.
func (r row) Pieces() []string { return strings.SplitAfter(r.Name, "/") }

const mostRows = 8

func tableOf(of display.Ranking) table {
	t := table{Title: of.Title, Dear: of.Priced, Unit: "tokens", Wide: of.Paths}
	for _, r := range of.Rows {
		one := row{Name: line(r.Name, 160), Tone: "tone", Tokens: r.Tokens, Cost: r.Cost, Share: r.Share,
			Bar: share(chartWidth * r.Part)}
		if of.Tools && !r.Rest {
			one.Tone = display.ToolTone(one.Name).Class
		}
		t.Rows = append(t.Rows, one)
	}
	return t
}

func (d *document) leaders() {
	for _, of := range display.Rankings(&d.c.Report, mostRows) {
		if len(of.Rows) > 0 {
			d.Tables = append(d.Tables, tableOf(of))
		}
	}
	d.biggest()
}

// entry is a line that leads to a part.
type entry struct{ Href, What, Text, State, Because, Tokens, Cost string }

const mostEntries = 12

func (d *document) biggest() {
	order := make([]int, len(d.c.Parts))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return d.c.Parts[b].Tokens - d.c.Parts[a].Tokens })
	for _, k := range order[:min(len(order), mostEntries)] {
		if x := &d.c.Parts[k]; x.Tokens > 0 {
			what, text := d.heading(d.parts[k].message, d.parts[k].part, x)
			one := entry{Href: partHref(k), What: what, Text: text, State: stateOf(x).Text,
				Tokens: quantity.Number(x.Tokens)}
			if c := d.c.Report.Costs; c != nil && c.ByPart[x.Part] > 0 {
				one.Cost = quantity.Dollars(c.ByPart[x.Part])
			}
			d.Biggest = append(d.Biggest, one)
		}
	}
}

func partHref(k int) string { return "#p" + strconv.Itoa(k+1) }
