package view

import (
	"errors"
	"slices"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
)

// Live is the view of a log that grows: what was rendered, measured and checked once is not looked
// at again. The zero value is empty. It is not safe for concurrent use.
type Live struct {
	// Labels are written under results; nil for none. They are set before the first Sync.
	Labels *Labels
	// Markers of steps that are shown. It is set before the first Sync.
	Markers Markers

	log      int // how many messages of the log it stands for
	skipped  int // log positions before window[head]
	head     int // marker, summary and tail at the beginning of the window, which stand in another order than the log's
	window   []session.Message
	rendered []session.Message
	at       []mark // parallel to window: what was there before each message
	end      mark
	problems []error
	// lent: somebody may still have window or rendered as they were handed out.
	lent bool

	ids     map[string]int // position in the window of the first message with an id, of as many messages as
	indexed int
}

type mark struct{ rendered, tokens, problems int }

// Sync brings the view up to date. dirty is the first position of the log that changed since the
// last Sync: the length that the log had when messages were only appended. When the ledger, the
// pivots or what is undone changed, call Reset first.
func (l *Live) Sync(log []session.Message, undone map[string]bool, ledger rule.Ledger, facts *rule.Facts, dirty int) {
	if l.window == nil || dirty > l.log || !l.cut(dirty) || moved(log[dirty:]) || len(undone) > 0 {
		l.Reset()
		l.window = slices.Clone(Window(log, undone))
		l.skipped = len(log) - len(l.window)
		if Pivot(l.window) != nil {
			l.head = len(l.window) - (len(log) - 1 - session.Index(log, l.window[1].ID))
		}
		l.at = make([]mark, 0, len(l.window))
		l.rendered = make([]session.Message, 0, len(l.window))
	} else {
		l.window = append(l.window, log[dirty:]...)
	}
	l.log = len(log)
	for i := len(l.at); i < len(l.window); i++ {
		l.add(i, ledger, facts)
	}
}

// Reset forgets what was rendered.
func (l *Live) Reset() { *l = Live{Labels: l.Labels, Markers: l.Markers} }

// moved reports whether any of the messages may change where the window begins.
func moved(messages []session.Message) bool {
	for i := range messages {
		if messages[i].Marker() != nil || messages[i].IsSummary() {
			return true
		}
	}
	return false
}

// cut takes back everything from a position of the log on; ok is false when that is not possible.
func (l *Live) cut(position int) (ok bool) {
	if position == l.log {
		return true
	}
	at := position - l.skipped
	if at < l.head || at < 0 || moved(l.window[at:]) {
		return false
	}
	l.end = l.at[at]
	for ; l.indexed > at; l.indexed-- {
		if id := l.window[l.indexed-1].ID; l.ids[id] == l.indexed-1 {
			delete(l.ids, id)
		}
	}
	l.rendered, l.window, l.at = l.rendered[:l.end.rendered], l.window[:at], l.at[:at]
	l.problems = slices.Clip(l.problems[:l.end.problems])
	if l.lent { // the next append must not share memory
		l.rendered, l.window, l.lent = slices.Clip(l.rendered), slices.Clip(l.window), false
	}
	return true
}

// add renders, measures and checks one message of the window.
func (l *Live) add(i int, ledger rule.Ledger, facts *rule.Facts) {
	l.at = append(l.at, l.end)
	one := l.window[i : i+1]
	if l.window[i].Marker() != nil && answered(l.window[i:]) {
		one = l.window[i : i+2] // a marker is rendered for the sake of its summary
	}
	shown := l.Labels.Render(Render(one, ledger), ledger)
	if len(shown) > 1 {
		shown = shown[:1]
	}
	shown = l.Markers.Of(shown)
	for _, m := range shown {
		l.end.tokens += Message(&l.window[i], ledger, facts) + l.Labels.Tokens(&l.window[i], ledger, facts)
		if err := Check(shown); err != nil {
			l.problems = append(l.problems, err)
		}
		l.rendered = append(l.rendered, m)
	}
	l.end.rendered, l.end.problems = len(l.rendered), len(l.problems)
}

// Window is what counts now. The caller must not change it, and may keep it.
func (l *Live) Window() []session.Message {
	l.lent = true
	return l.Peek()
}

// Peek is Window until the next Sync: it may become another one then, and costs nothing.
func (l *Live) Peek() []session.Message { return l.window[:len(l.window):len(l.window)] }

// Rendered is what the model is sent. The caller must not change it, and may keep it.
func (l *Live) Rendered() []session.Message {
	l.lent = true
	return l.rendered[:len(l.rendered):len(l.rendered)]
}

// Tokens is the size of what is rendered.
func (l *Live) Tokens() int { return l.end.tokens }

// TokensBefore is the size of what is rendered before a position of the log, -1 when that is before
// the pivot.
func (l *Live) TokensBefore(position int) int {
	at := position - l.skipped
	if at < l.head || at < 0 || at >= len(l.at) {
		return -1
	}
	return l.at[at].tokens
}

// Before is how many tokens of what is rendered stand before what an elision leaves out, the name
// and the arguments of a call where it is about what the call gave back; ok is false when its part
// is not in the window. What is between two calls must have been handed to Sync, with this ledger.
//
// It costs what the message has of parts: messages are found by id in an index that grows with the
// window.
func (l *Live) Before(e rule.Elision, ledger rule.Ledger, facts *rule.Facts) (tokens int, ok bool) {
	for ; l.indexed < len(l.window); l.indexed++ {
		if l.ids == nil {
			l.ids = make(map[string]int, len(l.window))
		}
		if _, known := l.ids[l.window[l.indexed].ID]; !known {
			l.ids[l.window[l.indexed].ID] = l.indexed
		}
	}
	i, ok := l.ids[e.Message]
	for ; ok && i < len(l.window); i++ { // the first with the id, and others that have it too
		m := &l.window[i]
		if m.ID != e.Message {
			continue
		}
		tokens := l.at[i].tokens
		for j := range m.Parts {
			p := &m.Parts[j]
			size := Part(p, ledger, facts)
			if p.ID != e.Part {
				tokens += size.Total() + l.Labels.Part(p, ledger, facts)
				continue
			}
			if e.Field == rule.Output || e.Field == rule.Error || e.Field == rule.Attachments {
				tokens += size.Input
			}
			return tokens, true
		}
	}
	return 0, false
}

// Check is what Check says of what is rendered.
func (l *Live) Check() error { return errors.Join(l.problems...) }
