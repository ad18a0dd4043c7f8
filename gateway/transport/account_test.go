package transport

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/report"
)

// account is what the store says of all that went through.
func (s *stage) account() report.Relayed {
	s.t.Helper()
	accounts := must(store.Relayed(s.t.Context(), s.store, 0, nil))
	return report.SumRelayed(accounts, 0, time.UTC, func(string) int { return 200_000 })
}

// title is a request beside the conversation.
func (s *stage) title() {
	s.t.Helper()
	r := s.request(s.steps()[0])
	body := must(io.ReadAll(r.Body))
	body = bytes.Replace(body, []byte(`"tools":`+string(tools[s.protocol])+`,`), nil, 1)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.Header.Set(stepHeader, "title")
	if status, answer := s.send(r); status != 200 {
		s.t.Fatalf("%d %s", status, answer)
	}
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

// What the store says of all requests, over restarts, is what the transports have counted, and what
// the provider billed.
func TestAccount_theStoreHasWhatWasCounted(t *testing.T) {
	sequential(t)
	for _, mode := range []Mode{Observe, Safe, Full} {
		t.Run(string(mode), func(t *testing.T) {
			s := play(t, llmtest.Anthropic, 60, Options{Mode: mode})
			var sum Totals
			left := 0
			took := func() {
				now := s.transport.Totals()
				sum.Requests, sum.Beside, sum.Edited = sum.Requests+now.Requests, sum.Beside+now.Beside, sum.Edited+now.Edited
				sum.Billed, sum.Otherwise, sum.Missed = sum.Billed+now.Billed, sum.Otherwise.Plus(now.Otherwise), sum.Missed+now.Missed
				sum.Net, sum.ToSave, sum.Recalls = sum.Net+now.Net, sum.ToSave+now.ToSave, sum.Recalls+now.Recalls
				sum.Rewritten += now.Rewritten
				left = now.LeftOut
			}
			for i, at := range s.steps() {
				if i%7 == 3 {
					s.title()
				}
				if i%17 == 16 {
					s.title() // and nothing follows
					s.transport.Close()
					took()
					s.restart()
				}
				if status, answer := s.send(s.request(at)); status != 200 {
					t.Fatalf("step %d: %d %s", i, status, answer)
				}
				s.now = s.now.Add(20 * time.Second)
				if i%20 == 19 {
					s.now = s.now.Add(2 * time.Hour)
				}
			}
			took()
			got := s.account()
			g := got.Total
			t.Logf("%+v", g)
			if g.Requests != sum.Requests || g.Requests != len(s.steps()) || g.Beside != sum.Beside || g.Beside == 0 ||
				g.Edited != sum.Edited || g.Edited == 0 || g.Recalls != sum.Recalls || g.Rewritten != sum.Rewritten {
				t.Errorf("the store has %+v, counted were %+v", g, sum)
			}
			otherwise, observed := sum.Otherwise.Likely, 0
			if mode == Observe {
				otherwise, observed = float64(sum.Billed), sum.Requests
			}
			if !near(float64(g.Billed-sum.Billed), 0) || !near(float64(g.Billed), s.billed()) || !near(g.Otherwise.Likely, otherwise) ||
				!near(g.Net, sum.Net) || !near(g.ToSave, sum.ToSave) || g.Observed != observed {
				t.Errorf("the store has %+v, counted were %+v, billed was %v", g, sum, s.billed())
			}
			if !near(g.Net, g.Otherwise.Over(g.Billed)-g.Missed-g.Summaries) {
				t.Errorf("the net is %v of %+v", g.Net, g)
			}
			if len(got.Sessions) != 1 || got.Sessions[0].LeftOut != left || got.Sessions[0].Prompt == 0 {
				t.Errorf("sessions: %+v, left out were %d", got.Sessions, left)
			}
			var net, toSave float64
			rules := 0
			for _, r := range got.Rules {
				net, toSave, rules = net+r.Net, toSave+r.ToSave, rules+r.LeftOut
			}
			if !near(net, g.Net) || !near(toSave, g.ToSave) || rules != left || len(got.Rules) == 0 {
				t.Errorf("rules: %+v", got.Rules)
			}
		})
	}
}

// A client that gets back what was left out, by repeating the call or by asking winnow, pays for
// that: the net is less by it.
func TestAccount_whatComesBackIsSubtracted(t *testing.T) {
	sequential(t)
	for name, call := range map[string]func(old session.Part, handle string) (tool, input string){
		"the call again": func(old session.Part, _ string) (string, string) { return old.Tool, string(old.State.Input) },
		"the command": func(_ session.Part, handle string) (string, string) {
			return "bash", fmt.Sprintf(`{"command":"cd /x && winnow recall %s | head -50"}`, handle)
		},
		"the tool": func(_ session.Part, handle string) (string, string) {
			return "mcp__winnow__recall", fmt.Sprintf(`{"handle":%q}`, handle)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := play(t, llmtest.Anthropic, 60, Options{})
			s.run()
			_, state := s.only()
			var old session.Part
			var by rule.Elision
			for _, e := range state.Ledger.All() {
				if p := session.PartsByID(s.log)[e.Part]; p == nil && e.Field == rule.Output && e.By == "" {
					by = e
				}
			}
			for i := range s.log {
				for _, p := range s.log[i].Parts {
					if p.CallID == by.Part && p.CallID != "" {
						old = p
					}
				}
			}
			if old.Tool == "" {
				t.Fatal("nothing was left out")
			}
			var handles rule.Handles
			handles.Name(s.log)
			before := s.account()
			again := old
			state2 := *old.State
			again.CallID, again.State = "again", &state2
			tool, input := call(old, handles.Of(&old))
			again.Tool, again.State.Input = tool, []byte(input)
			say := func(role session.Role, parts ...session.Part) session.Message {
				m := session.Message{Parts: parts}
				m.Role = role
				return m
			}
			text := func(text string) session.Part { return session.Part{Type: session.TextPart, Text: text} }
			s.log = append(s.log, say(session.User, text("go on")), say(session.Assistant, again), say(session.Assistant, text("done")),
				say(session.User, text("and on")), say(session.Assistant, text("done, too")))
			steps := s.steps()
			for _, at := range steps[len(steps)-3:] {
				if status, answer := s.send(s.request(at)); status != 200 {
					t.Fatalf("%d %s", status, answer)
				}
				s.now = s.now.Add(20 * time.Second)
				if at == steps[len(steps)-2] {
					s.restart()
				}
			}
			after := s.account()
			if after.Total.Recalls != before.Total.Recalls+1 {
				t.Fatalf("%d recalls, there were %d", after.Total.Recalls, before.Total.Recalls)
			}
			_, state = s.only()
			rows := state.Spent[len(state.Spent)-3:]
			if rows[0].Live.Missed != 0 || rows[1].Live.Missed <= rows[2].Live.Missed || rows[2].Live.Missed <= 0 {
				t.Errorf("missed: %v, %v, %v; want nothing, the whole request, what is carried", rows[0].Live.Missed,
					rows[1].Live.Missed, rows[2].Live.Missed)
			}
			want := []store.Again{{Part: "again", Rule: by.Rule, Tokens: rows[1].Live.Again[0].Tokens, Asked: !strings.Contains(name, "call")}}
			if diff := cmp.Diff(want, rows[1].Live.Again); diff != "" || want[0].Tokens <= 0 {
				t.Errorf("(-want +got):\n%s", diff)
			}
			g := after.Total
			if !near(g.Net, g.Otherwise.Over(g.Billed)-g.Missed) || g.Missed <= before.Total.Missed {
				t.Errorf("net %v of %+v", g.Net, g)
			}
			at := slices.IndexFunc(after.Rules, func(r report.LiveRule) bool { return r.Rule == by.Rule })
			if at < 0 || after.Rules[at].Recalls == 0 {
				t.Errorf("the rules are %+v", after.Rules)
			}
		})
	}
}
