package chat

import (
	"cmp"
	"context"
	"github.com/winnowhq/winnow"

	tea "charm.land/bubbletea/v2"

	"github.com/winnowhq/winnow/agent/chat/internal/draw"
	"github.com/winnowhq/winnow/agent/chat/internal/panel"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/quantity"
)

// takeBack undoes, or does again.
func (m *chat) takeBack(done, what string, take func(ctx context.Context, id, what string) (*pivot.Receipt,
	error)) tea.Cmd {
	if m.stopFold != nil {
		m.tell(told{text: "a folding goes on: esc stops it, and nothing is to be taken back then"})
		return nil
	}
	id := m.session
	return m.do(func(ctx context.Context) func(m *chat) tea.Cmd {
		r, err := take(ctx, id, what)
		return func(m *chat) tea.Cmd {
			if err != nil {
				m.tell(told{err: err})
				return m.sync()
			}
			other := "/redo"
			if done != "undone" {
				other = "/undo"
			}
			return m.noteAfter(draw.Notice{Sign: "↶", Text: done + ": " + described(r) + " · " + other + " " + r.ID,
				Tone: draw.Well})
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
		m.tell(told{"the model stays " + before, err})
		return nil
	}
	m.tell(told{text: m.model.String() + " answers from now on"})
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
	return m.show(panel.NewSessions(m.ctx, m.config.Engine.Store(), m.session, m.now(), m.style))
}

func (m *chat) showReceipts(id string) tea.Cmd {
	return m.show(panel.NewReceipts(m.ctx, m.config.Engine, m.session, id, m.now(), m.style))
}

func (m *chat) showCost(string) tea.Cmd {
	return m.show(panel.NewCost(m.ctx, m.config.Engine, m.session, m.style))
}

func (m *chat) preview(focus string) tea.Cmd {
	return m.show(panel.NewPreview(m.ctx, m.config.Engine, m.session, focus, m.style))
}

func (m *chat) showContext(string) tea.Cmd {
	return m.show(panel.NewContext(m.ctx, m.config.Engine, m.session, m.style))
}

func (m *chat) retitle(text string) tea.Cmd {
	if text == "" {
		m.tell(told{text: "the title is: " + draw.OneLine(m.title)})
		return nil
	}
	id, engine := m.session, m.config.Engine
	return m.attempt("the title stays", func(ctx context.Context) (string, error) {
		return "",
			engine.Amend(ctx, id, winnow.Amendment{Title: text})
	})
}

func (m *chat) export(file string) tea.Cmd {
	if m.config.Export == nil {
		m.tell(told{text: "sessions cannot be exported here"})
		return nil
	}
	id, export := m.session, m.config.Export
	return m.attempt("nothing was exported", func(ctx context.Context) (string, error) {
		path, err := export(ctx, id, file)
		return "exported to " + draw.OneLine(path), err
	})
}

// chooseRevert lists the messages that can be gone back to.
func (m *chat) chooseRevert(string) tea.Cmd {
	if m.config.Revert == nil {
		m.tell(told{text: cmp.Or(m.config.NoRevert, "there is no going back here")})
		return nil
	}
	if !m.idle("/revert") {
		return nil
	}
	written := m.transcript.Written()
	if len(written) == 0 {
		m.tell(told{text: "there is no message to go back to"})
		return nil
	}
	return m.show(panel.NewRevert(written, m.now(), m.style), nil)
}

// revert goes back to before a message of the user's.
func (m *chat) revert(target *session.Message) tea.Cmd {
	if !m.idle("/revert") {
		return nil
	}
	id, revert, message, text := m.session, m.config.Revert, target.ID, target.Text()
	m.doing = "going back"
	return tea.Batch(m.tickLater(), m.do(func(ctx context.Context) func(m *chat) tea.Cmd {
		newID, said, err := revert(ctx, id, message)
		return func(m *chat) tea.Cmd {
			m.doing = ""
			if err != nil {
				m.tell(told{"the session was not reverted", err})
				m.tell(told{text: said})
				return nil
			}
			cmd := m.enter(newID)
			m.after = append(m.after, draw.Say(said))
			if m.editor.Empty() {
				m.editor.Set(text)
			}
			return cmd
		}
	}))
}

func (m *chat) pin(text string) tea.Cmd {
	if text == "" {
		m.tell(told{text: "/pin takes the text that must stay: /pin never touch the migrations"})
		return nil
	}
	id, engine := m.session, m.config.Engine
	return m.attempt("nothing was pinned", func(ctx context.Context) (string, error) {
		_, err := engine.Pin(ctx, id, rule.Pin{Text: text})
		return "pinned: " + draw.OneLine(text), err
	})
}

func (m *chat) restart(string) tea.Cmd {
	if !m.idle("/new") {
		return nil
	}
	before := m.session
	cmd := m.enter("")
	text := "a new session begins with your next message"
	if before != "" {
		text += "; the one before is kept: /sessions, or winnow show " + before
	}
	m.tell(told{text: text})
	return cmd
}

func (m *chat) showChanges(string) tea.Cmd {
	if m.config.Changes == nil {
		m.tell(told{text: "what changed in files is not known: the states of this folder are not kept"})
		return nil
	}
	id, changes := m.session, m.config.Changes
	return m.show(panel.NewChanges(m.ctx, func(ctx context.Context) ([]session.FileDiff, error) {
		return changes(ctx, id)
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
