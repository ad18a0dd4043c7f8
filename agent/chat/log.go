package chat

import (
	"context"
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/agent/chat/internal/draw"
	"github.com/winnowhq/winnow/agent/chat/internal/panel"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/report"
)

// logMsg is the log of a session as it stands.
type logMsg struct {
	id       string
	info     session.Info
	messages []session.Message
	receipts []pivot.Receipt // the first time
	gauge    report.Gauge
	err      error
}

// sync reads the log, once at a time.
func (m *chat) sync() tea.Cmd {
	if m.session.id == "" {
		return nil
	}
	if m.session.syncing {
		m.session.again = true
		return nil
	}
	m.session.syncing, m.session.again = true, false
	id, first, engine := m.session.id, !m.session.loaded, m.config.Engine
	return m.do(func(ctx context.Context) func() tea.Cmd {
		msg := read(ctx, engine, id, first)
		return func() tea.Cmd { return m.synced(msg) }
	})
}

func read(ctx context.Context, engine *winnow.Engine, id string, first bool) logMsg {
	s, state, err := engine.Session(ctx, id)
	msg := logMsg{id: id, info: s.Info, messages: s.Messages, err: err}
	if err != nil {
		return msg
	}
	if msg.gauge, err = winnow.Look(ctx, engine, id, report.Measure); err != nil {
		msg.err = err
	}
	if first {
		msg.receipts = append([]pivot.Receipt{}, state.Receipts...)
	}
	return msg
}

// synced brings the transcript up to the log.
func (m *chat) synced(msg logMsg) tea.Cmd {
	m.session.syncing = false
	var next tea.Cmd
	if m.session.again || msg.id != m.session.id {
		next = m.sync()
	}
	switch {
	case msg.id != m.session.id:
		return next
	case msg.err != nil:
		m.transcript.Say(draw.Wrong("the session cannot be read: " + draw.Explain(msg.err)))
		m.notes()
		return next
	}
	m.session.title, m.session.gauge = msg.info.Title, msg.gauge
	if !m.session.loaded {
		m.load(msg)
		first := m.session.early
		m.session.early = nil
		for _, one := range first {
			next = tea.Batch(next, m.say(one.text, one.attached...))
		}
		return next
	}
	for _, one := range m.transcript.Log(msg.messages) {
		if one.Written() {
			m.arrived(one.Text())
		}
	}
	m.notes()
	if m.panel != nil {
		next = tea.Batch(next, m.toPanel(panel.WindowChanged{ID: m.session.id}))
	}
	return next
}

// load fills the transcript of a session that was not shown before.
func (m *chat) load(msg logMsg) {
	m.session.loaded = true
	var prunings []*pivot.Receipt
	for i := range msg.receipts {
		if r := &msg.receipts[i]; r.Marker != "" {
			m.transcript.Receipts[r.Marker] = r
		} else {
			prunings = append(prunings, r)
		}
	}
	var said []string
	for i := range msg.messages {
		one := &msg.messages[i]
		for len(prunings) > 0 && prunings[0].Log > 0 && prunings[0].Log <= i {
			m.transcript.Say(draw.PrunedNotice(prunings[0], m.model))
			prunings = prunings[1:]
		}
		m.transcript.Message(one, -1)
		if one.Written() {
			if text := one.Text(); text != "" {
				said = append(said, text)
			}
		}
	}
	m.input.Remember(said)
	for _, r := range prunings {
		m.transcript.Say(draw.PrunedNotice(r, m.model))
	}
	m.notes()
	m.session.resumes = unfinished(msg.messages) && len(m.session.early) == 0
	if m.session.resumes {
		m.transcript.Say(draw.Warn("this session stopped in the middle of a turn: enter on an empty line goes on " +
			"with it"))
	}
}

// unfinished reports whether a log ends in the middle of a turn.
func unfinished(log []session.Message) bool {
	for _, one := range slices.Backward(log) {
		if one.Marker() != nil || one.IsSummary() {
			continue
		}
		if one.Role == session.User || one.Failed() {
			return true
		}
		return slices.ContainsFunc(one.Parts, func(p session.Part) bool { return p.Type == session.ToolPart })
	}
	return false
}

// enter goes on with another session.
func (m *chat) enter(id string) tea.Cmd {
	if m.work != nil {
		m.tell("a turn goes on: esc stops it, then another session can be opened")
		return nil
	}
	m.panel = nil
	m.session = openSession{id: id, syncing: m.session.syncing, again: m.session.again, early: m.session.early}
	m.transcript.Clear()
	m.questions.grants.clear()
	return m.sync()
}
