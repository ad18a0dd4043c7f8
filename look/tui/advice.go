package tui

import (
	"fmt"
	"strings"

	"github.com/winnowhq/winnow/lab/advise"
	"github.com/winnowhq/winnow/text/quantity"
)

// Advice draws what would make sessions cheaper: each finding with what it costs, what the change
// saves, the evidence, and the line to change.
func (p Painter) Advice(r advise.Report, small []advise.Finding) {
	pg := p.page()
	looked := quantity.Count(r.Sessions, "session") + " cost " + quantity.Dollars(r.Cost) + " in all"
	if r.Unreported > 0 {
		looked += "; " + quantity.Plural(r.Unreported,
			"of them reports no usage, or has no known price, and is not judged",
			"of them report no usage, or have no known price, and are not judged")
	}
	if r.Sessions > 0 {
		pg.words(span{}, faint, looked+".", 4)
	}
	for i := range r.Findings {
		pg.gap()
		pg.finding(i+1, &r.Findings[i])
	}
	pg.gap()
	switch n := len(r.Findings); {
	case n == 0 && r.Sessions == r.Unreported:
		pg.words(span{}, normal, "No session can be judged.", 2)
	case n == 0 && len(small) > 0:
	case n == 0:
		pg.words(span{}, normal, "Nothing to advise: no change would save more than its error.", 2)
	case n > 1:
		pg.words(span{}, faint, plusMinus+" Gains overlap, so they do not add up.", 3)
	default:
		pg.words(span{}, faint, plusMinus, 3)
	}
	pg.smaller(small)
	pg.repeated(r.Repeated)
	p.draw(pg)
}

// smaller names findings that save little on one line.
func (pg *page) smaller(small []advise.Finding) {
	if len(small) == 0 {
		return
	}
	words := make([]string, len(small))
	for i, f := range small {
		words[i] = f.Kind + " " + quantity.Dollars(f.Gain)
	}
	them := "them"
	if len(small) == 1 {
		them = "it"
	}
	pg.words(span{}, normal, quantity.Plural(len(small), "smaller one", "smaller ones")+": "+
		strings.Join(words, ", ")+"; --all shows "+them+".", 3)
}

const plusMinus = "± is where the gain would lie, nine times in ten, on as many other sessions."

// finding draws one finding.
func (pg *page) finding(number int, f *advise.Finding) {
	sign := fmt.Sprintf("%2d  ", number)
	pg.words(say(faint, sign), strong, f.Title, 4)
	indent := span{text: "    "}
	pg.flow(indent, fine, []string{"saves " + f.Saves(), "of " + f.Dollars()}, 2)
	for _, text := range f.Evidence {
		pg.words(indent, faint, text, 8)
	}
	where := ":"
	if f.Where != "" {
		where = ", in " + f.Where + ":"
	}
	pg.words(indent, normal, "To "+f.Change+where, 8)
	pg.words(span{text: "      "}, strong, f.Line, 12)
}

// mostRepeated is how many repeated instructions are shown.
const mostRepeated = 5

// repeated draws instructions that belong into AGENTS.md.
func (pg *page) repeated(all []advise.Repeated) {
	if len(all) == 0 {
		return
	}
	pg.heading("You say these again and again", "")
	pg.words(span{}, faint, "No money is in them, as far as can be told; AGENTS.md would say them for you.", 2)
	for _, r := range all[:min(len(all), mostRepeated)] {
		pg.words(span{text: "  "}, normal, "“"+r.Text+"”", 3)
		pg.words(span{text: "    "}, faint, "in "+quantity.Count(r.Sessions, "session")+" of "+r.Project, 2)
	}
	pg.more("  ", len(all)-min(len(all), mostRepeated))
}
