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
	"github.com/winnowhq/winnow/agent/chat/internal/editor"
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
	session string // id, "" before the first message
	title   string

	transcript *transcript.Transcript
	editor     editor.Editor
	panel      panel.Panel
	asks       []*question // the first is shown
	shown      shown
	grants     *grants
	complete   completion

	work      *work
	queued    []*queued
	first     []queued         // to be said once the log is read
	after     []draw.Notice    // to be shown then, behind the messages that they are about
	resumes   bool             // the last turn is not at its end: enter goes on with it
	doing     string           // what else takes time: "folding the past"
	preparing bool             // a summary is being written beside the work, or is at hand
	stopFold  func()           // stops a folding that was asked for, nil while none goes on
	written   int              // characters of the summary so far
	warned    winnow.EventType // the last that was told of how full the window is; "" since it was made smaller
	frame     int              // of the spinner
	ticking   bool
	syncing   bool // the log is being read
	again     bool // and must be read once more
	loaded    bool // the transcript has the session's log
	gauge     report.Gauge

	width, height int
	selecting     bool   // the mouse is the terminal's
	hint          string // shown until the next key: "ctrl+c again quits"
	quitting      time.Time
	typed         time.Time // when the last key was pressed
	now           func() time.Time

	drawn  tea.View
	due    bool // what is drawn does not show what is
	later  bool // a redraw is on its way
	drewAt time.Time
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
	m := &chat{config: c, ctx: ctx, group: &sync.WaitGroup{}, feed: newFeed(), style: s, session: c.Session,
		transcript: transcript.New(s), grants: &grants{}, now: time.Now, width: 80, height: 24, due: true}
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
		m.due, m.later = true, false
	} else {
		cmd = m.update(msg)
	}
	if m.due || m.later {
		return m, cmd
	}
	if since := m.now().Sub(m.drewAt); since < redrawEvery {
		m.later = true
		return m, tea.Batch(cmd, tea.Tick(redrawEvery-since, func(time.Time) tea.Msg { return redrawMsg{} }))
	}
	m.due = true
	return m, cmd
}

// told is a line for the transcript: what a command did.
type told struct {
	text string
	err  error
}

type redrawMsg struct{}

// View draws where something is due.
func (m *chat) View() tea.View {
	if m.due {
		m.drawn, m.due, m.drewAt = m.draw(), false, m.now()
	}
	return m.drawn
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
		return msg.then(m)
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
		m.editor.Set(string(msg))
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

func (m *chat) tell(t told) {
	switch {
	case t.err != nil && t.text != "":
		m.note(draw.Wrong(t.text + ": " + draw.Explain(t.err)))
	case t.err != nil:
		m.note(draw.Wrong(draw.Explain(t.err)))
	case t.text != "":
		m.note(draw.Say(t.text))
	}
}

// note shows a notice, behind those that wait for the log.
func (m *chat) note(n draw.Notice) {
	if len(m.after) > 0 {
		m.after = append(m.after, n)
		return
	}
	m.transcript.Say(n)
}

// noteAfter shows a notice once the log is read again: what it is about may not be in the
// transcript yet.
func (m *chat) noteAfter(n draw.Notice) tea.Cmd {
	m.after = append(m.after, n)
	return m.sync()
}

// notes shows what waited for the log.
func (m *chat) notes() {
	if m.syncing {
		return
	}
	for _, n := range m.after {
		m.transcript.Say(n)
	}
	m.after = nil
}

// do does something that takes time beside the program, and lets it go on with what came of it.
func (m *chat) do(work func(ctx context.Context) func(m *chat) tea.Cmd) tea.Cmd {
	m.group.Add(1)
	var once sync.Once
	// a command that is never run ends nothing
	stop := context.AfterFunc(m.ctx, func() { time.AfterFunc(time.Second, func() { once.Do(m.group.Done) }) })
	return func() tea.Msg {
		defer stop()
		defer once.Do(m.group.Done)
		then := work(m.ctx)
		if then == nil {
			then = func(*chat) tea.Cmd { return nil }
		}
		return doneMsg{then}
	}
}

// doneMsg goes on with what came of some work.
type doneMsg struct{ then func(m *chat) tea.Cmd }
