package trial

import (
	"bytes"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/summarize/offline"
)

// Case is one compaction under way.
type Case struct {
	*winnow.Engine
	ID     string
	config winnow.Config
	model  model.Model
	bills  func() []Bill
	pieces bool // several answers make the summary
	// the window has a message that is neither folded nor stays: an earlier summary, or what was
	// rejected and is repeated
	uneven bool

	log    []session.Message // before the fold, with what was appended beside it
	before []byte            // the state
	shown  []byte            // the view
	spent  int               // calls recorded before it
	events *winnow.Subscription
}

// append appends to the session, what the fold does not make.
func (c *Case) append(t TB, messages ...session.Message) {
	t.Helper()
	if err := c.Append(context.Background(), c.ID, messages...); err != nil {
		t.Fatal(err)
	}
	log, _, err := c.Session(context.Background(), c.ID)
	if err != nil {
		t.Fatal(err)
	}
	c.log = log.Messages
}

// mark takes what there is now for what was before the fold.
func (c *Case) mark(t TB) {
	t.Helper()
	c.spent = len(summaries(c.look(t)))
	if c.events != nil {
		c.events.Close()
	}
	c.events = c.Subscribe(1 << 12) // pieces of a summary take half of it; checkEvents misses what else is lost
}

// look takes the session as it is now for what was before the fold.
func (c *Case) look(t TB) store.State {
	t.Helper()
	c.show(t)
	log, state, err := c.Session(context.Background(), c.ID)
	if err != nil {
		t.Fatal(err)
	}
	c.log = log.Messages
	return state
}

// show takes the session as it is now for what it must be where nothing is folded, and where a fold
// is undone.
func (c *Case) show(t TB) {
	t.Helper()
	c.before = state(t, c.Engine, c.ID)
	c.shown = c.view(t)
}

// still holds that the session is as it was.
func (c *Case) still(t TB, what string) {
	t.Helper()
	if after := state(t, c.Engine, c.ID); !bytes.Equal(c.before, after) {
		t.Errorf("%s changed the session:\n%s\nto\n%s", what, c.before, after)
	}
}

// Check holds what must hold whatever the provider did: the session is as it was or folded, and
// each request is counted once.
func (c *Case) Check(t TB, e ending) {
	t.Helper()
	c.events.Close()
	if (e.err == nil) != (e.receipt != nil) {
		t.Errorf("receipt %v beside the error %v", e.receipt, e.err)
		return
	}
	reopened, err := winnow.Open(c.config)
	if err != nil {
		t.Fatal(err)
	}
	defer reopened.Close()
	if here, kept := state(t, c.Engine, c.ID), state(t, reopened, c.ID); !bytes.Equal(here, kept) {
		t.Errorf("who opens the session again finds another one:\n%s\nin place of\n%s", kept, here)
	}
	log, state, err := c.Session(context.Background(), c.ID)
	if err != nil {
		t.Fatal(err)
	}
	if at := view.Pending(log.Messages, state.Undone); at >= 0 {
		t.Error("a marker was left behind")
	}
	spent := summaries(state)[c.spent:]
	c.checkMoney(t, e, spent)
	c.checkEvents(t, e, spent)
	switch {
	case e.err != nil:
		c.still(t, "a fold that failed ("+e.err.Error()+")")
	case e.receipt.Kind == pivot.Compaction:
		c.checkFolded(t, e.receipt, log.Messages, state)
	}
}

// checkFolded holds that a fold added a marker with its summary and changed nothing else, and that
// it can be taken back.
func (c *Case) checkFolded(t TB, r *pivot.Receipt, log []session.Message, state store.State) {
	t.Helper()
	if len(log) < len(c.log) || !bytes.Equal(encode(t, c.log), encode(t, log[:len(c.log)])) {
		t.Errorf("the log of %d messages does not begin with the %d that it had", len(log), len(c.log))
		return
	}
	added := log[len(c.log):]
	marker := slices.IndexFunc(added, func(m session.Message) bool { return m.ID == r.Marker && m.Marker() != nil })
	summary := slices.IndexFunc(added, func(m session.Message) bool { return m.ID == r.Summary && m.IsSummary() })
	if marker != 0 || summary != 1 {
		t.Errorf("the marker is message %d of what was added, its summary %d, of %d", marker, summary, len(added))
		return
	}
	for _, m := range added[2:] {
		if m.Companion() != r.Marker {
			t.Errorf("message %s was added beside them", m.ID)
		}
	}
	said := added[summary]
	text := said.Text()
	if said.ParentID != r.Marker || said.Finish == "" || said.Error != nil || !strings.Contains(text, "#") {
		t.Errorf("the summary is %+v\n%s", said.MessageInfo, text)
	}
	if r.Summarizer == c.model.String() && !strings.Contains(text, "Change the parser") {
		t.Errorf("the summary by the model is\n%s", text)
	}
	v, err := c.View(context.Background(), c.ID)
	if err != nil {
		t.Errorf("the view: %v", err)
		return
	}
	if err := view.Check(v.Messages); err != nil {
		t.Errorf("the view cannot be sent: %v", err)
	}
	if view.Pivot(view.Window(log, state.Undone)) == nil || v.Tokens != r.TokensAfter || v.Tokens >= r.TokensBefore {
		t.Errorf("the view of %d tokens is not folded as the receipt says: %d → %d", v.Tokens, r.TokensBefore,
			r.TokensAfter)
	}
	if n := len(state.Receipts); n == 0 || state.Receipts[n-1].ID != r.ID {
		t.Errorf("receipt %s is not kept: %+v", r.ID, state.Receipts)
	}
	c.checkTail(t, r, v.Messages)
	folded := c.view(t)
	// what the user said stays, whichever summariser writes
	for _, text := range []string{"never touch the lexer", newest} {
		if bytes.Contains(c.shown, []byte(text)) && !bytes.Contains(folded, []byte(text)) {
			t.Errorf("the view has not %q any more:\n%s", text, folded)
		}
	}
	if _, err := c.Undo(context.Background(), c.ID, r.Marker); err != nil {
		t.Errorf("it cannot be undone: %v", err)
	} else if undone := c.view(t); !bytes.Equal(c.shown, undone) {
		t.Errorf("undone, the view is\n%s\nin place of\n%s", undone, c.shown)
	}
	if _, err := c.Redo(context.Background(), c.ID, r.Marker); err != nil {
		t.Errorf("it cannot be done again: %v", err)
	} else if again := c.view(t); !bytes.Equal(folded, again) {
		t.Errorf("done again, the view is\n%s\nin place of\n%s", again, folded)
	}
}

// checkTail holds that what was not folded is there, in its order.
func (c *Case) checkTail(t TB, r *pivot.Receipt, shown []session.Message) {
	t.Helper()
	var want, got []string
	if at := session.Index(c.log, r.TailStart); r.TailStart != "" {
		for _, m := range c.log[max(at, 0):] {
			want = append(want, m.ID)
		}
	}
	for _, m := range shown {
		if session.Index(c.log, m.ID) >= 0 {
			got = append(got, m.ID)
		}
	}
	if !slices.Equal(got, want) || len(want) != r.Tail || r.Folded+r.Tail != r.MessagesBefore && !c.uneven {
		t.Errorf("of the log the view has %v, want %v; %d were folded and %d stay of %d", got, want, r.Folded, r.Tail,
			r.MessagesBefore)
	}
}

// checkMoney holds that every request is recorded once, for what the provider reported, at the
// model's prices, and that those are in vain of which nothing came.
func (c *Case) checkMoney(t TB, e ending, spent []store.Spend) {
	t.Helper()
	bills := c.bills()[c.spent:]
	if len(spent) != len(bills) {
		t.Errorf("%d requests arrived, %d calls are recorded", len(bills), len(spent))
		return
	}
	sum := 0.0
	for i, s := range spent {
		bill := bills[i]
		if s.Usage.Prompt() > bill.Usage.Prompt() ||
			s.Usage.Output+s.Usage.Reasoning > bill.Usage.Output+bill.Usage.Reasoning ||
			bill.Exact && !same(s.Usage, bill.Usage) {
			t.Errorf("of request %d is recorded %+v, the provider reported %+v", i+1, s.Usage, bill.Usage)
		}
		u := s.Usage
		cost, _ := c.model.Cost(model.Usage{Input: u.Input, Output: u.Output, Reasoning: u.Reasoning,
			CacheRead: u.Cache.Read, CacheWrite: u.Cache.Write})
		if math.Abs(s.Cost-cost) > 1e-9 {
			t.Errorf("request %d is recorded for $%g, want $%g", i+1, s.Cost, cost)
		}
		sum += s.Cost
		if e.err != nil && !s.Failed {
			t.Errorf("%+v is not recorded as in vain", s)
		}
	}
	r := e.receipt
	if r == nil {
		return
	}
	for i, s := range spent {
		switch {
		case r.Summarizer == offline.Name && !s.Failed:
			t.Errorf("%+v is not recorded as in vain, though nothing of it is in the summary", s)
		case r.Summarizer == s.Model && i == len(spent)-1 && s.Failed:
			t.Errorf("%+v is recorded as in vain, and is the summary", s)
		case !c.pieces && i < len(spent)-1 && !s.Failed:
			t.Errorf("%+v is not recorded as in vain, though another call is the summary", s)
		}
	}
	own := spent
	if e.beside { // what was spent beside the work is not the fold's
		own = spent[max(0, len(spent)-len(r.Usage)):]
		for _, s := range spent[:len(spent)-len(own)] {
			sum -= s.Cost
			if !s.Failed {
				t.Errorf("%+v is not recorded as in vain", s)
			}
		}
	}
	if len(r.Usage) != len(own) || math.Abs(r.Cost-sum) > 1e-9 {
		t.Errorf("the receipt has %d calls for $%g, the store %d for $%g", len(r.Usage), r.Cost, len(own), sum)
	}
}

// summaries are the calls for summaries among what was spent.
func summaries(s store.State) []store.Spend {
	return slices.DeleteFunc(slices.Clone(s.Spent), func(s store.Spend) bool { return s.Kind != "summary" })
}

// same compares tokens, each kind of them.
func same(a, b session.Usage) bool {
	return a.Input == b.Input && a.Output == b.Output && a.Reasoning == b.Reasoning && a.Cache.Read == b.Cache.Read &&
		a.Cache.Write == b.Cache.Write
}

// checkEvents holds that each call is published once, and each fold as what became of it.
func (c *Case) checkEvents(t TB, e ending, spent []store.Spend) {
	t.Helper()
	var types []winnow.EventType
	recorded := 0
	for event := range c.events.C {
		switch event.Type {
		case winnow.UsageRecorded:
			if event.Kind == "summary" {
				recorded++
			}
		case winnow.CompactionStarted, winnow.Compacted, winnow.CompactionFailed, winnow.ElisionCommitted,
			winnow.ElisionUndone:
			types = append(types, event.Type)
		}
	}
	if recorded != len(spent) {
		t.Errorf("%d calls were published, %d are recorded", recorded, len(spent))
	}
	want := []winnow.EventType{winnow.CompactionStarted, winnow.Compacted}
	if e.beside {
		want = []winnow.EventType{winnow.CompactionStarted, winnow.CompactionFailed}
		if e.err == nil {
			want = append(want, winnow.CompactionStarted, winnow.Compacted)
		}
	} else if e.err != nil {
		want[1] = winnow.CompactionFailed
	} else if e.receipt.Kind == pivot.Pruning {
		want[1] = winnow.ElisionCommitted
	}
	if !slices.Equal(types, want) {
		t.Errorf("the events are %v, want %v", types, want)
	}
}

// state is everything that is kept of a session but what it cost.
func state(t TB, e *winnow.Engine, id string) []byte {
	t.Helper()
	log, state, err := e.Session(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	v, err := e.View(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	return encode(t, map[string]any{
		"log": log.Messages, "view": v.Messages, "ledger": state.Ledger.All(), "pins": state.Pins,
		"undone": state.Undone, "receipts": state.Receipts,
		"dismissed": state.Dismissed,
	})
}

func (c *Case) view(t TB) []byte {
	t.Helper()
	v, err := c.View(context.Background(), c.ID)
	if err != nil {
		t.Fatal(err)
	}
	return encode(t, v.Messages)
}

func encode(t TB, value any) []byte {
	t.Helper()
	text, err := json.Marshal(value, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	return text
}
