// Package winnow keeps an LLM agent's session inside its context window, and its bill down, without
// losing anything.
//
// The log is immutable, the context is a view of it. A program appends messages, asks for the view,
// sends it, and reports the usage; the engine finds when the window overflows, elides old tool
// outputs by marking them, folds the past into a summary, and writes a receipt for each of these.
// Everything can be explained, undone and recalled.
//
//	engine, err := winnow.Open(winnow.Config{Model: "anthropic/claude-sonnet-4-5"})
//	id, err := engine.Create(ctx, session.Info{Title: "Fix the parser"})
//	err = engine.Append(ctx, id, message)
//	outcome, err := engine.Begin(ctx, id) // before the request: leaves out what pays
//	view, err := engine.View(ctx, id)     // what to send
//	outcome, err = engine.Observe(ctx, id, usage) // after the step: prunes and folds when it must
//	outcome, err = engine.EndTurn(ctx, id)
//
// An Engine is safe for concurrent use. What it hands out shares memory with its log and must not
// be changed.
package winnow

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/policy"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/settings"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/cache"
	"github.com/winnowhq/winnow/store/fold"
	"github.com/winnowhq/winnow/store/memory"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/token"
)

// Config is everything that an Engine is made from. The zero value works: it keeps sessions in
// memory, assumes a model, and summarises without one.
type Config struct {
	// Settings are what a configuration file can say. Default: settings.Default().
	Settings *settings.Settings
	// Store keeps the sessions. Default: in memory, gone with the process.
	Store store.Store
	// Model is "provider/id" of the model that reads sessions which name none. Default: what Models
	// assumes for an unknown model.
	Model string
	// ForceModel lets Model read every session, whatever model a session names.
	ForceModel bool
	// Models is the catalogue. Default: the embedded one.
	Models *model.Catalogue
	// Summarizer writes the summaries, whatever the settings say. Default: who they say.
	Summarizer pivot.Summarizer
	// SummarizerFor makes the summariser that asks a model: compaction.model where it is set, and
	// where that cannot be had, or none is set, the model that reads the session. An error says why
	// that model cannot be asked; with compaction.summarizer "llm" it ends the compaction, with
	// "auto" the offline summariser writes instead. nil without an error is "not this one".
	// Default: none, and with "auto" the offline summariser writes.
	SummarizerFor func(m model.Model) (pivot.Summarizer, error)
	// Prefix tells what the program's own requests begin with, so that the request for a summary
	// can extend the last of them and is read from the provider's cache. The summariser must ask as
	// the program does, then: through the same client of package llm, or through one whose
	// upstream.Config.Body says what the program's requests say besides, for thinking, effort,
	// tool_choice and prompt_cache_key are part of what a cache knows a prompt by. Default:
	// unknown, and the request for a summary stands by itself.
	Prefix func(ctx context.Context, sessionID string) (Prefix, error)
	// Counter estimates sizes. Default: what Settings.Counter names, as far as this package has it
	// without a vocabulary: chars4 or linear; package token/counters makes the others.
	Counter token.Counter
	// Calibrated is what was learned of the models' tokenizers, for counters that learn. Default:
	// nothing yet; what is learned goes when the engine does.
	Calibrated *token.Calibrated
	Hooks      Hooks
	// Queue makes a compaction under classic and aggressive a task that waits in the log, as S001
	// and S003 have it: where a step overflows Observe appends the marker and returns, and Compact
	// with Waiting executes it, which the program calls before each request. Package agent's loop
	// does. A program that is killed in between finds the marker when it goes on. Default: Observe
	// folds at once, and marker and summary are stored together. Under balanced they always are.
	Queue bool
	// NoteWanted lets Observe write into the store that a summary is wanted (store.Prepared) before
	// it says so with Outcome.Prepare, in a change of its own: for programs that have summaries
	// prepared by a queue, which may take the job in the transaction of that change. If it cannot
	// be written, nothing is wanted until the next step.
	NoteWanted bool
	// After is how many steps follow the sessions, if they are stretches of longer ones that go on
	// behind them, so that all of them was sent to a model, what their newest step gave too.
	// Default: 0, they are whole.
	After int

	// Memory is about how many bytes the sessions may take that are at hand, so that they need not
	// be read from the store; those that were wanted least recently go first, and the one in use
	// stays. Default: any number, for the 64 sessions that were wanted last.
	Memory int
	// Cache is memory that the sessions at hand share with other engines and with transports; then
	// Memory says nothing. Default: the engine's own.
	Cache *cache.Pool

	// Now tells the time. Default: time.Now.
	Now func() time.Time
	// Random gives the random part of ids. Default: crypto/rand.
	Random io.Reader
}

// Prefix is what every request of a program begins with, before the messages of its view.
type Prefix struct {
	System string
	Tools  jsontext.Value // the provider's own JSON; empty: no tools
}

// Hooks let a program take part. Every field may be nil. They are called without a lock held, so
// that they may use the engine.
type Hooks struct {
	// Compacting is called before a summary is asked for.
	Compacting func(ctx context.Context, c Compacting) (CompactingResult, error)
	// Continue is asked before the synthetic "continue" is appended after an automatic compaction;
	// false suppresses it.
	Continue func(ctx context.Context, sessionID string, summary session.Message) bool
}

// Compacting is what the hook of that name is told.
type Compacting struct {
	SessionID string
	Auto      bool
	Rejected  bool
	Policy    string
	Model     string // "provider/id" of the model that reads the session
	Tokens    int    // of what is folded, as the view shows it
	// Request is what the summariser will be sent, before it is made to fit.
	Request pivot.Request
}

// CompactingResult is what the hook answers; the zero value changes nothing. An error cancels the
// compaction: the session stays as it was.
type CompactingResult struct {
	// Context lines are added to the instruction.
	Context []string
	// System replaces the system prompt, which tells the summariser its task. Where the request
	// extends the conversation itself it stands at the beginning of the last message.
	System string
	// Prompt replaces the instruction, the last message.
	Prompt string
	// Answer is used instead of asking the summariser. It is validated like any other.
	Answer *pivot.Answer
}

// withDefaults fills in what was left out.
func (c Config) withDefaults() (Config, error) {
	if c.Settings == nil {
		s := settings.Default()
		c.Settings = &s
	}
	if err := c.Settings.Validate(); err != nil {
		return c, &Error{Code: BadConfig, Op: "open", Err: err}
	}
	if c.Store == nil {
		c.Store = memory.New()
	}
	if c.Models == nil {
		c.Models = model.Default()
	}
	if c.Summarizer == nil && c.SummarizerFor == nil && c.Settings.Compaction.Summarizer == "llm" {
		return c, &Error{Code: BadConfig, Op: "open",
			Err:  errors.New("compaction.summarizer is llm, and this program has no way to ask a model"),
			Hint: "use auto or offline, or set Config.SummarizerFor"}
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Random == nil {
		c.Random = rand.Reader
	}
	if c.Counter == nil {
		switch name := c.Settings.Counter; {
		case !policy.Sound(c.Settings.Policy) && name == "auto", name == "chars4":
			c.Counter = token.Chars4{} // what the specification counts with
		case name == "auto", name == "linear":
			c.Counter = token.Linear{}
		default:
			return c, &Error{Code: BadConfig, Op: "open", Err: fmt.Errorf("counter %q needs a vocabulary", name),
				Hint: "make it with token/counters and set Config.Counter"}
		}
	}
	return c, nil
}

// compactionOf is the part of the settings about compaction for a session, by the agent that its
// info names.
func (e *Engine) compactionOf(info session.Info) settings.Compaction {
	return e.config.Settings.ForAgent(report.Agent(info)).Compaction
}

// policyOf is the policy for a session, by the agent that its info names.
func (e *Engine) policyOf(info session.Info) *policy.Policy {
	if len(e.config.Settings.Agents) == 0 {
		return &e.policy
	}
	name, sub := report.Agent(info)
	key := name
	if sub {
		key += "/"
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.agents[key] == nil {
		p := e.config.Settings.ForAgent(name, sub).NewPolicy()
		p.After = e.policy.After
		e.agents[key] = &p
	}
	return e.agents[key]
}

// reason is an error without what was done to whom.
func reason(err error) string {
	var known *Error
	if !errors.As(err, &known) {
		return err.Error()
	}
	if known.Hint != "" {
		return known.Err.Error() + "; " + known.Hint
	}
	return known.Err.Error()
}

// busy is the error when that was not enough.
func busy(op, id string) error {
	return &Error{Code: Busy, Op: op, Session: id, Err: store.ErrConflict,
		Hint: "another process keeps writing to it; try again"}
}

// alone is the error of a decision about a session to which somebody else has written since the
// request, whose context this is, began to use it; nil if nobody has. A request of somebody else
// may be under way then, built from what had been decided before, and a model that binds its
// reasoning refuses the next one if what was decided meanwhile counts in it: see store.Reading.
func alone(ctx context.Context, op, id string) error {
	if _, alone := store.ReadingOf(ctx).Alone(id); alone {
		return nil
	}
	return busy(op, id)
}

// failed gives an error of a fold, the store or a context the form that callers know.
func (e *Engine) failed(op, id string, err error) error {
	if unfolded, ok := errors.AsType[*fold.Error](err); ok { // which may wrap an error of a summarizer's own engine
		return &Error{Code: unfolded.Code, Op: op, Session: id, Err: unfolded.Err, Hint: unfolded.Hint}
	}
	var known *Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	failed := &Error{Code: StoreFailed, Op: op, Session: id, Err: err}
	switch {
	case errors.Is(err, store.ErrNotFound):
		failed.Code, failed.Hint = NotFound, "list the sessions to see the ids there are"
	case errors.Is(err, store.ErrExists):
		failed.Code, failed.Hint = Already, "a session with this id is in the store"
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		failed.Code, failed.Hint = Cancelled, "nothing was changed"
	}
	return failed
}

func notFound(op, id, what string) *Error {
	return &Error{Code: NotFound, Op: op, Session: id, Err: fmt.Errorf("there is no %s", what),
		Hint: `"winnow explain SRC --all" lists the parts, "winnow inspect SRC --log" the receipts and markers`}
}

// Codes of errors. Those of refusals are in package rule.
const (
	NotFound      = rule.NotFound      // no such session, message, part or receipt
	NothingToFold = rule.NothingToFold // all there is would stay verbatim; fold.ErrNothingNew where nothing is new
	NoProgress    = rule.NoProgress    // doing it (again) would not make the view smaller
	TooLong       = rule.TooLong       // the provider rejected the request, and nothing may or can be done about it
	TooLarge      = rule.TooLarge      // the window has no room for it
	BadSummary    = rule.BadSummary    // no summariser gave a summary that counts
	BadInput      = rule.BadInput      // what was handed in cannot be right
	BadConfig     = rule.BadConfig     // the configuration cannot be right
	Already       = rule.Already       // it is so already
	Undone        = rule.Undone        // it came with something that was undone
	NotKept       = rule.NotKept       // the log has nothing of it that could be shown
	Stale         = rule.Stale         // what it was made from has changed
	Busy          = rule.Busy          // somebody else kept changing the session
	Cancelled     = rule.Cancelled     // the caller, or a hook, wanted it to stop
	Disabled      = rule.Disabled      // switched off in the configuration
	StoreFailed   = rule.StoreFailed   // the store could not read or write
)

// Error is what failed, on what, why, and what to do.
type Error struct {
	Code    rule.Code
	Op      string // "compact"
	Session string // id
	Err     error
	Hint    string // what to do, a sentence
}

func (e *Error) Error() string {
	text := "winnow: " + e.Op
	if e.Session != "" {
		text += " " + e.Session
	}
	text += fmt.Sprintf(": %v (%s)", e.Err, e.Code)
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	return text
}

func (e *Error) Unwrap() error { return e.Err }

// CodeOf returns the code of an error of this package, "" of any other.
func CodeOf(err error) rule.Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

const tooLargeHint = "read pieces of it with the recall tool or winnow inspect --log, or make room first"

// refused is a refusal as an error.
func refusedTo(op, id, what string, r *rule.Refusal) error {
	err := &Error{Code: r.Code, Op: op, Session: id, Err: errors.New(what + ": " + r.Reason)}
	switch r.Code {
	case TooLarge:
		err.Hint = tooLargeHint
	case Undone:
		err.Hint = "winnow redo reapplies it"
	}
	return err
}

// fail makes an error. hint is what to do, "" for nothing.
func fail(code rule.Code, op, id, hint, format string, args ...any) *Error {
	return &Error{Code: code, Op: op, Session: id, Err: fmt.Errorf(format, args...), Hint: hint}
}
