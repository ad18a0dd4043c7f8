package page

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/winnowhq/winnow/report"
	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
)

// document is what the template fills in: texts that need no thinking any more.
type document struct {
	c     *Content
	texts *texts

	Title, Name, Product, Project, Model, When, ID string
	Size, Verdict                                  string
	Over                                           bool
	Facts                                          []fact
	Chart                                          chart
	Window                                         []segment // the window now, on a scale of the usable one
	UsableAt                                       string
	Done                                           *done
	Tables                                         []table
	Biggest                                        []entry
	Pivots                                         []pivotView
	Candidates                                     table
	CandidatesBy                                   []candidates
	Refusals                                       []string
	Wishes                                         []string
	Pins                                           []pin
	Notes                                          []string
	Damaged                                        []fact
	DamagedCount                                   string
	Kinds                                          []string // for the filter
	Cut                                            int      // texts that are kept as data
	CutWeight                                      string

	inline   int            // bytes of a text that stand in the page itself
	position map[string]int // of messages
	at       map[string]int // of parts, among all of the log
}

// fact is a name and what there is to say.
type fact struct{ Name, Text string }

type pin struct{ Text, Note, Href, Undo string }

func newDocument(c Content) *document {
	r := &c.Report
	d := &document{c: &c, texts: &texts{}, position: map[string]int{}}
	for i := range c.Session.Messages {
		d.position[c.Session.Messages[i].ID] = i
	}
	d.at = make(map[string]int, len(c.Parts))
	for k := range c.Parts {
		d.at[c.Parts[k].Part] = k
	}
	d.inline = max(240, min(4_000, 4_000_000/max(1, len(c.Parts))))
	d.count()
	d.about()
	d.verdict()
	s := strataOf(&c)
	d.Chart = chartOf(&c, s)
	d.window(s)
	d.leaders()
	d.candidates()
	d.pivots(s)
	if c.Done != nil {
		d.Done = d.doneOf(s)
	}
	for _, text := range r.Constraints {
		d.Wishes = append(d.Wishes, visible(text))
	}
	for _, p := range r.Pins {
		one := pin{Text: visible(p.Text), Note: visible(p.Note), Undo: d.command("winnow pin --remove", cmp.Or(p.Part, p.ID))}
		if p.Message != "" {
			one.Text = "message " + visible(p.Message)
			if at, ok := d.position[p.Message]; ok {
				one.Href = "#m" + strconv.Itoa(at+1)
			}
		}
		if p.Part != "" {
			one.Text = "part " + visible(p.Part)
			if m, part := session.FindPart(c.Session.Messages, p.Part); part != nil {
				one.Href = "#m" + strconv.Itoa(d.position[m.ID]+1)
				one.Text = strings.TrimSpace(line(part.Tool, 40)+" "+line(cmp.Or(rule.Target(part), part.Text), 120)) + " (" + visible(p.Part) + ")"
			}
		}
		d.Pins = append(d.Pins, one)
	}
	for i, damage := range c.Damaged {
		if i == mostDamaged {
			d.Damaged = append(d.Damaged, fact{"", grouped(len(c.Damaged)-i) + " more"})
			break
		}
		where := "byte " + grouped(int(damage.Offset))
		if damage.Line > 0 {
			where = "line " + grouped(damage.Line)
		}
		d.Damaged = append(d.Damaged, fact{where, count(damage.Bytes, "byte") + ": " + visible(cmp.Or(damage.Reason, "not understood"))})
	}
	d.DamagedCount = count(len(c.Damaged), "piece")
	return d
}

const mostDamaged = 200

// command is what to type about something of the session, "" where the session as it is here is in no file and no store.
func (d *document) command(name, about string) string {
	if d.c.Source == "" {
		return ""
	}
	return command(name, d.c.Source, about)
}

// about says what was looked at.
func (d *document) about() {
	c, r := d.c, &d.c.Report
	d.Name, d.Product, d.Project, d.Model, d.ID = visible(c.Name), visible(c.Product), visible(c.Session.Info.Directory), visible(r.Model), visible(c.Session.Info.ID)
	d.Title = line(cmp.Or(c.Session.Info.Title, c.Name, "A session"), 160)
	from, to := c.Session.Info.Time.Created, session.Millis(0)
	for i := range c.Session.Messages {
		m := &c.Session.Messages[i]
		if moment(m.Time.Created, "2006") == "" || m.Marker() != nil || m.IsSummary() || m.Companion() != "" {
			continue
		}
		if moment(from, "2006") == "" || m.Time.Created < from {
			from = m.Time.Created
		}
		to = max(to, m.Time.Created, m.Time.Completed)
	}
	d.When = span(from, to)
	messages := grouped(len(c.Session.Messages))
	if r.Messages > len(c.Session.Messages) {
		messages += ", " + grouped(r.Messages) + " in the file"
	}
	d.Facts = []fact{
		{"log", grouped(r.Tokens.Total) + " tokens"}, {"messages", messages}, {"turns", grouped(r.Turns)}, {"steps", grouped(r.Steps)}, {"tool calls", grouped(r.ToolCalls)},
	}
	if words := r.Bill.Words(dollars); len(words) > 0 {
		text := strings.TrimPrefix(strings.Join(words, ", "), "cost ")
		if len(r.Unpriced) > 0 {
			text += " (" + strings.Join(r.Unpriced, ", ") + ")"
		}
		d.Facts = append(d.Facts, fact{"cost", visible(text)})
	}
	d.Facts = append(d.Facts, fact{"policy", visible(r.Policy)}, fact{"counted by", visible(r.Counter)})
}

// verdict says in one sentence how large the window is, and whether it fits.
func (d *document) verdict() {
	w := d.c.Report.Window
	if w.Messages <= 0 && w.Tokens <= 0 {
		d.Size = "Nothing here yet: no messages."
		return
	}
	d.Size = grouped(w.Tokens) + " tokens in " + count(w.Messages, "message") + "; "
	used := w.Tokens + w.Overhead
	model := d.Model[strings.LastIndex(d.Model, "/")+1:]
	switch {
	case w.Usable <= 0:
		d.Verdict = "the window of " + cmp.Or(model, "the model") + " is not known"
	case w.Overflow && used <= w.Usable:
		d.Verdict, d.Over = "the usable window is full", true
	case w.Overflow:
		d.Verdict, d.Over = grouped(used-w.Usable)+" over the usable window", true
	default:
		d.Verdict = "it fits, with room for " + grouped(w.Usable-used) + " more"
	}
	if n := d.c.masked; n > 0 {
		d.Notes = append(d.Notes, count(n, "secret")+" masked on this page, each time one is shown; the log has them, and --secrets keep shows them.")
	}
	if w.Pending != "" {
		d.Notes = append(d.Notes, "A compaction was begun and is not finished: marker "+visible(w.Pending)+".")
	}
	for reason := range strings.SplitSeq(w.Reason, "; ") {
		if strings.TrimSpace(reason) != "" {
			d.Notes = append(d.Notes, counted(reason))
		}
	}
}

// segment is a piece of a bar: where it begins and how long it is, in percent.
type segment struct{ Class, X, Width, Title string }

// bar puts amounts beside each other on a scale, from one layer on.
func bar(s strata, amounts []int, whole, first int) []segment {
	var out []segment
	x := 0.0
	for k, n := range amounts[:len(amounts)-1] { // what was elided is not in the window
		if n <= 0 || whole <= 0 || k < first {
			continue
		}
		width := chartWidth * float64(n) / float64(whole)
		out = append(out, segment{s.layers[k].Class, share(x), share(width), s.layers[k].Name + " " + grouped(n)})
		x += width
	}
	return out
}

func (d *document) window(s strata) {
	w := d.c.Report.Window
	used := s.now.shown()
	whole := max(used, w.Usable)
	d.Window = bar(s, s.now.amounts, whole, systemLayer)
	if w.Usable > 0 {
		d.UsableAt = share(chartWidth * float64(w.Usable) / float64(whole))
		d.Facts = append([]fact{{"window", grouped(used) + " of " + grouped(w.Usable) + " usable, " + percent(used, w.Usable)}}, d.Facts...)
	} else {
		d.Facts = append([]fact{{"window", grouped(used) + " tokens"}}, d.Facts...)
	}
	if w.Overhead > 0 {
		d.Facts = slices.Insert(d.Facts, 1, fact{"of it system and tools", grouped(w.Overhead)})
	}
	if w.Elided > 0 {
		d.Facts = append(d.Facts, fact{"elided", count(w.Elided, "part") + ", saving " + grouped(w.ElidedTokens)})
	}
	if w.Folded > 0 {
		d.Facts = append(d.Facts, fact{"folded", count(w.Folded, "message")})
	}
}

// table says what takes most.
type table struct {
	Title string
	Wide  bool // its names are long
	Rows  []row
}

type row struct{ Name, Tokens, Share, Bar, Remark string }

// Pieces of a name: a long path breaks behind a slash.
func (r row) Pieces() []string { return strings.SplitAfter(r.Name, "/") }

const mostRows = 8

func tableOf(title string, by map[string]int, whole int) table {
	t := table{Title: title}
	names := slices.SortedFunc(maps.Keys(by), func(a, b string) int { return cmp.Or(by[b]-by[a], cmp.Compare(a, b)) })
	rest, others := 0, 0
	for i, name := range names {
		if by[name] <= 0 {
			continue
		}
		if i >= mostRows && len(names) > mostRows+1 {
			rest, others = rest+by[name], others+1
			continue
		}
		t.Rows = append(t.Rows, rowOf(line(name, 160), by[name], whole, by[names[0]]))
	}
	if others > 0 {
		all := rowOf(grouped(others)+" more", rest, whole, 0)
		all.Bar = "0%" // of many things together, it is no length to compare with that of one
		t.Rows = append(t.Rows, all)
	}
	return t
}

func rowOf(name string, n, whole, most int) row {
	return row{Name: name, Tokens: grouped(n), Share: percent(n, whole), Bar: share(chartWidth * float64(n) / float64(max(1, most)))}
}

func (d *document) leaders() {
	t := d.c.Report.Tokens
	files := tableOf("By file", t.ByFile, t.Total)
	files.Wide = true
	for _, one := range []table{tableOf("By kind", t.ByKind, t.Total), tableOf("By tool", t.ByTool, t.Total), files} {
		if len(one.Rows) > 0 {
			d.Tables = append(d.Tables, one)
		}
	}
	d.biggest()
}

// entry is a line that leads to a part.
type entry struct{ Href, What, Text, State, Because, Tokens string }

const mostEntries = 12

func (d *document) biggest() {
	order := make([]int, len(d.c.Parts))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return d.c.Parts[b].Tokens - d.c.Parts[a].Tokens })
	wanted := map[int]int{}
	for at, k := range order[:min(len(order), mostEntries)] {
		if d.c.Parts[k].Tokens > 0 {
			wanted[k] = at
		}
	}
	d.Biggest = make([]entry, len(wanted))
	k := 0
	for i := range d.c.Session.Messages {
		m := &d.c.Session.Messages[i]
		for j := range m.Parts {
			if at, ok := wanted[k]; ok {
				x := &d.c.Parts[k]
				what, text := d.heading(m, &m.Parts[j], x)
				d.Biggest[at] = entry{Href: partHref(k), What: what, Text: text, State: stateOf(x).Text, Tokens: grouped(x.Tokens)}
			}
			k++
		}
	}
}

func partHref(k int) string { return "#p" + strconv.Itoa(k+1) }

// candidates is what one rule would elide.
type candidates struct {
	Rule, Sum string
	Because   string // where all of them have one reason
	Entries   []entry
	More      int
}

// mostCandidates is how many of a rule are listed; each of the others says so at its place in the log.
const mostCandidates = 100

func (d *document) candidates() {
	r := &d.c.Report
	all := 0
	byRule := map[string][]entry{}
	list := slices.Clone(r.Candidates)
	slices.SortStableFunc(list, func(a, b report.Candidate) int { return b.Saves - a.Saves })
	for _, c := range list {
		all += c.Saves
		if len(byRule[c.Rule]) < mostCandidates {
			byRule[c.Rule] = append(byRule[c.Rule], entry{
				Href: partHref(d.at[c.Part]), What: line(c.Tool, 40), Text: line(d.near(c.Target), 120), Because: counted(c.Because), Tokens: grouped(c.Saves),
			})
		}
	}
	d.Candidates.Title = grouped(all) + " tokens, " + percent(all, r.Window.Tokens) + " of the messages"
	for _, sum := range report.ByRule(r.Candidates, nil) {
		one := rowOf(visible(sum.Rule), sum.Saves, r.Window.Tokens, all)
		one.Remark = count(sum.Parts, "part")
		d.Candidates.Rows = append(d.Candidates.Rows, one)
		entries := byRule[sum.Rule]
		group := candidates{
			Rule: visible(sum.Rule), Sum: count(sum.Parts, "part") + ", " + count(sum.Saves, "token"), Entries: entries, More: max(0, sum.Parts-len(entries)),
		}
		first := group.Entries[0].Because
		if !slices.ContainsFunc(group.Entries, func(e entry) bool { return e.Because != first }) {
			group.Because = first
			for i := range group.Entries {
				group.Entries[i].Because = ""
			}
		}
		d.CandidatesBy = append(d.CandidatesBy, group)
	}
	sums, general := report.SumRefusals(r.Refusals)
	say := func(reason string, code rule.Code) string {
		return counted(cmp.Or(reason, strings.ReplaceAll(string(code), "-", " ")))
	}
	for _, one := range general {
		d.Refusals = append(d.Refusals, say(one.Reason, one.Code))
	}
	for _, one := range sums {
		text := count(one.Parts, "part") + " stay"
		if one.Parts == 1 {
			text += "s"
		}
		if one.Rule != "" {
			text += " for " + visible(one.Rule)
		}
		text += ": " + say(one.Reason, one.Code)
		if one.Others > 0 {
			text += "; " + count(one.Others, "other reason")
		}
		d.Refusals = append(d.Refusals, text)
	}
}
