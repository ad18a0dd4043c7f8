package page

import (
	"cmp"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/winnowhq/winnow/look/display"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/quantity"
)

// pivotView is one pivot: what it did, and its summary beside what it replaced.
type pivotView struct {
	marker int

	N, At         int // at which message it is
	Undone        bool
	Before, After string
	Change        string
	When          string
	Bars          bars
	Facts         []fact
	Notes         []string
	Undo          string
	Summary       template.HTML
	Carried       template.HTML
	Replaced      []replaced
	ReplacedHow   string
	More          string
}

// bars are two windows on one scale.
type bars struct{ Before, After []segment }

// replaced is one turn that a summary replaced.
type replaced struct {
	Turn, Written, Size string
	Href                string
	Entries             []entry
}

// mostReplaced is how many lines a pivot lists of what it replaced; the log has all of them.
const mostReplaced = 300

// done is what the command did just now.
type done struct {
	Size, Verdict string
	Over          bool
	How           string
	Bars          bars
	Before, After string
	Messages      [2]string
	Facts         []fact
	Tables        []table
	Notes         []string
	Undo, Remark  string
}

func (d *document) pivots(s display.History) {
	log, overhead := d.c.Session.Messages, max(0, d.c.Report.Window.Overhead)
	faultOf := map[int]display.Pivot{}
	for _, f := range s.Pivots {
		faultOf[f.Marker] = f
	}
	// Those that count first: the timeline numbers them. Undone ones follow.
	var undone []pivotView
	for i := range log {
		f, counts := faultOf[i]
		if log[i].Marker() == nil || !counts && !d.c.State.Undone[log[i].ID] {
			continue
		}
		p := pivotView{marker: i, At: i + 1, Undone: !counts, When: moment(log[i].Time.Created,
			"2 January 2006, 15:04 UTC")}
		if counts {
			before, after := s.Moments[f.Summary].Before, s.Moments[f.Summary].Amounts
			whole := max(before.Shown(), after.Shown())
			p.N, p.Before, p.After, p.Change = len(d.Pivots)+1, quantity.Number(f.Before), quantity.Number(f.After),
				quantity.Change(f.Before, f.After)
			p.Bars = bars{bar(s, before, whole), bar(s, after, whole)}
			d.summary(&p, &log[f.Summary])
			d.replaced(&p)
		}
		r := d.receiptOf(log[i].ID)
		if !counts && r != nil && r.TokensBefore > 0 {
			before, after := r.TokensBefore+overhead, r.TokensAfter+overhead
			p.Before, p.After, p.Change = quantity.Number(before), quantity.Number(after), quantity.Change(before, after)
		}
		d.receipt(&p, r)
		if counts {
			d.Pivots = append(d.Pivots, p)
		} else {
			undone = append(undone, p)
		}
	}
	d.Pivots = append(d.Pivots, undone...)
	for i := range d.Pivots {
		d.Pivots[i].N = i + 1
	}
}

func (d *document) receiptOf(marker string) *pivot.Receipt {
	receipts := d.c.State.Receipts
	for i := len(receipts) - 1; i >= 0; i-- {
		if receipts[i].Marker == marker && marker != "" {
			return &receipts[i]
		}
	}
	return nil
}

func (d *document) receipt(p *pivotView, r *pivot.Receipt) {
	p.Undo = d.command("winnow undo", d.c.Session.Messages[p.marker].ID)
	if p.Undone {
		p.Undo = d.command("winnow redo", d.c.Session.Messages[p.marker].ID)
	}
	if r == nil {
		p.Facts = append(p.Facts, fact{"receipt", "none is kept: it came with the file"})
		return
	}
	p.Facts = append(p.Facts, receiptFacts(r)...)
	for _, note := range r.Notes {
		p.Notes = append(p.Notes, counted(note))
	}
}

// receiptFacts are what a receipt says besides its sizes.
func receiptFacts(r *pivot.Receipt) []fact {
	var facts []fact
	add := func(name, text string) {
		if text != "" {
			facts = append(facts, fact{name, visible(text)})
		}
	}
	if r.Kind == pivot.Compaction && r.Folded > 0 {
		add("folded", quantity.Count(r.Folded, "message"))
	}
	for _, f := range display.Receipt(r) {
		add(f.Name, f.Text)
	}
	if r.Kind == pivot.Compaction && len(r.Usage) == 0 {
		add("cost", "nothing: no model was asked")
	}
	if n := r.Parts(); n > 0 {
		add("left out", quantity.Count(n, "part"))
	}
	add("policy", r.Policy)
	add("because", cmp.Or(triggers[r.Trigger], r.Trigger))
	add("receipt", r.ID)
	return facts
}

// triggers say why a receipt was written.
var triggers = map[string]string{
	"manual":    "it was asked for",
	"asked":     "the agent asked for it",
	"threshold": "the window was full",
	"rejected":  "the provider refused the request as too long",
	"turn":      "a turn had ended",
	"step":      "a step had ended",
	"cold":      "the provider's cache held nothing of the prompt",
	"pays":      "it saves more than writing the prompt again costs",
	"imported":  "it came with the file",

	pivot.FirstSend: "it says nothing new, and was not sent yet",
}

func (d *document) summary(p *pivotView, m *session.Message) {
	var own, carry []string
	for j := range m.Parts {
		part := &m.Parts[j]
		if n, _ := part.Note(); n.Carry {
			carry = append(carry, part.Text)
		} else if part.Type == session.TextPart {
			own = append(own, part.Text)
		}
	}
	p.Summary, p.Carried = prose(strings.Join(own, "\n\n")), prose(strings.Join(carry, "\n\n"))
}

// replaced lists, turn by turn, the messages that a pivot folded: those of the window before it,
// but for its tail.
func (d *document) replaced(p *pivotView) {
	log := d.c.Session.Messages
	before := view.Window(log[:p.marker], d.c.State.Undone)
	until := p.marker
	if tail := session.Index(log[:p.marker], log[p.marker].Marker().TailStartID); tail >= 0 {
		until = tail
	}
	in := map[string]bool{}
	for i := range before {
		in[before[i].ID] = true
	}
	messages, lines, left := 0, 0, 0
	for i := range until {
		m := &log[i]
		if !in[m.ID] {
			continue
		}
		messages++
		if m.Written() || len(p.Replaced) == 0 || m.IsSummary() {
			r := replaced{Href: "#m" + strconv.Itoa(i+1)}
			if i < len(d.c.Report.Strata) && d.c.Report.Strata[i].Turn > 0 {
				r.Turn = "Turn " + quantity.Number(d.c.Report.Strata[i].Turn)
			}
			switch {
			case m.IsSummary():
				r.Turn, r.Written = "Before that", "the summary of the pivot before this one"
			case m.Written():
				r.Written = line(m.Text(), 400)
			}
			p.Replaced = append(p.Replaced, r)
		}
		r := &p.Replaced[len(p.Replaced)-1]
		for j := range m.Parts {
			x := &d.c.Parts[d.first[i]+j]
			if x.Tokens == 0 || m.Written() && m.Parts[j].Type == session.TextPart || m.IsSummary() {
				continue
			}
			if lines++; lines > mostReplaced {
				left++
				continue
			}
			what, text := d.heading(m, &m.Parts[j], x)
			r.Entries = append(r.Entries, entry{Href: partHref(d.first[i] + j), What: what, Text: text,
				Tokens: quantity.Number(x.Tokens)})
		}
	}
	p.ReplacedHow = quantity.Count(messages, "message")
	if left > 0 {
		p.More = fmt.Sprintf("%s more, in the log below", quantity.Number(left))
	}
}

// doneOf is the receipt on top of the page of a session that was just changed.
func (d *document) doneOf(s display.History) *done {
	r, overhead := d.c.Done, max(0, d.c.Report.Window.Overhead)
	out := &done{
		Before: quantity.Number(r.TokensBefore + overhead), After: quantity.Number(r.TokensAfter + overhead),
		Messages: [2]string{quantity.Count(r.MessagesBefore, "message"),
			quantity.Count(r.MessagesAfter, "message")},
		Facts: receiptFacts(r), Remark: visible(d.c.Remark), Undo: visible(r.Undo),
	}
	out.Size = display.Shrunk(r.TokensBefore, r.TokensAfter, overhead)
	out.How = quantity.Count(r.Folded, "message") + " folded into a summary"
	if r.Kind == pivot.Pruning {
		out.How = quantity.Count(r.Parts(), "part") + " left out"
	}
	verdict, fit := display.VerdictAfter(r, d.c.Report.Window)
	out.Verdict, out.Over = verdict, fit == display.Over
	before, after := s.Now.Amounts, s.Now.Amounts
	if n := len(s.Moments); n > 0 {
		before = s.Moments[n-1].Amounts
	}
	for _, f := range s.Pivots {
		if r.Marker != "" && d.c.Session.Messages[f.Marker].ID == r.Marker {
			before, after = s.Moments[f.Summary].Before, s.Moments[f.Summary].Amounts
		}
	}
	whole := max(before.Shown(), after.Shown())
	out.Bars = bars{bar(s, before, whole), bar(s, after, whole)}
	saved, _ := display.SavedByRule(r, nil)
	window := r.TokensBefore + overhead
	for _, of := range []display.Ranking{display.TokenRanking("Folded, by kind", r.Gone, window, mostRows),
		display.TokenRanking("Left out, by rule", saved, window, mostRows)} {
		if len(of.Rows) > 0 {
			out.Tables = append(out.Tables, tableOf(of))
		}
	}
	for _, note := range r.Notes {
		out.Notes = append(out.Notes, counted(note))
	}
	return out
}

// pruning is the receipt of a commit without a pivot.
type pruning struct {
	When, Text, Undo string
	Undone           bool
}

// Prunings are those of the session, as they were made.
func (d *document) Prunings() []pruning {
	var out []pruning
	committed := map[string]bool{}
	for k := range d.c.Parts {
		for _, el := range d.c.Parts[k].Elisions {
			committed[el.Receipt] = true
		}
	}
	for i := range d.c.State.Receipts {
		r := &d.c.State.Receipts[i]
		if r.Kind != pivot.Pruning {
			continue
		}
		rules := map[string]bool{}
		for _, el := range r.Committed {
			rules[visible(el.Rule)] = true
		}
		text := display.Shrunk(r.TokensBefore, r.TokensAfter, d.c.Report.Window.Overhead) + "; " +
			quantity.Count(r.Parts(), "part") + " left out by " + strings.Join(slices.Sorted(maps.Keys(rules)), ", ") + "."
		one := pruning{When: moment(r.Time, "2 January 2006, 15:04 UTC"), Text: text,
			Undo: d.command("winnow undo", r.ID)}
		if one.Undone = !committed[r.ID] && len(r.Committed) > 0; one.Undone {
			one.Undo = d.command("winnow redo", r.ID)
		}
		out = append(out, one)
	}
	return out
}
