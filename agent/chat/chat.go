package chat

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/agent/chat/internal/draw"
	"github.com/winnowhq/winnow/agent/chat/internal/panel"
	"github.com/winnowhq/winnow/agent/chat/internal/transcript"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/store/report"
)

// chat is the program: what is known, what is drawn, and what happens on a key.
type chat struct {
	config Config
	ctx    context.Context // ends with the program; work and questions live in it
	group  *sync.WaitGroup // of what was begun and has to end before Run does
	feed   *feed
	style  draw.Style

	loop    *agent.Loop
	model   model.Model
	session openSession
	work    *work // the turn that goes on, or nil
	folding folding

	transcript *transcript.Transcript
	input      input
	panel      panel.Panel
	questions  questions
	status     status

	width, height int
	keyboard      keyboard
	drawing       drawing
	now           func() time.Time
}

// openSession is the session that is shown, as far as it has been read.
type openSession struct {
	id    string // "" before the first message
	title string
	gauge report.Gauge

	loaded  bool // the transcript has its log
	syncing bool // the log is being read
	again   bool // and must be read once more

	early   []queued      // said before the log was read
	queued  []*queued     // said while the loop works
	notices []draw.Notice // shown once the log is read, behind the messages that they are about
	resumes bool          // the last turn is not at its end: enter goes on with it
}

// folding is what is known of a summary that is being written.
type folding struct {
	stop      func()           // stops one that was asked for, nil while none goes on
	written   int              // characters of the summary so far
	preparing bool             // one is being written beside the work, or is at hand
	warned    winnow.EventType // the last warning about the full window; "" since it was made smaller
}

// status is what the line above the input shows.
type status struct {
	hint    string // until the next key: "ctrl+c again quits"
	doing   string // work that is no turn: "folding the past"
	frame   int    // of the spinner
	ticking bool
}

// keyboard is when keys were pressed, and who has the mouse.
type keyboard struct {
	typed     time.Time // the last key
	quitting  time.Time // the last ctrl+c
	selecting bool      // the mouse is the terminal's
}

// drawing is the screen as it was drawn last.
type drawing struct {
	view  tea.View
	at    time.Time
	due   bool // view does not show what is
	later bool // a redraw is on its way
}

// redrawEvery is the shortest time between two drawings: a paste that comes as single keys must not
// be drawn for each.
const redrawEvery = 16 * time.Millisecond

// Run works with somebody at a terminal until they leave, or ctx ends. Work that goes on is
// interrupted then; the session can be resumed.
func Run(ctx context.Context, c Config) error {
	if err := c.check(); err != nil {
		return err
	}
	if c.Environ == nil {
		c.Environ = os.Environ()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	m := newChat(ctx, c)
	if err := m.open(c.Model); err != nil {
		return err
	}
	defer m.group.Wait()
	defer cancel()
	events := c.Engine.Subscribe(1 << 12)
	m.group.Go(func() {
		for e := range events.C {
			m.feed.push(e)
		}
	})
	defer events.Close()
	p := tea.NewProgram(m, m.options()...)
	defer context.AfterFunc(ctx, func() { quitBy(p) })()
	_, err := p.Run()
	if left := m.leave(m.output()); err == nil {
		err = left
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return fmt.Errorf("chat: the terminal: %w", err)
	}
	return nil
}

// quitBy ends the program so that the terminal is as it was before: a program that is merely killed
// leaves it without an echo. One that does not listen is killed.
func quitBy(p *tea.Program) {
	hung := time.AfterFunc(time.Second, p.Kill)
	defer hung.Stop()
	p.Quit()
	p.Wait()
}

func newChat(ctx context.Context, c Config) *chat {
	s := styleFor(c)
	m := &chat{config: c, ctx: ctx, group: &sync.WaitGroup{}, feed: newFeed(), style: s,
		session: openSession{id: c.Session}, transcript: transcript.New(s),
		now: time.Now, width: 80, height: 24, drawing: drawing{due: true}}
	if c.Notice != "" {
		m.transcript.Say(draw.Say(c.Notice))
	}
	return m
}

func (m *chat) options() []tea.ProgramOption {
	options := []tea.ProgramOption{tea.WithoutSignalHandler(), tea.WithEnvironment(m.config.Environ), tea.WithFPS(30)}
	if m.config.Input != nil {
		options = append(options, tea.WithInput(m.config.Input))
	}
	if m.config.Output != nil {
		options = append(options, tea.WithOutput(m.config.Output))
	}
	if colorless(m.config) {
		options = append(options, tea.WithColorProfile(colorprofile.ASCII))
	}
	return options
}

// open makes the loop that asks a model; "" is the one that Config.Open decides on.
func (m *chat) open(name string) error {
	loop, chosen, err := m.config.Open(m.ctx, Opening{Model: name, Ask: m.ask,
		OnEvent: func(e agent.Event) { m.feed.push(e) }})
	if err != nil {
		return err
	}
	m.loop, m.model = loop, chosen
	return nil
}

// Init begins to work on the prompt of the command line.
func (m *chat) Init() tea.Cmd {
	commands := []tea.Cmd{m.feed.next(m.ctx), tea.RequestWindowSize, m.askBackground()}
	if m.config.Prompt != "" {
		commands = append(commands, m.say(m.config.Prompt))
	}
	return tea.Batch(append(commands, m.sync())...)
}

// Update takes a message. What it changes is drawn at once, or a moment later where much comes at a
// time.
func (m *chat) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmd tea.Cmd
	if _, ok := msg.(redrawMsg); ok {
		m.drawing.due, m.drawing.later = true, false
	} else {
		cmd = m.update(msg)
	}
	if m.drawing.due || m.drawing.later {
		return m, cmd
	}
	if since := m.now().Sub(m.drawing.at); since < redrawEvery {
		m.drawing.later = true
		return m, tea.Batch(cmd, tea.Tick(redrawEvery-since, func(time.Time) tea.Msg { return redrawMsg{} }))
	}
	m.drawing.due = true
	return m, cmd
}

type redrawMsg struct{}

// View draws where something is due.
func (m *chat) View() tea.View {
	if m.drawing.due {
		m.drawing.view, m.drawing.due, m.drawing.at = m.draw(), false, m.now()
	}
	return m.drawing.view
}

func (m *chat) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = max(msg.Width, 20), max(msg.Height, 6)
		return nil
	case tea.KeyPressMsg:
		return m.key(msg)
	case tea.PasteMsg:
		return m.paste(msg)
	case tea.MouseWheelMsg:
		return m.wheel(msg)
	case tea.BackgroundColorMsg:
		m.background(msg)
		return nil
	case tea.ResumeMsg:
		return m.askBackground()
	case fedMsg:
		return tea.Batch(m.happened(msg), m.feed.next(m.ctx))
	case tickMsg:
		return m.tick()
	case endedMsg:
		return m.ended(msg)
	case doneMsg:
		return msg.then()
	case panel.ModelChosen:
		return m.typedCommand("/model " + string(msg))
	case panel.SessionChosen:
		return m.enter(string(msg))
	case panel.RevertChosen:
		return m.revert(msg.Message)
	case panel.CompactChosen:
		return m.fold(msg.Focus)
	case composedMsg:
		m.composed(msg)
		return nil
	case panel.SaidChosen:
		m.panel = nil
		m.input.Set(string(msg))
		return nil
	case panel.CopyChosen:
		return m.copied(panel.Copy(msg))
	case panel.CommandChosen:
		return m.typedCommand(string(msg))
	}
	if m.panel != nil {
		return m.toPanel(msg)
	}
	return nil
}

func (m *chat) toPanel(msg tea.Msg) tea.Cmd {
	next, cmd := panel.Updated(m.panel, msg)
	m.panel = next
	if next == nil { // what was done in it may not be in the bar yet
		cmd = tea.Batch(cmd, m.sync())
	}
	return cmd
}

// tell shows what a command did.
func (m *chat) tell(text string) {
	if text != "" {
		m.note(draw.Say(text))
	}
}

// fail shows that a command failed, and what that means.
func (m *chat) fail(meaning string, err error) {
	if meaning != "" {
		meaning += ": "
	}
	m.note(draw.Wrong(meaning + draw.Explain(err)))
}

// note shows a notice, behind those that wait for the log.
func (m *chat) note(n draw.Notice) {
	if len(m.session.notices) > 0 {
		m.noteAfter(n)
		return
	}
	m.transcript.Say(n)
}

// noteAfter shows a notice once the log is read again: the transcript may not have the messages yet
// that it is about.
func (m *chat) noteAfter(n draw.Notice) { m.session.notices = append(m.session.notices, n) }

// notes shows what waited for the log.
func (m *chat) notes() {
	if m.session.syncing {
		return
	}
	for _, n := range m.session.notices {
		m.transcript.Say(n)
	}
	m.session.notices = nil
}

// do does something that takes time beside the program, and lets it go on with what came of it.
func (m *chat) do(work func(ctx context.Context) func() tea.Cmd) tea.Cmd {
	m.group.Add(1)
	var once sync.Once
	// a command that is never run ends nothing
	stop := context.AfterFunc(m.ctx, func() { time.AfterFunc(time.Second, func() { once.Do(m.group.Done) }) })
	return func() tea.Msg {
		defer stop()
		defer once.Do(m.group.Done)
		then := work(m.ctx)
		if then == nil {
			then = func() tea.Cmd { return nil }
		}
		return doneMsg{then}
	}
}

// doneMsg goes on with what came of some work.
type doneMsg struct{ then func() tea.Cmd }
