package page

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/winnowhq/winnow/look/display"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/quantity"
)

// document is what the template fills in: texts that are ready to be shown.
type document struct {
	c     *Content
	texts *texts
	places
	header
	Facts []fact
	Chart chart
	gauge
	Done     *done
	Money    *moneyView
	Contents []fact // sections: where, and their names
	Next     []fact // suggested commands, with their purpose
	Tables   []table
	Biggest  []entry
	Pivots   []pivotView
	couldGo
	lasting
	Notes []string
	damage
	filter
}

// gauge is the window now, on a scale of the usable one.
type gauge struct {
	Window   []segment
	UsableAt string
}

// lasting is what every compaction keeps word for word.
type lasting struct {
	Wishes []string
	Pins   []pin
}

// damage is what could not be read.
type damage struct {
	Damaged      []fact
	DamagedCount string
}

// header says which session this is, and how full its window.
type header struct {
	Title, Name, Product, Project, Model, When, ID string
	Size, First                                    string // how full the window is, and what is said beside it
	Over                                           bool
}

// filter is what the log can be searched by, and what of it is kept as data.
type filter struct {
	Kinds     []string
	Cut       int // texts
	CutWeight string
}

// places are where messages and parts are.
type places struct {
	inline   int            // bytes of a text that are in the page itself
	position map[string]int // of messages
	parts    []partOf       // of the log
	first    []int          // part of each message
	at       map[string]int // of parts, among all of the log
}

// partOf is a part with its message.
type partOf struct {
	message *session.Message
	part    *session.Part
}

// fact is a name and what there is to say.
type fact struct{ Name, Text string }

type pin struct{ Text, Note, Href, Undo string }

func newDocument(c Content) *document {
	r := &c.Report
	d := &document{c: &c, texts: &texts{}, places: places{position: map[string]int{}}}
	for i := range c.Session.Messages {
		m := &c.Session.Messages[i]
		d.position[m.ID] = i
		d.first = append(d.first, len(d.parts))
		for j := range m.Parts {
			d.parts = append(d.parts, partOf{m, &m.Parts[j]})
		}
	}
	d.at = make(map[string]int, len(c.Parts))
	for k := range c.Parts {
		d.at[c.Parts[k].Part] = k
	}
	d.inline = max(240, min(4_000, 4_000_000/max(1, len(c.Parts))))
	d.count()
	d.about()
	d.verdict()
	s := historyOf(&c)
	d.Chart = chartOf(&c, s)
	d.window(s)
	d.money()
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
		one := pin{Text: visible(p.Text), Note: visible(p.Note), Undo: d.command("winnow protect --remove",
			cmp.Or(p.Part, p.ID))}
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
				one.Text = strings.TrimSpace(line(part.Tool, 40)+" "+line(cmp.Or(rule.Target(part), part.Text), 120)) +
					" (" + visible(p.Part) + ")"
			}
		}
		d.Pins = append(d.Pins, one)
	}
	for _, f := range display.Damage(c.Damaged, mostDamaged) {
		d.Damaged = append(d.Damaged, fact{f.Name, visible(f.Text)})
	}
	d.DamagedCount = quantity.Count(len(c.Damaged), "piece")
	d.next()
	d.Contents = contentsOf(section{"#receipt", "Receipt", d.Done != nil}, section{"#window", "The window now", true},
		section{"#timeline", "Timeline", true}, section{"#money", "Money", d.Money != nil},
		section{"#tokens", "Tokens", len(d.Tables) > 0}, section{"#pivots", "Pivots", len(d.Pivots) > 0},
		section{"#prunings", "Prunings", len(d.Prunings()) > 0},
		section{"#candidates", "Could go", len(d.CandidatesBy)+len(d.Refusals) > 0},
		section{"#kept", "Kept", len(d.Wishes)+len(d.Pins) > 0}, section{"#damage", "Damage", len(d.Damaged) > 0},
		section{"#log", "The log", true})
	return d
}

const mostDamaged = 200

// next lists commands about the session that change nothing.
func (d *document) next() {
	for _, one := range []fact{
		{"preview of a compaction", "winnow compact -n"},
		{"preview of pruning", "winnow prune -n"},
		{"reasons, part by part", "winnow explain --all"},
		{"the bill under other policies", "winnow replay"},
	} {
		if d.c.Source != "" {
			d.Next = append(d.Next, fact{one.Name, command(one.Text, d.c.Source)})
		}
	}
}

// section is a part of a page that its contents name if it is there.
type section struct {
	href, name string
	there      bool
}

// contentsOf lists the sections that are there.
func contentsOf(sections ...section) (contents []fact) {
	for _, s := range sections {
		if s.there {
			contents = append(contents, fact{s.href, s.name})
		}
	}
	return contents
}

// command is what to type about something of the session, "" if the session as it is here is in
// no file and no store.
func (d *document) command(name, about string) string {
	if d.c.Source == "" {
		return ""
	}
	return command(name, d.c.Source, about)
}

// about says what was looked at.
func (d *document) about() {
	c, r := d.c, &d.c.Report
	d.Name, d.Product, d.Project, d.Model, d.ID = visible(c.Name), visible(c.Product),
		visible(c.Session.Info.Directory), visible(r.Model), visible(c.Session.Info.ID)
	d.Title = line(cmp.Or(session.Called(c.Session.Info, c.Session.Messages), c.Name, "A session"), 160)
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
	messages := quantity.Number(len(c.Session.Messages))
	if r.Messages > len(c.Session.Messages) {
		messages += ", " + quantity.Number(r.Messages) + " in the file"
	}
	d.Facts = []fact{
		{"log", quantity.Number(r.Tokens.Total) + " tokens"}, {"messages", messages},
		{"turns", quantity.Number(r.Turns)}, {"steps", quantity.Number(r.Steps)},
		{"tool calls", quantity.Number(r.ToolCalls)},
	}
	if words := r.Bill.Words(quantity.Dollars); len(words) > 0 {
		text := strings.TrimPrefix(strings.Join(words, ", "), "cost ")
		if len(r.Unpriced) > 0 {
			text += " (" + strings.Join(r.Unpriced, ", ") + ")"
		}
		d.Facts = append(d.Facts, fact{"cost", visible(text)})
	}
	d.Facts = append(d.Facts, fact{"policy", visible(r.Policy)}, fact{"counted by", visible(r.Counter)})
}

// verdict says in one sentence how full the window is, what the session cost, and whether a
// compaction pays.
func (d *document) verdict() {
	w := d.c.Report.Window
	if w.Messages <= 0 && w.Tokens <= 0 {
		d.Size = "Nothing here yet: no messages."
		return
	}
	s := display.StateOf(&d.c.Report)
	d.Size, d.Over, d.First = s.Full(), s.Fit == display.Over, visible(strings.Join(s.First(d.c.Compact), " · "))
	if n := d.c.masked; n > 0 {
		d.Notes = append(d.Notes, quantity.Count(n,
			"secret")+" masked on this page, each time one is shown; the log has them, and --secrets keep shows them.")
	}
	if w.Pending != "" {
		d.Notes = append(d.Notes, "A compaction is queued and not made yet: marker "+visible(w.Pending)+".")
	}
	if w.Cut != nil {
		d.Notes = append(d.Notes, visible(w.Cut.Text)+".")
	}
	for reason := range strings.SplitSeq(w.Reason, "; ") {
		if strings.TrimSpace(reason) != "" {
			d.Notes = append(d.Notes, counted(reason))
		}
	}
}

// segment is a piece of a bar: where it begins and how long it is, in percent.
type segment struct{ Class, X, Width, Title string }

// bar puts amounts beside each other on a scale.
func bar(s display.History, amounts display.Amounts, whole int) []segment {
	var out []segment
	x := 0.0
	for k, n := range amounts[:len(amounts)-1] { // what was elided is not in the window
		if n <= 0 || whole <= 0 {
			continue
		}
		width := chartWidth * float64(n) / float64(whole)
		out = append(out, segment{s.Layers[k].Class, share(x), share(width),
			s.Layers[k].Name + " " + quantity.Number(n)})
		x += width
	}
	return out
}

func (d *document) window(s display.History) {
	w := d.c.Report.Window
	used := s.Now.Amounts.Shown()
	whole := max(used, w.Usable)
	d.Window = bar(s, s.Now.Amounts, whole)
	if w.Usable > 0 {
		d.UsableAt = share(chartWidth * float64(w.Usable) / float64(whole))
	}
	d.Facts = append([]fact{{"window", display.StateOf(&d.c.Report).Size()}}, d.Facts...)
	if v := display.Reported(w); v != nil && w.Usable > 0 {
		d.Facts = slices.Insert(d.Facts, 1, fact{"reported", quantity.Number(v.Total) + ": " +
			display.Formula(d.c.Report.Policy)})
	}
	if w.Overhead > 0 {
		d.Facts = slices.Insert(d.Facts, 1, fact{"system and tools", quantity.Number(w.Overhead)})
	}
	if w.Elided > 0 {
		d.Facts = append(d.Facts, fact{"left out", quantity.Count(w.Elided, "part") + ", saving " +
			quantity.Number(w.ElidedTokens)})
	}
	if w.Folded > 0 {
		d.Facts = append(d.Facts, fact{"folded", quantity.Count(w.Folded, "message")})
	}
}
