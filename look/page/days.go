package page

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/winnowhq/winnow/look/display"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/quantity"
	"github.com/winnowhq/winnow/text/secret"
)

//go:embed days.html
var daysMarkup string

// Days writes what the sessions of a computer cost on some days as one page: what to do, the costs
// by day, product, project and model, the most expensive sessions, what the gateway saved. before
// is what as many days before cost. Secrets in it are masked, unless they are kept.
func Days(w io.Writer, d report.Days, before float64, keepSecrets bool) error {
	if !keepSecrets {
		d, _ = secret.Values(d)
	}
	t, err := template.New("days").Parse(daysMarkup + pieces)
	if err != nil {
		return err
	}
	return write(w, t, newDaysDocument(&d, before), style, scriptOfKept+scriptOfAll, &texts{})
}

// daysDocument is what the template fills in.
type daysDocument struct {
	Title, When, Lead string
	Spent, Avoidable  string
	Facts             []string
	Contents          []fact
	Chart             barChart
	Legend            []legend
	Rows              []dayRow
	Notes             []string
	Tables            []table
	Dearest           []dearRow
	Gateway           *gatewayView
	Advice, More      []adviceRow // the largest, and the others
}

// mostDear is how many of the most expensive sessions are shown.
const mostDear = 10

// mostAdvice is how much of the advice is not folded: what is to be seen at once.
const mostAdvice = 3

type dayRow struct{ Day, Cost, By string }

type dearRow struct{ Cost, Title, About, Command string }

type gatewayView struct {
	Net   string
	Lost  bool
	Facts []fact
}

type adviceRow struct{ Title, Dollars, Evidence, Command string }

func newDaysDocument(r *report.Days, before float64) *daysDocument {
	d := &daysDocument{Title: "The last " + quantity.Count(len(r.Days), "day"), When: spanOfDays(r.Since, r.Until)}
	if len(r.Days) == 7 {
		d.Title = "The week"
	}
	d.Spent, d.Avoidable, d.Lead = d.Title, display.Capital(display.Avoidable(r)), "No session worked on these days."
	if r.Requests > 0 {
		d.Spent = display.Capital(display.Spent(r))
		for _, text := range display.SpentFacts(r, before) {
			d.Facts = append(d.Facts, line(text, 160))
		}
		d.Lead = quantity.Dollars(r.Cost) + " for " + quantity.Count(r.Requests, "request") + " in " +
			quantity.Count(r.Sessions, "session") + "."
	}
	if r.Uncosted > 0 {
		d.Notes = append(d.Notes, quantity.Plural(r.Uncosted, "session has", "sessions have")+
			" requests of unknown cost, which the sums leave out: the log does not report them, or their model has no "+
			"price.")
	}
	d.days(r)
	for _, one := range []struct {
		title string
		spent []report.SpentOn
		wide  bool
	}{{"By product", r.Products, false}, {"By model", r.Models, true}, {"By project", r.Projects, true}} {
		if t := spentTable(one.title, one.spent, r.Cost); len(t.Rows) > 0 {
			t.Wide = one.wide
			d.Tables = append(d.Tables, t)
		}
	}
	for _, s := range r.Dearest[:min(len(r.Dearest), mostDear)] {
		d.Dearest = append(d.Dearest, dearOf(&s))
	}
	d.gateway(r.Gateway)
	for _, f := range r.Advice {
		one := adviceRow{Title: line(f.Title, 200), Evidence: visible(f.Evidence), Command: visible(f.Command)}
		if f.Dollars > 0 {
			one.Dollars = "saves " + quantity.Dollars(f.Dollars) + ":"
		}
		d.Advice = append(d.Advice, one)
	}
	if len(d.Advice) > mostAdvice+1 {
		d.Advice, d.More = d.Advice[:mostAdvice], d.Advice[mostAdvice:]
	}
	d.Contents = contentsOf(section{"#advice", "Advice", len(d.Advice) > 0}, section{"#days", "By day", true},
		section{"#where", "Where it went", len(d.Tables) > 0},
		section{"#sessions", "Most expensive sessions", len(d.Dearest) > 0}, section{"#gateway", "The gateway", true})
	return d
}

func spanOfDays(since, until string) string {
	from, err := time.Parse(time.DateOnly, since)
	to, failed := time.Parse(time.DateOnly, until)
	if err != nil || failed != nil {
		return ""
	}
	return from.Format("Monday 2 January 2006") + " – " + to.Format("Monday 2 January 2006")
}

// days draws the cost of each day, by product.
func (d *daysDocument) days(r *report.Days) {
	at := map[string]int{}
	var classes []string
	for _, p := range r.Products {
		class := display.ProductTone(p.Name).Class
		if !slices.Contains(classes, class) {
			classes = append(classes, class)
		}
		at[p.Name] = slices.Index(classes, class)
	}
	sums := make([]float64, len(classes))
	names := make([]string, len(classes))
	for _, p := range r.Products {
		k := at[p.Name]
		sums[k] += p.Cost
		if names[k] != "" {
			names[k] += ", "
		}
		names[k] += line(p.Name, 40)
	}
	for k, class := range classes {
		if sums[k] > 0 {
			d.Legend = append(d.Legend, legend{class, names[k], quantity.Dollars(sums[k]),
				quantity.Share(sums[k] / max(r.Cost, 1e-12))})
		}
	}
	var stacks []stack
	for _, day := range r.Days {
		s := stack{amounts: make([]float64, len(classes)), mark: dayName(day.Day, len(r.Days))}
		var by []string
		for _, name := range slices.SortedFunc(maps.Keys(day.ByProduct), func(a, b string) int {
			return cmp.Or(cmp.Compare(day.ByProduct[b], day.ByProduct[a]), cmp.Compare(a, b))
		}) {
			if day.ByProduct[name] <= 0 {
				continue
			}
			s.amounts[at[name]] += day.ByProduct[name]
			by = append(by, line(name, 40)+" "+quantity.Dollars(day.ByProduct[name]))
		}
		s.title = dayName(day.Day, 1) + ": " + quantity.Dollars(day.Cost)
		if len(by) > 0 {
			s.title += " — " + strings.Join(by, ", ")
		}
		stacks = append(stacks, s)
		if len(r.Days) <= mostDays || day.Cost > 0 {
			d.Rows = append(d.Rows, dayRow{dayName(day.Day, 1), quantity.Dollars(day.Cost), strings.Join(by, ", ")})
		}
	}
	d.Chart = barsOf(classes, stacks)
	d.Chart.Tick = "tick-text day-mark"
	d.Chart.Describe = fmt.Sprintf("The cost of each of %s, by product.", quantity.Count(len(r.Days), "day"))
}

// mostDays is how many days are listed though they cost nothing, and are named below their bars.
const mostDays = 14

// dayName is a day for people, where that many have to be named.
func dayName(day string, of int) string {
	t, err := time.Parse(time.DateOnly, day)
	switch {
	case err != nil:
		return visible(day)
	case of == 1:
		return t.Format("Mon 2 Jan")
	case of <= mostDays:
		return t.Format("Mon 2")
	}
	return ""
}

// spentTable is what products, projects or models cost, the dearest first.
func spentTable(title string, all []report.SpentOn, whole float64) table {
	t := table{Title: title, Dear: true, Unit: "sessions"}
	rest := report.SpentOn{}
	for i, s := range all {
		if i >= mostRows && len(all) > mostRows+1 {
			rest.Sessions, rest.Cost = rest.Sessions+s.Sessions, rest.Cost+s.Cost
			continue
		}
		t.Rows = append(t.Rows, row{Name: line(cmp.Or(s.Name, "not said"), 160), Tone: "tone",
			Tokens: quantity.Number(s.Sessions), Cost: spentOn(s),
			Share: quantity.Share(s.Cost / max(whole, 1e-12)),
			Bar:   share(chartWidth * s.Cost / max(all[0].Cost, 1e-12))})
	}
	if n := len(all) - len(t.Rows); n > 0 {
		t.Rows = append(t.Rows, row{Name: quantity.Number(n) + " more", Tone: "tone", Tokens: "–",
			Cost: quantity.Dollars(rest.Cost), Share: quantity.Share(rest.Cost / max(whole, 1e-12)), Bar: "0%"})
	}
	return t
}

// spentOn is a cost, as far as it is known.
func spentOn(s report.SpentOn) string {
	switch {
	case s.Uncosted == 0:
		return quantity.Dollars(s.Cost)
	case s.Cost == 0:
		return "unknown"
	}
	return "≥" + quantity.Dollars(s.Cost)
}

func dearOf(s *report.DearSession) dearRow {
	about := []string{line(s.Product, 40)}
	if s.Project != "" {
		about = append(about, line(s.Project, 120))
	}
	about = append(about, quantity.Count(s.Requests, "request"))
	models := map[string]bool{}
	for _, one := range s.Spent {
		if one.Model != "" {
			models[line(one.Model, 60)] = true
		}
	}
	about = append(about, slices.Sorted(maps.Keys(models))...)
	if s.Uncosted > 0 {
		about = append(about, "at least: "+quantity.Count(s.Uncosted, "request")+" of unknown cost")
	}
	return dearRow{Cost: quantity.Dollars(s.Cost), Title: line(cmp.Or(s.Title, s.Word), 160),
		About: strings.Join(about, " · "), Command: command("winnow inspect", s.Word)}
}

// gateway says what went through winnow's gateway, net.
func (d *daysDocument) gateway(g *report.Gain) {
	if g == nil {
		return
	}
	v := &gatewayView{Net: quantity.Net(g.Net), Lost: g.Net < 0}
	if !g.Known() {
		v.Net, v.Lost = "unknown", false
	}
	add := func(name, text string) { v.Facts = append(v.Facts, fact{name, text}) }
	add("requests", quantity.Number(g.Requests))
	if g.Known() {
		add("billed", quantity.Dollars(float64(g.Billed)))
		without := quantity.Dollars(g.Otherwise.Likely)
		if low, high := g.Otherwise.Range(); high-low >= 0.01 {
			without = quantity.Dollars(low) + " to " + quantity.Dollars(high)
		}
		add("without winnow", without)
	}
	if g.Unpriced > 0 {
		add("of unknown cost, in no sum", quantity.Count(g.Unpriced, "request"))
	}
	if g.Missed > 0 {
		add("of it asked for again", quantity.Dollars(g.Missed))
	}
	if g.Summaries > 0 {
		add("summaries", quantity.Dollars(g.Summaries))
	}
	if g.Recalls > 0 {
		add("recalls", quantity.Number(g.Recalls))
	}
	if g.ToSave != 0 {
		add("could have been saved on requests that were only observed", quantity.Net(g.ToSave))
	}
	d.Gateway = v
}
