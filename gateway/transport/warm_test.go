package transport

import (
	"bytes"
	"io"
	"log/slog"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/span"
)

// pauses are the timers of a stage, whose clock goes on when it is told to.
type pauses struct {
	s     *stage
	due   map[int]time.Time
	calls map[int]func()
	set   int // timers there ever were
}

// warming sets the stage for a client with a key of its own, which keeps its cache at most so often.
func warming(t *testing.T, p llmtest.Protocol, most int, o Options) (*stage, *pauses) {
	t.Helper()
	w := &pauses{due: map[int]time.Time{}, calls: map[int]func(){}}
	o.KeepWarm = most
	o.After = func(wait time.Duration, call func()) func() bool {
		w.set++
		n := w.set
		w.due[n], w.calls[n] = w.s.now.Add(wait), call
		return func() bool { delete(w.due, n); return true }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := play(t, p, 40, o)
	s.idle = 180
	w.s = s
	s.options.anthropic = strings.TrimPrefix(s.server.URL, "http://")
	s.restart()
	return s, w
}

// pass lets time pass.
func (w *pauses) pass(d time.Duration) {
	until := w.s.now.Add(d)
	for {
		next := 0
		for n, at := range w.due {
			if !at.After(until) && (next == 0 || at.Before(w.due[next])) {
				next = n
			}
		}
		if next == 0 {
			break
		}
		w.s.now = w.due[next]
		delete(w.due, next)
		w.calls[next]()
	}
	w.s.now = until
}

// keyed is a request of a client that shows a key and nothing else.
func (s *stage) keyed(at int) *http.Request {
	r := s.request(at)
	r.Header.Del("Authorization")
	return r
}

// costs is what the provider billed for some requests.
func (s *stage) costs(records []llmtest.Record) (sum float64) {
	m := model.Default().Lookup("anthropic/" + s.model)
	for _, r := range records {
		cost, _ := m.Cost(bill.Usage(r.Usage))
		sum += cost
	}
	return sum
}

// In a pause the newest request is sent again, for one token of an answer, until the client is back;
// the cache is warm then, and the figures say what that cost and what it saved.
func TestKeepWarm_bridgesAPause(t *testing.T) {
	s, w := warming(t, llmtest.Anthropic, 5, Options{Mode: Safe})
	plain, idle := warming(t, llmtest.Anthropic, 0, Options{Mode: Safe})
	const pause = 5
	var first int
	for i, at := range s.steps()[:12] {
		if i == pause {
			w.pass(14 * time.Minute)
			idle.pass(14 * time.Minute)
			records := s.server.Records()
			first = pause
			if got := len(records) - first; got != 3 {
				t.Fatalf("14 minutes took %d requests, want 3", got)
			}
			want := span.Update(records[first-1].Body, []byte("1"), "max_tokens")
			for _, r := range records[first:] {
				if !bytes.Equal(r.Body, want) || r.Header.Get("X-Api-Key") != "canary-key" || r.Usage.Cache.Write != 0 ||
					r.Usage.Cache.Read == 0 {
					t.Errorf("it took %+v and sent %d bytes like\n%.300s", r.Usage, len(r.Body), r.Body)
				}
			}
		}
		if status, answer := s.send(s.keyed(at)); status != 200 {
			t.Fatalf("%d %s", status, answer)
		}
		plain.send(plain.keyed(at))
		w.pass(20 * time.Second)
		idle.pass(20 * time.Second)
	}
	records, cold := s.server.Records(), plain.server.Records()
	if back := records[first+3].Usage; back.Cache.Read == 0 || cold[first].Usage.Cache.Read != 0 {
		t.Errorf("after the pause it took %+v, without %+v", back, cold[first].Usage)
	}
	all, none := s.transport.Totals(), plain.transport.Totals()
	about := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 0.01*math.Abs(want) {
			t.Errorf("%s %v, want %v", what, got, want)
		}
	}
	about("warm cost", float64(all.WarmCost), s.costs(records[first:first+3]))
	about("billed", float64(all.Billed), s.costs(records))
	about("saved and cost", all.WarmSaved-float64(all.WarmCost), float64(none.Billed-all.Billed))
	about("otherwise", all.Otherwise.Likely, float64(none.Billed))
	if all.Warm != 3 || all.Requests != 12 || none.Warm != 0 || !(all.WarmSaved > float64(all.WarmCost)) {
		t.Errorf("%+v", all)
	}
	g := s.account().Total
	if g.Warm != 3 || g.Requests != 12 || !near(float64(g.WarmCost), float64(all.WarmCost)) || !near(g.WarmSaved, all.WarmSaved) ||
		!near(g.Net, all.Net) || !near(g.Net, g.Otherwise.Over(g.Billed)-g.Missed-g.Summaries) {
		t.Errorf("the store has %+v, counted were %+v", g, all)
	}
	rules := s.account().Rules
	if i := slices.IndexFunc(rules, func(r report.LiveRule) bool { return r.Rule == "keepWarm" }); i < 0 ||
		!near(rules[i].Net, all.WarmSaved-float64(all.WarmCost)) {
		t.Errorf("the rules are %+v", rules)
	}
	log, _ := s.only()
	if want := s.steps()[11] + 1; len(log.Messages) != want {
		t.Errorf("the log has %d messages, want %d", len(log.Messages), want)
	}
}

// Nobody comes back: it ends after as many as are allowed, and where one more does not pay.
func TestKeepWarm_ends(t *testing.T) {
	for most, want := range map[int]int{1: 1, 2: 2, 100: 8} {
		s, w := warming(t, llmtest.Anthropic, most, Options{Mode: Safe})
		for _, at := range s.steps()[:3] {
			s.send(s.keyed(at))
			w.pass(10 * time.Second)
		}
		if len(s.reply(s.steps()[2]).Calls) == 0 {
			t.Fatal("the newest answer calls nothing")
		}
		w.pass(24 * time.Hour)
		if got := len(s.server.Records()) - 3; got != want || len(w.due) != 0 {
			t.Errorf("of %d at most there were %d, want %d", most, got, want)
		}
	}
}

// Without the option there is not one request more, whatever the protocol, the mode and the pauses.
func TestKeepWarm_isOffByDefault(t *testing.T) {
	for _, p := range llmtest.Protocols() {
		for _, mode := range []Mode{Off, Observe, Safe, Full} {
			s, w := warming(t, p, 0, Options{Mode: mode})
			for i, at := range s.steps()[:10] {
				s.send(s.keyed(at))
				w.pass(time.Duration(i*i) * time.Minute)
			}
			w.pass(24 * time.Hour)
			if n := len(s.server.Records()); n != 10 || w.set != 0 {
				t.Errorf("%s, %s: %d requests for 10, %d timers", p, mode, n, w.set)
			}
		}
	}
}

// Where it may not be, or would be in vain, nothing is sent.
func TestKeepWarm_isNotFor(t *testing.T) {
	change := func(old, with string) func(*http.Request) {
		return func(r *http.Request) {
			text := must(io.ReadAll(r.Body))
			text = bytes.ReplaceAll(text, []byte(old), []byte(with))
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
		}
	}
	head := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	for name, c := range map[string]struct {
		protocol llmtest.Protocol
		options  Options
		change   func(*http.Request)
		other    bool // host
		want     int
	}{
		"a key":                      {want: 1},
		"what may be a subscription": {change: head("Authorization", "Bearer sk-ant-oat01-x")},
		"a budget for thinking":      {change: change(`"max_tokens":1000`, `"thinking":{"type":"enabled","budget_tokens":1024},"max_tokens":4000`)},
		"observing":                  {options: Options{Mode: Observe}},
		"another host":               {other: true},
		"one request off":            {change: head(Header, "off")},
		"no cache marks":             {change: change(`,"cache_control":{"type":"ephemeral"}`, "")},
		"Gemini":                     {protocol: llmtest.Gemini},
		"an answer that ends a turn": {change: head(stepHeader, "nothing")},
	} {
		t.Run(name, func(t *testing.T) {
			p := c.protocol
			if p == "" {
				p = llmtest.Anthropic
			}
			s, w := warming(t, p, 1, c.options)
			if c.other {
				s.options.anthropic = "api.anthropic.com"
				s.restart()
			}
			r := s.keyed(s.steps()[8])
			if c.change != nil {
				c.change(r)
			}
			if status, answer := s.send(r); status != 200 {
				t.Fatalf("%d %s", status, answer)
			}
			w.pass(24 * time.Hour)
			if got := len(s.server.Records()) - 1; got != c.want {
				t.Errorf("%d requests more, want %d", got, c.want)
			}
		})
	}
}

// A client that leaves in the middle of an answer, a configuration that says no more, the end of the
// process, and a provider that refuses: each ends it.
func TestKeepWarm_stops(t *testing.T) {
	for name, c := range map[string]struct {
		stop func(s *stage, w *pauses)
		want int // requests after the first
	}{
		"the client is back": {func(s *stage, w *pauses) { s.send(s.keyed(s.steps()[3])); clear(w.due) }, 1},
		"Close":              {func(s *stage, w *pauses) { s.transport.Close() }, 0},
		"another configuration": {func(s *stage, w *pauses) {
			o := s.options
			o.KeepWarm, o.Now = 0, s.clock
			s.transport = s.transport.Changed(s.engine, o)
		}, 0},
		"a refusal": {func(s *stage, w *pauses) { s.refuse = true }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			b := &refusing{}
			s, w := warming(t, llmtest.Anthropic, 5, Options{Base: b})
			b.stage = s
			s.send(s.keyed(s.steps()[2]))
			if len(w.due) != 1 {
				t.Fatalf("%d timers", len(w.due))
			}
			c.stop(s, w)
			w.pass(24 * time.Hour)
			if got := b.sent - 1; got != c.want || len(w.due) != 0 {
				t.Errorf("%d requests more, want %d", got, c.want)
			}
			if all := s.transport.Totals(); all.Warm != 0 {
				t.Errorf("%+v", all)
			}
		})
	}
	s, w := warming(t, llmtest.Anthropic, 5, Options{})
	answer, err := s.transport.RoundTrip(s.keyed(s.steps()[2]))
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Read(make([]byte, 10))
	answer.Body.Close()
	if len(w.due) != 0 {
		t.Error("the cache of a client that left is kept")
	}
}

// refusing is a base that refuses everything once its stage says so.
type refusing struct {
	stage *stage
	sent  int
}

func (b *refusing) RoundTrip(r *http.Request) (*http.Response, error) {
	b.sent++
	if b.stage != nil && b.stage.refuse {
		return &http.Response{StatusCode: 429, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("{}")), Request: r}, nil
	}
	return http.DefaultTransport.RoundTrip(r)
}

// After a restart what kept the cache counts as its last use.
func TestLastOf_knowsWhatKeptTheCache(t *testing.T) {
	s, w := warming(t, llmtest.Anthropic, 1, Options{})
	s.send(s.keyed(s.steps()[2]))
	before := s.now
	w.pass(10 * time.Minute)
	_, state := s.only()
	log, _ := s.only()
	if got := cacheUseOf(log.Messages, state.Spent).last.Sub(before); got < 4*time.Minute || got > 5*time.Minute {
		t.Errorf("the cache was used %v after the answer", got)
	}
	if got := cacheUseOf([]session.Message{}, nil); got != (cacheUse{}) {
		t.Errorf("nothing was at %v", got)
	}
}

// A cache that was kept is warm: the request behind the pause changes nothing of what the cache has,
// as it does where the cache is cold.
func TestKeepWarm_nothingIsLeftOutAsIfTheCacheWereCold(t *testing.T) {
	const pause = 30
	left := map[bool]int{}
	for _, kept := range []bool{false, true} {
		most := 0
		if kept {
			most = 5
		}
		s, w := warming(t, llmtest.Anthropic, most, Options{})
		for i, at := range s.steps()[:pause+1] {
			if i == pause {
				w.pass(14 * time.Minute)
			}
			if status, answer := s.send(s.keyed(at)); status != 200 {
				t.Fatalf("%d %s", status, answer)
			}
			w.pass(20 * time.Second)
		}
		records := s.server.Records()
		back, before := records[len(records)-1].Usage, records[len(records)-2].Usage
		_, state := s.only()
		for _, r := range state.Receipts {
			if r.Trigger == "cold" {
				left[kept] += r.Saved
			}
		}
		if kept && back.Cache.Read != before.Prompt() {
			t.Errorf("the cache gave %d tokens of the %d that were kept", back.Cache.Read, before.Prompt())
		}
	}
	if left[false] == 0 || left[true] != 0 {
		t.Errorf("%d tokens were left out behind a cold pause, %d behind one that was kept", left[false], left[true])
	}
}
