package lab

import (
	"fmt"
	"slices"
	"time"

	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/token"
)

// DefaultBase is what system prompt and tools are taken to be where no report tells, in tokens.
const DefaultBase = 18_000

// Trace is a recorded session made ready to be replayed: what was said and done, without what policies decide. It is the same for all policies, and
// is not changed by a replay, so that several can run on it at once.
type Trace struct {
	ID   string
	Name string // for people: the title, or the name of the file
	Path string // of the file that it was read from, "" for none
	// Product is the format that it was recorded in.
	Product string
	Damaged int // pieces of the file that could not be read
	Model   model.Model
	// Base is what system prompt and tools take, in tokens; BaseKnown says that a report told.
	Base      int
	BaseKnown bool
	// Paid is what the session took as it was recorded; zero where nobody looked.
	Paid Paid

	directory string
	log       []session.Message
	steps     []step
	parts     map[string]partItems
	items     []item
	quotes    quotes
	counter   token.Counter
}

// step is a model request and its answer.
type step struct {
	message int           // position in the log of what it produced
	idle    time.Duration // between the end of the step before and this request; 0 where the log has no clock
	timed   bool          // the log told idle
	ends    bool          // of a turn
	calls   bool          // tools
	first   bool          // of a turn
	output  int           // tokens that it produced
}

// item is a piece of the log that can be hidden by itself.
type item struct {
	step    int // that produced it, or -1 for what the user said before the first
	tokens  int
	text    string // of which the words are read
	part    string // id
	message int    // position in the log
	input   bool   // the arguments of a call
	written bool   // by the model
}

// partItems are the positions of a part's items, -1 for none.
type partItems struct{ text, input, output int32 }

// Session is the log as it is replayed, with the ids that events name.
func (t *Trace) Session() session.Session {
	info := session.Info{ID: t.ID, Title: t.Name, Directory: t.directory}
	return session.Session{Info: info, Messages: slices.Clone(t.log)}
}

// Steps is how many model requests the session has.
func (t *Trace) Steps() int { return len(t.steps) }

// Tokens is what all its items take together.
func (t *Trace) Tokens() int {
	sum := 0
	for i := range t.items {
		sum += t.items[i].tokens
	}
	return sum
}

// idle is how long the session waited before step k; where the log has no clock, so long between turns.
func (t *Trace) idle(k int, between time.Duration) time.Duration {
	if s := &t.steps[k]; s.timed || !s.first || k == 0 {
		return s.idle
	}
	return between
}

// NewTrace makes a session ready. What earlier compactions left in it, markers, summaries and what was repeated after them, is left out: the log goes
// on as if it had never been compacted.
func NewTrace(s session.Session, m model.Model, counter token.Counter) *Trace {
	t := &Trace{ID: s.Info.ID, Name: s.Info.Title, Model: m, directory: s.Info.Directory, counter: counter, parts: map[string]partItems{}, Base: -1}
	facts := rule.NewFacts(counter)
	var last session.Millis // when the newest step ended
	before := 0
	for i := range s.Messages {
		m, ok := bare(s.Messages[i], len(t.log))
		if !ok {
			continue
		}
		if reported := m.Tokens; m.Role == session.Assistant && reported != nil && reported.Prompt() > 0 && t.Base < 0 {
			t.Base, t.BaseKnown = max(0, reported.Prompt()-before), true
		}
		number := len(t.steps) - 1
		if m.Role == session.Assistant {
			number++
			s := step{message: len(t.log), first: number == 0 || t.log[len(t.log)-1].Role == session.User}
			if last > 0 && m.Time.Created > last {
				s.idle = time.Duration(m.Time.Created-last) * time.Millisecond
			}
			s.timed = last > 0 && m.Time.Created > 0
			s.calls = slices.ContainsFunc(m.Parts, func(p session.Part) bool { return p.Type == session.ToolPart })
			t.steps = append(t.steps, s)
		} else if m.Written() && number >= 0 {
			t.steps[number].ends = true
		}
		for j := range m.Parts {
			t.add(&m.Parts[j], number, m.Role == session.Assistant, facts)
		}
		if m.Role == session.Assistant {
			last = max(last, m.Time.Created, m.Time.Completed) // what the user says is no use of the cache
		}
		before += messageTokens(&m, facts)
		t.log = append(t.log, m)
	}
	if n := len(t.steps); n > 0 {
		t.steps[n-1].ends = true
	}
	if t.Base < 0 {
		t.Base = DefaultBase
	}
	t.quotes = t.read()
	return t
}

// add takes in the items of a part.
func (t *Trace) add(p *session.Part, number int, produced bool, facts *rule.Facts) {
	size := facts.Size(p)
	at := partItems{-1, -1, -1}
	put := func(tokens int, text string, input bool) int32 {
		t.items = append(t.items, item{
			step: number, tokens: tokens, text: text, part: p.ID, message: len(t.log), input: input, written: input || produced && p.Type != session.ToolPart,
		})
		return int32(len(t.items) - 1)
	}
	if p.Type == session.ToolPart {
		at.input = put(size.Input, values(p.State.Input), true)
		at.output = put(size.Output+size.Files, p.State.Result(), false)
		t.steps[number].output += size.Input
	} else {
		at.text = put(size.Total(), textOf(p), false)
		if produced {
			t.steps[number].output += size.Total()
		}
	}
	t.parts[p.ID] = at
}

// bare is a message without what is no item; ok is false when nothing is left. Parts without an id get one.
func bare(m session.Message, at int) (bareMessage session.Message, ok bool) {
	if m.Marker() != nil || m.IsSummary() || m.Companion() != "" {
		return m, false
	}
	parts := make([]session.Part, 0, len(m.Parts))
	for j, p := range m.Parts {
		switch p.Type {
		case session.TextPart:
			if p.Ignored || p.Text == "" {
				continue
			}
		case session.ToolPart:
			if p.State == nil || m.Role != session.Assistant {
				continue
			}
		case session.FilePart, session.AgentPart, session.SubtaskPart:
		default:
			continue
		}
		p.ID = fmt.Sprintf("p%d.%d", at, j) // what an id looks like differs by product, and some repeat them
		parts = append(parts, p)
	}
	m.ID = fmt.Sprintf("m%d", at)
	m.Parts = parts
	return m, len(parts) > 0
}

func textOf(p *session.Part) string {
	switch p.Type {
	case session.TextPart:
		return p.Text
	case session.SubtaskPart:
		return p.Prompt
	}
	return p.Name
}

func messageTokens(m *session.Message, facts *rule.Facts) int {
	total := 0
	for j := range m.Parts {
		total += facts.Size(&m.Parts[j]).Total()
	}
	return total
}
