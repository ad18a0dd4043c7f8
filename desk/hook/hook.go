package hook

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/secret"
)

// The names of the hooks. Two are those of the engine's events.
const (
	compacting = "session.compacting"
	compacted  = string(winnow.Compacted)
	elided     = string(winnow.ElisionCommitted)
)

// Config says which commands are run, and how. A command is a program and its arguments; an empty
// one is no hook.
type Config struct {
	Compacting []string // before a summary is asked for; it may change or cancel that
	Compacted  []string // after a summary took effect
	Elided     []string // after something was pruned
	// Timeout is how long a command may take. Default: 10 seconds. Then its process group is ended.
	Timeout time.Duration
	Dir     string   // the folder to run in. Default: the current one
	Environ []string // "NAME=value". Default: the program's own
	Context []string // the lines that the settings add to the prompt, as the hook is told
	// DryRun is told to the hook: what is decided is shown, and nothing is kept.
	DryRun bool
	// Failed is told what went wrong with a hook, in one line. The work goes on as if there were no
	// hook. Default: nobody.
	Failed func(sessionID, what string)
}

// Runner runs hooks. It is safe for concurrent use.
type Runner struct {
	config Config

	mu   sync.Mutex
	ends map[string]bool // ids of the sessions in which no "continue" is to follow the next summary
}

// New makes a runner.
func New(c Config) *Runner {
	if c.Timeout <= 0 {
		c.Timeout = 10 * time.Second
	}
	if c.Failed == nil {
		c.Failed = func(string, string) {}
	}
	return &Runner{config: c, ends: map[string]bool{}}
}

// Hooks are what an engine is opened with. Without a command for session.compacting there are none.
func (r *Runner) Hooks() winnow.Hooks {
	if len(r.config.Compacting) == 0 {
		return winnow.Hooks{}
	}
	return winnow.Hooks{Compacting: r.compacting, Continue: r.goesOn}
}

// compacting asks the command. Only what it says itself cancels the compaction, and the end of ctx.
func (r *Runner) compacting(ctx context.Context, c winnow.Compacting) (winnow.CompactingResult, error) {
	r.wantEnd(c.SessionID, false)
	trigger := "manual"
	if c.Auto {
		trigger = "auto"
	}
	printed, ok := r.tell(ctx, r.config.Compacting, Input{
		Hook: compacting, SessionID: c.SessionID, Directory: c.Request.Directory,
		Folding: &Folding{
			Trigger: trigger, Rejected: c.Rejected, Policy: c.Policy, Model: c.Model,
			Messages: len(c.Request.Messages), Tokens: c.Tokens, TailMessages: len(c.Request.Tail),
			Budget: c.Request.Budget,
			System: c.Request.System, Prompt: c.Request.Instruction, Focus: c.Request.Focus,
			Context: append([]string{}, r.config.Context...),
		},
	})
	if err := context.Cause(ctx); err != nil || !ok {
		return winnow.CompactingResult{}, err
	}
	o, err := read(printed)
	if err != nil {
		r.failed(compacting, c.SessionID, fmt.Errorf("what it printed is not the JSON object that counts: %w", err))
		return winnow.CompactingResult{}, nil
	}
	r.wantEnd(c.SessionID, o.Continue != nil && !*o.Continue)
	result, err := o.result()
	if wrong := counts(result.Answer, c); wrong != nil {
		r.failed(compacting, c.SessionID, fmt.Errorf("its result does not count: %w", wrong))
		result.Answer = nil
	}
	return result, err
}

func (r *Runner) wantEnd(id string, end bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if end {
		r.ends[id] = true
	} else {
		delete(r.ends, id)
	}
}

// goesOn reports whether the "continue" may be appended, by what the command said last.
func (r *Runner) goesOn(_ context.Context, id string, _ session.Message) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.ends[id]
}

// tell runs a command and returns what it printed. What went wrong was told.
func (r *Runner) tell(ctx context.Context, command []string, in Input) (printed []byte, ok bool) {
	in.Version, in.DryRun = Version, r.config.DryRun
	text, err := json.Marshal(in)
	if err == nil {
		masked, _ := secret.Mask(string(text)) // what was said in the session is nobody else's
		printed, err = r.run(ctx, in.Hook, command, masked+"\n")
	}
	if err != nil && ctx.Err() == nil {
		r.failed(in.Hook, in.SessionID, err)
	}
	return printed, err == nil
}

func (r *Runner) failed(name, id string, err error) {
	r.config.Failed(id, fmt.Sprintf("the hook %s failed, and the work goes on without it: %s", name,
		firstLine(err.Error())))
}

// room is how many events wait while a hook is run.
const room = 1 << 12

// Watch listens to an engine for the hooks that are told what happened.
type Watch struct {
	runner *Runner
	engine *winnow.Engine
	events *winnow.Subscription // nil: there is no such hook
}

// Watch begins to listen. Run and Start run the hooks.
func (r *Runner) Watch(e *winnow.Engine) *Watch {
	w := &Watch{runner: r, engine: e}
	if len(r.config.Compacted)+len(r.config.Elided) > 0 {
		w.events = e.Subscribe(room)
	}
	return w
}

// Close ends the listening. What happened before is still told.
func (w *Watch) Close() {
	if w.events != nil {
		w.events.Close()
	}
}

// Run runs the hooks for what happens, one after the other, until the watch is closed and
// everything is told, or ctx ends.
func (w *Watch) Run(ctx context.Context) {
	if w.events == nil {
		return
	}
	for e := range w.events.C {
		if ctx.Err() != nil {
			return
		}
		w.tell(ctx, e)
	}
	if n := w.events.Dropped(); n > 0 {
		w.runner.failed(compacted, "", fmt.Errorf("%d events came too fast to be told", n))
	}
}

// Start runs the hooks beside the work. The function returned ends that, once all that happened is
// told.
func (w *Watch) Start(ctx context.Context) (stop func()) {
	var told sync.WaitGroup
	told.Go(func() { w.Run(ctx) })
	return func() {
		w.Close()
		told.Wait()
	}
}

func (w *Watch) tell(ctx context.Context, e winnow.Event) {
	c, in := &w.runner.config, Input{Hook: string(e.Type), SessionID: e.SessionID, Time: e.Time}
	var command []string
	switch {
	case e.Receipt == nil:
	case e.Type == winnow.Compacted:
		command, in.Receipt = c.Compacted, e.Receipt
	case e.Type == winnow.ElisionCommitted && len(e.Receipt.Committed) > 0:
		command, in.Elisions = c.Elided, elisions(e.Receipt.Committed)
	}
	if len(command) == 0 {
		return
	}
	if state, err := w.engine.Store().State(ctx, e.SessionID); err == nil {
		in.Directory = state.Info.Directory
	}
	w.runner.tell(ctx, command, in)
}
