package chat

import (
	"context"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/agent/chat/internal/draw"
	"github.com/winnowhq/winnow/agent/chat/internal/panel"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/quantity"
)

// command is something that is typed with a slash.
type command struct {
	panel.Command
	session bool // there must be one
	run     func(m *chat, arguments string) tea.Cmd
}

// commands are all that can be typed with a slash, in the order in which /help lists them.
func commands() (all []command) {
	add := func(session bool, name, arguments, help string, run func(m *chat, arguments string) tea.Cmd) {
		all = append(all, command{panel.Command{Name: name, Arguments: arguments, Help: help}, session, run})
	}
	add(true, "compact", "[focus]", "fold the past into a summary; shows first what would go", (*chat).preview)
	add(true, "prune", "[--force]", "leave out what the rules find, now", (*chat).prune)
	add(true, "context", "", "what takes the space in the window", (*chat).showContext)
	add(true, "undo", "[id]", "undo the newest pruning or folding, or the one named", (*chat).undo)
	add(true, "redo", "", "redo what was undone", (*chat).redo)
	add(true, "receipt", "[id]", "what prunings and foldings did", (*chat).showReceipts)
	add(false, "model", "[name]", "show or choose the model", (*chat).chooseModel)
	add(true, "cost", "", "what the session cost", (*chat).showCost)
	add(false, "sessions", "", "go on with another session", (*chat).showSessions)
	add(true, "title", "[text]", "show or set the title of the session", (*chat).retitle)
	add(true, "export", "[file]", "write the session into a file", (*chat).export)
	add(false, "revert", "", "go back to before a message of yours, files too", (*chat).chooseRevert)
	add(true, "pin", "text", "keep a text through every pruning and folding", (*chat).pin)
	add(true, "later", "", "no more warnings in this session until the window is full", (*chat).later)
	add(true, "diff", "", "what changed in files in this session", (*chat).showChanges)
	add(true, "copy", "[code]", "copy the newest answer, or its newest block of code", (*chat).copyCommand)
	add(false, "mouse", "", "let the mouse select text, or its wheel scroll", (*chat).toggleMouse)
	add(false, "new", "", "begin a new session", (*chat).restart)
	add(false, "clear", "", "begin a new session; this one is kept", (*chat).restart)
	add(false, "help", "", "commands and keys", (*chat).showHelp)
	add(false, "quit", "", "leave; the session is kept", (*chat).quit)
	return all
}

// typedCommand carries out what was typed with a slash.
func (m *chat) typedCommand(text string) tea.Cmd {
	name, arguments, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(text), "/"), " ")
	all := commands()
	for _, c := range all {
		if c.Name != strings.ToLower(name) {
			continue
		}
		if c.session && m.session.id == "" {
			m.tell("there is no session yet: say something first")
			return nil
		}
		return c.run(m, strings.TrimSpace(arguments))
	}
	m.transcript.Say(draw.Wrong(unknownCommand(name, all)))
	return nil
}

// unknownCommand names the command that is nearest to what was typed.
func unknownCommand(name string, all []command) string {
	text := "there is no /" + draw.OneLine(name)
	best, least := "", 3 // further away is another word
	for _, c := range all {
		if d := distance(strings.ToLower(name), c.Name); d < least {
			best, least = c.Name, d
		}
	}
	if i := slices.IndexFunc(all, func(c command) bool {
		return name != "" &&
			strings.HasPrefix(c.Name, strings.ToLower(name))
	}); i >= 0 {
		best = all[i].Name
	}
	if best != "" {
		return text + "; do you mean /" + best + "? (// begins a message with a slash)"
	}
	return text + "; /help lists what there is (// begins a message with a slash)"
}

// distance is how many letters must be put in, left out, changed or swapped with a neighbour to
// make one word of another.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	if len(x) > 40 {
		return len(x)
	}
	d := make([][]int, len(x)+1)
	for i := range d {
		d[i] = make([]int, len(y)+1)
		for j := range d[i] {
			if i == 0 || j == 0 {
				d[i][j] = i + j
				continue
			}
			change := 1
			if x[i-1] == y[j-1] {
				change = 0
			}
			d[i][j] = min(d[i-1][j]+1, d[i][j-1]+1, d[i-1][j-1]+change)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(x)][len(y)]
}

// idle reports whether no turn goes on, and says so where one does.
func (m *chat) idle(what string) bool {
	if m.work != nil {
		m.tell(what + " waits until the turn has ended; esc stops it")
	}
	return m.work == nil
}

// fold folds the past.
func (m *chat) fold(focus string) tea.Cmd {
	m.panel = nil
	if m.work != nil {
		return m.attempt("the past is not folded", func(ctx context.Context, id string) (string, error) {
			_, err := m.config.Engine.Compact(ctx, id, winnow.CompactOptions{Later: true, Auto: true})
			return "the past will be folded before the next step", err
		})
	}
	if m.status.doing != "" {
		m.tell("the past is being folded already")
		return nil
	}
	m.status.doing = "folding the past"
	ctx, cancel := context.WithCancel(m.ctx)
	id := m.session.id
	m.folding.stop = cancel
	return tea.Batch(m.tickLater(), m.do(func(context.Context) func() tea.Cmd {
		defer cancel()
		_, err := m.config.Engine.Compact(ctx, id, winnow.CompactOptions{Focus: focus})
		stopped := ctx.Err() != nil
		return func() tea.Cmd {
			m.status.doing, m.folding.stop = "", nil
			switch {
			case winnow.CodeOf(err) == winnow.NothingToFold:
				m.tell(panel.NothingToFold(err))
			case err != nil && stopped:
				m.tell("folding was stopped; the session is as it was")
			}
			return m.sync() // of other failures the engine tells by an event
		}
	}))
}

func (m *chat) prune(arguments string) tea.Cmd {
	return m.attempt("nothing was pruned", func(ctx context.Context, id string) (string, error) {
		out, err := m.config.Engine.Prune(ctx, id, arguments == "--force")
		if out.Pruned == nil {
			return "nothing to prune: " + refusals(out.Refusals), err
		}
		return "", err
	})
}

// attempt does something that takes time beside the program, and says what came of it.
func (m *chat) attempt(failed string, work func(ctx context.Context, id string) (said string, err error)) tea.Cmd {
	id := m.session.id
	return m.do(func(ctx context.Context) func() tea.Cmd {
		said, err := work(ctx, id)
		return func() tea.Cmd {
			if err != nil {
				m.fail(failed, err)
			} else {
				m.tell(said)
			}
			return m.sync()
		}
	})
}

// refusals are the reasons why nothing went, the most frequent first.
func refusals(all []rule.Refusal) string {
	sums, general := report.SumRefusals(all)
	var said []string
	for _, r := range general {
		said = append(said, draw.OneLine(r.Reason))
	}
	for _, s := range sums {
		if len(said) == 3 {
			break
		}
		said = append(said, quantity.Number(s.Parts)+"× "+draw.OneLine(s.Reason))
	}
	if len(said) == 0 {
		return "the rules find nothing that is redundant"
	}
	return strings.Join(said, "; ")
}

func (m *chat) undo(what string) tea.Cmd {
	return m.takeBack("undone", what, m.config.Engine.Undo)
}

func (m *chat) redo(what string) tea.Cmd {
	return m.takeBack("done again", what, m.config.Engine.Redo)
}
