package page

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/quantity"
)

// turn is a heading of the log and what follows it.
type turn struct {
	N    int // 0 before the first
	When string
	Size string
}

// message is one message of the log.
type message struct {
	N     int
	ID    string
	Role  string
	When  string
	Turn  *turn // begins with it
	End   bool  // the turn ends behind it
	Fault string
	Odd   bool // its role is worth a word: a marker, a summary
	Parts []part
}

// part is one part, folded.
type part struct {
	N       int
	ID      string
	What    string // the tool, or the kind
	Line    string
	Kind    string // for the filter
	State   state
	Tokens  string
	Shown   string // tokens, where they differ
	Mark    bool   // there is nothing in it to open
	Said    bool   // it is prose, not the work of a tool
	Blocks  []block
	Reasons []reason
	Stands  []link // parts that were elided because this one shows what they showed
	More    int    // of them, without a link
	About   string
}

// state is what became of a part, as a word and as a class of the style.
type state struct{ Class, Text string }

// link leads to a part.
type link struct{ Href, Text string }

// reason says why a part is shown as it is.
type reason struct {
	Rule, Because, Undo string
	By                  []link // the parts that make it redundant
	More                int    // of them, without a link
	Facts               []fact
	Switch              string
	Together            string // how many were committed with it
	UndoAll             string
}

// mostLinks is how many parts are named where many make one redundant.
const mostLinks = 5

func stateOf(x *report.Part) state {
	pinned := ""
	if x.Pinned {
		pinned = ", pinned"
	}
	switch x.Zone {
	case report.Folded:
		if len(x.Elisions) > 0 {
			return state{"s-elided", "left out, folded" + pinned}
		}
		return state{"s-folded", "folded" + pinned}
	case report.Summary:
		return state{"s-summary", "summary"}
	case report.Pruned:
		return state{"s-elided", "left out" + pinned}
	case report.Prunable:
		return state{"s-prunable", "could go" + pinned}
	}
	if x.Pinned {
		return state{"s-pinned", "pinned"}
	}
	return state{}
}

// Messages yields the log. Each message is made as the template reaches it.
func (d *document) Messages() iter.Seq[message] {
	return func(yield func(message) bool) {
		log := d.c.Session.Messages
		turns := session.Turns(log)
		next := 0
		for i := range log {
			m := d.message(i)
			if i == 0 && (len(turns) == 0 || turns[0].Start > 0) {
				m.Turn = &turn{}
			}
			if next < len(turns) && turns[next].Start == i {
				m.Turn = d.turn(next+1, turns[next])
				next++
			}
			m.End = i == len(log)-1 || next < len(turns) && turns[next].Start == i+1
			if !yield(m) {
				return
			}
		}
	}
}

func (d *document) turn(n int, t session.Turn) *turn {
	tokens, steps, cost := 0, 0, 0.0
	for i := t.Start; i < t.End && i < len(d.c.Report.Strata); i++ {
		cost += d.c.Report.Strata[i].Cost
		for _, size := range d.c.Report.Strata[i].Zones {
			tokens += size
		}
		if d.c.Session.Messages[i].Role == session.Assistant {
			steps++
		}
	}
	size := quantity.Count(tokens, "token") + ", " + quantity.Count(steps, "step")
	if cost > 0 {
		size += ", " + quantity.Dollars(cost)
	}
	return &turn{N: n, When: moment(d.c.Session.Messages[t.Start].Time.Created, "2 January, 15:04"), Size: size}
}

func (d *document) message(i int) message {
	m := &d.c.Session.Messages[i]
	out := message{N: i + 1, ID: visible(m.ID), Role: line(string(m.Role), 24),
		When: moment(m.Time.Created, "15:04:05")}
	switch undone := d.c.State.Undone; {
	case m.Marker() != nil && undone[m.ID]:
		out.Role = "marker, undone"
	case m.Marker() != nil:
		out.Role = "marker"
		for n := range d.Pivots {
			if d.Pivots[n].marker == i && !d.Pivots[n].Undone {
				out.Fault = fmt.Sprintf("Pivot %d: %s → %s tokens. What is above it is represented by the summary "+
					"below.", n+1, d.Pivots[n].Before, d.Pivots[n].After)
			}
		}
	case m.IsSummary() && !m.Completes():
		out.Role = "summary, unfinished"
	case m.IsSummary() && undone[m.ParentID]:
		out.Role = "summary, undone"
	case m.IsSummary():
		out.Role = "summary"
	}
	if m.Failed() {
		out.Parts = append(out.Parts, part{What: "failed", Line: line(failure(m.Error), 400), Kind: "other",
			Mark: true})
	}
	out.Odd = out.Role != "user" && out.Role != "assistant"
	for j := range m.Parts {
		p := d.part(m, &m.Parts[j], d.first[i]+j)
		if m.Parts[j].Type == session.StepStartPart && j == 0 {
			continue // every step begins
		}
		out.Parts = append(out.Parts, p)
	}
	return out
}

func (d *document) part(m *session.Message, p *session.Part, k int) part {
	x := &d.c.Parts[k]
	out := part{N: k + 1, ID: visible(p.ID), State: stateOf(x), Kind: d.kind(m, p)}
	out.What, out.Line = d.heading(m, p, x)
	if x.Tokens > 0 {
		out.Tokens = quantity.Number(x.Tokens)
	}
	if len(x.Elisions) > 0 {
		out.Shown = quantity.Number(x.Rendered.Total())
	}
	out.Said = p.Type == session.TextPart || p.Type == session.ReasoningPart
	d.blocks(&out, p, x)
	if out.Mark = len(out.Blocks) == 0 && x.Tokens == 0; out.Mark {
		return out
	}
	for _, r := range together(x.Elisions) {
		out.Reasons = append(out.Reasons, d.elided(&r, x))
	}
	for _, r := range together(x.Candidates) {
		out.Reasons = append(out.Reasons, d.could(&r))
	}
	if len(out.Reasons) == 0 && p.Type == session.ToolPart {
		r := reason{Because: counted(x.Because)}
		if x.Kept != nil {
			r.Switch = x.Kept.Switch
		}
		out.Reasons = append(out.Reasons, r)
	}
	out.Stands, out.More = d.links(x.StandsFor)
	about := []string{"part " + out.ID}
	if x.Handle != "" {
		about = append([]string{"handle " + x.Handle}, about...)
	}
	if p.CallID != "" {
		about = append(about, "call "+visible(p.CallID))
	}
	if p.State != nil && p.State.Status != session.Completed {
		about = append(about, line(string(p.State.Status), 20))
	}
	out.About = strings.Join(about, ", ")
	return out
}

// kind is what the filter calls a part.
func (d *document) kind(m *session.Message, p *session.Part) string {
	switch p.Type {
	case session.ToolPart:
		return "tool"
	case session.TextPart:
		return view.Kind(m, p)
	case session.ReasoningPart, session.FilePart:
		return string(p.Type)
	}
	return "other"
}

// together makes one of the reasons that say the same of several fields.
func together(reasons []report.Reason) []report.Reason {
	var out []report.Reason
	for _, r := range reasons {
		at := slices.IndexFunc(out, func(o report.Reason) bool {
			return o.Rule == r.Rule && o.Because == r.Because && o.By == r.By && o.Receipt == r.Receipt &&
				o.Restored == r.Restored
		})
		if at < 0 {
			out = append(out, r)
			continue
		}
		out[at].Field += " and " + r.Field
		out[at].Saves += r.Saves
	}
	return out
}

// elided says why something was left out, since when, and how to take it back.
func (d *document) elided(r *report.Reason, x *report.Part) reason {
	out := reason{
		Rule: "Left out by rule " + visible(r.Rule), Because: counted(r.Because), Switch: r.Switch,
		Facts: []fact{{"what", string(r.Field)}, {"saves", quantity.Count(r.Saves, "token")}},
		Undo:  d.command("winnow restore", cmp.Or(x.Handle, x.Part)),
	}
	out.By, out.More = d.links(r.Covering)
	if at := moment(r.Time, "2 January 2006, 15:04"); at != "" {
		at += " UTC"
		if r.StepsSince > 0 {
			at += ", " + quantity.Count(r.StepsSince, "step") + " ago"
		}
		out.Facts = append(out.Facts, fact{"since", at})
	}
	if r.Receipt != "" && r.Together > 1 {
		out.Together, out.UndoAll = quantity.Count(r.Together-1, "more part"), d.command("winnow undo", r.Receipt)
	}
	return out
}

// could says of a candidate why it may go.
func (d *document) could(r *report.Reason) reason {
	out := reason{Rule: "Could go by rule " + visible(r.Rule), Because: counted(r.Because), Switch: r.Switch,
		Facts: []fact{{"what", string(r.Field)}, {"would save", quantity.Count(r.Saves, "token")}}}
	if r.Restored {
		out.Because += "; it was taken back before, so that only pruning on demand takes it"
	}
	out.By, out.More = d.links(r.Covering)
	return out
}

// links lead to parts, a few of many.
func (d *document) links(refs []report.Ref) (links []link, more int) {
	for _, r := range refs[:min(len(refs), mostLinks)] {
		if k, ok := d.at[r.Part]; ok {
			r.Target = d.near(r.Target)
			links = append(links, link{partHref(k), line(r.String(), 160)})
		}
	}
	return links, len(refs) - len(links)
}

// count finds what the page has to say about its own texts before the first is written.
func (d *document) count() {
	cut, size, kinds := 0, 0, map[string]bool{}
	weigh := func(text string) {
		if len(text) > d.inline {
			cut++
			size += len(text)
		}
	}
	for k, one := range d.parts {
		p := one.part
		kinds[d.kind(one.message, p)] = true
		weigh(p.Text)
		weigh(p.Prompt)
		if p.State != nil {
			weigh(p.State.Result())
			weigh(string(p.State.Input))
		}
		for _, piece := range d.changed(p, &d.c.Parts[k]) {
			if piece.Shown == piece.Log {
				piece.Shown = piece.Would
			}
			weigh(piece.Shown)
		}
	}
	for _, kind := range []string{"user", "synthetic", "assistant", "reasoning", "tool", "file", "summary"} {
		if kinds[kind] {
			d.Kinds = append(d.Kinds, kind)
		}
	}
	d.Cut, d.CutWeight = cut, quantity.Bytes(size)
}

// Length is how many messages the log has.
func (d *document) Length() string { return strconv.Itoa(len(d.c.Session.Messages)) }
