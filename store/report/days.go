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
	Hour     session.Millis `json:"hour"`             // when the hour begins; 0 if the log does not say when
	Model    string         `json:"model,omitzero"`   // the model
	Requests int            `json:"requests"`         // how many requests
	Cost     float64        `json:"cost"`             // US dollars for those whose cost is known
	Tokens   int            `json:"tokens,omitzero"`  // tokens that were read, even from caches, and written
	Prompts  int            `json:"prompts,omitzero"` // how many of them were read
	Cached   int            `json:"cached,omitzero"`  // how many of these were read from a cache
	Agent    bool           `json:"agent,omitzero"`   // whether they are of sub-agents in the same file
}

// Worked is a session for SumDays.
type Worked struct {
	Word    string `json:"session"`          // its name on the command line
	Title   string `json:"title"`            // title of the session
	Product string `json:"product"`          // the product
	Project string `json:"project,omitzero"` // the folder; omitted if it is unknown
	Sub     bool   `json:"-"`                // it works for another
	// Apart says that the sub-agents that it tells of have sessions of their own.
	Apart    bool           `json:"-"`
	Updated  session.Millis `json:"updated"`           // when it was last written to
	Uncosted int            `json:"uncosted,omitzero"` // requests of unknown cost
	Spent    []Spending     `json:"-"`
}

// DayCost is what a calendar day cost, US dollars.
type DayCost struct {
	Day       string             `json:"day"`       // the day, as "2006-01-02"
	Cost      float64            `json:"cost"`      // US dollars
	ByProduct map[string]float64 `json:"byProduct"` // US dollars by product
}

// SpentOn is what went to one product, project or model.
type SpentOn struct {
	Name     string  `json:"name"`     // the product, project or model
	Sessions int     `json:"sessions"` // how many sessions, without sub-agents
	Cost     float64 `json:"cost"`     // US dollars
	// How many sessions have requests of unknown cost there, which "cost" does not include.
	Uncosted int `json:"uncosted,omitzero"`
}

// DearSession is a session with what it cost within the days.
type DearSession struct {
	Worked
	Requests int     `json:"requests"`     // its requests
	Tokens   int     `json:"tokens"`       // tokens that models read and wrote
	Cost     float64 `json:"cost"`         // US dollars
	Cut      bool    `json:"cut,omitzero"` // whether it has requests on other days, which are not counted
}

// Finding is something to do about costs.
type Finding struct {
	Title    string  `json:"title"`    // the finding in a sentence
	Dollars  float64 `json:"dollars"`  // US dollars that it would save; 0 is unknown
	Error    float64 `json:"-"`        // how far off that may be
	Evidence string  `json:"evidence"` // the evidence, a sentence
	Command  string  `json:"command"`  // the command to type, or the line to change
}

// Days says what some days cost, over all sessions of a computer. Amounts are US dollars, of the
// requests whose cost is known.
type Days struct {
	Since    string    `json:"since"`    // the first calendar day, as "2006-01-02"
	Until    string    `json:"until"`    // the last calendar day, as "2006-01-02"
	Days     []DayCost `json:"days"`     // each day, the oldest first
	Products []SpentOn `json:"products"` // the cost by product, the most expensive first
	Projects []SpentOn `json:"projects"` // the cost by project, the most expensive first
	Models   []SpentOn `json:"models"`   // the cost by model, the most expensive first
	// The sessions of these days without sub-agents, the most expensive first.
	Dearest  []DearSession `json:"sessionList"`
	Sessions int           `json:"sessions"` // sessions that worked on these days, without sub-agents
	Requests int           `json:"requests"` // their requests
	Cost     float64       `json:"cost"`     // US dollars at list prices
	Prompts  int           `json:"prompts"`  // tokens that models read
	Cached   int           `json:"cached"`   // how many of these tokens came from the provider's cache
	// Sessions with requests of unknown cost, which the sums do not include.
	Uncosted int `json:"uncosted,omitzero"`
	// Sessions with requests on other days, which the sums do not include.
	Cut int `json:"cut,omitzero"`

	// Gateway is what went through winnow's gateway on these days, nil where nothing did.
	Gateway *Gain `json:"-"`
	// With "--html": the changes that would save most, the largest first.
	Advice  []Finding `json:"advice,omitempty"`
	Advised int       `json:"-"` // how many days Advice is about
}

// Span is some calendar days, as a zone has them.
type Span struct {
	names []string // 2006-01-02, the oldest first
	zone  *time.Location
}

// LastDays are the last calendar days until a moment of the last one, as its zone has them.
func LastDays(days int, until time.Time) Span {
	p := Span{zone: until.Location()}
	for back := days - 1; back >= 0; back-- {
		day := time.Date(until.Year(), until.Month(), until.Day()-back, 12, 0, 0, 0, p.zone)
		p.names = append(p.names, day.Format(time.DateOnly))
	}
	return p
}

// Has reports whether a moment is within the days.
func (p Span) Has(t time.Time) bool {
	_, there := slices.BinarySearch(p.names, t.In(p.zone).Format(time.DateOnly))
	return there
}

// Of sums up the requests of a session within the days. each, if it is not nil, is called with every
// day and model of them.
func (p Span) Of(s Worked, each func(day int, spent *Spending)) DearSession {
	one := DearSession{Worked: s}
	for i := range s.Spent {
		spent := &s.Spent[i]
		if spent.Agent && s.Apart {
			continue
		}
		day, there := slices.BinarySearch(p.names, dayOf(cmp.Or(spent.Hour, s.Updated), p.zone))
		if !there {
			one.Cut = true
			continue
		}
		one.Requests, one.Tokens, one.Cost = one.Requests+spent.Requests, one.Tokens+spent.Tokens, one.Cost+spent.Cost
		if each != nil {
			each(day, spent)
		}
	}
	return one
}

// SumDays sums up what sessions cost on some calendar days, as a zone has them; until is a moment
// of the last one.
func SumDays(sessions []Worked, days int, until time.Time) Days {
	span := LastDays(days, until)
	d := Days{Until: until.Format(time.DateOnly)}
	for _, name := range span.names {
		d.Days = append(d.Days, DayCost{Day: name, ByProduct: map[string]float64{}})
	}
	if len(d.Days) > 0 {
		d.Since = d.Days[0].Day
	}
	products, projects, models := sums{}, sums{}, sums{}
	for _, s := range sessions {
		byModel := map[string]float64{}
		one := span.Of(s, func(day int, spent *Spending) {
			d.Days[day].Cost += spent.Cost
			d.Days[day].ByProduct[s.Product] += spent.Cost
			byModel[spent.Model] += spent.Cost
			d.Prompts, d.Cached = d.Prompts+spent.Prompts, d.Cached+spent.Cached
		})
		if one.Requests == 0 {
			continue
		}
		if s.Uncosted > 0 {
			d.Uncosted++
		}
		if one.Cut {
			d.Cut++
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
		u := &r.Bill.Usage
		one.Tokens, one.Prompts = one.Tokens+u.Prompt()+u.Output+u.Reasoning, one.Prompts+u.Prompt()
		one.Cached += u.Cache.Read
	}
	slices.SortFunc(all, func(a, b Spending) int {
		return cmp.Or(cmp.Compare(a.Hour, b.Hour), cmp.Compare(a.Model, b.Model))
	})
	return all
}
