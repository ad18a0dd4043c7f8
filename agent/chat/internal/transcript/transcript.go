// Package transcript shows what was said and done in a session: messages, calls, changes and
// notices, as they happen.
package transcript

import (
	"slices"

	"github.com/winnowhq/winnow/agent/chat/internal/draw"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/session"
)

// details is how much of what was done is unfolded.
type details int

const (
	folded  details = iota // one line a call
	newest                 // what belongs to the newest turn is open
	all                    // everything is
	ofThese                // how many there are
)

// item is one thing in the transcript: a message of the log, an answer that is being written, or a
// notice.
type item struct {
	message *session.Message
	notice  *draw.Notice
	live    *draw.Prose
	step    int // that is being written

	// What was laid out, and for what.
	lines  []string
	width  int
	open   bool
	moving bool // it holds a call that has not ended: it is laid out again with each beat
	stale  bool
}

// Transcript is what was said and done, oldest first. Only what is looked at is laid out, and once
// as long as it does not change.
type Transcript struct {
	items []*item
	at    map[string]int // of a message, by its id
	turn  int            // where the newest turn begins

	Receipts map[string]*pivot.Receipt // of compactions, by marker
	Progress map[string]string         // of calls that run, by call id
	Started  map[string]bool           // calls that run, by call id
	Asking   map[string]bool           // tools that wait for a permission, by name

	width, Height int
	style         draw.Style
	details       details
	Spinner       string

	// Where one is: at the end, or at the line of an item that is the first on the screen. Line −1
	// is the blank line before it.
	Scrolled bool
	top      int
	line     int

	laid int // lines laid out so far, for tests
}

// New is an empty transcript.
func New(s draw.Style) *Transcript {
	t := &Transcript{style: s}
	t.Clear()
	return t
}

// Clear forgets all that is shown.
func (t *Transcript) Clear() {
	t.items, t.turn, t.Scrolled = nil, 0, false
	t.at, t.Receipts, t.Progress = map[string]int{}, map[string]*pivot.Receipt{}, map[string]string{}
	t.Started, t.Asking = map[string]bool{}, map[string]bool{}
}

// Log brings the transcript up to a log: messages that are new come where the log has them, what is
// newer of the others takes their place. It gives those that were not there before.
func (t *Transcript) Log(messages []session.Message) (added []*session.Message) {
	for i := range messages {
		m := &messages[i]
		if _, known := t.at[m.ID]; !known {
			t.Message(m, t.next(messages[i+1:]))
			added = append(added, m)
			continue
		}
		t.Message(m, -1)
	}
	return added
}

// next is the place of the first of these messages that is there, −1 without one.
func (t *Transcript) next(messages []session.Message) int {
	for i := range messages {
		if at, known := t.at[messages[i].ID]; known {
			return at
		}
	}
	return -1
}

// Message adds a message of the log before an item, or at the end where that is negative; or it
// puts its newer form in the place of the older. What is being written stays behind it, as it is in
// no log yet.
func (t *Transcript) Message(m *session.Message, before int) {
	if i, known := t.at[m.ID]; known {
		it := t.items[i]
		if it.message != nil && same(it.message, m) {
			return
		}
		it.message, it.live, it.stale = alone(m), nil, true
		return
	}
	live := t.Writing()
	switch {
	case before >= 0:
	case m.Role == session.Assistant && !m.IsSummary() && live != nil:
		t.DropLive() // it is this one
		before = len(t.items)
	case live != nil:
		before = slices.Index(t.items, live)
	default:
		before = len(t.items)
	}
	t.insert(before, &item{message: alone(m)})
	if m.Written() {
		t.turn = t.at[m.ID]
	}
}

// alone is a message by itself. A pointer into a log would hold the whole of it in memory, and the
// transcript has read a log for each message.
func alone(m *session.Message) *session.Message {
	one := *m
	return &one
}

// insert puts an item before another.
func (t *Transcript) insert(at int, it *item) {
	t.items = slices.Insert(t.items, at, it)
	if t.Scrolled && t.top >= at {
		t.top++
	}
	if t.turn >= at && at < len(t.items)-1 {
		t.turn++
	}
	t.index(at)
}

// index notes where the messages are, from an item on.
func (t *Transcript) index(from int) {
	for i, it := range t.items[from:] {
		if it.message != nil {
			t.at[it.message.ID] = from + i
		}
	}
}

// same reports whether a message stands as it stood: what the engine hands out is never changed in
// place.
func same(a, b *session.Message) bool {
	return len(a.Parts) == len(b.Parts) && (len(a.Parts) == 0 || &a.Parts[0] == &b.Parts[0]) && a.Finish == b.Finish &&
		a.Failed() == b.Failed()
}

func (t *Transcript) add(it *item) {
	t.items = append(t.items, it)
}

// Say adds a notice.
func (t *Transcript) Say(n draw.Notice) { t.add(&item{notice: &n}) }

// Delta adds to the answer that is being written.
func (t *Transcript) Delta(step int, text string) {
	it := t.Writing()
	if it == nil {
		it = &item{live: &draw.Prose{Width: t.width, Style: t.style}, step: step}
		t.add(it)
	}
	it.live.Write(text)
	it.stale = true
}

// Writing is the answer that is being written, nil while none is. Notices may stand behind it.
func (t *Transcript) Writing() *item {
	for i := len(t.items) - 1; i >= 0 && i >= len(t.items)-20; i-- {
		if t.items[i].live != nil && t.items[i].message == nil {
			return t.items[i]
		}
	}
	return nil
}

// DropLive forgets what was written of an answer.
func (t *Transcript) DropLive() {
	live := t.Writing()
	if live == nil {
		return
	}
	at := slices.Index(t.items, live)
	t.items = slices.Delete(t.items, at, at+1)
	if t.Scrolled && t.top > at {
		t.top--
	}
	t.index(at)
}

// Answered gives the answer that was being written its name: the message comes with the log.
func (t *Transcript) Answered(id string) {
	live := t.Writing()
	switch _, known := t.at[id]; {
	case known:
		t.DropLive()
		return
	case live == nil: // it has no text; its place is here
		t.add(&item{message: &session.Message{MessageInfo: session.MessageInfo{ID: id, Role: session.Assistant}}})
		t.at[id] = len(t.items) - 1
		return
	}
	live.message = &session.Message{MessageInfo: session.MessageInfo{ID: id, Role: session.Assistant},
		Parts: []session.Part{{Type: session.TextPart, Text: live.live.Text()}}}
	live.live, live.stale = nil, true
	t.at[id] = slices.Index(t.items, live)
}

// Call puts the newer form of a call into its message.
func (t *Transcript) Call(message string, p session.Part) {
	i, known := t.at[message]
	if !known || t.items[i].message == nil {
		return
	}
	m := *t.items[i].message
	m.Parts = append([]session.Part(nil), m.Parts...)
	for j := range m.Parts {
		if m.Parts[j].ID == p.ID && p.ID != "" || m.Parts[j].CallID == p.CallID && p.CallID != "" &&
			m.Parts[j].Type == session.ToolPart {
			m.Parts[j] = p
			t.items[i].message, t.items[i].stale = &m, true
			return
		}
	}
}

// isOpen reports whether an item is unfolded.
func (t *Transcript) isOpen(i int) bool {
	return t.details == all || t.details == newest && i >= t.turn
}

// laidOut gives the lines of an item.
func (t *Transcript) laidOut(i int) []string {
	it := t.items[i]
	open := t.isOpen(i)
	if it.width == t.width && it.open == open && !it.stale && !it.moving {
		return it.lines
	}
	it.moving = false
	switch {
	case it.live != nil:
		if it.live.Width != t.width {
			it.live.Resize(t.width)
		}
		it.lines = it.live.All()
	case it.notice != nil:
		it.lines = it.notice.Lines(t.width, t.style)
	default:
		it.lines = t.layMessage(it, open)
	}
	t.laid += len(it.lines)
	it.width, it.open, it.stale = t.width, open, false
	return it.lines
}

// gap is how many blank lines stand before an item.
func (t *Transcript) gap(i int) int {
	if len(t.laidOut(i)) == 0 {
		return 0
	}
	for j := i - 1; j >= 0; j-- {
		if len(t.laidOut(j)) == 0 {
			continue
		}
		if t.items[j].close(true) && t.items[i].close(false) {
			return 0
		}
		return 1
	}
	return 0
}

// close reports whether an item's end, or its beginning, stands close to a neighbour that stands
// close too: calls under calls.
func (it *item) close(end bool) bool {
	switch {
	case it.notice != nil:
		return true
	case it.message == nil:
		return false
	case it.message.Marker() != nil:
		return end
	case it.message.IsSummary():
		return !end && !it.open
	case it.message.Role == session.User:
		return !it.message.Written()
	}
	at, step := 0, 1
	if end {
		at, step = len(it.message.Parts)-1, -1
	}
	for ; at >= 0 && at < len(it.message.Parts); at += step {
		switch p := &it.message.Parts[at]; {
		case p.Type == session.ToolPart, p.Type == session.ReasoningPart && p.Text != "":
			return true
		case p.Type == session.TextPart && p.Text != "":
			return false
		}
	}
	return true
}

// Unfold shows more of what was done, or folds all of it, and says which.
func (t *Transcript) Unfold() string {
	t.details = (t.details + 1) % ofThese
	return [...]string{"folded", "the newest turn is unfolded", "all is unfolded"}[t.details]
}

// Folded shows the receipt of a compaction at its marker.
func (t *Transcript) Folded(r *pivot.Receipt) {
	t.Receipts[r.Marker] = r
	if i, known := t.at[r.Marker]; known {
		t.items[i].stale = true
	}
}

// Written are the messages that the user wrote, the newest first.
func (t *Transcript) Written() (all []*session.Message) {
	for _, it := range slices.Backward(t.items) {
		if it.message != nil && it.message.Role == session.User && it.message.Written() {
			all = append(all, it.message)
		}
	}
	return all
}

// Laid is how many lines were laid out so far.
func (t *Transcript) Laid() int { return t.laid }
