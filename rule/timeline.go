package rule

import (
	"slices"
	"unsafe"

	"github.com/winnowhq/winnow/session"
)

// Item is a part of a window with its place in it: what a rule reads. It never changes once it stands on the timeline.
type Item struct {
	Part    *session.Part
	Message string // id of its message
	Role    session.Role
	At      int // position on the timeline: of two items the greater is newer
	// Turn counts the messages that the user wrote up to it, Asked all user messages (turns as the seeds' programs count them), and Step the
	// model requests.
	Turn, Asked, Step int
	// Call is what is known of a tool call that ended; nil for other parts.
	Call *Call

	size  *fact
	short *shortInput  // once a rule asked for it
	plain *plainOutput // likewise
}

// Size of the part as the log has it.
func (x *Item) Size() Size { return x.size.size.size() }

// timeline holds the parts of a window that a rule may look at, in their order, as far as nothing about them can change any more. It grows
// with the window; where the window is another one than before it begins again, with a new generation.
type timeline struct {
	facts      *Facts
	read       []stamp // of the messages that it stands for
	items      []*Item
	fresh      []Item // to take new ones from
	cwd        string
	now        Item // its counters are those of the newest message
	memory     map[any]any
	open       map[*redundant]*open // by the first of a list
	unmoved    *unmoved
	generation int
}

// stamp tells whether a message is the one that was read: a message that changes gets parts of its own.
type stamp struct {
	id    string
	parts *session.Part
	n     int
}

func stampOf(m *session.Message) stamp { return stamp{m.ID, unsafe.SliceData(m.Parts), len(m.Parts)} }

// Noticed is how many of the newest messages that the rules read may be replaced in a list without a word: whoever replaces one further back says so
// with Facts.Forget.
const Noticed = 64

// Forget says that the messages may be others than they were: the rules read them anew. What is known of each part by itself stays, as far as its
// texts do.
func (f *Facts) Forget() { f.stale = true }

// timeline brings the timeline of a window up to date. What it costs grows with what is new.
func (f *Facts) timeline(messages []session.Message) *timeline {
	t := f.line
	settled := settled(messages)
	if t == nil || f.stale || len(t.read) > settled || !t.continues(messages) {
		f.stale = false
		t = &timeline{facts: f, memory: map[any]any{}, open: map[*redundant]*open{}}
		if f.line != nil {
			t.generation = f.line.generation + 1
		}
		f.line = t
	}
	if more := settled - len(t.read); more >= itemsAtOnce {
		t.read, t.items = slices.Grow(t.read, more), slices.Grow(t.items, more)
	}
	for i := len(t.read); i < settled; i++ {
		t.add(&messages[i])
	}
	f.learned = learned{}
	return t
}

// continues reports whether messages begin with those that were read. A list that grew does; another one, a fork or a window that begins elsewhere, has
// others at its beginning or among those that were the newest. To compare all would read all of a log at each step.
func (t *timeline) continues(messages []session.Message) bool {
	if len(t.read) > 0 && t.read[0] != stampOf(&messages[0]) {
		return false
	}
	for i := max(0, len(t.read)-Noticed); i < len(t.read); i++ {
		if t.read[i] != stampOf(&messages[i]) {
			return false
		}
	}
	return true
}

// settled is how many messages, from the oldest on, will not change any more: all, but for the newest step when one of its calls has
// not ended. A call that the session went on without stays as it is.
func settled(messages []session.Message) int {
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Role != session.Assistant {
			continue
		}
		for j := range messages[i].Parts {
			if p := &messages[i].Parts[j]; p.Type == session.ToolPart && p.State != nil && !p.State.Final() {
				return i
			}
		}
		break
	}
	return len(messages)
}

// know is what the index knows of a part. Of many that were learned just now it is at hand.
func (t *timeline) know(p *session.Part) *fact {
	if known := t.facts.learned.next(p); known != nil && known.indexed && known.is(p) {
		return known
	}
	return t.facts.know(p)
}

// itemsAtOnce is how many items are made at a time.
const itemsAtOnce = 256

func (t *timeline) add(m *session.Message) {
	t.read = append(t.read, stampOf(m))
	if m.Path != nil && m.Path.Cwd != "" {
		t.cwd = m.Path.Cwd
	}
	if _, kept := m.Kept(); kept {
		return // it is there because somebody asked for it
	}
	switch {
	case m.Role == session.User:
		t.now.Asked++
		if m.Written() {
			t.now.Turn++
		}
	case m.IsSummary():
		return // nothing of a summary is ever left out
	default:
		t.now.Step++
	}
	if m.Marker() != nil {
		return
	}
	begun := false // something of this message's step was seen
	for j := range m.Parts {
		p := &m.Parts[j]
		if p.Type == session.StepStartPart && begun {
			t.now.Step++
		}
		begun = begun || p.Type != session.StepStartPart
		called := p.Type == session.ToolPart && p.State != nil && p.State.Final()
		if !called && p.Type != session.FilePart && (p.Type != session.TextPart || m.Role != session.User || p.Ignored || p.Synthetic) {
			continue
		}
		if len(t.fresh) == 0 {
			t.fresh = make([]Item, itemsAtOnce)
		}
		x := &t.fresh[0]
		t.fresh = t.fresh[1:]
		*x = Item{Part: p, Message: m.ID, Role: m.Role, At: len(t.items), Turn: t.now.Turn, Asked: t.now.Asked, Step: t.now.Step, size: t.know(p)}
		if called {
			x.Call = t.facts.call(p, x.size, t.cwd)
		}
		t.items = append(t.items, x)
	}
}
