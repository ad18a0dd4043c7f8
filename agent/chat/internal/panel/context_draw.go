package panel

import (
	"strings"

	"github.com/winnowhq/winnow/agent/chat/internal/draw"
	"github.com/winnowhq/winnow/look/tui"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/quantity"
)

// excerptLines is how much of a text is seen of a part that is open.
const excerptLines = 8

// explained is what there is to say of a part: nothing yet, while it is asked for.
type explained struct {
	x     report.Explanation
	err   error
	width int
	lines []string // as they were drawn for this width
}

// widths of the columns beside the name of a part; 0 leaves one out.
type contextWidths struct{ handle, tokens, age, state int }

func contextWidthsAt(width int) contextWidths {
	switch {
	case width < 56:
		return contextWidths{tokens: 9, state: 1}
	case width < 100:
		return contextWidths{handle: 7, tokens: 9, age: 5, state: 22}
	}
	return contextWidths{handle: 7, tokens: 10, age: 6, state: 36}
}

// beside puts the columns at the right together.
func (w contextWidths) beside(tokens, age, state string) string {
	side := right(tokens, w.tokens)
	if w.age > 0 {
		side += right(age, w.age+1)
	}
	return side + "  " + draw.Fit(state, w.state)
}

func (p *contextPanel) columns(width int) string {
	w := contextWidthsAt(width)
	name := "what"
	if w.handle > 0 {
		name = draw.Fit("part", w.handle) + "  " + name
	}
	state := "state"
	if w.state == 1 {
		state = " "
	}
	return pick(false, name, w.beside("tokens", "age", state), width, draw.Style{})
}

func (p *contextPanel) drawRow(item, width int) string {
	row, w := &p.rows[item], contextWidthsAt(width)
	glyph, state := "█", ""
	switch {
	case row.part != nil:
		glyph, state = p.glyph(row.part), p.stateOf(row.part)
	case row.members != nil:
		state = quantity.Count(len(row.members), "part")
	default:
		glyph, state = "▓", "every request"
	}
	if row.elided > 0 { // the glyph says that it is left out
		state = "−" + quantity.Number(row.elided) + " " + strings.TrimPrefix(state, "left out by ")
	}
	if w.state > 1 {
		state = glyph + " " + state
	} else {
		state = glyph
	}
	name := row.name
	if w.handle > 0 {
		handle := ""
		if row.part != nil {
			handle = row.part.Handle
		}
		name = draw.Fit(draw.OneLine(handle), w.handle) + "  " + name
	}
	if row.inside {
		name = "  " + name
	}
	age := ""
	if row.step > 0 && p.newest > 0 {
		age = quantity.Number(p.newest - row.step)
	}
	room := width - 2 - tui.Columns(w.beside("", "", "")) - 2
	// of a path the end says most
	if path := strings.LastIndexByte(row.name, '/'); path > 0 && tui.Columns(name) > room {
		head, target, _ := strings.Cut(row.name, " ")
		before := strings.TrimSuffix(name, row.name) + head + " "
		if target != "" && room-tui.Columns(before) > 8 && !strings.Contains(target, " ") {
			name = before + tui.CutFront(target, room-tui.Columns(before))
		}
	}
	return pick(item == p.at, name, w.beside(quantity.Number(row.tokens), age, state), width, p.style)
}

// glyph is how a part is shown, in the glyphs of the timeline that inspect draws.
func (p *contextPanel) glyph(x *report.Part) string {
	switch {
	case len(x.Elisions) > 0:
		return "░"
	case x.Pinned:
		return "▪"
	case len(x.Candidates) > 0:
		return "▒"
	case x.Zone == report.Summary:
		return "◆"
	case x.Zone == report.Talk:
		return "≡"
	case x.Zone == report.ActiveNow:
		return "▓"
	}
	return "█"
}

// details are the lines under a row that is open.
func (p *contextPanel) details(item, width int) []string {
	row := &p.rows[item]
	if row.part == nil || !p.open[row.key] {
		return nil
	}
	e := p.explained[row.part.Part]
	switch {
	case e == nil:
		return []string{draw.Paint(p.style.Dim, tui.Cut("    …", width))}
	case e.err != nil:
		return []string{draw.Paint(p.style.Bad, tui.Cut("    "+draw.OneLine(draw.Explain(e.err)), width))}
	case e.x.Part == "":
		return []string{draw.Paint(p.style.Dim, tui.Cut("    …", width))}
	}
	if e.width != width {
		e.width, e.lines = width, p.drawDetails(&e.x, width)
	}
	return e.lines
}

func (p *contextPanel) drawDetails(x *report.Explanation, width int) []string {
	d := under{width: width, style: p.style}
	d.say("", quantity.Sentence(x.Because))
	where := quantity.Number(x.Tokens) + " tokens in the log, " + quantity.Number(x.Shown) + " in the view"
	if x.Step > 0 {
		where += " · step " + quantity.Number(x.Step) + " of turn " + quantity.Number(x.Turn)
	}
	d.faint(where)
	for _, r := range x.Elisions {
		text := "the " + string(r.Field) + ", by " + r.Rule + ", saves " + quantity.Number(r.Saves)
		if r.StepsSince > 0 {
			text += "; " + quantity.Count(r.StepsSince, "step") + " ago"
		}
		if r.Together > 1 {
			text += "; with " + quantity.Number(r.Together-1) + " more, /undo " + r.Receipt + " takes back all of them"
		}
		d.say("left out: ", text)
	}
	for _, r := range x.Candidates {
		text := "the " + string(r.Field) + ", by " + r.Rule + ", saves " + quantity.Number(r.Saves)
		switch {
		case r.Restored:
			text += "; it was taken back before, only /prune takes it again"
		case r.When != "":
			text += "; " + r.When
		}
		d.say("could go: ", text)
	}
	for i, r := range x.StandsFor {
		if i == 2 {
			d.faint("stands for " + quantity.Number(len(x.StandsFor)-i) + " more")
			break
		}
		d.faint("stands for " + r.String())
	}
	for _, piece := range x.Pieces {
		if piece.Log == piece.Shown {
			d.text(string(piece.Field), piece.Shown)
			continue
		}
		d.text(string(piece.Field)+", as the model is shown it", piece.Shown)
		d.text(string(piece.Field)+" in the log", piece.Log)
	}
	d.lines = append(d.lines, "")
	return d.lines
}

// under collects lines that stand under a row.
type under struct {
	width int
	style draw.Style
	lines []string
}

const inset = "    "

// say writes a sentence over as many lines as it takes.
func (d *under) say(name, text string) {
	for i, l := range draw.Wrap(name+draw.OneLine(text), max(8, d.width-len(inset)), "  ") {
		if i == 6 {
			d.lines = append(d.lines, tui.Cut(inset+"…", d.width))
			return
		}
		d.lines = append(d.lines, tui.Cut(inset+l, d.width))
	}
}

func (d *under) faint(text string) {
	for _, l := range draw.Wrap(draw.OneLine(text), max(8, d.width-len(inset)), "  ") {
		d.lines = append(d.lines, draw.Paint(d.style.Dim, tui.Cut(inset+l, d.width)))
	}
}

// text shows the beginning of a text.
func (d *under) text(name, text string) {
	if strings.TrimSpace(text) == "" {
		d.faint(name + ": nothing")
		return
	}
	d.faint(name + ":")
	drawn, hidden := draw.Excerpt(text, max(4, d.width-len(inset)-2), excerptLines)
	for _, l := range drawn {
		d.lines = append(d.lines, tui.Cut(inset+"│ "+l, d.width))
	}
	if hidden > 0 {
		d.faint("│ … " + quantity.Count(hidden, "more line"))
	}
}
