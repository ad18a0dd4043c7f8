package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/wire"
)

// run is one Run or Resume. It is used by one goroutine.
type run struct {
	*Loop
	id     string
	result Turn
	system string
	parent string          // id of the user message that is answered
	known  map[string]bool // ids of calls that are in use
	seen   map[string]bool // ids of the answers that this run found, or made
	cut    bool            // the log ends with an answer that was cut short
	over   bool            // the newest answer calls no tool, and nothing was said since

	saving context.Context // for what must be written though the caller has stopped
	left   bool            // others may work on the session now; set with mu held
	unsaid error           // why something that was said is not in the log

	said   []string // ids of the user messages whose turns this run works on
	blind  bool     // a snapshot failed: none are taken until the end of this run
	missed int      // how many in a row took too long

	last     string // the newest call, by tool and arguments
	repeated int    // how often it was made in a row
}

// Errors with which a loop ends by itself. The session can be resumed.
var (
	ErrSteps = errors.New("the steps that one run may make are used up: resume it, or raise MaxSteps")
	ErrStuck = errors.New("the model keeps making the same call, though it was told that it is not run again")
	// ErrElsewhere: the newest answer of the log is another's. That one goes on; nothing of this
	// run is lost.
	ErrElsewhere = errors.New("another process works on the session, this one stopped: let one of them work at a time")
)

// turn lets the model work until it calls no more tools. The order is that of S001's loop: a
// compaction that waits is made before anything else, and may let the model go on; a step that
// overflows leaves one.
func (r *run) turn(ctx context.Context) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := r.pending(ctx); err != nil {
			return err
		}
		if r.over {
			return r.endTurn(ctx)
		}
		if err := r.deliver(ctx); err != nil {
			return err
		}
		if err := r.publish(ctx); err != nil {
			return err
		}
		if r.result.Steps >= r.config.MaxSteps {
			return fmt.Errorf("%w (%d)", ErrSteps, r.config.MaxSteps)
		}
		if err := r.step(ctx); err != nil {
			return err
		}
	}
}

// endTurn ends a turn.
func (r *run) endTurn(ctx context.Context) error {
	if _, err := r.config.Engine.EndTurn(ctx, r.id); err != nil {
		return err
	}
	if err := r.publish(ctx); err != nil {
		return err
	}
	r.tell(Event{Type: TurnEnded, Step: r.result.Steps})
	r.outline(ctx)
	return nil
}

// pending executes a marker that waits.
func (r *run) pending(ctx context.Context) error {
	receipt, err := r.config.Engine.Compact(ctx, r.id, winnow.CompactOptions{Waiting: true})
	if winnow.CodeOf(err) == winnow.NothingToFold {
		return nil
	}
	r.over = r.over && !(receipt != nil && r.goesOn(ctx))
	return err
}

// overdue folds the past where a process ended after it had reported a step that overflows and
// before it had folded. A fold that fails is told by its event, and is no reason not to work on:
// whether the next request fits is the provider's to say.
func (r *run) overdue(ctx context.Context) error {
	due, err := winnow.Look(ctx, r.config.Engine, r.id, func(s *report.Session) (bool, error) {
		w := s.Window()
		return s.Policy.Auto && w.Verdict != nil && w.Overflow && w.Pending == "", nil
	})
	if err != nil || !due {
		return err
	}
	_, err = r.config.Engine.Compact(ctx, r.id, winnow.CompactOptions{Auto: true})
	if ctx.Err() == nil && winnow.CodeOf(err) != rule.StoreFailed {
		return nil
	}
	return err
}

// deliver appends what was said meanwhile.
func (r *run) deliver(ctx context.Context) error {
	r.mu.Lock()
	said := r.queues[r.id]
	r.queues[r.id] = nil
	r.mu.Unlock()
	for i, one := range said {
		if err := r.say(ctx, one); err != nil {
			r.mu.Lock()
			r.queues[r.id] = append(said[i:len(said):len(said)], r.queues[r.id]...)
			r.mu.Unlock()
			return err
		}
	}
	return nil
}

// said is what the user says: a text, and files that are attached to it.
type said struct {
	text     string
	attached []session.Part
}

// say appends a message of the user's.
func (r *run) say(ctx context.Context, s said) error {
	return r.user(ctx, append([]session.Part{{Type: session.TextPart, Text: s.text}}, s.attached...)...)
}

// Nudge is what stands in the user's place where a session is resumed after an answer that was cut
// short: some models refuse to go on with an answer of their own.
const Nudge = "Your last answer was interrupted. Go on where it stopped."

func (r *run) nudge(ctx context.Context) error {
	return r.user(ctx, session.Part{Type: session.TextPart, Text: Nudge, Synthetic: true})
}

func (r *run) user(ctx context.Context, parts ...session.Part) error {
	said := []session.Message{{MessageInfo: session.MessageInfo{Role: session.User, Model: r.reference()},
		Parts: parts}}
	if err := r.config.Engine.Append(ctx, r.id, said...); err != nil {
		return err
	}
	r.parent, r.last, r.repeated, r.over = said[0].ID, "", 0, false
	r.said = append(r.said, said[0].ID)
	return nil
}

// mend brings a session into order that was left in the middle of something: calls that never ended
// are marked, and a step whose usage was not reported is. unfinished says that the last turn is not
// at its end.
func (r *run) mend(ctx context.Context) (unfinished bool, err error) {
	s, state, err := r.config.Engine.Session(ctx, r.id)
	if err != nil {
		return false, err
	}
	var marked []session.Message
	last := -1
	for i := range s.Messages {
		m := &s.Messages[i]
		for j := range m.Parts {
			if m.Parts[j].Type == session.ToolPart {
				r.known[m.Parts[j].CallID] = true
			}
		}
		r.remember(m)
		if open(m) {
			marked = append(marked, interrupt(*m))
		}
		if _, kept := m.Kept(); kept {
			continue // what is shown again asks for nothing
		}
		if m.Role == session.User && m.Marker() == nil {
			r.parent = m.ID
		}
		if m.Marker() == nil && !m.IsSummary() {
			last = i
		}
	}
	if len(marked) > 0 {
		if err := r.config.Engine.Update(ctx, r.id, marked...); err != nil {
			return false, err
		}
	}
	if last < 0 {
		return false, nil
	}
	newest := &s.Messages[last]
	r.cut = newest.Failed()
	r.over = newest.Role == session.Assistant && !r.cut && !calls(newest)
	unfinished = !r.over || view.Pending(s.Messages, state.Undone) >= 0
	if turns := session.Turns(s.Messages); unfinished && len(turns) > 0 {
		r.said = append(r.said, s.Messages[turns[len(turns)-1].Start].ID)
	}
	if m := unreported(s.Messages, state.Spent); m != nil {
		_, err = r.observe(ctx, *m.Tokens)
	}
	return unfinished, err
}

// remember learns from a message of the log, in their order, whose it is and how often its call was
// made in a row. A call that was interrupted may be made again.
func (r *run) remember(m *session.Message) {
	switch {
	case m.Marker() != nil || m.IsSummary() || m.Companion() != "":
		return
	case m.Role == session.User:
		if _, kept := m.Kept(); kept {
			return
		}
		r.last, r.repeated = "", 0
		return
	}
	r.seen[m.ID] = true
	called := false
	for i := range m.Parts {
		p := &m.Parts[i]
		if p.Type != session.ToolPart || p.State == nil {
			continue
		}
		called = true
		if !waits(p) && !wasInterrupted(p.State) {
			r.made(p)
		}
	}
	if !called {
		r.last, r.repeated = "", 0
	}
}

// elsewhere reports whether the newest answer in a view is one that this run does not know: another
// process works on the session.
func (r *run) elsewhere(messages []session.Message) bool {
	for i := len(messages) - 1; i >= 0; i-- {
		if m := &messages[i]; m.Role == session.Assistant && !m.IsSummary() {
			return !r.seen[m.ID]
		}
	}
	return false
}

// unreported is the newest step, where it ended and the engine was not told what it took.
func unreported(log []session.Message, spent []store.Spend) *session.Message {
	for i := len(log) - 1; i >= 0; i-- {
		if m := &log[i]; m.Role == session.Assistant {
			if m.IsSummary() || m.Tokens == nil ||
				slices.ContainsFunc(spent, func(s store.Spend) bool { return s.Message == m.ID }) {
				return nil
			}
			return m
		}
	}
	return nil
}

func calls(m *session.Message) bool {
	return slices.ContainsFunc(m.Parts, func(p session.Part) bool { return p.Type == session.ToolPart })
}

// waits reports whether a part is a call that has not ended.
func waits(p *session.Part) bool {
	return p.Type == session.ToolPart && p.State != nil &&
		(p.State.Status == session.Pending || p.State.Status == session.Running)
}

func open(m *session.Message) bool {
	return slices.ContainsFunc(m.Parts, func(p session.Part) bool { return waits(&p) })
}

// interrupt returns a message in which every call that has not ended has failed.
func interrupt(m session.Message) session.Message {
	m.Parts = append([]session.Part(nil), m.Parts...)
	for i := range m.Parts {
		if p := &m.Parts[i]; waits(p) {
			p.State = ended(p.State, session.Failed, wire.Interrupted)
			p.State.Metadata = with(p.State.Metadata, "interrupted", true)
		}
	}
	return m
}

// with is metadata with one more member; what is not an object is replaced.
func with(metadata jsontext.Value, name string, value any) jsontext.Value {
	members := map[string]jsontext.Value{}
	if len(metadata) > 0 && json.Unmarshal(metadata, &members, session.ReadOptions()) != nil || members == nil {
		members = map[string]jsontext.Value{}
	}
	written, err := json.Marshal(value, session.ReadOptions())
	if err != nil {
		return metadata
	}
	members[name] = written
	if written, err = json.Marshal(members, session.ReadOptions(), json.Deterministic(true)); err != nil {
		return metadata
	}
	return written
}

func wasInterrupted(s *session.ToolState) bool {
	return s.Status == session.Failed && wire.ValueOf(s.Metadata).Get("interrupted").Kind() == 't'
}

// ended is the state of a call that ended; the one before is not changed.
func ended(before *session.ToolState, status session.Status, text string) *session.ToolState {
	s := *before
	s.Status = status
	if status == session.Failed {
		s.Error = text
	} else {
		s.Output = text
	}
	span := session.Span{Start: now()}
	if s.Time != nil {
		span = *s.Time
	}
	span.End = now()
	s.Time = &span
	return &s
}

func now() session.Millis { return session.Millis(time.Now().UnixMilli()) }

// problem is the error of a message, as sessions have it.
func problem(name, text string) jsontext.Value {
	written, err := json.Marshal(map[string]any{"name": name, "data": map[string]string{"message": text}},
		session.ReadOptions(), json.Deterministic(true))
	if err != nil {
		return jsontext.Value(`{"name":"unknown"}`)
	}
	return written
}
