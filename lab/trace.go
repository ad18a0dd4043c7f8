package lab

import (
	"fmt"
	"slices"
	"time"

	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/token"
)

// DefaultBase is the assumed size of system prompt and tools, in tokens, if no usage report tells.
const DefaultBase = 18_000

// Trace is a recorded session prepared for replay: what was said and done, without what policies
// decide. A replay does not change it, so several can share it.
type Trace struct {
	ID   string
	Name string // for people: the title, or the name of the file
	Path string // of its file, "" if it has no file
	// Product is its format.
	Product string
	Damaged int // unreadable pieces of the file
	Model   model.Model
	// Base is the size of system prompt and tools, in tokens; BaseKnown: from a usage report.
	Base      int
	BaseKnown bool
	// Paid is the recorded usage; zero if nobody looked.
	Paid Paid

	declared  report.Declared
	directory string
	log       []session.Message
	steps     []step
	parts     map[string]partItems
	items     []item
	edits     []edit
	quotes    quotes
	facts     *rule.Facts            // what is known of each part: replays fork it
	models    map[string]model.Model // by the name in step; see Priced
}

// step is a model request and its answer.
type step struct {
	message int           // position of its answer in the log
	idle    time.Duration // pause before the request; 0 if the log has no times
	timed   bool          // idle is known
	ends    bool          // the turn
	calls   bool          // calls tools
	first   bool          // of its turn
	output  int           // tokens that it produced
	model   string        // that answered, "" if the log does not say
	hour    bool          // by its usage the prompt is kept in the cache for an hour
	usual   bool          // by its usage it is kept for the usual time
}

// item is a piece of the log that can be hidden on its own.
type item struct {
	step    int // that produced it; -1 before the first
	tokens  int
	text    string // whose words are looked up
	part    string // id
	file    string // path of the only file that its call read or changed, "" if there is no such file
	message int    // position in the log
	input   bool   // the arguments of a call
	written bool   // by the model
}

// edit is a text that a step replaced.
type edit struct {
	step int
	old  string
}

// partItems are the positions of a part's items; -1 if it has no such item.
type partItems struct {
	text, input, output int32
	message, part       int // position in the session
}

// Session is the log as it is replayed, with the ids that events name.
func (t *Trace) Session() session.Session {
	info := session.Info{ID: t.ID, Title: t.Name, Directory: t.directory}
	return session.Session{Info: info, Messages: slices.Clone(t.log)}
}

// Steps returns the number of model requests.
func (t *Trace) Steps() int { return len(t.steps) }

// Tokens returns the size of all items together.
func (t *Trace) Tokens() int {
	sum := 0
	for i := range t.items {
		sum += t.items[i].tokens
	}
	return sum
}

// idle is the pause before step k. Without times it is the given pause before a turn's first step,
// else 0.
func (t *Trace) idle(k int, between time.Duration) time.Duration {
	if s := &t.steps[k]; s.timed || !s.first || k == 0 {
		return s.idle
	}
	return between
}

// NewTrace prepares a session. Markers, summaries and repeated messages of earlier compactions are
// dropped: the log reads as if it had never been compacted.
func NewTrace(s session.Session, m model.Model, counter token.Counter) *Trace {
	t := &Trace{ID: s.Info.ID, Name: s.Info.Title, Model: m, directory: s.Info.Directory,
		declared: report.DeclaredIn(s.Info), parts: map[string]partItems{}, Base: -1}
	facts := rule.NewFacts(counter)
	var last session.Millis // when the newest step ended
	before := 0
	for i := 0; i < len(s.Messages); i++ {
		m, places, ok := bare(&s.Messages[i], i, len(t.log), 0)
		if !ok {
			continue
		}
		for ; i+1 < len(s.Messages) && oneStep(&s.Messages[i], &s.Messages[i+1]); i++ {
			more, at, _ := bare(&s.Messages[i+1], i+1, len(t.log), len(m.Parts))
			m.Parts, places = append(m.Parts, more.Parts...), append(places, at...)
			m.Time.Completed = max(m.Time.Completed, more.Time.Created, more.Time.Completed)
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
			s.answered(&m)
			t.steps = append(t.steps, s)
		} else if m.Written() && number >= 0 {
			t.steps[number].ends = true
		}
		for j := range m.Parts {
			t.add(&m.Parts[j], places[j], number, m.Role == session.Assistant, facts)
		}
		if m.Role == session.Assistant {
			last = max(last, m.Time.Created, m.Time.Completed) // a user's message does not use the cache
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
	rule.Window{Messages: t.log, Facts: facts}.Read() // understands the calls
	t.facts = facts.Fork()
	return t
}

// answered notes which model a step's answer names, and how long its usage says that the prompt is
// kept.
func (s *step) answered(m *session.Message) {
	s.model = m.Answers().String()
	if u := m.Tokens; u != nil && u.Cache.Write > 0 {
		s.hour = 2*u.Cache.Write1h > u.Cache.Write
		s.usual = !s.hour
	}
}

// add appends the items of a part.
func (t *Trace) add(p *session.Part, place [2]int, number int, produced bool, facts *rule.Facts) {
	size := facts.Size(p)
	at := partItems{-1, -1, -1, place[0], place[1]}
	file := t.understand(p, number)
	put := func(tokens int, text string, input bool) int32 {
		t.items = append(t.items, item{
			step: number, tokens: tokens, text: text, part: p.ID, file: file, message: len(t.log), input: input,
			written: input || produced && p.Type != session.ToolPart,
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

// understand notes what a call replaced, and returns the only file that it read or changed.
func (t *Trace) understand(p *session.Part, number int) (file string) {
	several := false
	for _, a := range call.Of(p, t.directory).Actions {
		if a.Op == call.Edit && a.Old != "" {
			t.edits = append(t.edits, edit{number, a.Old})
		}
		if a.Path != "" && (a.Op == call.Read || a.Op.Changes()) {
			several = several || file != "" && a.Path != file
			file = a.Path
		}
	}
	if several {
		return ""
	}
	return file
}

// parallel is the most time between two messages that are one answer: no model begins another one
// sooner. Some logs have each of an answer's calls in a message of its own.
const parallel = 1500 * time.Millisecond

// oneStep reports whether a message is the rest of the answer before it.
func oneStep(before, m *session.Message) bool {
	calls := func(p session.Part) bool { return p.Type == session.ToolPart && p.State != nil }
	gap := time.Duration(m.Time.Created-before.Time.Created) * time.Millisecond
	return before.Role == session.Assistant && m.Role == session.Assistant && !before.IsSummary() && !m.IsSummary() &&
		before.Time.Created > 0 && 0 <= gap && gap <= parallel &&
		slices.ContainsFunc(before.Parts, calls) && slices.ContainsFunc(m.Parts, calls)
}

// bare is a message with only the parts that are items, and their places in the session; ok is
// false if nothing remains. Ids are replaced: at is the position of the message in the log, first
// the number of its first part.
func bare(from *session.Message, i, at, first int) (m session.Message, places [][2]int, ok bool) {
	m = *from
	if m.Marker() != nil || m.IsSummary() || m.Companion() != "" {
		return m, nil, false
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
		p.ID = fmt.Sprintf("p%d.%d", at, first+len(parts)) // ids differ by product, and some products repeat them
		parts, places = append(parts, p), append(places, [2]int{i, j})
	}
	m.ID = fmt.Sprintf("m%d", at)
	m.Parts = parts
	return m, places, len(parts) > 0
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
