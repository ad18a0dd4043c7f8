package chat

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/agent/chat/internal/draw"
	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/session"
)

// work is a turn that goes on.
type work struct {
	cancel  context.CancelFunc
	stopped bool // by somebody
	since   time.Time
	step    int
	silent  bool      // nothing of the answer has come yet
	waits   string    // why a request is made again later, "" while none waits
	until   time.Time // when
}

func (w *work) stop() {
	w.stopped = true
	w.cancel()
}

// endedMsg says how a turn ended.
type endedMsg struct {
	work *work
	turn agent.Turn
	err  error
}

// say tells the model something: at once, or at the next boundary between two steps where it works.
func (m *chat) say(text string, attached ...session.Part) tea.Cmd {
	if m.session.id != "" && !m.session.loaded {
		m.session.early = append(m.session.early, queued{text: text, attached: attached})
		return nil
	}
	if m.work != nil {
		m.session.queued = append(m.session.queued, &queued{text: text, attached: attached})
		m.handOver()
		return nil
	}
	loop := m.loop
	return m.start(func(ctx context.Context, id string) (agent.Turn, error) {
		return loop.Run(ctx, id, text, attached...)
	})
}

// queued is something that was said while the loop works, and is not in the log yet.
type queued struct {
	text     string
	attached []session.Part
	said     bool // the loop has it
}

// handOver gives the loop what was said meanwhile, in order. What it does not take, because it has
// not begun or has just ended, waits.
func (m *chat) handOver() {
	for _, q := range m.session.queued {
		if !q.said && !m.loop.Say(m.session.id, q.text, q.attached...) {
			return
		}
		q.said = true
	}
}

// arrived forgets a queued text that is in the log now.
func (m *chat) arrived(text string) {
	for i, q := range m.session.queued {
		if q.text == text {
			m.session.queued = append(m.session.queued[:i:i], m.session.queued[i+1:]...)
			return
		}
	}
}

// resume goes on with a turn that was not finished.
func (m *chat) resume() tea.Cmd {
	loop := m.loop
	return m.start(func(ctx context.Context, id string) (agent.Turn, error) { return loop.Resume(ctx, id) })
}

// start lets the loop work. A session that there is not yet is made first.
func (m *chat) start(turn func(ctx context.Context, id string) (agent.Turn, error)) tea.Cmd {
	ctx, cancel := context.WithCancel(m.ctx)
	w := &work{cancel: cancel, since: m.now(), silent: true}
	m.work, m.session.resumes = w, false
	if m.session.id == "" {
		id, err := m.config.Engine.Create(ctx, session.Info{Directory: m.config.Directory,
			Model: &session.ModelRef{ProviderID: m.model.Provider, ModelID: m.model.ID}})
		if err != nil {
			cancel()
			m.work = nil
			m.fail("", err)
			return nil
		}
		m.session.id, m.session.loaded = id, true
	}
	id := m.session.id
	m.group.Add(1)
	ended := make(chan endedMsg, 1)
	go func() {
		defer m.group.Done()
		defer cancel()
		got, err := turn(ctx, id)
		ended <- endedMsg{w, got, err}
	}()
	return tea.Batch(m.tickLater(), func() tea.Msg { return <-ended })
}

// ended shows how a turn ended, and goes on with what was said too late for it.
func (m *chat) ended(msg endedMsg) tea.Cmd {
	if msg.work != m.work {
		return nil
	}
	commands := []tea.Cmd{m.happened(m.feed.take())}
	m.work = nil
	switch {
	case msg.err == nil && msg.turn.Finish == llm.Length:
		m.noteAfter(draw.Warn("the answer was cut off at the model's limit; say “go on”"))
	case msg.err == nil:
	case msg.work.stopped:
		m.noteAfter(draw.Notice{Sign: "■", Text: "interrupted", Tone: draw.Warning})
		m.session.resumes = true
	default:
		text := draw.Explain(msg.err)
		if m.config.Advice != nil {
			if advice := m.config.Advice(msg.err); advice != "" {
				text += "\n" + advice
			}
		}
		m.noteAfter(draw.Wrong(text + "\nenter on an empty line tries again"))
		m.session.resumes = true
	}
	m.questions.waiting = nil
	commands = append(commands, m.sync(), m.notify(m.now().Sub(msg.work.since)))
	for i, q := range m.session.queued {
		if !q.said { // it came too late for this turn
			m.session.queued = append(m.session.queued[:i:i], m.session.queued[i+1:]...)
			commands = append(commands, m.say(q.text, q.attached...))
			break
		}
	}
	return tea.Batch(commands...)
}

// tickMsg moves what shows that something goes on.
type tickMsg struct{}

const tickEvery = 250 * time.Millisecond

var spinner = []string{"◐", "◓", "◑", "◒"}

func (m *chat) tickLater() tea.Cmd {
	if m.status.ticking {
		return nil
	}
	m.status.ticking = true
	return tea.Tick(tickEvery, func(time.Time) tea.Msg { return tickMsg{} })
}

func (m *chat) tick() tea.Cmd {
	m.status.ticking = false
	m.status.frame++
	if m.work == nil && m.status.doing == "" {
		return nil
	}
	return m.tickLater()
}
