package live

import (
	"slices"

	"github.com/winnowhq/winnow/look/display"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/secret"
)

const (
	mostBills     = 120 // newest requests of a session whose bills are shown
	mostMoments   = 240 // of its window
	mostDecisions = 40
	mostOfOne     = 30 // parts of one decision
)

// Detail is one session: its window over time, the bill of each request, and every decision.
type Detail struct {
	Seq int64  `json:"seq"` // of the row for which it was made
	ID  string `json:"id"`

	Layers  []Layer  `json:"layers"`
	Moments []Moment `json:"moments"` // oldest first; of long sessions not every message
	Marks   []Mark   `json:"marks"`
	Usable  int      `json:"usable,omitzero"` // tokens at which it is folded; 0 if unlimited
	Now     int      `json:"now"`             // tokens of the window as it is

	Bills     []Bill     `json:"bills"`     // oldest first, the newest requests alone
	Turns     []Turn     `json:"turns"`     // that take the most space, the largest first
	Decisions []Decision `json:"decisions"` // newest first
}

// Layer is one kind of content; Class is its colour.
type Layer struct {
	Class string `json:"class"`
	Name  string `json:"name"`
}

// Moment is the window after a message: tokens by layer.
type Moment struct {
	Message int            `json:"message"` // place in the log, from 1
	Time    session.Millis `json:"time"`
	Tokens  []int          `json:"tokens"`
}

// Mark is a decision on the time axis.
type Mark struct {
	Moment  int    `json:"moment"` // index
	Receipt string `json:"receipt"`
	Kind    string `json:"kind"`
	Tokens  int    `json:"tokens"`
	Undone  bool   `json:"undone,omitzero"`
}

// Bill is what one request cost, in US dollars.
type Bill struct {
	Time  session.Millis `json:"time"`
	Model string         `json:"model,omitzero"`
	// Read, Write, Input and Output are what was paid for, and their tokens. In the mode observe
	// they are of the request as it would have been.
	Read   Paid `json:"read"`
	Write  Paid `json:"write"`
	Input  Paid `json:"input"`
	Output Paid `json:"output"`
	// Pruned is their sum, Whole what the request costs with nothing left out. One of the two is
	// what was paid: Whole if it was only observed.
	Pruned   float64 `json:"pruned"`
	Whole    float64 `json:"whole"`
	Observed bool    `json:"observed,omitzero"`
	Unpriced bool    `json:"unpriced,omitzero"`
	Net      float64 `json:"net"` // that it saved, or could have
	LeftOut  int     `json:"leftOut"`
	Recalls  int     `json:"recalls,omitzero"`
}

// Paid is one part of a bill.
type Paid struct {
	Tokens  int     `json:"tokens"`
	Dollars float64 `json:"dollars"`
}

// Decision is a receipt of a session, with its parts by name.
type Decision struct {
	Receipt string         `json:"receipt"`
	Kind    string         `json:"kind"`
	Trigger string         `json:"trigger,omitzero"`
	Time    session.Millis `json:"time"`
	Tokens  int            `json:"tokens"`
	Folded  int            `json:"folded,omitzero"` // messages
	Undone  bool           `json:"undone,omitzero"`
	Parts   []Named        `json:"parts,omitempty"`
	More    int            `json:"more,omitzero"`
}

// Named is a part that was left out, by what a person knows it.
type Named struct {
	Part
	Handle string `json:"handle,omitzero"`
	Tool   string `json:"tool,omitzero"`
	Target string `json:"target,omitzero"`
	Stands bool   `json:"stands,omitzero"`
	Pinned string `json:"pinned,omitzero"` // id of the pin
}

// detail looks at a session.
func detail(withheld bool, prices func(string) model.Model) func(s *report.Session) (Detail, error) {
	return func(s *report.Session) (d Detail, err error) {
		inspected, err := report.Inspect(s)
		if err != nil {
			return d, err
		}
		parts, err := report.Parts(s)
		if err != nil {
			return d, err
		}
		d.ID = s.State.Info.ID
		d.Usable = inspected.Window.Usable
		d.window(s, display.HistoryOf(s.Log, s.State.Undone, &inspected, parts))
		d.Bills = bills(s.State, prices)
		d.Turns = turns(s, parts, withheld)
		d.Decisions = decisions(s.State, parts, withheld)
		if !withheld {
			d, _ = secret.Values(d)
		}
		return d, nil
	}
}

// window takes over the history of a window, of a long one as many moments as a chart can show.
func (d *Detail) window(s *report.Session, h display.History) {
	for _, l := range h.Layers {
		d.Layers = append(d.Layers, Layer{l.Class, l.Name})
	}
	at := map[int]int{} // moments by messages
	every := max(1, (len(h.Moments)+mostMoments-1)/mostMoments)
	for i := range h.Moments {
		if i%every == 0 || i == len(h.Moments)-1 || h.Moments[i].Pivot {
			d.Moments = append(d.Moments, Moment{i + 1, s.Log[i].Time.Created, h.Moments[i].Amounts})
		}
		at[i] = max(0, len(d.Moments)-1)
	}
	if n := len(d.Moments); n > 0 {
		d.Moments[n-1].Tokens = h.Now.Amounts
		d.Now = h.Now.Amounts.Shown()
	}
	for i := max(0, len(s.State.Receipts)-mostMoments); i < len(s.State.Receipts); i++ {
		r := &s.State.Receipts[i]
		d.Marks = append(d.Marks, Mark{at[min(max(r.Log-1, 0), len(s.Log)-1)], r.ID, string(r.Kind), r.Saved,
			!report.Stands(s.State, r)})
	}
}

// bills are those of the newest requests of a session.
func bills(state store.State, prices func(string) model.Model) []Bill {
	all := []Bill{}
	for i := range state.Spent {
		s := &state.Spent[i]
		if s.Live == nil || s.Live.Beside || s.Live.Warm || s.Inherited {
			continue
		}
		all = append(all, billOf(s, prices(s.Model)))
	}
	return all[max(0, len(all)-mostBills):]
}

// billOf splits what a request cost by what it was paid for.
func billOf(s *store.Spend, m model.Model) Bill {
	known, u := s.Live, s.Usage
	b := Bill{Time: s.Time, Model: s.Model, Pruned: float64(known.Billed), Whole: known.Otherwise.Likely, Observed: known.Observed,
		Unpriced: known.Unpriced, Net: known.Saved(), LeftOut: known.LeftOut(), Recalls: len(known.Again)}
	if known.Observed {
		b.Pruned, b.Whole = b.Whole, b.Pruned
	}
	paid := []*Paid{&b.Read, &b.Write, &b.Input, &b.Output}
	b.Read.Tokens, b.Write.Tokens = u.Cache.Read, u.Cache.Write
	b.Input.Tokens, b.Output.Tokens = u.Input, u.Output+u.Reasoning
	alone := []session.Usage{{}, {}, {Input: u.Input}, {Output: u.Output, Reasoning: u.Reasoning}}
	alone[0].Cache.Read, alone[1].Cache.Write = u.Cache.Read, u.Cache.Write
	sum := 0.0
	for i := range paid {
		paid[i].Dollars, _ = m.Cost(bill.Usage(alone[i]))
		sum += paid[i].Dollars
	}
	for i := range paid { // what long prompts cost more is in the sum alone
		if sum > 0 {
			paid[i].Dollars *= b.Pruned / sum
		}
	}
	return b
}

// decisions are those of a session, newest first.
func decisions(state store.State, parts []report.Part, withheld bool) []Decision {
	named := map[string]*report.Part{}
	for i := range parts {
		named[parts[i].Part] = &parts[i]
	}
	pins := map[string]string{}
	for _, p := range state.Pins {
		pins[p.Part] = p.ID
	}
	all := []Decision{}
	for _, r := range slices.Backward(state.Receipts) {
		if len(all) == mostDecisions {
			break
		}
		d := Decision{Receipt: r.ID, Kind: string(r.Kind), Trigger: r.Trigger, Time: r.Time, Tokens: r.Saved,
			Folded: r.Folded, Undone: !report.Stands(state, &r)}
		committed := slices.Clone(r.Committed)
		if r.Kind == pivot.Restoring || r.Kind == pivot.Pinning {
			committed = slices.Clone(r.Replaced)
		}
		slices.SortStableFunc(committed, func(a, b rule.Elision) int { return b.Saves - a.Saves })
		for i, el := range committed {
			if i == mostOfOne {
				d.More = len(committed) - i
				break
			}
			n := Named{Part: Part{Part: el.Part, Rule: el.Rule, Tokens: el.Saves}, Pinned: pins[el.Part],
				Stands: state.Ledger.Has(el.Key())}
			if p := named[el.Part]; p != nil {
				n.Handle, n.Tool = p.Handle, p.Tool
				if !withheld {
					n.Target, n.Because = p.Target, el.Because
				}
			}
			d.Parts = append(d.Parts, n)
		}
		all = append(all, d)
	}
	return all
}
