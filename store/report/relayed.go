package report

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

// Gain is what a gateway did to some requests, and what that brought. Amounts are US dollars;
// amounts of what could have been are estimates.
type Gain struct {
	Requests int `json:"requests"` // requests of conversations that were answered
	// Other requests, for titles and the like; they are in the amounts.
	Beside int `json:"beside,omitzero"`
	// Other requests, which kept the provider's cache while a client was silent; they are in the
	// amounts.
	Warm int `json:"warm,omitzero"`
	// How many of "requests" were relayed untouched, to see what could be saved.
	Observed int `json:"observed,omitzero"`
	// How many of "requests" had something left out, or could have had.
	Edited int `json:"edited"`
	// Requests that the provider refused with something left out, and that were sent again whole.
	Resent int `json:"resent,omitzero"`
	// Requests of unknown cost: they are in no amount. "unpricedModels" names the models.
	Unpriced int `json:"unpriced,omitzero"`
	Recalls  int `json:"recalls"` // outputs that gave back content that was left out
	// Tokens that were written to the provider's cache again because something was left out.
	Rewritten int `json:"rewritten,omitzero"`

	Billed    bill.Dollars  `json:"-"` // by the provider's report
	Otherwise bill.Estimate `json:"-"` // without winnow
	// The share of "without" that would not have been paid, because it is for recalls.
	Missed    float64 `json:"missed,omitzero"`
	Summaries float64 `json:"summaries,omitzero"` // the cost of summaries beside "billed"
	// The cost of keeping the cache; it is in "billed".
	WarmCost bill.Dollars `json:"warmCost,omitzero"`
	// The share of "without" that would have been paid for writing content to the cache that it had
	// forgotten.
	WarmSaved float64 `json:"warmSaved,omitzero"`
	// Net is Otherwise − Missed − Billed − Summaries.
	Net float64 `json:"-"`
	// The saving that was possible on the observed requests; it is not in "net".
	ToSave float64 `json:"toSave,omitzero"`
	// Amounts are what of it is written to JSON: see Show.
	Amounts
}

// Amounts are US dollars, nil where nobody knows the price.
type Amounts struct {
	// The bill by the provider's report; null if no price is known.
	Billed *bill.Dollars `json:"billed"`
	// Estimate of the bill of the same client without winnow; null if no price is known.
	Without *float64 `json:"without"`
	// Lower end of the range of "without", if nobody knows when the client would have compacted by
	// itself.
	WithoutLow  *float64 `json:"withoutLow,omitempty"`
	WithoutHigh *float64 `json:"withoutHigh,omitempty"` // upper end of that range
	// "without" − "missed" − "billed" − "summaries"; negative when negative; null if no price is
	// known.
	Net *float64 `json:"net"`
}

// Known reports whether the price of any request is known.
func (g *Gain) Known() bool { return g.Unpriced == 0 || g.Unpriced < g.Requests+g.Beside+g.Warm }

// Show fills in the amounts that are written to JSON.
func (g *Gain) Show() {
	g.Amounts = Amounts{}
	if !g.Known() {
		return
	}
	a, now := &g.Amounts, *g
	a.Billed, a.Without, a.Net = &now.Billed, &now.Otherwise.Likely, &now.Net
	if low, high := g.Otherwise.Range(); low < high {
		a.WithoutLow, a.WithoutHigh = &low, &high
	}
}

// Document is what is written to JSON, with the amounts.
func (r Relayed) Document() Relayed {
	r.Sessions, r.Days, r.People = slices.Clone(r.Sessions), slices.Clone(r.Days), slices.Clone(r.People)
	r.Total.Show()
	for i := range r.Sessions {
		r.Sessions[i].Show()
	}
	for i := range r.Days {
		r.Days[i].Show()
	}
	for i := range r.People {
		r.People[i].Show()
	}
	return r
}

// Add adds what was spent. What did not go through a gateway counts only if it paid for a summary.
func (g *Gain) Add(s *store.Spend) {
	known := s.Live
	switch {
	case s.Inherited:
		return
	case known == nil && s.Kind == "summary":
		g.Summaries += s.Cost
		g.Net -= s.Cost
		return
	case known == nil:
		return
	case known.Beside:
		g.Beside++
	case known.Warm:
		g.Warm++
		g.WarmCost += known.Billed
	default:
		g.Requests++
	}
	g.Recalls += len(known.Again)
	g.Rewritten += known.Rewritten
	for n, is := range map[*int]bool{&g.Observed: known.Observed, &g.Edited: known.Edited, &g.Resent: known.Resent,
		&g.Unpriced: known.Unpriced} {
		if is {
			*n++
		}
	}
	g.Billed += known.Billed
	g.WarmSaved += known.Bridged
	if known.Observed {
		g.Otherwise.Likely += float64(known.Billed)
		g.ToSave += known.Saved()
		return
	}
	g.Otherwise = g.Otherwise.Plus(known.Otherwise)
	g.Missed += known.Missed
	g.Net += known.Saved()
}

// LiveSession is a session that a gateway works on.
type LiveSession struct {
	ID    string `json:"id"`             // id of the session
	Title string `json:"title,omitzero"` // title of the session
	// The folder in which its agent works, if the agent tells its model.
	Project string `json:"project,omitzero"`
	// The session from which it departed, as its client rewound or edited the history.
	Parent string `json:"parent,omitzero"`
	// Name and version with which the client introduces itself.
	Client string `json:"client,omitzero"`
	// The client's own id of the session; a sub-agent may share it.
	Session string `json:"clientSession,omitzero"`
	Person  string `json:"person,omitzero"` // the person who began it within a tenant
	// The model of the newest request with a report; the members up to "window" are about this
	// request.
	Model   string         `json:"model"`
	Last    session.Millis `json:"last"`            // when its newest request was
	LeftOut int            `json:"leftOut"`         // tokens left out of it, or in "observe" that could be
	Prompt  int            `json:"prompt"`          // tokens of it as it was sent
	Window  int            `json:"window,omitzero"` // tokens that the model takes
	Gain
}

// LiveDay is a calendar day.
type LiveDay struct {
	Day string `json:"day"` // the day, such as "2026-01-31"
	Gain
}

// LivePerson is one of those who ask within a tenant.
type LivePerson struct {
	Person string `json:"person"` // the owner of the token; empty for requests without a name
	Gain
}

// LiveRule is what a rule has to do with the requests: its share of their Net, and of ToSave.
type LiveRule struct {
	// Its name; "compaction" for messages that summaries replaced, "keepWarm" for the costs and
	// savings of keeping the cache, empty for the rest, in which no rule has a share.
	Rule string `json:"rule"`
	// Tokens that it leaves out of the newest requests of the sessions.
	LeftOut int     `json:"leftOut"`
	Recalls int     `json:"recalls"`         // its share of the recalls
	Net     float64 `json:"net"`             // its share of "net"
	ToSave  float64 `json:"toSave,omitzero"` // its share of "toSave"
}

// Relayed is what went through a gateway since a time.
type Relayed struct {
	Since session.Millis `json:"since"` // the beginning of the first day
	Total Gain           `json:"total"` // all that was relayed since
	// Sums by session, the one with the newest request first; "live_beside_…" has the requests of a
	// person and day that belong to no conversation.
	Sessions []LiveSession `json:"sessions"`
	Days     []LiveDay     `json:"days"` // sums by calendar day in the local time zone, the newest first
	// Sums by the person who asked within a tenant, by name; empty if no token has an owner.
	People []LivePerson `json:"people"`
	Rules  []LiveRule   `json:"rules"` // sums by rule, the largest share first
	Tools  Uncalled     `json:"tools"` // tools that were declared and never called
	// Models of unknown price, sorted; their requests are in no amount.
	UnpricedModels []string `json:"unpricedModels,omitempty"`
}

// SumRelayed sums up what went through a gateway since a time, by session, by day as a zone has
// them, and by rule. window is how many tokens a model takes, 0 if that is unknown.
func SumRelayed(accounts []store.Account, since session.Millis, zone *time.Location,
	window func(model string) int) Relayed {
	all := Relayed{Since: since, Sessions: []LiveSession{}, Days: []LiveDay{}, People: []LivePerson{},
		Rules: []LiveRule{},
		Tools: Uncalled{Sets: []Toolset{}, Drop: []string{}}}
	days, people, rules := map[string]*LiveDay{}, map[string]*LivePerson{}, rules{}
	for _, a := range accounts {
		one := LiveSession{ID: a.Info.ID, Title: session.Called(a.Info, nil), Project: a.Info.Directory,
			Parent: a.Info.ParentID}
		one.Client, one.Session = Client(a.Info)
		one.Person = Person(a.Info)
		var newest *store.Spend
		var last session.Millis // of any request
		for i := range a.Spent {
			s := &a.Spent[i]
			if s.Time < since || s.Inherited || s.Live == nil && s.Kind != "summary" {
				continue
			}
			one.Add(s)
			all.Total.Add(s)
			name := time.UnixMilli(int64(s.Time)).In(zone).Format(time.DateOnly)
			if days[name] == nil {
				days[name] = &LiveDay{Day: name}
			}
			days[name].Add(s)
			who := one.Person // of a summary; a request names who asked
			if s.Live != nil {
				who = s.Live.Person
			}
			if people[who] == nil {
				people[who] = &LivePerson{Person: who}
			}
			people[who].Add(s)
			rules.add(s)
			last = max(last, s.Time)
			if s.Live != nil && s.Live.Unpriced && !slices.Contains(all.UnpricedModels, s.Model) {
				all.UnpricedModels = append(all.UnpricedModels, s.Model)
			}
			if s.Live != nil && !s.Live.Beside && !s.Live.Warm {
				one.Last = max(one.Last, s.Time)
				if newest == nil || s.Usage.Prompt() > 0 { // what came without a report says nothing
					newest = s
				}
			}
		}
		if newest != nil {
			one.Model, one.LeftOut = newest.Model, newest.Live.LeftOut()
			one.Prompt, one.Window = newest.Usage.Prompt(), window(newest.Model)
			if newest.Live.Observed {
				one.Prompt += one.LeftOut // the usage is that of a pruned request
			}
			for rule, share := range newest.Live.Rules {
				rules.of(rule).LeftOut += share.Tokens
			}
		}
		one.Last = cmp.Or(one.Last, last) // if all were beside conversations
		if one.Gain != (Gain{}) {
			all.Sessions = append(all.Sessions, one)
		}
	}
	for _, d := range days {
		all.Days = append(all.Days, *d)
	}
	for _, p := range people {
		if len(people) > 1 || p.Person != "" {
			all.People = append(all.People, *p)
		}
	}
	slices.SortFunc(all.People, func(a, b LivePerson) int { return cmp.Compare(a.Person, b.Person) })
	for _, r := range rules {
		all.Rules = append(all.Rules, *r)
	}
	slices.Sort(all.UnpricedModels)
	slices.SortFunc(all.Sessions, func(a, b LiveSession) int {
		return cmp.Or(cmp.Compare(b.Last, a.Last), cmp.Compare(a.ID, b.ID))
	})
	slices.SortFunc(all.Days, func(a, b LiveDay) int { return cmp.Compare(b.Day, a.Day) })
	slices.SortFunc(all.Rules, func(a, b LiveRule) int {
		return cmp.Or(cmp.Compare(math.Abs(b.Net+b.ToSave), math.Abs(a.Net+a.ToSave)),
			cmp.Compare(b.LeftOut, a.LeftOut), cmp.Compare(a.Rule, b.Rule))
	})
	return all
}

// rules are shares by the name of the rule.
type rules map[string]*LiveRule

func (r rules) of(name string) *LiveRule {
	if r[name] == nil {
		r[name] = &LiveRule{Rule: name}
	}
	return r[name]
}

// add gives each rule its share. Together they have all of what a request brought.
func (r rules) add(s *store.Spend) {
	if s.Live == nil {
		r.of(store.Compaction).Net -= s.Cost
		return
	}
	rest := s.Live.Saved()
	give := func(name string, dollars float64) {
		if s.Live.Observed {
			r.of(name).ToSave += dollars
		} else {
			r.of(name).Net += dollars
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Live.Rules)) {
		give(name, s.Live.Rules[name].Net)
		rest -= s.Live.Rules[name].Net
	}
	if math.Abs(rest) > 1e-9 { // less is what adding up floating-point numbers leaves
		give("", rest)
	}
	for _, a := range s.Live.Again {
		r.of(a.Rule).Recalls++
	}
}

// Person is who began a live session within a tenant, "" if its info names nobody.
func Person(info session.Info) string {
	var known struct {
		Client struct {
			Person string `json:"person"`
		} `json:"client"`
	}
	if len(info.Unknown) == 0 || json.Unmarshal(info.Unknown, &known, jsontext.AllowInvalidUTF8(true)) != nil {
		return ""
	}
	return known.Client.Person
}

// Client is what the info of a live session tells of the client whose conversation it is: its name
// and version, and its own id of the session.
func Client(info session.Info) (name, id string) {
	c := clientOf(info)
	return c.Name, c.Session
}

// Agent is the program that works on a session of the gateway, as Client, and whether the session is
// that of a sub-agent of it.
func Agent(info session.Info) (name string, sub bool) {
	c := clientOf(info)
	return c.Name, c.Sub
}

// client is the member "client" of a session's info.
type client struct {
	Name    string `json:"name"`
	Session string `json:"session"`
	Sub     bool   `json:"sub"`
}

func clientOf(info session.Info) client {
	var known struct {
		Client client `json:"client"`
	}
	if len(info.Unknown) == 0 || json.Unmarshal(info.Unknown, &known, jsontext.AllowInvalidUTF8(true)) != nil {
		return client{}
	}
	known.Client.Name = strings.TrimSpace(known.Client.Name)
	return known.Client
}
