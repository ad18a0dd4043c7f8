package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/pivot"
	"github.com/winnowhq/winnow/quantity"
	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/visible"
)

// telling prints what an agent does while it does it: with --json a line for each event, otherwise what it says on a terminal, and a short line for each call,
// pruning and compaction on standard error.
type telling struct {
	app      *app
	events   *winnow.Subscription
	finished sync.WaitGroup
	once     sync.Once

	mu     sync.Mutex
	shown  bool // the text of the answer that was given last stands on the terminal
	within bool // the cursor stands within a line of it
}

// newTelling listens to the engine until end.
func (a *app) newTelling(e *winnow.Engine) *telling {
	t := &telling{app: a, events: e.Subscribe(1 << 12)}
	t.finished.Go(func() {
		for e := range t.events.C {
			t.engine(e)
		}
	})
	return t
}

// end waits until everything that happened was told.
func (t *telling) end() {
	t.once.Do(func() {
		t.events.Close()
		t.finished.Wait()
	})
}

// line writes one line of --json.
func (t *telling) line(document any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	text, err := json.Marshal(document, json.Deterministic(true), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	if err != nil {
		text = fmt.Appendf(nil, `{"type":"error","error":%q}`, err)
	}
	t.app.out.Write(append(visible.JSON(text), '\n'))
	t.show()
}

// show lets a reader have what was printed so far.
func (t *telling) show() {
	if out, ok := t.app.raw.(*outlet); ok {
		out.show()
	}
}

// note writes a line for people on standard error.
func (t *telling) note(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.app.quiet {
		return
	}
	t.lineEnd()
	fmt.Fprintf(t.app.err, format+"\n", args...)
}

// lineEnd ends the line of an answer that stands on the terminal.
func (t *telling) lineEnd() {
	if t.within {
		t.app.printf("\n")
		t.show()
	}
	t.within = false
}

// engine tells of what the engine did.
func (t *telling) engine(e winnow.Event) {
	if t.app.json {
		t.line(e)
		return
	}
	switch r := e.Receipt; {
	case e.Type == winnow.BudgetWarning, e.Type == winnow.CompactionFailed:
		t.note("! %s", e.Text)
	case e.Type == winnow.Compacted && r != nil:
		t.note("~ compacted: %s → %s tokens, %s folded into a summary by %s", quantity.Number(r.TokensBefore), quantity.Number(r.TokensAfter), plural(r.Folded, "message", "messages"), r.Summarizer)
	case e.Type == winnow.ElisionCommitted && r != nil && r.Kind == pivot.Pruning:
		t.note("~ pruned: %s → %s tokens, %s left out (%s)", quantity.Number(r.TokensBefore), quantity.Number(r.TokensAfter), plural(len(r.Committed), "part", "parts"), r.Trigger)
	}
}

// happened is one line of run --json about the loop.
type happened struct {
	Type      agent.EventType `json:"type"`
	SessionID string          `json:"sessionID"`
	Time      session.Millis  `json:"time"`
	Step      int             `json:"step"`             // 1 for the first of this run
	Text      string          `json:"text,omitzero"`    // of delta, call.progress and notice; of waiting why
	Wait      float64         `json:"wait,omitzero"`    // of waiting: seconds
	Message   string          `json:"message,omitzero"` // id of the answer
	Call      *calledTool     `json:"call,omitzero"`
}

// calledTool is a call as it stands.
type calledTool struct {
	ID     string         `json:"id"`   // as the provider named it
	Part   string         `json:"part"` // id
	Tool   string         `json:"tool"`
	Status session.Status `json:"status"`
	Title  string         `json:"title,omitzero"`  // for people
	Input  jsontext.Value `json:"input,omitzero"`  // the arguments
	Output string         `json:"output,omitzero"` // of a call that ended: what the model is told
}

// event tells of what the loop does.
func (t *telling) event(e agent.Event) {
	if t.app.json {
		line := happened{Type: e.Type, SessionID: e.SessionID, Time: session.Millis(t.app.env.Now().UnixMilli()), Step: e.Step, Text: e.Text,
			Wait: e.Wait.Seconds(), Message: e.Message}
		if p := e.Part; p.State != nil {
			line.Call = &calledTool{ID: p.CallID, Part: p.ID, Tool: p.Tool, Status: p.State.Status, Title: p.State.Title, Input: p.State.Input}
			if p.State.Final() {
				line.Call.Output = p.State.Result()
			}
		}
		t.line(line)
		return
	}
	switch e.Type {
	case agent.Delta:
		t.delta(e.Text)
	case agent.StepStarted:
		t.fresh()
	case agent.Restarted:
		t.fresh()
		t.note("! the answer broke off; once more")
	case agent.Waiting:
		t.note("! %s: it is asked again in %s", e.Text, waitOf(e.Wait))
	case agent.Noticed:
		t.note("! %s", e.Text)
	case agent.CallEnded:
		mark, more := "✓", ""
		if e.Part.State.Status == session.Failed {
			mark, more = "✗", ": "+lastLine(e.Part.State.Result())
		}
		t.note("%s %s %s%s", mark, visible.Line(e.Part.Tool), titleOfCall(e.Part), more)
	}
}

// waitOf is a wait in words: whole seconds, and a wait that nobody notices as less than one.
func waitOf(d time.Duration) string {
	if d < time.Second {
		return "less than a second"
	}
	return d.Round(time.Second).String()
}

// titleOfCall is what a call is about, for people: one that failed has not always said it.
func titleOfCall(p session.Part) string {
	if p.State.Title != "" {
		return visible.Line(p.State.Title)
	}
	return rule.Shorten(visible.Line(string(p.State.Input)), 80)
}

// delta shows a piece of an answer, where somebody watches.
func (t *telling) delta(text string) {
	if !t.app.env.StdoutTerminal {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.shown, t.within = true, !strings.HasSuffix(text, "\n")
	t.app.printf("%s", text)
	t.show()
}

// fresh begins an answer.
func (t *telling) fresh() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.shown = false
}

// answer prints the last answer, unless it was shown already.
func (t *telling) answer(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.shown && strings.TrimSpace(text) != "" {
		t.within = !strings.HasSuffix(text, "\n")
		io.WriteString(t.app.data(), text)
	}
	t.lineEnd()
}

// sum is the last line: what it took.
func (t *telling) sum(o ran) {
	if o.SessionID == "" { // it never began
		return
	}
	cached := ""
	if prompt := o.Usage.Prompt(); prompt > 0 && o.Usage.Cache.Read > 0 {
		cached = fmt.Sprintf(", %.0f%% of the prompts from the cache", 100*float64(o.Usage.Cache.Read)/float64(prompt))
	}
	summaries := ""
	if o.Summaries > 0 {
		summaries = " and " + plural(o.Summaries, "summary", "summaries")
	}
	cost := "cost unknown"
	switch {
	case o.Cost != nil && o.Unpriced > 0:
		cost = fmt.Sprintf("at least $%.4f", *o.Cost)
	case o.Cost != nil:
		cost = fmt.Sprintf("$%.4f", *o.Cost)
	}
	t.note("%s%s, %s%s · session %s", plural(o.Steps, "step", "steps"), summaries, cost, cached, o.SessionID)
}
