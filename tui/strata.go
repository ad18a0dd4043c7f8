package tui

import (
	"math"
	"slices"

	"github.com/winnowhq/winnow/report"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/token"
)

// zone is how a zone of the timeline is drawn.
type zone struct {
	report.Zone
	glyph   string
	style   style
	meaning string
}

// zones are in the order in which bars stack them and the legend lists them: from what is far away to what is at hand.
var zones = [...]zone{
	{report.Folded, "·", foldedTone, "the summary stands for it"},
	{report.Summary, "◆", summaryTone, "the summary, and what it carries over"},
	{report.Pruned, "░", prunedTone, "elided; a placeholder stands there"},
	{report.Prunable, "▒", prunableTone, "could go: a rule would elide it"},
	{report.Guarded, "█", guardedTone, "tool output that stays"},
	{report.Talk, "≡", talkTone, "what was said and asked"},
	{report.ActiveNow, "▓", activeTone, "the last turns, left alone"},
	{"", "?", normal, "of another kind"},
}

// zoneNames are what the legend calls them.
func (z zone) name() string {
	switch z.Zone {
	case report.Talk:
		return "conversation"
	case "":
		return "other"
	}
	return string(z.Zone)
}

// amounts are tokens by zone, in the order of zones.
type amounts [len(zones)]int

func (a *amounts) add(b amounts) {
	for i, n := range b {
		a[i] = plus(a[i], n)
	}
}

func (a amounts) total() int {
	sum := 0
	for _, n := range a {
		sum = plus(sum, n)
	}
	return sum
}

func (a amounts) segments() []segment {
	out := make([]segment, len(a))
	for i, n := range a {
		out[i] = segment{size: n, glyph: zones[i].glyph, style: zones[i].style}
	}
	return out
}

func amountsOf(s report.Stratum) amounts {
	var a amounts
	for name, n := range s.Zones {
		at := slices.IndexFunc(zones[:], func(z zone) bool { return z.Zone == name })
		if at < 0 {
			at = len(zones) - 1
		}
		a[at] = plus(a[at], n)
	}
	return a
}

// row is one line of the timeline: a turn, several, or a stretch of one.
type row struct {
	firstTurn, lastTurn int
	firstStep, lastStep int // within the turn, 1-based; 0 when the row is no stretch, or has no step
	goesOn              bool
	amounts
	written string
}

const (
	mostRows = 20 // what one sees at a glance, and what leaves room on a screen
	// mostShown of the rows are for what the model is shown, as long as the folded past needs the others.
	mostShown = 14
	// newestAlone is how many of the newest turns get a row of their own when the older ones share theirs.
	newestAlone = 4
	// largeShare of all tokens, and largeMessages, make a turn large enough to be split.
	largeShare    = 0.4
	largeMessages = 8
)

// timeline draws the strata, the oldest at the top: what the summary stands for, the pivot as a line across, the summary, and what is shown.
func (pg *page) timeline(r report.Report) {
	var folded, summary, shown, empty []report.Stratum
	past := slices.ContainsFunc(r.Strata, func(s report.Stratum) bool { return s.Pivot })
	var sum amounts
	for _, s := range r.Strata {
		a := amountsOf(s)
		sum.add(a)
		switch {
		case past && (s.Pivot || s.Zones[report.Summary] > 0):
			summary = append(summary, s)
		case a.total() == 0: // it stands with what follows it
			empty = append(empty, s)
		case past && s.Zones[report.Folded] > 0:
			folded, empty = append(append(folded, empty...), s), nil
		default:
			shown, empty = append(append(shown, empty...), s), nil
		}
	}
	shown = append(shown, empty...)
	whole := sum.total()
	if whole == 0 {
		return
	}
	above, below := turns(folded), turns(shown)
	above = fitRows(above, mostRows-min(len(below), mostShown), 0, whole)
	below = fitRows(below, mostRows-len(above), newestAlone, whole)
	if len(above) > 0 && len(below) > 0 && below[0].firstTurn == above[len(above)-1].lastTurn && below[0].firstTurn > 0 {
		below[0].goesOn = true
	}

	d := rowDrawer{pg: pg}
	for _, one := range slices.Concat(above, below) {
		d.most = max(d.most, one.total())
		d.label = max(d.label, columns(one.label()))
		d.number = max(d.number, columns(token.Grouped(one.total())))
	}
	top := row{}
	for _, s := range summary {
		top.amounts.add(amountsOf(s))
	}
	d.most, d.label, d.number = max(d.most, top.total()), max(d.label, len("turn")), max(d.number, columns(token.Grouped(top.total())), len("tokens"))
	d.bar = min(56, max(len(zones), pg.width*3/10))
	pg.heading("Timeline", "oldest at the top; sizes are those of the log")
	pg.add(say(faint, padLeft("turn", d.label)+"  "+padRight("", d.bar)+"  "+padLeft("tokens", d.number)+"  what the user wrote"))
	for _, one := range above {
		d.draw(one.row)
	}
	if past {
		pg.across(r.Window.Folded, sum[0])
		if top.total() > 0 {
			d.draw(top)
		}
	}
	for _, one := range below {
		d.draw(one.row)
	}
	pg.gap()
	pg.legend(sum, whole)
}

// across draws the pivot.
func (pg *page) across(messages, tokens int) {
	text := "── pivot: " + count(messages, "message") + ", " + token.Grouped(tokens) + " tokens folded "
	for columns(text) < pg.width {
		text += "─"
	}
	pg.add(say(summaryTone, text))
}

// legend lists the zones that are there.
func (pg *page) legend(sum amounts, whole int) {
	name, number := 0, 0
	for i, n := range sum {
		if n > 0 {
			name, number = max(name, len(zones[i].name())), max(number, columns(token.Grouped(n)))
		}
	}
	for i, n := range sum {
		if n > 0 {
			pg.add(
				say(zones[i].style, "  "+zones[i].glyph+zones[i].glyph), say(normal, " "+padRight(zones[i].name(), name)+"  "+padLeft(token.Grouped(n), number)+"  "),
				say(strong, padLeft(percent(n, whole), 4)), say(faint, "  "+zones[i].meaning))
		}
	}
}

// rowDrawer knows the columns of the timeline.
type rowDrawer struct {
	pg                       *page
	most, label, bar, number int
}

func (d rowDrawer) draw(one row) {
	l := line{say(faint, padLeft(one.label(), d.label)+"  ")}
	l = append(l, stacked(one.segments(), length(one.total(), d.most, d.bar))...)
	// A bar with more zones than its length has cells is drawn longer: no zone is hidden.
	if zones := one.zones(); length(one.total(), d.most, d.bar) < zones {
		l = append(l[:1], stacked(one.segments(), zones)...)
	}
	l = l.pad(d.label + 2 + d.bar)
	l = append(l, say(normal, "  "+padLeft(token.Grouped(one.total()), d.number)+"  "))
	room := d.pg.width - l.columns()
	switch text := one.text(); {
	case text == "" || room < 4:
	case one.written == "":
		l = append(l, say(faint, cut(text, room)))
	default:
		l = append(l, span{text: cut(text, room)})
	}
	d.pg.add(l...)
}

func (a amounts) zones() int {
	n := 0
	for _, tokens := range a {
		if tokens > 0 {
			n++
		}
	}
	return n
}

// label is where a row is.
func (r row) label() string {
	switch {
	case r.goesOn && r.firstTurn == r.lastTurn:
		return "↳"
	case r.lastTurn <= 0:
		return ""
	case r.firstTurn < r.lastTurn:
		return token.Grouped(max(r.firstTurn, 1)) + "–" + token.Grouped(r.lastTurn)
	}
	return token.Grouped(r.lastTurn)
}

// text is what the user wrote, or which steps these are.
func (r row) text() string {
	switch {
	case r.written != "":
		return clean(r.written)
	case r.amounts[1] > 0:
		return "summary"
	case r.lastTurn <= 0 && !r.goesOn:
		return "(before the first turn)"
	case r.firstStep > 0 && r.firstStep == r.lastStep:
		return "step " + token.Grouped(r.firstStep)
	case r.firstStep > 0:
		return "steps " + token.Grouped(r.firstStep) + "–" + token.Grouped(r.lastStep)
	case r.goesOn:
		return "(goes on)"
	}
	return ""
}

// turn is the strata of one turn, or of a stretch of one.
type turn struct {
	row
	strata []report.Stratum
}

// turns groups strata that follow each other and belong to one turn.
func turns(strata []report.Stratum) []turn {
	var out []turn
	step := 0
	for i, s := range strata {
		if i == 0 || s.Turn != strata[i-1].Turn {
			out = append(out, turn{row: row{firstTurn: s.Turn, lastTurn: s.Turn}})
			step = 0
		}
		t := &out[len(out)-1]
		t.amounts.add(amountsOf(s))
		if t.written == "" {
			t.written = s.Written
		}
		t.strata = append(t.strata, s)
		if s.Role == session.Assistant {
			step++
			t.lastStep = step
		}
	}
	return out
}

// fitRows makes at most so many rows of turns. Many turns share rows, the newest excepted; of a few, the large ones are split.
func fitRows(all []turn, most, alone, whole int) []turn {
	if len(all) > most {
		alone = min(alone, most/2)
		return append(share(all[:len(all)-alone], most-alone), all[len(all)-alone:]...)
	}
	spare := most - len(all)
	var out []turn
	for _, t := range all {
		part := float64(t.total()) / float64(max(whole, 1))
		pieces := min(1+int(math.Round(part*float64(spare)*0.6)), len(t.strata)/2)
		if part < largeShare || len(t.strata) < largeMessages || pieces < 2 {
			t.firstStep, t.lastStep = 0, 0
			out = append(out, t)
			continue
		}
		out = append(out, t.split(pieces)...)
	}
	return out
}

// share puts turns that follow each other on rows.
func share(all []turn, rows int) []turn {
	out := make([]turn, 0, rows)
	for i := range rows {
		from, to := i*len(all)/rows, (i+1)*len(all)/rows
		if from == to {
			continue
		}
		one := turn{row: row{firstTurn: all[from].firstTurn, lastTurn: all[to-1].lastTurn}}
		for _, t := range all[from:to] {
			one.amounts.add(t.amounts)
			if one.written == "" {
				one.written = t.written
			}
		}
		out = append(out, one)
	}
	return out
}

// split makes rows of stretches of one turn, of the same number of messages each.
func (t turn) split(pieces int) []turn {
	out := make([]turn, 0, pieces)
	step := 0
	for i := range pieces {
		one := turn{row: row{firstTurn: t.firstTurn, lastTurn: t.lastTurn, goesOn: i > 0}}
		for _, s := range t.strata[i*len(t.strata)/pieces : (i+1)*len(t.strata)/pieces] {
			one.amounts.add(amountsOf(s))
			if one.written == "" {
				one.written = s.Written
			}
			if s.Role == session.Assistant {
				step++
				one.lastStep = step
				if one.firstStep == 0 {
					one.firstStep = step
				}
			}
		}
		out = append(out, one)
	}
	return out
}
