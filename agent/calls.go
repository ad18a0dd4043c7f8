package agent

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/wire"
)

const (
	// inARow is how often the same call may be made in a row; the last of them is not run.
	inARow = 3
	// stuck is how often it must be made for the run to end.
	stuck = 8
	// grace is how long calls have to end by themselves when the caller stopped. Those with a child
	// have it twice: first the calls of the child end, then it writes down how, and a program that
	// closes the store when Run has returned finds nobody at work.
	grace = 60 * time.Millisecond
)

// Repeated is what a call gives back that was made too often.
const Repeated = "This call was made before with the same arguments, twice in a row. It was not run again: its " +
	"result is the one above. Do something else, or say what is in the way."

// job is a call that is to be run.
type job struct {
	at   int // of its part in the message
	tool Tool
	call Call
}

func (j job) serial() bool { _, serial := j.tool.(Serial); return serial }

// prepare looks at the calls of an answer. Those that can be run become jobs, and are running from
// now on; the others have failed, and say why.
func (r *run) prepare(m *session.Message) []job {
	var jobs []job
	called := false
	for i := range m.Parts {
		p := &m.Parts[i]
		if p.Type != session.ToolPart || p.State == nil {
			continue
		}
		called = true
		if p.CallID == "" || r.known[p.CallID] {
			p.CallID = "call_" + rand.Text() // some servers count from 1 in every answer
		}
		r.known[p.CallID] = true
		state := *p.State
		state.Time = &session.Span{Start: now()}
		if p.State = &state; state.Final() {
			continue // the provider ran it
		}
		tool, input, problem := r.check(p)
		if problem != "" {
			p.State = ended(&state, session.Failed, problem)
			continue
		}
		state.Status, state.Raw = session.Running, ""
		jobs = append(jobs, job{at: i, tool: tool,
			call: Call{SessionID: r.id, ID: p.CallID, Input: input, Directory: r.config.Directory, Ask: r.asks}})
	}
	if !called {
		r.last, r.repeated = "", 0
	}
	return jobs
}

// asks asks for permission, and says in whose name: a child's questions go through its parent and
// stay the child's.
func (r *run) asks(ctx context.Context, p Permission) error {
	if p.SessionID == "" {
		p.SessionID = r.id
	}
	return r.config.Ask(ctx, p)
}

// check says what is wrong with a call, in words for the model.
func (r *run) check(p *session.Part) (tool Tool, input jsontext.Value, problem string) {
	input = p.State.Input
	r.made(p)
	tool, ok := r.tools[p.Tool]
	switch {
	case r.repeated >= inARow:
		return nil, nil, Repeated
	case !ok && len(r.tools) == 0:
		return nil, nil, fmt.Sprintf("There is no tool called %q: this session has no tools.", p.Tool)
	case !ok:
		return nil, nil, fmt.Sprintf("There is no tool called %q. There are: %s.", p.Tool,
			strings.Join(slices.Sorted(maps.Keys(r.tools)), ", "))
	case p.State.Raw != "" || !input.IsValid(session.ReadOptions()):
		return nil, nil, fmt.Sprintf("The arguments of %s are not JSON, or were cut off. Call it again with a JSON "+
			"object.", p.Tool)
	case input.Kind() != '{':
		return nil, nil, fmt.Sprintf("The arguments of %s are not a JSON object. Call it again with one.", p.Tool)
	}
	if missing := missing(tool.Schema(), input); len(missing) > 0 {
		return nil, nil, fmt.Sprintf("The arguments of %s lack %s. Nothing was done; call it again with all that its "+
			"schema requires.", p.Tool, strings.Join(missing, ", "))
	}
	return tool, input, ""
}

// made counts how often a call was made in a row.
func (r *run) made(p *session.Part) {
	key := p.Tool + "\x00" + p.State.Raw + "\x00" + canonical(p.State.Input)
	if key != r.last {
		r.last, r.repeated = key, 0
	}
	r.repeated++
}

func canonical(input jsontext.Value) string {
	same := input.Clone()
	if same.Canonicalize() != nil {
		return string(input)
	}
	return string(same)
}

// missing are the members that a schema requires and an object has not.
func missing(schema, input jsontext.Value) []string {
	var names []string
	for name := range wire.ValueOf(schema).Get("required").Values() {
		if wire.ValueOf(input).Get(name.String()).Empty() {
			names = append(names, name.String())
		}
	}
	return names
}

// childKey is the member of a call's metadata that has the session of the agent that works, or
// worked, for it.
const childKey = "sessionId"

// beginning is the session of a child that the call of a part began.
type beginning struct {
	at    int // of the part in the message
	id    string
	noted chan struct{} // closed when the log has the id: the child makes no step before that
}

// outcome is how a job ended.
type outcome struct {
	job
	result Result
	err    error
}

// carryOut runs the calls of a message, side by side but for those that must be alone, and writes
// down each as it ends. When ctx ends, what has not ended is marked as interrupted and left behind.
func (r *run) carryOut(ctx context.Context, m *session.Message, jobs []job) error {
	if len(jobs) == 0 {
		return ctx.Err()
	}
	ctx, cancel := context.WithCancel(ctx) // whatever ends this, no call goes on by itself
	defer cancel()
	w := &watch{r: r, message: m.ID, step: r.result.Steps}
	defer w.close()
	outcomes, children := make(chan outcome, len(jobs)), make(chan beginning)
	waiting, running, alone := jobs, 0, false
	var working atomic.Int32 // children
	start := func() {
		for len(waiting) > 0 && !alone && (running == 0 || !waiting[0].serial()) {
			j := waiting[0]
			waiting, running, alone = waiting[1:], running+1, j.serial()
			w.tell(Event{Type: CallStarted, Part: m.Parts[j.at]})
			part := m.Parts[j.at]
			j.call.Progress = func(text string) { w.tell(Event{Type: CallProgress, Text: text, Part: part}) }
			j.call.Child = func(within context.Context, c Child) (Turn, error) {
				working.Add(1)
				defer working.Add(-1)
				return r.child(within, j, c, func(id string) {
					noted := make(chan struct{})
					select {
					case children <- beginning{j.at, id, noted}:
					case <-ctx.Done():
						return
					}
					select {
					case <-noted:
					case <-ctx.Done():
					}
				})
			}
			go j.run(ctx, outcomes)
		}
	}
	end := func(o outcome) error {
		running, alone = running-1, false
		m.Parts = slices.Clone(m.Parts)
		m.Parts[o.at].State = o.state(ctx, m.Parts[o.at].State)
		err := r.shape(o.tool, &m.Parts[o.at])
		w.tell(Event{Type: CallEnded, Part: m.Parts[o.at]})
		return err
	}
	if ctx.Err() == nil {
		start()
	}
	for running > 0 && ctx.Err() == nil {
		select {
		case o := <-outcomes:
			if err := errors.Join(end(o), r.update(m)); err != nil {
				return err
			}
			if ctx.Err() == nil {
				start()
			}
		case c := <-children:
			m.Parts = slices.Clone(m.Parts)
			p := &m.Parts[c.at]
			state := *p.State
			state.Metadata = with(state.Metadata, childKey, c.id)
			p.State = &state
			if err := r.update(m); err != nil {
				return err
			}
			close(c.noted)
		case <-ctx.Done():
		}
	}
	if ctx.Err() == nil {
		return nil
	}
	var failed error
	for timeout, more := time.After(grace), true; running > 0; {
		select {
		case o := <-outcomes:
			failed = errors.Join(failed, end(o))
			continue
		case <-timeout:
		}
		if more = more && working.Load() > 0; !more {
			break
		}
		timeout, more = time.After(grace), false
	}
	*m = interrupt(*m)
	if err := errors.Join(failed, r.update(m)); err != nil {
		return err
	}
	return ctx.Err()
}

func (r *run) update(m *session.Message) error {
	return r.config.Engine.Update(r.saving, r.id, *m)
}

// run runs a call. Whatever becomes of it, an outcome is sent.
func (j job) run(ctx context.Context, outcomes chan<- outcome) {
	o := outcome{job: j, err: errors.New("the tool ended without a result")}
	defer func() {
		if p := recover(); p != nil {
			o.result, o.err = Result{}, fmt.Errorf("the tool panicked: %v", p)
			o.result.Metadata = map[string]any{"stack": string(debug.Stack())}
		}
		outcomes <- o
	}()
	o.result, o.err = j.tool.Run(ctx, j.call)
}

// state is the state of a call that ended.
func (o outcome) state(ctx context.Context, before *session.ToolState) *session.ToolState {
	status, text := session.Completed, o.result.Output
	if o.result.Failed {
		status = session.Failed
	}
	interrupted := false
	if o.err != nil {
		status = session.Failed
		said := o.err.Error()
		if ctx.Err() != nil && (errors.Is(o.err, context.Canceled) || errors.Is(o.err, context.DeadlineExceeded) ||
			errors.Is(o.err, context.Cause(ctx))) {
			said, interrupted = wire.Interrupted, true
		}
		if text != "" {
			text += "\n"
		}
		text += said
	}
	s := ended(before, status, text)
	s.Title, s.Attachments = o.result.Title, o.result.Attachments
	metadata := map[string]any{}
	var known map[string]jsontext.Value // before it ended
	if len(before.Metadata) > 0 && json.Unmarshal(before.Metadata, &known, session.ReadOptions()) == nil {
		for name, value := range known {
			metadata[name] = value
		}
	}
	maps.Copy(metadata, o.result.Metadata)
	if interrupted {
		metadata["interrupted"] = true
	}
	if len(metadata) > 0 {
		if written, err := json.Marshal(metadata, json.Deterministic(true), session.ReadOptions()); err == nil {
			s.Metadata = written
		}
	}
	return s
}

// watch tells what becomes of the calls of one step. Tools that were left behind are not heard.
type watch struct {
	r       *run
	message string
	step    int
	mu      sync.Mutex // nothing is told once close has returned
	closed  bool
}

func (w *watch) tell(e Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	e.Message, e.Step = w.message, w.step
	w.r.tell(e)
}

func (w *watch) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
}
