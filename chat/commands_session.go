package chat

import (
	"cmp"
	"context"
	"errors"
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/pivot"
	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/tui"
)

// takeBack undoes, or does again.
func (m *chat) takeBack(done, what string, take func(ctx context.Context, id, what string) (*pivot.Receipt, error)) tea.Cmd {
	if !m.need() {
		return nil
	}
	if m.stopFold != nil {
		m.tell(told{text: "a folding goes on: esc stops it, and nothing is to be taken back then"})
		return nil
	}
	id := m.session
	return m.do(func(ctx context.Context) func(m *chat) tea.Cmd {
		r, err := take(ctx, id, what)
		return func(m *chat) tea.Cmd {
			switch {
			case err != nil:
				m.tell(told{err: err})
			default:
				other := "/redo"
				if done != "undone" {
					other = "/undo"
				}
				return m.noteAfter(notice{"↶", done + ": " + described(r) + " · " + other + " " + r.ID, well})
			}
			return m.sync()
		}
	})
}

// described says what a receipt is of.
func described(r *pivot.Receipt) string {
	switch r.Kind {
	case pivot.Restoring:
		return "the restore of " + tui.Count(len(r.Quoted)+len(r.Replaced), "part") + ", " + grouped(max(0, r.TokensAfter-r.TokensBefore)) + " tokens"
	case pivot.Pinning:
		return "the pin, " + grouped(max(0, r.TokensAfter-r.TokensBefore)) + " tokens"
	case pivot.Pruning:
		return "the pruning of " + tui.Count(r.Parts(), "part") + ", " + grouped(max(0, r.TokensBefore-r.TokensAfter)) + " tokens"
	}
	return "the folding of " + tui.Count(r.Folded, "message") + ", " + grouped(max(0, r.TokensBefore-r.TokensAfter)) + " tokens"
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
	return m.show(newModelsPanel(m.config.Models, current.String(), func(name string) model.Model {
		if name == current.String() {
			return current
		}
		return known.Lookup(name)
	}, m.style), nil)
}

// show opens a panel, with what it begins with.
func (m *chat) show(p panel, begin tea.Cmd) tea.Cmd {
	m.panel = p
	return begin
}

func (m *chat) showSessions(string) tea.Cmd {
	return m.show(newSessionsPanel(m.ctx, m.config.Engine.Store(), m.session, m.now(), m.style))
}

func (m *chat) showReceipts(id string) tea.Cmd {
	if !m.need() {
		return nil
	}
	return m.show(newReceiptPanel(m.ctx, m.config.Engine, m.session, id, m.now(), m.style))
}

func (m *chat) showCost(string) tea.Cmd {
	if !m.need() {
		return nil
	}
	return m.show(newCostPanel(m.ctx, m.config.Engine, m.session, m.style))
}

func (m *chat) preview(focus string) tea.Cmd {
	if !m.need() {
		return nil
	}
	return m.show(newPreviewPanel(m.ctx, m.config.Engine, m.session, focus, m.style))
}

func (m *chat) showContext(string) tea.Cmd {
	if !m.need() {
		return nil
	}
	return m.show(newContextPanel(m.ctx, m.config.Engine, m.session, m.style))
}

// nothingToFold says why a compaction has nothing to do.
func nothingToFold(err error) string {
	if errors.Is(err, winnow.ErrNothingNew) {
		return "nothing was said since the last summary, and another would say no more; /compact with what it is to dwell on has it written anew"
	}
	return "there is nothing to fold yet: all there is would stay word for word"
}

func (m *chat) retitle(text string) tea.Cmd {
	if !m.need() {
		return nil
	}
	if text == "" {
		m.tell(told{text: "the title is: " + oneLine(m.title)})
		return nil
	}
	id, engine := m.session, m.config.Engine
	return m.do(func(ctx context.Context) func(m *chat) tea.Cmd {
		err := engine.Amend(ctx, id, winnow.Amendment{Title: text})
		return func(m *chat) tea.Cmd {
			if err != nil {
				m.tell(told{"the title stays", err})
			}
			return m.sync()
		}
	})
}

func (m *chat) export(file string) tea.Cmd {
	if m.config.Export == nil {
		m.tell(told{text: "sessions cannot be exported here"})
		return nil
	}
	if !m.need() {
		return nil
	}
	id, export := m.session, m.config.Export
	return m.do(func(ctx context.Context) func(m *chat) tea.Cmd {
		path, err := export(ctx, id, file)
		return func(m *chat) tea.Cmd {
			if err != nil {
				m.tell(told{"nothing was exported", err})
			} else {
				m.tell(told{text: "exported to " + oneLine(path)})
			}
			return nil
		}
	})
}

// chooseRevert lists the messages that can be gone back to.
func (m *chat) chooseRevert(string) tea.Cmd {
	if m.config.Revert == nil {
		m.tell(told{text: cmp.Or(m.config.NoRevert, "there is no going back here")})
		return nil
	}
	if !m.need() || !m.idle("/revert") {
		return nil
	}
	var written []*session.Message
	for _, it := range slices.Backward(m.transcript.items) {
		if it.message != nil && it.message.Role == session.User && it.message.Written() {
			written = append(written, it.message)
		}
	}
	if len(written) == 0 {
		m.tell(told{text: "there is no message to go back to"})
		return nil
	}
	return m.show(newRevertPanel(written, m.now(), m.style), nil)
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
			m.after = append(m.after, say(said))
			if m.editor.empty() {
				m.editor.set(text)
			}
			return cmd
		}
	}))
}

func (m *chat) pin(text string) tea.Cmd {
	if !m.need() {
		return nil
	}
	if text == "" {
		m.tell(told{text: "/pin takes the text that must stay: /pin never touch the migrations"})
		return nil
	}
	id, engine := m.session, m.config.Engine
	return m.do(func(ctx context.Context) func(m *chat) tea.Cmd {
		_, err := engine.Pin(ctx, id, rule.Pin{Text: text})
		return func(m *chat) tea.Cmd {
			if err != nil {
				m.tell(told{"nothing was pinned", err})
			} else {
				m.tell(told{text: "pinned: " + oneLine(text)})
			}
			return nil
		}
	})
}

func (m *chat) restart(string) tea.Cmd {
	if !m.idle("/new") {
		return nil
	}
	cmd := m.enter("")
	m.tell(told{text: "a new session begins with your next message"})
	return cmd
}

func (m *chat) showHelp(string) tea.Cmd {
	return m.show(newHelpPanel(commands(), keysThereAre, m.style), nil)
}

func (m *chat) quit(string) tea.Cmd { return tea.Quit }
