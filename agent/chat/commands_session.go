package chat

import (
	"cmp"
	"context"

	tea "charm.land/bubbletea/v2"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/agent/chat/internal/draw"
	"github.com/winnowhq/winnow/agent/chat/internal/panel"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/quantity"
)

// takeBack undoes, or does again.
func (m *chat) takeBack(done, what string, take func(ctx context.Context, id, what string) (*pivot.Receipt,
	error)) tea.Cmd {
	if m.folding.stop != nil {
		m.tell("a folding goes on: esc stops it, and nothing is to be taken back then")
		return nil
	}
	id := m.session.id
	return m.do(func(ctx context.Context) func() tea.Cmd {
		r, err := take(ctx, id, what)
		return func() tea.Cmd {
			if err != nil {
				m.fail("", err)
				return m.sync()
			}
			other := "/redo"
			if done != "undone" {
				other = "/undo"
			}
			m.noteAfter(draw.Notice{Sign: "↶", Text: done + ": " + described(r) + " · " + other + " " + r.ID,
				Tone: draw.Well})
			return m.sync()
		}
	})
}

// described says what a receipt is of.
func described(r *pivot.Receipt) string {
	switch r.Kind {
	case pivot.Restoring:
		return "the restore of " + quantity.Count(len(r.Quoted)+len(r.Replaced), "part") + ", " +
			quantity.Number(max(0, r.TokensAfter-r.TokensBefore)) + " tokens"
	case pivot.Pinning:
		return "the pin, " + quantity.Number(max(0, r.TokensAfter-r.TokensBefore)) + " tokens"
	case pivot.Pruning:
		return "the pruning of " + quantity.Count(r.Parts(), "part") + ", " +
			quantity.Number(max(0, r.TokensBefore-r.TokensAfter)) + " tokens"
	}
	return "the folding of " + quantity.Count(r.Folded, "message") + ", " +
		quantity.Number(max(0, r.TokensBefore-r.TokensAfter)) + " tokens"
}

func (m *chat) chooseModel(name string) tea.Cmd {
	switch {
	case name == "":
		return m.listModels()
	case !m.idle("/model"):
		return nil
	}
	before := m.model.String()
	if err := m.open(name); err != nil {
		m.fail("the model stays "+before, err)
		return nil
	}
	m.tell(m.model.String() + " answers from now on")
	return nil
}

func (m *chat) listModels() tea.Cmd {
	known := m.config.Catalogue
	if known == nil {
		known = model.Default()
	}
	current := m.model
	return m.show(panel.NewModels(m.config.Models, current.String(), func(name string) model.Model {
		if name == current.String() {
			return current
		}
		return known.Lookup(name)
	}, m.style), nil)
}

// show opens a panel, with what it begins with.
func (m *chat) show(p panel.Panel, begin tea.Cmd) tea.Cmd {
	m.panel = p
	return begin
}

func (m *chat) showSessions(string) tea.Cmd {
	return m.show(panel.NewSessions(m.ctx, m.config.Engine.Store(), m.session.id, m.now(), m.style))
}

func (m *chat) showReceipts(id string) tea.Cmd {
	return m.show(panel.NewReceipts(m.ctx, m.config.Engine, m.session.id, id, m.now(), m.style))
}

func (m *chat) showCost(string) tea.Cmd {
	return m.show(panel.NewCost(m.ctx, m.config.Engine, m.session.id, m.style))
}

func (m *chat) preview(focus string) tea.Cmd {
	return m.show(panel.NewPreview(m.ctx, m.config.Engine, m.session.id, focus, m.style))
}

func (m *chat) showContext(string) tea.Cmd {
	return m.show(panel.NewContext(m.ctx, m.config.Engine, m.session.id, m.style))
}

func (m *chat) retitle(text string) tea.Cmd {
	if text == "" {
		m.tell("the title is: " + draw.OneLine(m.session.title))
		return nil
	}
	return m.attempt("the title stays", func(ctx context.Context, id string) (string, error) {
		return "", m.config.Engine.Amend(ctx, id, winnow.Amendment{Title: text})
	})
}

func (m *chat) export(file string) tea.Cmd {
	if m.config.Export == nil {
		m.tell("sessions cannot be exported here")
		return nil
	}
	return m.attempt("nothing was exported", func(ctx context.Context, id string) (string, error) {
		path, err := m.config.Export(ctx, id, file)
		return "exported to " + draw.OneLine(path), err
	})
}

// chooseRevert lists the messages that can be gone back to.
func (m *chat) chooseRevert(string) tea.Cmd {
	if m.config.Revert == nil {
		m.tell(cmp.Or(m.config.NoRevert, "there is no going back here"))
		return nil
	}
	if !m.idle("/revert") {
		return nil
	}
	written := m.transcript.Written()
	if len(written) == 0 {
		m.tell("there is no message to go back to")
		return nil
	}
	return m.show(panel.NewRevert(written, m.now(), m.style), nil)
}

// revert goes back to before a message of the user's.
func (m *chat) revert(target *session.Message) tea.Cmd {
	if !m.idle("/revert") {
		return nil
	}
	id, message, text := m.session.id, target.ID, target.Text()
	m.status.doing = "going back"
	return tea.Batch(m.tickLater(), m.do(func(ctx context.Context) func() tea.Cmd {
		newID, said, err := m.config.Revert(ctx, id, message)
		return func() tea.Cmd {
			m.status.doing = ""
			if err != nil {
				m.fail("the session was not reverted", err)
				m.tell(said)
				return nil
			}
			cmd := m.enter(newID)
			m.noteAfter(draw.Say(said))
			if m.input.Empty() {
				m.input.Set(text)
			}
			return cmd
		}
	}))
}

func (m *chat) pin(text string) tea.Cmd {
	if text == "" {
		m.tell("/pin takes the text that must stay: /pin never touch the migrations")
		return nil
	}
	return m.attempt("nothing was pinned", func(ctx context.Context, id string) (string, error) {
		_, err := m.config.Engine.Pin(ctx, id, rule.Pin{Text: text})
		return "pinned: " + draw.OneLine(text), err
	})
}

// later postpones the warning that the window fills up, for this session.
func (m *chat) later(string) tea.Cmd {
	return m.attempt("the warning is not postponed", func(ctx context.Context, id string) (string, error) {
		err := m.config.Engine.Amend(ctx, id, winnow.Amendment{Own: map[string]jsontext.Value{
			report.LaterMember: jsontext.Value("true"),
		}})
		return "no more warnings in this session until the window is full", err
	})
}

func (m *chat) restart(string) tea.Cmd {
	if !m.idle("/new") {
		return nil
	}
	before := m.session.id
	cmd := m.enter("")
	text := "a new session begins with your next message"
	if before != "" {
		text += "; the one before is kept: /sessions, or winnow inspect --log " + before
	}
	m.tell(text)
	return cmd
}

func (m *chat) showChanges(string) tea.Cmd {
	if m.config.Changes == nil {
		m.tell("what changed in files is not known: the states of this folder are not kept")
		return nil
	}
	id := m.session.id
	return m.show(panel.NewChanges(m.ctx, func(ctx context.Context) ([]session.FileDiff, error) {
		return m.config.Changes(ctx, id)
	}, m.style))
}

func (m *chat) showHelp(string) tea.Cmd {
	var all []panel.Command
	for _, c := range commands() {
		all = append(all, c.Command)
	}
	return m.show(panel.NewHelp(all, keysThereAre, m.style), nil)
}

func (m *chat) quit(string) tea.Cmd { return tea.Quit }
