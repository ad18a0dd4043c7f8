package live

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/gateway/transport"
	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func answered(id, tenant string, at int) transport.Notice {
	return transport.Notice{Time: noon.Add(time.Duration(at) * time.Second), Session: id, Model: "p/m", Messages: at,
		From: transport.Origin{Client: "claude-cli/2", Project: "/p", Tenant: tenant}, LeftOut: 10,
		Spent: &store.Spend{Usage: session.Usage{Input: 100}, Live: &store.Live{Billed: 1, Otherwise: bill.Estimate{Likely: 3}, Missed: .5}}}
}

// However long it runs, a hub has a bounded number of sessions and entries, and the sums have all.
func TestHub_isBounded(t *testing.T) {
	h := NewHub(false, noon)
	const sessions = MostSessions + 200
	for i := range sessions {
		n := answered(fmt.Sprint("live_", i), "", i)
		h.Watch(n)
		n.Spent, n.Receipt = nil, &pivot.Receipt{ID: fmt.Sprint("rcp_", i), Kind: pivot.Pruning, SessionID: n.Session, Cost: .25}
		h.Watch(n)
	}
	c, _ := h.since(0, "")
	if len(c.Sessions) != MostSessions || len(c.Feed) > mostEntries || len(c.Feed) < mostEntries/2 || len(c.Groups) != 1 {
		t.Errorf("%d sessions, %d entries, %d groups", len(c.Sessions), len(c.Feed), len(c.Groups))
	}
	if g := c.Groups[0]; g.Requests != sessions || g.Sessions != sessions || g.Billed != sessions || g.Net != sessions*(1.5-.25) {
		t.Errorf("the sums: %+v", g)
	}
	if newest := c.Feed[len(c.Feed)-1]; newest.Receipt != fmt.Sprint("rcp_", sessions-1) {
		t.Errorf("the newest entry: %+v", newest)
	}
	if h.row("live_0", "") != nil || h.row(fmt.Sprint("live_", sessions-1), "") == nil {
		t.Error("it is not the oldest session that is gone")
	}
	for i := range mostGroups + 50 {
		n := answered("x", "", i)
		n.Session, n.From.Project = "", fmt.Sprint("/", i)
		h.Watch(n)
	}
	if c, _ := h.since(0, ""); len(c.Groups) > mostGroups+1 {
		t.Errorf("%d groups", len(c.Groups))
	}
}

// Whoever follows gets what has changed since, once, whatever came in between.
func TestHub_goesOnFromANumber(t *testing.T) {
	h := NewHub(false, noon)
	h.Watch(answered("a", "", 1))
	h.Watch(answered("b", "", 2))
	first, _ := h.since(0, "")
	if !first.Reset || len(first.Sessions) != 2 {
		t.Fatalf("first: %+v", first)
	}
	for i := range 10 {
		h.Watch(answered("b", "", 3+i))
	}
	next, changed := h.since(first.Seq, "")
	if next.Reset || len(next.Sessions) != 1 || next.Sessions[0].Requests != 11 {
		t.Errorf("next: %+v", next)
	}
	select {
	case <-changed:
		t.Error("it says that something changed")
	default:
	}
	h.Watch(answered("a", "", 20))
	select {
	case <-changed:
	default:
		t.Error("it does not say that something changed")
	}
	for id, want := range map[string]int64{
		fmt.Sprintf("%s-%d", h.epoch, 7): 7, "": 0, "x-7": 0, h.epoch: 0, h.epoch + "-x": 0, h.epoch + "--1": 0,
	} {
		if got := h.resume(id); got != want {
			t.Errorf("resume %q: %d, want %d", id, got, want)
		}
	}
	if c, _ := h.since(1e6, ""); !c.Reset || len(c.Sessions) != 2 {
		t.Errorf("a number of the future: %+v", c)
	}
}

// What each notice makes of the feed.
func TestHub_entries(t *testing.T) {
	half, one := .5, 1.0
	pruned := &pivot.Receipt{ID: "rcp_1", Kind: pivot.Pruning, Trigger: "pays", Saved: 90, Money: &pivot.Money{Step: &half, Rewriting: &one},
		Committed: []rule.Elision{{Part: "p1", Rule: "idle", Because: "nothing quotes it", Saves: 30}, {Part: "p2", Rule: "reads", Because: "read again", Saves: 60}}}
	for name, c := range map[string]struct {
		change func(*transport.Notice)
		want   string
	}{
		"answered": {func(n *transport.Notice) {}, "[]"},
		"decided":  {func(n *transport.Notice) { n.Spent, n.Receipt = nil, pruned }, "[pruning pays 90 2 parts left out [{reads 1 60} {idle 1 30}]]"},
		"folded": {func(n *transport.Notice) {
			n.Receipt = &pivot.Receipt{Kind: pivot.Compaction, Marker: "m", Folded: 3, Saved: 5}
		}, "[compaction  5 3 messages folded into a summary []]"},
		"recalled":  {func(n *transport.Notice) { n.Spent.Live.Again = []store.Again{{Rule: "idle", Tokens: 7, Asked: true}} }, "[recall  7 the agent asked winnow for what was left out [{idle 1 7}]]"},
		"repeated":  {func(n *transport.Notice) { n.Spent.Live.Again = []store.Again{{Tokens: 7}} }, "[recall  7 the agent repeated a call whose output was left out []]"},
		"resent":    {func(n *transport.Notice) { n.Spent.Live.Resent = true }, "[failure  0 the provider refused what was left out, and took the request whole: nothing is left out of this session any more []]"},
		"refused":   {func(n *transport.Notice) { n.Spent, n.Failure, n.Status = nil, "the provider refused the request", 529 }, "[failure  0 the provider refused the request: HTTP 529 []]"},
		"no answer": {func(n *transport.Notice) { n.Spent, n.Failure = nil, "no answer came" }, "[failure  0 no answer came []]"},
	} {
		h := NewHub(false, noon)
		n := answered("a", "", 1)
		c.change(&n)
		h.Watch(n)
		got := []string{}
		for _, e := range h.feed {
			got = append(got, fmt.Sprint(e.Kind, " ", e.Trigger, " ", e.Tokens, " ", e.Reason, " ", e.Rules))
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%s:\n got %v\nwant %s", name, got, c.want)
		}
	}
}

// A failure that comes before anything is known of its session does not hide whose it is.
func TestHub_aFailureFirst(t *testing.T) {
	h := NewHub(false, noon)
	h.Watch(transport.Notice{Time: noon, Session: "a", Failure: "could not decide about a request: it passed as it came"})
	h.Watch(answered("a", "ann", 1))
	if h.row("a", "ann") == nil || h.row("a", "") != nil {
		t.Errorf("the row: %+v", h.rows["a"])
	}
	if g := h.groups[group{"claude-cli", "/p", "ann"}]; g == nil || g.Sessions != 1 {
		t.Errorf("her sums: %+v", g)
	}
	if c, _ := h.since(0, "bob"); len(c.Sessions)+len(c.Groups)+len(c.Feed) > 0 {
		t.Errorf("bob sees %+v", c)
	}
}

// What what a hub is told costs, with nobody who looks, and with as many pages as there may be, of
// which none reads what it is sent.
func BenchmarkHub(b *testing.B) {
	for _, pages := range []int{0, mostStreams} {
		b.Run(fmt.Sprint(pages, " pages"), func(b *testing.B) {
			h := NewHub(false, noon)
			for i := range MostSessions {
				h.Watch(answered(fmt.Sprint("live_", i), "", i))
			}
			done := make(chan struct{})
			defer close(done)
			for range pages {
				go func() {
					seq := int64(0)
					for {
						c, next := h.since(seq, "")
						seq = c.Seq
						select {
						case <-next:
						case <-done:
							return
						}
						select {
						case <-time.After(250 * time.Millisecond):
						case <-done:
							return
						}
					}
				}()
			}
			n := answered("live_7", "", 7)
			for b.Loop() {
				h.Watch(n)
			}
		})
	}
}

// What one hub is told another one shows, too: it gets it as text, in pieces that fit.
func TestHub_showsWhatAnotherProcessDoes(t *testing.T) {
	for _, withheld := range []bool{false, true} {
		own, other := NewHub(withheld, noon), NewHub(withheld, noon)
		longest := 0
		own.Share(func(c Change) {
			text := c.Encode(7500)
			longest = max(longest, len(text))
			got, err := Decode(text)
			if err != nil {
				t.Fatal(err)
			}
			other.Take(got)
		})
		receipt := &pivot.Receipt{ID: "r1", Kind: pivot.Pruning, Cost: 0.25}
		for i := range 40 {
			receipt.Committed = append(receipt.Committed, rule.Elision{Part: fmt.Sprint("part ", i), Rule: "covered",
				Saves: 100, Because: strings.Repeat("an answer of 世界 ", 40)})
		}
		own.Watch(transport.Notice{Time: noon, From: transport.Origin{Client: "pi/1", Project: "/secret"}, Session: "s1",
			Title: "a secret", Model: "anthropic/m", Messages: 3, LeftOut: 400, Window: 1000, Receipt: receipt,
			Spent: &store.Spend{Usage: session.Usage{Input: 10, Output: 5}, Cost: 0.5, Live: &store.Live{}}})
		own.touch("s1", nil, "r1", true)
		own.touch("s1", &Entry{Session: "s1", Kind: "pin", Pin: "p1"}, "", false)
		want, _ := own.since(0, "")
		got, _ := other.since(0, "")
		for _, c := range []*Changes{&want, &got} {
			for i := range c.Feed {
				c.Feed[i].Parts, c.Feed[i].More = nil, 0
			}
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(Row{}, Group{}, Entry{}, group{})); diff != "" {
			t.Error(diff)
		}
		if len(got.Feed) != 2 || !got.Feed[0].Undone || got.Sessions[0].Decisions != 1 || longest == 0 {
			t.Errorf("%+v", got)
		}
		if text, _ := json.Marshal(got); withheld == strings.Contains(string(text), "secret") {
			t.Errorf("withheld %t: %s", withheld, text)
		}
	}
}
