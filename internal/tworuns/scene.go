package tworuns

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/internal/workday"
	"github.com/winnowhq/winnow/session"
)

// Scene is a client, a provider and what happens between them. The zero value is a short
// conversation in Anthropic Messages.
type Scene struct {
	Protocol llmtest.Protocol // default: Anthropic
	Model    string           // default: claude-sonnet-4-5, gpt-4.1, gemini-2.5-flash
	// Seed and Steps choose the made-up day that is worked through; Steps is how many answers it
	// takes, by default 60. A day of 200 steps has about 180,000 tokens.
	Seed  uint64
	Steps int
	// Log is worked through in place of a made-up day.
	Log []session.Message

	// Session is the client's word for its conversation, sent as X-Session-Id; "": it has none.
	Session string
	// Credential is the key of the request of that number, 0 being the first. Default: one for all.
	Credential func(request int) string
	// CompactAt is the size of a prompt with its answer, as the provider reports it, from which the
	// client has its past summarised before it goes on; 0 is never.
	CompactAt int
	// Compacts are the steps before which the client does so whatever the size, as its user asks it to.
	Compacts []int
	// Summary is about how many characters such a summary has. Default: 6,000.
	Summary int
	Hour    bool // the client asks for one-hour cache entries (Messages)
	Thinks  bool // the client asks for thinking, and sends it back (Messages)
	// Repeat is how often the client holds the same conversation, one after the other. Default: 1.
	Repeat int
	// Rewind says before which turns the client goes back, and to the beginning of which: everything
	// since is gone from its history. Turns are counted from 0.
	Rewind map[int]int
	// Pause is how long nothing happens before the request of a step. Default: 8 seconds.
	Pause func(step int) time.Duration
	// Before is called before the request of each step, after its pause: a fault begins or ends.
	Before func(step int)

	CharsPerToken float64 // by which the provider counts. Default: 3.6
	Window        int     // of the provider; 0 has no limit
	Binds         bool    // the provider binds thinking to its exact prompt
}

// Place is where a gateway stands.
type Place struct {
	URL string           // of the provider
	Now func() time.Time // the scene's clock
	// After calls after a while of the scene, unless it is stopped before.
	After  func(wait time.Duration, call func()) (stop func() bool)
	Server *llmtest.Server
}

// Run is what became of a scene.
type Run struct {
	// Billed is what the provider asks for all requests, in US dollars, by its own table.
	Billed float64
	// Requests are those that reached the provider, in order.
	Requests []llmtest.Record
	// Answers are the texts that the client was given, in order, those of its compactions left out.
	Answers []string
	// Compactions are the steps before which the client compacted itself.
	Compactions []int
	// Refused are the answers other than 200 that the client was given: status and body.
	Refused []string
	// Ended is the step at which the client gave up; -1 if it came to its end.
	Ended int
}

// Prompt is the largest prompt that the provider accepted, in its tokens.
func (r Run) Prompt() (largest int) {
	for i := range r.Requests {
		if u := r.Requests[i].Usage; r.Requests[i].Status == http.StatusOK {
			largest = max(largest, u.Input+u.Cache.Read+u.Cache.Write)
		}
	}
	return largest
}

// start is when every run begins.
var start = time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC)

// clock is the time of a scene.
type clock struct {
	mu     sync.Mutex
	now    time.Time
	timers []*timer
}

// timer calls at a time of a scene.
type timer struct {
	at   time.Time
	call func()
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// after is Place.After.
func (c *clock) after(wait time.Duration, call func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &timer{c.now.Add(wait), call}
	c.timers = append(c.timers, t)
	return func() bool { return c.take(t) }
}

// take removes a timer, and reports whether it was there.
func (c *clock) take(t *timer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := len(c.timers)
	c.timers = slices.DeleteFunc(c.timers, func(other *timer) bool { return other == t })
	return len(c.timers) < before
}

// due is the first timer until a time, nil if there is none. It is that time then, or the timer's.
func (c *clock) due(until time.Time) (first *timer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.timers {
		if !t.at.After(until) && (first == nil || t.at.Before(first.at)) {
			first = t
		}
	}
	c.now = until
	if first != nil {
		c.now = first.at
	}
	return first
}

// pass lets time pass, and calls the timers that are due, one after the other.
func (c *clock) pass(d time.Duration) {
	until := c.Now().Add(d)
	for t := c.due(until); t != nil; t = c.due(until) {
		if c.take(t) {
			t.call()
		}
	}
}

// charsPerToken is how many characters a token has, unless a scene says otherwise.
const charsPerToken = 3.6

// Terms are those of the provider: it counts in units that are not ours, finds the longest known
// prefix in its cache, and binds thinking to the exact prompt. What it answers is to be added.
func Terms() llmtest.Script {
	return llmtest.Script{Counter: llmtest.PerToken(charsPerToken), LongestPrefix: true, Binds: true}
}

// Play plays the scene through what via makes, or directly if that is nil. A client that is refused
// asks again twice, then it gives up.
func (s Scene) Play(t testing.TB, via func(Place) http.RoundTripper) Run {
	t.Helper()
	s = s.complete()
	time := &clock{now: start}
	script := Terms()
	script.Answer, script.Window, script.Now = s.answer, s.Window, time.Now
	script.Counter, script.Binds = llmtest.PerToken(s.CharsPerToken), s.Binds
	server := llmtest.Start(t, script)
	direct := &http.Transport{DisableCompression: true}
	t.Cleanup(direct.CloseIdleConnections)
	c := &client{t: t, Scene: s, clock: time, url: server.URL, way: direct, run: Run{Ended: -1}}
	if via != nil {
		c.way = via(Place{URL: server.URL, Now: time.Now, After: time.after, Server: server})
	}
	for range s.Repeat {
		if c.work(); c.run.Ended >= 0 {
			break
		}
	}
	c.run.Requests = server.Records()
	for i := range c.run.Requests {
		r := &c.run.Requests[i]
		list, known := prices[r.Model]
		if !known {
			t.Fatalf("no price of %q is known here", r.Model)
		}
		c.run.Billed += list.of(r.Usage)
	}
	return c.run
}

func (s Scene) complete() Scene {
	s.Protocol = cmp.Or(s.Protocol, llmtest.Anthropic)
	s.Model = cmp.Or(s.Model, map[llmtest.Protocol]string{llmtest.Anthropic: "claude-sonnet-4-5",
		llmtest.Chat: "gpt-4.1", llmtest.Responses: "gpt-4.1", llmtest.Gemini: "gemini-2.5-flash"}[s.Protocol])
	s.Steps, s.Summary = cmp.Or(s.Steps, 60), cmp.Or(s.Summary, 6000)
	s.Repeat, s.CharsPerToken = cmp.Or(s.Repeat, 1), cmp.Or(s.CharsPerToken, charsPerToken)
	if s.Log == nil {
		s.Log = workday.Make(s.Seed, s.Steps).Messages
	}
	if s.Credential == nil {
		s.Credential = func(int) string { return "key" }
	}
	if s.Pause == nil {
		s.Pause = func(int) time.Duration { return 8 * time.Second }
	}
	return s
}

// stepHeader tells the provider which answer is wanted: the place of a message in the log, or the
// word compact.
const stepHeader = "X-Test-Step"

// answer is what the provider says: what the log says, whatever was asked.
func (s Scene) answer(q llmtest.Request) llmtest.Reply {
	step := q.Header.Get(stepHeader)
	if step == "compact" {
		return llmtest.Reply{Text: summary(s.Summary)}
	}
	at, err := strconv.Atoi(step)
	if err != nil || at < 0 || at >= len(s.Log) {
		return llmtest.Reply{Text: "ok"}
	}
	r := llmtest.Said(&s.Log[at])
	if s.Thinks {
		r.Reasoning = "Step " + step + ": " + strings.Repeat("this needs a look at the file before it is changed. ", 4)
	}
	return r
}

// summary is a text of about that many characters.
func summary(size int) string {
	var b strings.Builder
	b.WriteString("## Summary\n")
	for i := 0; b.Len() < size; i++ {
		b.WriteString("- item " + strconv.Itoa(i) + " was looked at, changed and tested\n")
	}
	return b.String()
}
