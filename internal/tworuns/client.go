package tworuns

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"testing"

	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/session"
)

// client works through a scene.
type client struct {
	Scene
	t     testing.TB
	clock *clock
	url   string
	way   http.RoundTripper

	history  []any // as the protocol has it
	turns    []int // where each turn begins in the history, -1 once that is summarised
	prompt   int   // with its answer, as it was last reported
	requests int
	run      Run
}

// work holds the conversation once.
func (c *client) work() {
	c.t.Helper()
	form := forms[c.Protocol]
	c.history, c.turns, c.prompt = nil, nil, 0
	step := -1
	var calls []session.Part // of the newest answer
	for at := range c.Log {
		m := &c.Log[at]
		if m.Role == session.User {
			c.rewind()
			c.turns = append(c.turns, len(c.history))
			c.history = append(c.history, form.user(m.Text()))
			continue
		}
		if step++; step > 0 || c.requests > 0 {
			c.clock.pass(c.Pause(step))
		}
		if c.Before != nil {
			c.Before(step)
		}
		full := c.CompactAt > 0 && c.prompt >= c.CompactAt || slices.Contains(c.Compacts, step)
		if full && !c.compact(step) {
			return
		}
		answer, ok := c.ask(step, strconv.Itoa(at))
		if !ok {
			return
		}
		c.run.Answers = append(c.run.Answers, answer.text)
		c.history = append(c.history, answer.messages...)
		calls = calls[:0]
		for i := range m.Parts {
			if m.Parts[i].State != nil {
				calls = append(calls, m.Parts[i])
			}
		}
		if len(calls) > 0 {
			c.history = append(c.history, form.results(calls)...)
		}
	}
}

// rewind goes back before the turn that begins now, if the scene says so.
func (c *client) rewind() {
	to, wanted := c.Rewind[len(c.turns)]
	if !wanted || to >= len(c.turns) || c.turns[to] < 0 {
		return
	}
	c.history = c.history[:c.turns[to]]
	for i := to; i < len(c.turns); i++ {
		c.turns[i] = -1
	}
}

// instruction asks for a summary.
const instruction = "Your task is to create a detailed summary of the conversation so far, so that the work can go " +
	"on without it. Do not call any tools."

// compact has the past summarised.
func (c *client) compact(step int) bool {
	c.t.Helper()
	form := forms[c.Protocol]
	before := c.history
	c.history = form.also(append([]any(nil), before...), instruction)
	answer, ok := c.ask(step, "compact")
	if !ok {
		return false
	}
	c.history = []any{form.user("This session goes on from an earlier conversation that ran out of context. Its " +
		"summary:\n\n" + answer.text + "\n\nGo on with the last task.")}
	for i := range c.turns {
		c.turns[i] = -1
	}
	c.run.Compactions = append(c.run.Compactions, step)
	return true
}

// answered is an answer as the client takes it into its history.
type answered struct {
	text     string
	messages []any
	prompt   int // with the answer, as reported
}

// tries is how often a client asks the same before it gives up.
const tries = 3

// ask asks for an answer.
func (c *client) ask(step int, wanted string) (answered, bool) {
	c.t.Helper()
	form := forms[c.Protocol]
	body, err := json.Marshal(form.body(c.Scene, c.history))
	if err != nil {
		c.t.Fatal(err)
	}
	for range tries {
		r, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.url+form.path(c.Scene), bytes.NewReader(body))
		if err != nil {
			c.t.Fatal(err)
		}
		key := c.Credential(c.requests)
		c.requests++
		r.Header = http.Header{"Content-Type": {"application/json"}, stepHeader: {wanted},
			"User-Agent": {"tworuns/1"}}
		switch c.Protocol {
		case llmtest.Anthropic:
			r.Header.Set("X-Api-Key", key)
			r.Header.Set("Anthropic-Version", "2023-06-01")
		case llmtest.Gemini:
			r.Header.Set("X-Goog-Api-Key", key)
		default:
			r.Header.Set("Authorization", "Bearer "+key)
		}
		if c.Session != "" {
			r.Header.Set("X-Session-Id", c.Session)
		}
		answer, err := c.way.RoundTrip(r)
		if err != nil {
			c.run.Refused = append(c.run.Refused, err.Error())
			continue
		}
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil {
			c.run.Refused = append(c.run.Refused, err.Error())
			continue
		}
		if answer.StatusCode != http.StatusOK {
			c.run.Refused = append(c.run.Refused, strconv.Itoa(answer.StatusCode)+" "+string(text))
			continue
		}
		a, err := form.read(text)
		if err != nil {
			c.t.Fatalf("step %d: an answer cannot be read: %v: %s", step, err, text)
		}
		c.prompt = a.prompt
		return a, true
	}
	c.run.Ended = step
	return answered{}, false
}
