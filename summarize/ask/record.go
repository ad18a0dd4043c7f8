package ask

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/text/quantity"
)

// Record is what a compaction has asked for so far, over all its attempts. Its notes say what was
// done to get an answer; other steps of the compaction add theirs.
type Record struct {
	Usages []session.Usage
	Spent  []store.Spend
	Notes  []string
	// Plain: the form that extends the conversation did not work.
	Plain bool

	requests atomic.Int32 // that were begun, as events count them
}

// Note adds notes, each once.
func (r *Record) Note(notes ...string) {
	for _, n := range notes {
		if !slices.Contains(r.Notes, n) {
			r.Notes = append(r.Notes, n)
		}
	}
}

// Waste notes that nothing came of the requests that were made.
func (r *Record) Waste() {
	for i := range r.Spent {
		r.Spent[i].Failed = true
	}
}

// Cost is what was spent, in US dollars.
func (r *Record) Cost() (sum float64) {
	for i := range r.Spent {
		sum += r.Spent[i].Cost
	}
	return sum
}

// spend notes what a summariser's calls cost, the failed ones too.
func (r *Record) spend(name string, now func() session.Millis, a pivot.Answer, err error) {
	calls := a.Calls
	if len(calls) == 0 {
		if a.Usage.Prompt()+a.Usage.Output == 0 && a.Cost == 0 {
			return
		}
		calls = []pivot.Call{{Usage: a.Usage, Cost: a.Cost}}
	}
	failures := 0
	for i, call := range calls {
		failed := call.Failed != "" || err != nil && i == len(calls)-1
		if failed {
			failures++
		}
		r.Usages = append(r.Usages, call.Usage)
		r.Spent = append(r.Spent, store.Spend{Time: now(), Kind: "summary", Model: name, Usage: call.Usage,
			Cost: call.Cost, Failed: failed})
	}
	if err == nil && failures > 0 {
		r.Note(fmt.Sprintf("%s answered after %s: %s", name, quantity.Count(failures, "failed call"),
			strings.TrimPrefix(calls[failures-1].Failed, name+": ")))
	}
}
