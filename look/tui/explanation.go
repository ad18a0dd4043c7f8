package tui

import (
	"strconv"
	"strings"
	"time"

	"github.com/winnowhq/winnow/plan/policy"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/quantity"
)

const (
	mostRefs       = 5  // parts that are named
	mostPieceLines = 12 // of one text of a part
	mostLineBytes  = 2_000
)

// Explanation draws why a part is shown as it is, and what the model sees of it before and after.
func (p Painter) Explanation(x report.Explanation) {
	pg := p.page()
	name := x.Handle
	if name == "" {
		name = x.Part
	}
	pg.add(say(strong, name), say(normal, "  "+Cut(Clean(what(x)), max(0, pg.width-Columns(name)-2))))
	z := zoneOf(x.Zone)
	pg.fact("is", string(x.Zone)+": "+z.meaning)
	pg.fact("because", quantity.Sentence(x.Because))
	size := quantity.Number(x.Tokens) + " tokens in the log, " + quantity.Number(x.Shown) + " in the view"
	pg.fact("size", size)
	where := "message " + x.Message + ", part " + x.Part
	if x.Step > 0 {
		where = "step " + quantity.Number(x.Step) + " of turn " + quantity.Number(x.Turn) + ", " + where
	}
	pg.fact("where", where)
	if k := x.Kept; k != nil {
		pg.fact("kept by", strings.TrimSpace(string(k.By)+" "+k.What)+governed(k.Switch))
	}
	for _, r := range x.Elisions {
		pg.reason("left out", r)
	}
	for _, r := range x.Candidates {
		pg.reason("could go", r)
	}
	for i, r := range x.Refusals {
		if i > 0 || x.Rule != r.Rule { // the first is the reason above
			pg.fact("stays for", r.Rule+" ("+string(r.Code)+"): "+quantity.Sentence(r.Reason))
		}
	}
	pg.refs("replaces", x.StandsFor)
	pg.refs("would too", x.WouldStandFor)
	if x.Undo != "" {
		pg.fact("undo", x.Undo)
	}
	for _, piece := range x.Pieces {
		pg.piece(piece, x.Zone == report.Folded)
	}
	p.draw(pg)
}

// what a part is, on one line.
func what(x report.Explanation) string {
	if x.Tool != "" {
		return strings.TrimSpace(x.Tool + " " + strings.Join(strings.Fields(x.Target), " "))
	}
	return x.Type
}

func governed(key string) string {
	if key == "" {
		return ""
	}
	if other := policy.Alias(key); other != "" {
		key += " (also " + other[strings.LastIndexByte(other, '.')+1:] + ")"
	}
	return ", set by " + key
}

// reason says what one elision does to a part.
func (pg *page) reason(how string, r report.Reason) {
	text := "the " + string(r.Field) + ", by " + r.Rule + governed(r.Switch)
	if r.Restored {
		text += "; it was taken back before: only pruning on demand takes it again"
	}
	pg.fact(how, text)
	pg.fact("", "saves "+quantity.Number(r.Saves)+" tokens")
	if r.When != "" && !r.Restored {
		pg.fact("when", r.When)
	}
	defer pg.refs("covered by", r.Covering)
	if r.Time == 0 {
		return
	}
	since := "since " + time.UnixMilli(int64(r.Time)).UTC().Format("2006-01-02 15:04") + " UTC"
	if r.StepsSince > 0 {
		since += ", " + quantity.Count(r.StepsSince, "step") + " and " + quantity.Count(r.TurnsSince, "turn") + " ago"
	}
	pg.fact("", since)
	if r.Undo != "" && r.Together > 1 {
		pg.fact("", "committed with "+quantity.Number(r.Together-1)+" more; to take back all of them:")
		pg.fact("", r.Undo)
	}
}

// refs lists parts, one a line.
func (pg *page) refs(name string, refs []report.Ref) {
	for i, r := range refs {
		if i == mostRefs {
			pg.fact("", quantity.Number(len(refs)-mostRefs)+" more")
			break
		}
		label := ""
		if i == 0 {
			label = name
			if len(refs) > 1 {
				label += " " + strconv.Itoa(len(refs))
			}
		}
		pg.fact(label, r.String())
	}
}

// piece shows a text of a part before and after.
func (pg *page) piece(p report.Piece, folded bool) {
	switch {
	case folded:
		pg.excerpt(string(p.Field)+", which the model is not shown", p.Log)
	case p.Log == p.Shown && p.Shown == p.Would:
		pg.excerpt(string(p.Field)+", as the log has it and as the model is shown it", p.Log)
	case p.Log == p.Shown:
		pg.excerpt(string(p.Field)+", as the model is shown it", p.Log)
		pg.excerpt(string(p.Field)+", as it would be shown", p.Would)
	default:
		pg.excerpt(string(p.Field)+" in the log", p.Log)
		pg.excerpt(string(p.Field)+", as the model is shown it", p.Shown)
		if p.Would != p.Shown {
			pg.excerpt(string(p.Field)+", as it would be shown", p.Would)
		}
	}
}

// excerpt is the beginning of a text, and says what was cut.
func (pg *page) excerpt(title, text string) {
	size := ""
	if text != "" {
		size = rule.Measure(text)
	}
	pg.heading(title, size)
	if text == "" {
		pg.add(say(faint, "  nothing"))
		return
	}
	lines, wide := 0, 0
	rest := strings.TrimRight(text, "\n")
	for rest != "" && lines < mostPieceLines {
		var l string
		l, rest, _ = strings.Cut(rest, "\n")
		if len(l) > mostLineBytes {
			l = strings.ToValidUTF8(l[:mostLineBytes], "")
		}
		if lines == 0 && rest == "" { // a placeholder is one line, and all of it counts
			before := len(pg.lines)
			pg.words(span{text: "  "}, normal, l, mostPieceLines/2)
			if len(text) > mostLineBytes || len(pg.lines)-before == mostPieceLines/2 {
				pg.add(say(faint, "  … --json has all of it"))
			}
			return
		}
		l = Clean(strings.ReplaceAll(l, "\t", "    "))
		if Columns(l) > pg.width-2 {
			wide++
		}
		pg.add(say(normal, "  "+l))
		lines++
	}
	var left []string
	if n := strings.Count(rest, "\n"); rest != "" {
		left = append(left, quantity.Count(n+1, "more line"))
	}
	if wide > 0 {
		left = append(left, quantity.Count(wide, "line")+" cut at the right")
	}
	if len(left) > 0 {
		pg.add(say(faint, "  … "+strings.Join(left, ", ")+"; --json has all of it"))
	}
}
