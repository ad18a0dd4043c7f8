package workbench

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/plan/budget"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/quantity"
	"github.com/winnowhq/winnow/text/visible"
)

// Absent answers for the person who is not there.
type Absent struct {
	Yes bool // what would be asked about is allowed

	mu     sync.Mutex
	denied []denial
}

// denial is something that was not done because nobody could be asked.
type denial struct {
	Tool   string `json:"tool"`   // the tool
	Action string `json:"action"` // "read", "write", "run" or "fetch"
	Target string `json:"target"` // the path, command or address
}

func (n *Absent) Ask(_ context.Context, want agent.Permission) error {
	if n.Yes {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	d := denial{want.Tool, want.Action, want.Target}
	if !slices.Contains(n.denied, d) {
		n.denied = append(n.denied, d)
	}
	return fmt.Errorf("nothing was done: to %s %s needs permission, and nobody is there to be asked. "+
		"Do without it, or say in your answer what you would have needed it for", want.Action, want.Target)
}

// All are the denials so far: a call that was left behind may still add one.
func (n *Absent) All() []denial {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]denial{}, n.denied...)
}

// Told is for people: what was not allowed, and how it can be.
func (n *Absent) Told() []string {
	var lines []string
	for _, d := range n.All() {
		how := fmt.Sprintf(`permissions: {"action": %q, "target": %q, "verdict": "allow"}`, d.Action, d.Target)
		if d.Action == "run" {
			how = fmt.Sprintf("--allow %q", d.Target)
		}
		lines = append(lines, fmt.Sprintf("not permitted: %s %s; allow it with %s", d.Action, d.Target, how))
	}
	return lines
}

// lastLine is the last line of a text that says something: where commands sum up.
func lastLine(text string) string {
	said := ""
	for line := range strings.Lines(visible.WithoutColour(text)) {
		if line = visible.Line(line); line != "" {
			said = line
		}
	}
	return rule.Shorten(said, 100)
}

// Ran is the last line of run --json: what came of it.
type Ran struct {
	Type      string         `json:"type"`      // "outcome"
	SessionID string         `json:"sessionID"` // id of the session, for "winnow run --session"
	Time      session.Millis `json:"time"`      // when the run ended
	// "done", "length" (the last answer was cut off), "refused" (by the provider), "steps"
	// ("--max-steps" is used up), "interrupted" or "failed".
	Outcome   string        `json:"outcome"`
	Text      string        `json:"text"`      // text of the last answer
	Model     string        `json:"model"`     // the model that was asked
	Steps     int           `json:"steps"`     // answers of this run
	Summaries int           `json:"summaries"` // requests of this run for summaries
	Failed    int           `json:"failed"`    // failed requests of this run that were billed
	Usage     session.Usage `json:"usage"`     // the usage of all requests of this run
	// US dollars for all requests of this run; null if no price is known.
	Cost *float64 `json:"cost"`
	// How many have an unknown cost, which "cost" does not include.
	Unpriced int       `json:"unpriced,omitzero"`
	Session  RanBefore `json:"session"`         // the totals of the session since it began
	Denied   []denial  `json:"denied"`          // calls that were denied because there is nobody to ask
	Error    string    `json:"error,omitzero"`  // the error, as a sentence
	Resume   string    `json:"resume,omitzero"` // the command that resumes the session
}

// RanBefore is what a session took since it began.
type RanBefore struct {
	Steps int      `json:"steps"` // answers
	Cost  *float64 `json:"cost"`  // US dollars; null if no price is known
	// How many have an unknown cost, which "cost" does not include.
	Unpriced int `json:"unpriced,omitzero"`
}

// Telling prints what an agent does while it does it: with --json a line for each event, otherwise
// what it says on a terminal, and a short line for each call, pruning and compaction on standard
// error.
//
// What the loop and the engine tell is printed in the order in which it happened. One goroutine
// prints all of it. The loop waits until its event is printed, and before that everything is that
// the engine had published.
type Telling struct {
	app      *cli.App
	events   *winnow.Subscription
	loop     chan happening
	finished chan struct{} // closed when nothing more is printed
	once     sync.Once
	warned   winnow.EventType // the last that was told of how full the window is; "" since it shrank

	mu     sync.Mutex
	shown  bool // the text of the answer that was given last is on the terminal
	within bool // the cursor is within a line of it
}

// happening is an event of the loop, and what is closed once it was printed.
type happening struct {
	agent.Event
	told chan struct{}
}

// NewTelling listens to the engine until end.
func NewTelling(a *cli.App, e *winnow.Engine) *Telling {
	t := &Telling{app: a, events: e.Subscribe(1 << 12), loop: make(chan happening), finished: make(chan struct{})}
	go t.all()
	return t
}

func (t *Telling) all() {
	defer close(t.finished)
	for {
		select {
		case e, open := <-t.events.C:
			if !open {
				return
			}
			t.engine(e)
		case h := <-t.loop:
			t.published()
			t.happened(h.Event)
			close(h.told)
		}
	}
}

// published prints what the engine has published and is not printed yet.
func (t *Telling) published() {
	for {
		select {
		case e, open := <-t.events.C:
			if !open {
				return
			}
			t.engine(e)
		default:
			return
		}
	}
}

// Event tells of what the loop does, until end.
func (t *Telling) Event(e agent.Event) {
	h := happening{e, make(chan struct{})}
	select {
	case t.loop <- h:
		<-h.told
	case <-t.finished:
	}
}

// End waits until everything that happened was told.
func (t *Telling) End() {
	t.once.Do(t.events.Close)
	<-t.finished
}

// Line writes one line of --json.
func (t *Telling) Line(document any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.app.Line(document); err != nil {
		_ = t.app.Line(map[string]string{"type": "error", "error": err.Error()}) // a failed write is remembered
	}
}

// Note writes a line for people on standard error.
func (t *Telling) Note(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.app.Quiet {
		return
	}
	t.lineEnd()
	fmt.Fprintf(t.app.Err, format+"\n", args...)
}

// lineEnd ends the line of an answer that is on the terminal.
func (t *Telling) lineEnd() {
	if t.within {
		t.app.Printf("\n")
		t.app.Show()
	}
	t.within = false
}

// engine tells of what the engine did.
func (t *Telling) engine(e winnow.Event) {
	if t.app.JSON {
		t.Line(e)
		return
	}
	switch r := e.Receipt; {
	case e.Type == winnow.CompactionFailed:
		t.Note("! %s", e.Text)
	case e.Type == winnow.BudgetWarning, e.Type == winnow.BudgetOverflow && e.Verdict.Code == budget.CodeAutoOff:
		t.budget(e)
	case e.Type == winnow.Compacted && r != nil:
		t.warned = ""
		t.Note("~ compacted: %s → %s tokens, %s folded into a summary by %s", quantity.Number(r.TokensBefore),
			quantity.Number(r.TokensAfter), quantity.Plural(r.Folded, "message", "messages"), r.Summarizer)
	case e.Type == winnow.ElisionCommitted && r != nil && r.Kind == pivot.Pruning:
		t.warned = ""
		t.Note("~ pruned: %s → %s tokens, %s left out (%s)", quantity.Number(r.TokensBefore),
			quantity.Number(r.TokensAfter), quantity.Plural(len(r.Committed), "part", "parts"), r.Trigger)
	}
}

// budget tells how full the window is: that it fills up once, and once that it is too full and
// stays so. A warning without a verdict is about what is known of the model, and never repeated.
func (t *Telling) budget(e winnow.Event) {
	text := e.Text
	if e.Verdict != nil {
		if t.warned == e.Type {
			return
		}
		t.warned, text = e.Type, "the window fills up: "+text
		if e.Type == winnow.BudgetOverflow {
			text = "the window overflows: " + e.Text + "; `winnow compact " + e.SessionID + "` folds it"
		}
	}
	t.Note("! %s", text)
}

// Happened is one line of run --json about the loop.
type Happened struct {
	Type      agent.EventType `json:"type"`      // the type of the event, see below
	SessionID string          `json:"sessionID"` // id of the session
	Time      session.Millis  `json:"time"`      // when it happened
	Step      int             `json:"step"`      // 1 for the first request of this run
	// The text of "delta", "call.progress", "title.failed" and "notice"; for "waiting", why it
	// waits.
	Text    string      `json:"text,omitzero"`
	Wait    float64     `json:"wait,omitzero"`    // for "waiting": seconds
	Message string      `json:"message,omitzero"` // id of the answer
	Call    *calledTool `json:"call,omitzero"`    // the call
}

// calledTool is a call as it is now.
type calledTool struct {
	ID     string         `json:"id"`             // its id, as the provider named it
	Part   string         `json:"part"`           // id of its part
	Tool   string         `json:"tool"`           // name of the tool
	Status session.Status `json:"status"`         // "running", "completed" or "error"
	Title  string         `json:"title,omitzero"` // a title for people
	Input  jsontext.Value `json:"input,omitzero"` // the arguments
	// For a call that ended: the text that the model is told.
	Output string `json:"output,omitzero"`
}

// happened prints what the loop does.
func (t *Telling) happened(e agent.Event) {
	if t.app.JSON {
		line := Happened{Type: e.Type, SessionID: e.SessionID, Time: session.Millis(t.app.Env.Now().UnixMilli()),
			Step: e.Step, Text: e.Text, Wait: e.Wait.Seconds(), Message: e.Message}
		if p := e.Part; p.State != nil {
			line.Call = &calledTool{ID: p.CallID, Part: p.ID, Tool: p.Tool, Status: p.State.Status,
				Title: p.State.Title, Input: p.State.Input}
			if p.State.Final() {
				line.Call.Output = p.State.Result()
			}
		}
		t.Line(line)
		return
	}
	switch e.Type {
	case agent.Delta:
		t.delta(e.Text)
	case agent.StepStarted:
		t.fresh()
	case agent.Restarted:
		t.fresh()
		t.Note("! the answer broke off; trying again")
	case agent.Waiting:
		t.Note("! %s: trying again in %s", e.Text, waitOf(e.Wait))
	case agent.Noticed:
		t.Note("! %s", e.Text)
	case agent.CallEnded:
		mark, more := "✓", ""
		if e.Part.State.Status == session.Failed {
			mark, more = "✗", ": "+lastLine(e.Part.State.Result())
		}
		t.Note("%s %s %s%s", mark, visible.Line(e.Part.Tool), titleOfCall(e.Part), more)
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
func (t *Telling) delta(text string) {
	if !t.app.Env.StdoutTerminal {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.shown, t.within = true, !strings.HasSuffix(text, "\n")
	t.app.Printf("%s", text)
	t.app.Show()
}

// fresh begins an answer.
func (t *Telling) fresh() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.shown = false
}

// Answer prints the last answer, unless it was shown already.
func (t *Telling) Answer(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.shown && strings.TrimSpace(text) != "" {
		t.within = !strings.HasSuffix(text, "\n")
		io.WriteString(t.app.Data(), text)
	}
	t.lineEnd()
}

// Sum is the last line: what it took.
func (t *Telling) Sum(o Ran) {
	if o.SessionID == "" { // it never began
		return
	}
	cached := ""
	if prompt := o.Usage.Prompt(); prompt > 0 && o.Usage.Cache.Read > 0 {
		cached = fmt.Sprintf(", %.0f%% of the prompts from the cache", 100*float64(o.Usage.Cache.Read)/float64(prompt))
	}
	summaries := ""
	if o.Summaries > 0 {
		summaries = " and " + quantity.Plural(o.Summaries, "summary", "summaries")
	}
	cost := "cost unknown"
	switch {
	case o.Cost != nil && o.Unpriced > 0:
		cost = fmt.Sprintf("at least $%.4f", *o.Cost)
	case o.Cost != nil:
		cost = fmt.Sprintf("$%.4f", *o.Cost)
	}
	t.Note("%s%s, %s%s · session %s", quantity.Plural(o.Steps, "step", "steps"), summaries, cost, cached, o.SessionID)
}
