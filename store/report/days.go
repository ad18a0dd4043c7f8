package report

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/winnowhq/winnow/session"
)

// Spending is what one model cost in one hour.
type Spending struct {
	Hour     session.Millis `json:"hour"` // when it begins; 0 where the log does not say when
	Model    string         `json:"model,omitzero"`
	Requests int            `json:"requests"`
	Cost     float64        `json:"cost"` // US dollars, of those whose cost is known
	// Agent says that they are of sub-agents that the same log tells of.
	Agent bool `json:"agent,omitzero"`
}

// Worked is a session for SumDays.
type Worked struct {
	Word    string // for it on the command line
	Title   string
	Product string
	Project string // folder; "" is unknown
	Sub     bool   // it works for another
	// Apart says that the sub-agents that it tells of have sessions of their own.
	Apart    bool
	Updated  session.Millis
	Uncosted int // requests of unknown cost
	Spent    []Spending
}

// DayCost is what a calendar day cost, US dollars.
type DayCost struct {
	Day       string // 2006-01-02
	Cost      float64
	ByProduct map[string]float64
}

// SpentOn is what went to one product, project or model.
type SpentOn struct {
	Name     string
	Sessions int // sub-agents not among them
	Cost     float64
	// Uncosted is how many sessions have requests of unknown cost there, which Cost
	// leaves out.
	Uncosted int
}

// DearSession is a session with what it cost within the days.
type DearSession struct {
	Worked
	Requests int
	Cost     float64
}

// Finding is something to do about costs.
type Finding struct {
	Title    string
	Dollars  float64 // that it would save; 0 is unknown
	Evidence string
	Command  string // what to type, or the line to change
}

// Days says what some days cost, over all sessions of a computer. Amounts are US dollars, of the
// requests whose cost is known.
type Days struct {
	Since, Until string    // the first and the last day, 2006-01-02
	Days         []DayCost // each of them, the oldest first
	Products     []SpentOn // the dearest first, as what follows
	Projects     []SpentOn
	Models       []SpentOn
	Dearest      []DearSession // sub-agents not among them
	Sessions     int           // that worked on these days, without sub-agents
	Requests     int
	Cost         float64
	Uncosted     int // sessions with requests of unknown cost

	// Gateway is what went through winnow's gateway on these days, nil where nothing did.
	Gateway *Gain
	// Advice is what would save most, dearest first.
	Advice []Finding
}

// mostDear is how many of the dearest sessions are told.
const mostDear = 10

// SumDays sums up what sessions cost on some calendar days, as a zone has them; until is a moment
// of the last one.
func SumDays(sessions []Worked, days int, until time.Time) Days {
	zone := until.Location()
	d := Days{Until: until.Format(time.DateOnly)}
	at := map[string]int{}
	for back := days - 1; back >= 0; back-- {
		name := time.Date(until.Year(), until.Month(), until.Day()-back, 12, 0, 0, 0, zone).Format(time.DateOnly)
		at[name] = len(d.Days)
		d.Days = append(d.Days, DayCost{Day: name, ByProduct: map[string]float64{}})
	}
	if len(d.Days) > 0 {
		d.Since = d.Days[0].Day
	}
	products, projects, models := sums{}, sums{}, sums{}
	for _, s := range sessions {
		one := DearSession{Worked: s}
		byModel := map[string]float64{}
		for _, spent := range s.Spent {
			day, there := at[dayOf(cmp.Or(spent.Hour, s.Updated), zone)]
			if !there || spent.Agent && s.Apart {
				continue
			}
			d.Days[day].Cost += spent.Cost
			d.Days[day].ByProduct[s.Product] += spent.Cost
			byModel[spent.Model] += spent.Cost
			one.Requests, one.Cost = one.Requests+spent.Requests, one.Cost+spent.Cost
		}
		if one.Requests == 0 {
			continue
		}
		if s.Uncosted > 0 {
			d.Uncosted++
		}
		d.Requests, d.Cost = d.Requests+one.Requests, d.Cost+one.Cost
		unknown := s.Uncosted > 0
		products.add(s.Product, one.Cost, s.Sub, unknown)
		projects.add(s.Project, one.Cost, s.Sub, unknown)
		for model, cost := range byModel {
			models.add(model, cost, s.Sub, unknown && cost == 0) // what lacks a price costs nothing so far
		}
		if !s.Sub {
			d.Sessions++
			d.Dearest = append(d.Dearest, one)
		}
	}
	d.Products, d.Projects, d.Models = products.sorted(), projects.sorted(), models.sorted()
	slices.SortStableFunc(d.Dearest, func(a, b DearSession) int {
		return cmp.Or(cmp.Compare(b.Cost, a.Cost), cmp.Compare(b.Updated, a.Updated), cmp.Compare(a.Word, b.Word))
	})
	d.Dearest = d.Dearest[:min(len(d.Dearest), mostDear)]
	return d
}

func dayOf(t session.Millis, zone *time.Location) string {
	return time.UnixMilli(int64(t)).In(zone).Format(time.DateOnly)
}

// sums are amounts by name.
type sums map[string]*SpentOn

func (s sums) add(name string, cost float64, sub, unknown bool) {
	if s[name] == nil {
		s[name] = &SpentOn{Name: name}
	}
	s[name].Cost += cost
	if unknown {
		s[name].Uncosted++
	}
	if !sub {
		s[name].Sessions++
	}
}

func (s sums) sorted() []SpentOn {
	list := []SpentOn{}
	for _, one := range s {
		list = append(list, *one)
	}
	slices.SortFunc(list, func(a, b SpentOn) int {
		return cmp.Or(cmp.Compare(b.Cost, a.Cost), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// Spendings sums up requests by hour and model, the oldest first.
func Spendings(of []Request) []Spending {
	type key struct {
		hour  session.Millis
		model string
		agent bool
	}
	const hour = session.Millis(time.Hour / time.Millisecond)
	at := map[key]int{}
	var all []Spending
	for i := range of {
		r := &of[i]
		k := key{session.Millis(math.Floor(float64(max(0, r.Time)/hour))) * hour, r.Model, r.Kind == "agent"}
		if _, known := at[k]; !known {
			at[k] = len(all)
			all = append(all, Spending{Hour: k.hour, Model: k.model, Agent: k.agent})
		}
		one := &all[at[k]]
		one.Requests, one.Cost = one.Requests+r.Bill.Requests, one.Cost+r.Bill.Cost
	}
	slices.SortFunc(all, func(a, b Spending) int {
		return cmp.Or(cmp.Compare(a.Hour, b.Hour), cmp.Compare(a.Model, b.Model))
	})
	return all
}
