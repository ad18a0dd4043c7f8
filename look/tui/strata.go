package tui

import (
	"slices"

	"github.com/winnowhq/winnow/look/display"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/quantity"
)

// zone is how a zone of the timeline is drawn.
type zone struct {
	report.Zone
	glyph   string
	style   style
	meaning string
}

// zones are in the order in which bars stack them and the legend lists them, from the oldest past
// to now.
var zones = [...]zone{
	{report.Folded, "·", foldedTone, "replaced by the summary"},
	{report.Summary, "◆", summaryTone, "the summary, and what it carries over"},
	{report.Pruned, "░", prunedTone, "left out; a placeholder is shown"},
	{report.Prunable, "▒", prunableTone, "a rule would leave it out"},
	{report.Guarded, "█", guardedTone, "tool output that stays"},
	{report.Talk, "≡", talkTone, "what was said and asked"},
	{report.ActiveNow, "▓", activeTone, "the last turns, left alone"},
	{"", "?", normal, "of another kind"},
}

// name is what the legend calls a zone.
func (z zone) name() string {
	switch z.Zone {
	case report.Talk:
		return "conversation"
	case "":
		return "other"
	}
	return string(z.Zone)
}

// zoneOf is how a zone is drawn; an unknown one is drawn as the last.
func zoneOf(z report.Zone) zone { return zones[indexOf(z)] }

func indexOf(z report.Zone) int {
	if at := slices.IndexFunc(zones[:], func(one zone) bool { return one.Zone == z }); at >= 0 {
		return at
	}
	return len(zones) - 1
}

// segments are the tokens of a row in the order of zones, and how many zones there are.
func segments(r display.Row) (out []segment, there int) {
	out = make([]segment, len(zones))
	for i, z := range zones {
		out[i] = segment{glyph: z.glyph, style: z.style}
	}
	for zone, n := range r.Zones {
		out[indexOf(zone)].size += n
	}
	for _, s := range out {
		if s.size > 0 {
			there++
		}
	}
	return out, there
}

// timeline draws the strata, the oldest at the top: what the summary replaced, the pivot as a line
// across, the summary, and what is shown.
func (pg *page) timeline(r report.Report) {
	t := display.TimelineOf(r.Strata)
	if t.Whole.Tokens == 0 {
		return
	}
	d := rowDrawer{pg: pg, label: len("turn"), number: len("tokens"), bar: min(56, max(len(zones), pg.width*3/10))}
	for _, row := range slices.Concat(t.Folded, []display.Row{t.Pivot}, t.Shown) {
		d.most = max(d.most, row.Tokens)
		d.label = max(d.label, Columns(label(row)))
		d.number = max(d.number, Columns(quantity.Number(row.Tokens)))
		if row.Cost > 0 {
			d.dollars = max(d.dollars, len("cost"), Columns(quantity.Dollars(row.Cost)))
		}
	}
	pg.heading("Timeline", "oldest at the top; sizes are those of the log")
	head := padLeft("turn", d.label) + padRight("", d.bar+4) + padLeft("tokens", d.number) + "  "
	if d.dollars > 0 {
		head += padLeft("cost", d.dollars) + "  "
	}
	pg.add(say(faint, head+"what the user wrote"))
	for _, row := range t.Folded {
		d.draw(row)
	}
	if t.Past {
		text := "── pivot: " + quantity.Count(r.Window.Folded, "message") + ", " +
			quantity.Number(t.Whole.Zones[report.Folded]) + " tokens folded "
		for Columns(text) < pg.width {
			text += "─"
		}
		pg.add(say(summaryTone, text))
		if t.Pivot.Tokens > 0 {
			d.draw(t.Pivot)
		}
	}
	for _, row := range t.Shown {
		d.draw(row)
	}
	pg.gap()
	pg.legend(t.Whole)
}

// legend lists the zones that are there.
func (pg *page) legend(whole display.Row) {
	var rows [][]span
	all, _ := segments(whole)
	for i, s := range all {
		if z := zones[i]; s.size > 0 {
			rows = append(rows, []span{say(z.style, z.glyph+z.glyph), say(normal, z.name()), figure(normal, s.size),
				say(faint, z.meaning)})
		}
	}
	pg.grid(2, ".<><", rows...)
}

// rowDrawer knows the columns of the timeline.
type rowDrawer struct {
	pg                       *page
	most, label, bar, number int
	dollars                  int // 0: no cost is known
}

func (d rowDrawer) draw(row display.Row) {
	all, there := segments(row)
	l := line{say(faint, padLeft(label(row), d.label)+"  ")}
	// A bar with more zones than its length has cells is drawn longer: no zone is hidden.
	l = append(l, stacked(all, max(there, length(float64(row.Tokens)/float64(d.most), d.bar)))...)
	l = append(l.pad(d.label+2+d.bar), say(normal, "  "+padLeft(quantity.Number(row.Tokens), d.number)+"  "))
	if d.dollars > 0 {
		cost := ""
		if row.Cost > 0 {
			cost = quantity.Dollars(row.Cost)
		}
		l = append(l, say(normal, padLeft(cost, d.dollars)+"  "))
	}
	if text, room := text(row), d.pg.width-l.columns(); room >= 4 {
		s := normal
		if row.Written == "" {
			s = faint
		}
		l = append(l, span{text: Cut(text, room), style: s})
	}
	d.pg.add(l...)
}

// label is where a row is.
func label(r display.Row) string {
	switch {
	case r.GoesOn && r.FirstTurn == r.LastTurn:
		return "↳"
	case r.LastTurn <= 0:
		return ""
	case r.FirstTurn < r.LastTurn:
		return quantity.Number(max(r.FirstTurn, 1)) + "–" + quantity.Number(r.LastTurn)
	}
	return quantity.Number(r.LastTurn)
}

// text is what the user wrote, or which steps these are.
func text(r display.Row) string {
	switch {
	case r.Written != "":
		return Clean(r.Written)
	case r.Zones[report.Summary] > 0:
		return "summary"
	case r.LastTurn <= 0 && !r.GoesOn:
		return "(before the first turn)"
	case r.FirstStep > 0 && r.FirstStep == r.LastStep:
		return "step " + quantity.Number(r.FirstStep)
	case r.FirstStep > 0:
		return "steps " + quantity.Number(r.FirstStep) + "–" + quantity.Number(r.LastStep)
	case r.GoesOn:
		return "(goes on)"
	}
	return ""
}
