package tui

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/winnowhq/winnow/look/display"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/quantity"
)

// CostParts are the tables of a bill, each of which can be shown alone.
func CostParts() []string { return []string{"day", "project", "model", "product", "session"} }

// mostCosts is how many rows a table of a bill has, unless it is shown alone.
const mostCosts = 5

// Costs draws what some days cost; before is the cost of as many days before them, in US dollars.
// by is a table to show alone, "" shows all of them.
func (p Painter) Costs(d report.Days, before float64, by string) {
	if d.Requests == 0 {
		return
	}
	pg := p.page()
	first := []string{display.Spent(&d), quantity.Count(d.Sessions, "session"), quantity.Count(d.Requests, "request")}
	also := display.SpentFacts(&d, before)
	if text := display.Avoidable(&d); text != "" {
		first = []string{first[0], text + " ▸ winnow advise"}
	} else {
		also = append(also, "winnow advise finds avoidable costs")
	}
	pg.words(span{}, strong, strings.Join(first, " · "), 2)
	for i := range also[:max(0, len(also)-1)] {
		also[i] += " ·"
	}
	pg.flow(span{}, faint, also, 3)
	for _, part := range CostParts() {
		single := part == "product" && len(d.Products) < 2 || part == "day" && len(d.Days) == 1
		if by != "" && by != part || by == "" && single {
			continue
		}
		most := mostCosts
		if by != "" || part == "day" {
			most = 0
		}
		pg.gap()
		pg.addAll(leaders{costRows(&d, part, by != "", most), barTone}.lines(min(pg.width, mostTable+20)))
	}
	pg.gap()
	if d.Cut > 0 {
		pg.words(span{}, faint, quantity.Plural(d.Cut, "session has", "sessions have")+
			" requests on other days, too, which are not in these sums.", 2)
	}
	if d.Uncosted > 0 {
		pg.words(span{}, faint, quantity.Plural(d.Uncosted, "session has", "sessions have")+
			" requests of unknown cost, which the sums leave out: the log does not report them, or their model has no "+
			"price (`models` in winnow.jsonc sets one).", 3)
	}
	p.draw(pg)
}

// period is the sum of some days.
type period struct {
	name string
	cost float64
}

// periods are few days one by one, the weeks of more, which begin on Mondays, and the months of many.
func periods(days []report.DayCost, whole bool) (title string, all []period) {
	title, layout := "By day", "Mon 2 Jan"
	key := func(t time.Time) string { return t.Format(time.DateOnly) }
	switch {
	case whole || len(days) <= 10:
	case len(days) <= 13*7:
		title, layout = "By week", "week of 2 Jan"
		key = func(t time.Time) string { return t.AddDate(0, 0, -(int(t.Weekday())+6)%7).Format(time.DateOnly) }
	default:
		title, layout = "By month", "January 2006"
		key = func(t time.Time) string { return t.Format("2006-01") }
	}
	newest := ""
	for _, day := range days {
		t, err := time.Parse(time.DateOnly, day.Day)
		if now := key(t); err != nil || now != newest {
			name := day.Day
			if err == nil {
				name = t.Format(layout)
			}
			all, newest = append(all, period{name: name}), now
		}
		all[len(all)-1].cost += day.Cost
	}
	return title, all
}

// costRows is one table of a bill, at most most rows long, if that is above 0. whole: days are not
// summed up.
func costRows(d *report.Days, part string, whole bool, most int) display.Ranking {
	var rows []display.Ranked
	var costs []float64
	add := func(name string, cost float64, unknown bool) {
		amount := quantity.Dollars(cost)
		if unknown {
			amount = "≥" + amount
		}
		rows, costs = append(rows, display.Ranked{Name: name, Tokens: amount}), append(costs, cost)
	}
	spent := func(list []report.SpentOn, none string) {
		for _, s := range list {
			add(cmp.Or(s.Name, none), s.Cost, s.Uncosted > 0)
		}
	}
	title := "Most expensive sessions"
	switch part {
	case "day":
		var all []period
		title, all = periods(d.Days, whole)
		for _, one := range all {
			add(one.name, one.cost, false)
		}
	case "project":
		title = "By project"
		spent(d.Projects, "not known")
	case "model":
		title = "By model"
		spent(d.Models, "not known")
	case "product":
		title = "By product"
		spent(d.Products, "not known")
	case "session":
		word := 0 // columns
		for _, s := range d.Dearest {
			word = max(word, Columns(s.Word))
		}
		for _, s := range d.Dearest {
			add(padRight(s.Word, word)+"  "+cmp.Or(s.Title, "without a title"), s.Cost, s.Uncosted > 0)
		}
	}
	largest := slices.Max(append(costs, 0))
	for i := range rows {
		if largest > 0 {
			rows[i].Part = costs[i] / largest
		}
		if d.Cost > 0 {
			rows[i].Share = quantity.Share(costs[i] / d.Cost)
		}
	}
	if most > 0 && len(rows) > most {
		rest := 0.0
		for _, cost := range costs[most:] {
			rest += cost
		}
		others := display.Ranked{Name: quantity.Number(len(rows)-most) + " more", Tokens: quantity.Dollars(rest),
			Rest: true}
		if d.Cost > 0 {
			others.Share = quantity.Share(rest / d.Cost)
		}
		rows = append(rows[:most], others)
	}
	return display.Ranking{Title: title, Paths: part == "project", Titles: part == "session", Rows: rows}
}
