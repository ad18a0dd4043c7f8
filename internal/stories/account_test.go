package stories

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/schedule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/memory"
	"github.com/winnowhq/winnow/store/report"
)

// waited is a lab with a clock that a test moves on, and two models whose provider keeps a cache
// for five minutes.
type waited struct {
	*lab
	now time.Time
}

func newWaited(t *testing.T, change ...func(*winnow.Config)) *waited {
	w := &waited{now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}
	offer := model.Model{
		Provider: "p", ID: "m", Limits: model.Limits{Context: 200_000, Output: 16_000},
		Price: model.Price{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75},
		Cache: model.Cache{Lifetime: 5 * time.Minute},
	}
	other := offer
	other.ID = "n"
	c := winnow.Config{Store: memory.New(), Models: &model.Catalogue{Models: []model.Model{offer, other}},
		Now: func() time.Time { return w.now }}
	for _, f := range change {
		f(&c)
	}
	w.lab = newLab(t, c)
	return w
}

// fetches is a step that loads a page of a given size in tokens.
func (w *waited) fetches(url string, tokens int) session.Message {
	w.wait(time.Second)
	return w.append(session.Message{
		MessageInfo: session.MessageInfo{Role: session.Assistant, ProviderID: "p", ModelID: "m", Finish: "tool-calls"},
		Parts: []session.Part{{Type: session.ToolPart, Tool: "webfetch", CallID: "call_" + url,
			State: &session.ToolState{
				Status: session.Completed, Input: []byte(`{"url":"` + url + `"}`),
				Output: strings.Repeat("tide", tokens),
			}}},
	})
}

// works are steps that no rule takes an interest in.
func (w *waited) works(steps int) {
	for range steps {
		w.wait(time.Second)
		w.append(session.Message{
			MessageInfo: session.MessageInfo{Role: session.Assistant, ProviderID: "p", ModelID: "m",
				Finish: "tool-calls"},
			Parts: []session.Part{{Type: session.ToolPart, Tool: "think", CallID: "call_think",
				State: &session.ToolState{
					Status: session.Completed, Input: []byte(`{"about":"the tide"}`), Output: "Yes.",
				}}},
		})
	}
}

func (w *waited) wait(d time.Duration) { w.now = w.now.Add(d) }

// takes is the account as it stands, without its function.
func (w *waited) takes(e *engine) schedule.Account {
	w.t.Helper()
	a, err := winnow.Look(w.t.Context(), e.Engine, w.id, func(s *report.Session) (schedule.Account, error) {
		if s.Next.Cold && s.Planner.Account.Steps > 0 {
			return schedule.Account{}, errors.New("the cache is cold: what it had is not in the account any more")
		}
		return s.Planner.Account, nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	a.Before = nil
	return a
}

// outdated is a page that was loaded twice, and steps after which the older one may go.
func outdated(w *waited) {
	w.user("When is high water?")
	w.works(2)
	w.fetches("https://tides.example/", 4000)
	w.fetches("https://tides.example/", 4000)
	w.works(7)
}

func TestAccount_isWhatTheRequestsTook(t *testing.T) {
	w := newWaited(t)
	w.user(strings.Repeat("word", 100))
	w.says(strings.Repeat("word", 10))
	if _, err := w.Observe(t.Context(), w.id,
		session.Usage{Output: 10, Cache: session.CacheUsage{Write: 1100}}); err != nil {
		t.Fatal(err)
	}
	w.user(strings.Repeat("word", 50))
	w.says(strings.Repeat("word", 20))
	if _, err := w.Observe(t.Context(), w.id,
		session.Usage{Input: 10, Output: 20, Cache: session.CacheUsage{Read: 1100, Write: 50}}); err != nil {
		t.Fatal(err)
	}
	w.user(strings.Repeat("word", 5))
	want := schedule.Account{Steps: 2, SinceCommit: 2, Sent: 160, Base: 1000, Size: 185,
		Bill: 1100*1.25 + 10*5 + 10 + 1100*0.1 + 50*1.25 + 20*5}
	got := w.takes(w.engine)
	if math.Abs(got.Bill-want.Bill) > 1e-6 {
		t.Errorf("the requests cost %v tokens at the input price, want %v", got.Bill, want.Bill)
	}
	if got.Bill = want.Bill; got.Steps != want.Steps || got.SinceCommit != want.SinceCommit || got.Sent != want.Sent ||
		got.Base != want.Base || got.Size != want.Size {
		t.Errorf("account %+v, want %+v", got, want)
	}
}

// A provider's cache has what stands before the first place that a commit changes; then everything
// again, once the next request was sent.
func TestAccount_ofWhatTheCacheHasACommitLeavesWhatStandsBeforeIt(t *testing.T) {
	w := newWaited(t)
	outdated(w)
	before := w.takes(w.engine)
	if before.Steps != 11 || before.SinceCommit != 11 {
		t.Fatalf("%d requests, %d since a commit, want 11", before.Steps, before.SinceCommit)
	}
	out, err := w.Prune(t.Context(), w.id, false)
	if err != nil || out.Pruned == nil {
		t.Fatalf("nothing was pruned: %+v, %v", out, err)
	}
	el := out.Pruned.Committed[0]
	m := w.view().Messages
	stands := 0
	for i := range m {
		if m[i].ID == el.Message {
			stands += w.tokens(m[i].Parts[0].State.Input, "webfetch")
			break
		}
		for _, p := range m[i].Parts {
			if p.State == nil {
				stands += w.tokens([]byte(p.Text), "")
				continue
			}
			stands += w.tokens(p.State.Input, p.Tool) + w.tokens([]byte(p.State.Output), "")
		}
	}
	after := w.takes(w.engine)
	if after.Sent != stands || after.SinceCommit != 0 || after.Steps != before.Steps {
		t.Errorf("after the commit %+v, want %d tokens that the cache has, 0 requests since", after, stands)
	}
	if want := before.Sent - stands - el.Saves; out.Pruned.Rewritten != want {
		t.Errorf("the receipt says that %d tokens are written again, want %d", out.Pruned.Rewritten, want)
	}
	w.works(1)
	next := w.takes(w.engine)
	if next.Sent != after.Size || next.SinceCommit != 1 {
		t.Errorf("after the next request %+v, want %d tokens that the cache has, 1 request since the commit", next,
			after.Size)
	}
	if _, err := w.Restore(t.Context(), w.id, el.Part); err != nil {
		t.Fatal(err)
	}
	if restored := w.takes(w.engine); restored.Sent != stands {
		t.Errorf("after the part was restored the cache has %d tokens, want %d", restored.Sent, stands)
	}
}

// tokens as the counter of these tests counts them.
func (w *waited) tokens(text []byte, tool string) int {
	return w.config.Counter.Count(string(text)) + w.config.Counter.Count(tool)
}

func TestAccount_aPivotIsWrittenAnew(t *testing.T) {
	w := newWaited(t)
	w.work(20)
	if a := w.takes(w.engine); a.Sent == 0 || a.SinceCommit != 40 {
		t.Fatalf("before: %+v", a)
	}
	w.compact(winnow.CompactOptions{Auto: true})
	if a := w.takes(w.engine); a.Sent != 0 || a.SinceCommit != 0 || a.Steps != 40 {
		t.Errorf("after a pivot %+v, want nothing in the cache and 40 requests, 0 since", a)
	}
	size := w.takes(w.engine).Size
	w.works(1)
	if a := w.takes(w.engine); a.Sent != size || a.SinceCommit != 1 || a.Steps != 41 {
		t.Errorf("after the next request %+v, want %d tokens in the cache and 41 requests, 1 since", a, size)
	}
}

// Whatever happened, an engine that opens the session counts what the one counted that saw it
// happen.
func TestAccount_survivesARestart(t *testing.T) {
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 1))
		w := newWaited(t)
		w.user("Go.")
		var deeds []string
		for range 40 {
			deed := []string{"works", "works", "fetches", "fetches", "observe", "prune", "begin", "user", "compact",
				"turn"}[r.IntN(10)]
			deeds = append(deeds, deed)
			var err error
			w.wait(time.Duration(r.IntN(3)) * time.Millisecond) // often none
			switch deed {
			case "works":
				w.works(1 + r.IntN(8))
			case "fetches":
				w.fetches([]string{"https://a.example/", "https://b.example/"}[r.IntN(2)], 500+r.IntN(500))
			case "observe":
				if slices.Contains(deeds, "works") || slices.Contains(deeds, "fetches") {
					_, err = w.Observe(t.Context(), w.id, session.Usage{Input: r.IntN(50), Output: 5,
						Cache: session.CacheUsage{Read: 1000, Write: r.IntN(100)}})
				}
			case "prune":
				_, err = w.Prune(t.Context(), w.id, false)
			case "begin":
				_, err = w.Begin(t.Context(), w.id)
			case "user":
				w.user(strings.Repeat("word", r.IntN(100)))
			case "turn":
				_, err = w.EndTurn(t.Context(), w.id)
			case "compact":
				_, err = w.Compact(t.Context(), w.id, winnow.CompactOptions{})
				if code := winnow.CodeOf(err); code == winnow.NothingToFold || code == winnow.NoProgress {
					err = nil
				}
			}
			if err != nil {
				t.Fatalf("%q: %v", deeds, err)
			}
			c := w.config
			other := open(t, c)
			want, got := w.takes(w.engine), w.takes(other)
			if math.Abs(want.Bill-got.Bill) > 1e-6*want.Bill {
				t.Fatalf("%q: the requests cost %v, after a restart %v", deeds, want.Bill, got.Bill)
			}
			got.Bill = want.Bill
			if got.Steps != want.Steps || got.SinceCommit != want.SinceCommit || got.Sent != want.Sent ||
				got.Base != want.Base || got.Size != want.Size {
				t.Fatalf("%q:\nafter a restart %+v\nbefore it       %+v", deeds, got, want)
			}
		}
	}
}

func TestBegin_commitsWhatCostsNothingWhereTheCacheIsCold(t *testing.T) {
	tests := []struct {
		name    string
		happens func(w *waited)
		cold    bool
	}{
		{"at once", func(*waited) {}, false},
		{"within the cache's life", func(w *waited) { w.wait(4 * time.Minute) }, false},
		{"after a night", func(w *waited) { w.wait(10 * time.Hour) }, true},
		{"after a night, the user having written", func(w *waited) {
			w.wait(10 * time.Hour)
			w.user("And tomorrow?")
			w.wait(time.Second)
		}, true},
		{"another model was asked for", func(w *waited) {
			w.append(session.Message{
				MessageInfo: session.MessageInfo{Role: session.User,
					Model: &session.ModelRef{ProviderID: "p", ModelID: "n"}},
				Parts: []session.Part{{Type: session.TextPart, Text: "What do you think?"}},
			})
		}, true},
		{"a night ago, in another process", func(w *waited) {
			w.wait(10 * time.Hour)
			w.engine = open(t, w.config)
		}, true},
		{"a minute ago, in another process", func(w *waited) {
			w.wait(time.Minute)
			w.engine = open(t, w.config)
		}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWaited(t)
			outdated(w)
			tt.happens(w)
			events := w.Subscribe(0)
			out, err := w.Begin(t.Context(), w.id)
			if err != nil {
				t.Fatal(err)
			}
			if !tt.cold {
				if out.Pruned != nil {
					t.Errorf("what does not pay yet was committed: %+v", out.Pruned)
				}
				unprofitable := func(r rule.Refusal) bool {
					return r.Code == rule.Unprofitable &&
						strings.HasPrefix(r.Reason, "the part that pays soonest would save 3,9") &&
						strings.Contains(r.Reason, "; that pays in about ")
				}
				if !slices.ContainsFunc(out.Refusals, unprofitable) {
					t.Errorf("refusals %+v: none says in figures why it does not pay yet", out.Refusals)
				}
				r, err := w.Inspect(t.Context(), w.id)
				if err != nil {
					t.Fatal(err)
				}
				if len(r.ByRule) != 1 || !strings.HasPrefix(r.ByRule[0].When, "pays in about ") {
					t.Errorf("the report sums up %+v, want one rule whose candidate pays later", r.ByRule)
				}
				x, err := w.Explain(t.Context(), w.id, r.Candidates[0].Part)
				if err != nil {
					t.Fatal(err)
				}
				if len(x.Candidates) != 1 || !strings.Contains(x.Candidates[0].When, "tokens a step and rewrite") {
					t.Errorf("the explanation has %+v, want a candidate that says with figures what it waits for",
						x.Candidates)
				}
				return
			}
			if out.Pruned == nil || out.Pruned.Kind != pivot.Pruning || out.Pruned.Trigger != "cold" {
				t.Fatalf("outcome %+v, want a commit with the trigger cold", out)
			}
			if event := <-events.C; event.Type != winnow.ElisionCommitted || event.Receipt == nil ||
				event.Receipt.ID != out.Pruned.ID {
				t.Errorf("event %+v, want the commit's", event)
			}
			again, err := w.Begin(t.Context(), w.id)
			if err != nil || again.Pruned != nil {
				t.Errorf("a second time %+v, %v: want nothing", again, err)
			}
			before := viewJSON(t, w.engine, w.id)
			if _, err := w.Undo(t.Context(), w.id, out.Pruned.ID); err != nil {
				t.Fatal(err)
			}
			if slices.Equal(before, viewJSON(t, w.engine, w.id)) {
				t.Error("undo changed nothing")
			}
			if again, err := w.Begin(t.Context(), w.id); err != nil || again.Pruned != nil {
				t.Errorf("what was taken back was committed again: %+v, %v", again.Pruned, err)
			}
		})
	}
}

// The rent that is paid for carrying a page reaches what it costs to leave it out: then it goes,
// whether the program says that it begins or not.
func TestObserve_commitsWhatPays(t *testing.T) {
	for _, begins := range []bool{true, false} {
		w := newWaited(t)
		outdated(w)
		var paid *pivot.Receipt
		for step := 0; step < 60 && paid == nil; step++ {
			if begins {
				out, err := w.Begin(t.Context(), w.id)
				if err != nil {
					t.Fatal(err)
				}
				paid = out.Pruned
			}
			w.works(1)
			out, err := w.Observe(t.Context(), w.id,
				session.Usage{Output: 5, Cache: session.CacheUsage{Read: 8000, Write: 100}})
			if err != nil {
				t.Fatal(err)
			}
			if out.Pruned != nil {
				paid = out.Pruned
			}
		}
		if paid == nil || paid.Trigger != "pays" || paid.Saved < 3000 {
			t.Errorf("begins %t: receipt %+v, want one that saves a page because it pays", begins, paid)
		}
	}
}
