package chat

import (
	"context"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/winnowhq/winnow"
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
				m.transcript.say(notice{"↶", done + ": " + described(r) + " · " + other + " " + r.ID, well})
			}
			return m.sync()
		}
	})
}

// described says what a receipt is of.
func described(r *pivot.Receipt) string {
	if r.Kind == pivot.Pruning {
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
	lines := []string{"now: " + m.model.String(), ""}
	for _, name := range m.config.Models {
		lines = append(lines, "/model "+name)
	}
	if len(m.config.Models) == 0 {
		lines = append(lines, "/model provider/name chooses another")
	}
	m.panel = newTextPanel("Models", lines)
	return nil
}

func (m *chat) showSessions(string) tea.Cmd {
	engine := m.config.Engine
	return m.do(func(ctx context.Context) func(m *chat) tea.Cmd {
		all, err := engine.Store().List(ctx)
		return func(m *chat) tea.Cmd {
			if err != nil {
				m.tell(told{"the sessions cannot be listed", err})
				return nil
			}
			var lines []string
			for _, one := range all {
				lines = append(lines, one.Info.ID+"  "+oneLine(one.Info.Title))
			}
			m.panel = newTextPanel("Sessions", lines)
			return nil
		}
	})
}

func (m *chat) showReceipts(string) tea.Cmd {
	if !m.need() {
		return nil
	}
	id, engine := m.session, m.config.Engine
	return m.do(func(ctx context.Context) func(m *chat) tea.Cmd {
		all, err := engine.Receipts(ctx, id)
		return func(m *chat) tea.Cmd {
			switch {
			case err != nil:
				m.tell(told{"the receipts cannot be read", err})
			case len(all) == 0:
				m.tell(told{text: "nothing was pruned or folded yet"})
			default:
				m.panel = newTextPanel("Receipts", receiptLines(all))
			}
			return nil
		}
	})
}

// receiptLines are receipts, the newest first.
func receiptLines(all []pivot.Receipt) []string {
	var lines []string
	for _, r := range slices.Backward(all) {
		lines = append(lines, r.ID, "  "+described(&r)+": "+span(&r))
		if r.Summarizer != "" {
			lines = append(lines, "  summary by "+oneLine(r.Summarizer)+", "+tui.Dollars(r.Cost))
		}
		for _, n := range r.Notes {
			lines = append(lines, "  "+oneLine(n))
		}
		lines = append(lines, "  /undo "+r.ID, "")
	}
	return lines
}

func (m *chat) showCost(string) tea.Cmd {
	if !m.need() {
		return nil
	}
	id, loop := m.session, m.loop
	return m.do(func(ctx context.Context) func(m *chat) tea.Cmd {
		t, err := loop.Totals(ctx, id)
		return func(m *chat) tea.Cmd {
			if err != nil {
				m.tell(told{"what it took cannot be read", err})
				return nil
			}
			u := t.Usage
			m.panel = newTextPanel("Cost", []string{
				fmt.Sprintf("%-22s %14s", "cost", tui.Dollars(t.Cost)),
				fmt.Sprintf("%-22s %14s", "steps", grouped(t.Steps)),
				fmt.Sprintf("%-22s %14s", "summaries", grouped(t.Summaries)),
				fmt.Sprintf("%-22s %14s", "failed requests", grouped(t.Failed)),
				"",
				fmt.Sprintf("%-22s %14s tokens", "prompt, fresh", grouped(u.Input)),
				fmt.Sprintf("%-22s %14s tokens", "prompt, from cache", grouped(u.Cache.Read)),
				fmt.Sprintf("%-22s %14s tokens", "prompt, into cache", grouped(u.Cache.Write)),
				fmt.Sprintf("%-22s %14s tokens", "answers", grouped(u.Output)),
				fmt.Sprintf("%-22s %14s tokens", "reasoning", grouped(u.Reasoning)),
			})
			return nil
		}
	})
}

func (m *chat) preview(focus string) tea.Cmd {
	if !m.need() {
		return nil
	}
	id, engine := m.session, m.config.Engine
	return m.do(func(ctx context.Context) func(m *chat) tea.Cmd {
		p, err := engine.Preview(ctx, id, winnow.CompactOptions{Focus: focus})
		return func(m *chat) tea.Cmd {
			switch {
			case winnow.CodeOf(err) == winnow.NothingToFold:
				m.tell(told{text: nothingToFold})
			case err != nil:
				m.tell(told{"the past cannot be folded", err})
			default:
				m.panel = &previewText{textPanel{title: "What /compact would do", lines: previewLines(p, focus)}, focus}
			}
			return nil
		}
	})
}

const nothingToFold = "there is nothing to fold yet: all there is would stay word for word"

// previewText shows what a compaction would do, and lets it be made.
type previewText struct {
	textPanel
	focus string
}

func (p *previewText) Keys() string { return "enter folds · ↑↓ scroll · esc back" }

func (p *previewText) Update(msg tea.Msg) (panel, tea.Cmd) {
	if k, ok := msg.(tea.KeyPressMsg); ok && k.String() == "enter" {
		return nil, choose(compactChosen{p.focus})
	}
	next, cmd := p.textPanel.Update(msg)
	if next == nil {
		return nil, cmd
	}
	return p, cmd
}

func previewLines(p winnow.Preview, focus string) []string {
	lines := []string{fmt.Sprintf("%s → about %s tokens (−%s)", grouped(p.TokensBefore), grouped(p.TokensAfter), grouped(p.Saved))}
	if p.Kind != pivot.Pruning {
		lines = append(lines, fmt.Sprintf("%s (%s tokens) become a summary", tui.Count(p.Folded, "message"), grouped(p.FoldedTokens)),
			fmt.Sprintf("%s (%s tokens) stay word for word", tui.Count(p.Tail, "message"), grouped(p.TailTokens)))
	}
	if n := len(p.Committed); n > 0 {
		lines = append(lines, tui.Count(n, "elision")+" would be committed with it")
	}
	if focus != "" {
		lines = append(lines, "focus: "+oneLine(focus))
	}
	for _, n := range p.Notes {
		lines = append(lines, oneLine(n))
	}
	return lines
}

func (m *chat) showContext(string) tea.Cmd {
	if !m.need() {
		return nil
	}
	id, engine := m.session, m.config.Engine
	return m.do(func(ctx context.Context) func(m *chat) tea.Cmd {
		r, err := engine.Inspect(ctx, id)
		return func(m *chat) tea.Cmd {
			if err != nil {
				m.tell(told{"the window cannot be looked at", err})
				return nil
			}
			var b strings.Builder
			tui.Painter{W: &b, Width: m.width}.Inspection(r, "", nil)
			m.panel = newTextPanel("Context", strings.Split(strings.TrimRight(b.String(), "\n"), "\n"))
			return nil
		}
	})
}

func (m *chat) retitle(text string) tea.Cmd {
	if !m.need() {
		return nil
	}
	if text == "" {
		m.tell(told{text: "the title is: " + oneLine(m.title)})
		return nil
	}
	m.tell(told{text: "titles cannot be set yet"})
	return nil
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

// revert goes back to before the newest message of the user's.
func (m *chat) revert(string) tea.Cmd {
	if m.config.Revert == nil {
		m.tell(told{text: "there is no going back here"})
		return nil
	}
	if !m.need() || !m.idle("/revert") {
		return nil
	}
	var target *session.Message
	for _, it := range slices.Backward(m.transcript.items) {
		if it.message != nil && it.message.Role == session.User && it.message.Written() {
			target = it.message
			break
		}
	}
	if target == nil {
		m.tell(told{text: "there is no message to go back to"})
		return nil
	}
	id, revert, message, text := m.session, m.config.Revert, target.ID, target.Text()
	m.doing = "going back"
	return tea.Batch(m.tickLater(), m.do(func(ctx context.Context) func(m *chat) tea.Cmd {
		newID, said, err := revert(ctx, id, message)
		return func(m *chat) tea.Cmd {
			m.doing = ""
			if err != nil {
				m.tell(told{"nothing was reverted", err})
				return nil
			}
			cmd := m.enter(newID)
			m.greeting = said
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
	var lines []string
	for _, c := range commands() {
		lines = append(lines, fmt.Sprintf("%-18s %s", strings.TrimSpace("/"+c.name+" "+c.arguments), c.help))
	}
	lines = append(lines, "")
	for _, k := range keysThereAre {
		lines = append(lines, fmt.Sprintf("%-18s %s", k[0], k[1]))
	}
	m.panel = newTextPanel("Help", lines)
	return nil
}

func (m *chat) quit(string) tea.Cmd { return tea.Quit }
