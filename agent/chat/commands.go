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
func commands() []command {
	return []command{
		{panel.Command{Name: "compact", Arguments: "[focus]",
			Help: "fold the past into a summary; shows first what would go"}, true, (*chat).preview},
		{panel.Command{Name: "prune", Arguments: "[--force]", Help: "leave out what the rules find, now"}, true,
			(*chat).prune},
		{panel.Command{Name: "context", Arguments: "", Help: "what takes the space in the window"}, true,
			(*chat).showContext},
		{panel.Command{Name: "undo", Arguments: "[id]", Help: "undo the newest pruning or folding, or the one named"},
			true, (*chat).undo},
		{panel.Command{Name: "redo", Arguments: "", Help: "redo what was undone"}, true, (*chat).redo},
		{panel.Command{Name: "receipt", Arguments: "[id]", Help: "what prunings and foldings did"}, true,
			(*chat).showReceipts},
		{panel.Command{Name: "model", Arguments: "[name]", Help: "show or choose the model"}, false,
			(*chat).chooseModel},
		{panel.Command{Name: "cost", Arguments: "", Help: "what the session cost"}, true, (*chat).showCost},
		{panel.Command{Name: "sessions", Arguments: "", Help: "go on with another session"}, false,
			(*chat).showSessions},
		{panel.Command{Name: "title", Arguments: "[text]", Help: "show or set the title of the session"}, true,
			(*chat).retitle},
		{panel.Command{Name: "export", Arguments: "[file]", Help: "write the session into a file"}, true,
			(*chat).export},
		{panel.Command{Name: "revert", Arguments: "", Help: "go back to before a message of yours, files too"}, false,
			(*chat).chooseRevert},
		{panel.Command{Name: "pin", Arguments: "text", Help: "keep a text through every pruning and folding"}, true,
			(*chat).pin},
		{panel.Command{Name: "diff", Arguments: "", Help: "what changed in files in this session"}, true,
			(*chat).showChanges},
		{panel.Command{Name: "copy", Arguments: "[code]",
			Help: "copy the newest answer, or its newest block of code"}, true, (*chat).copyCommand},
		{panel.Command{Name: "mouse", Arguments: "", Help: "let the mouse select text, or its wheel scroll"}, false,
			(*chat).toggleMouse},
		{panel.Command{Name: "new", Arguments: "", Help: "begin a new session"}, false, (*chat).restart},
		{panel.Command{Name: "clear", Arguments: "", Help: "begin a new session; this one is kept"}, false,
			(*chat).restart},
		{panel.Command{Name: "help", Arguments: "", Help: "commands and keys"}, false, (*chat).showHelp},
		{panel.Command{Name: "quit", Arguments: "", Help: "leave; the session is kept"}, false, (*chat).quit},
	}
}

// typedCommand carries out what was typed with a slash.
func (m *chat) typedCommand(text string) tea.Cmd {
	name, arguments, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(text), "/"), " ")
	all := commands()
	for _, c := range all {
		if c.Name != strings.ToLower(name) {
			continue
		}
		if c.session && m.session == "" {
			m.tell(told{text: "there is no session yet: say something first"})
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
		m.tell(told{text: what + " waits until the turn has ended; esc stops it"})
	}
	return m.work == nil
}

// fold folds the past.
func (m *chat) fold(focus string) tea.Cmd {
	m.panel = nil
	id, engine := m.session, m.config.Engine
	if m.work != nil {
		return m.attempt("the past is not folded", func(ctx context.Context) (string, error) {
			_, err := engine.Compact(ctx, id, winnow.CompactOptions{Later: true, Auto: true})
			return "the past will be folded before the next step", err
		})
	}
	if m.doing != "" {
		m.tell(told{text: "the past is being folded already"})
		return nil
	}
	m.doing = "folding the past"
	ctx, cancel := context.WithCancel(m.ctx)
	m.stopFold = cancel
	return tea.Batch(m.tickLater(), m.do(func(context.Context) func(m *chat) tea.Cmd {
		defer cancel()
		_, err := engine.Compact(ctx, id, winnow.CompactOptions{Focus: focus})
		stopped := ctx.Err() != nil
		return func(m *chat) tea.Cmd {
			m.doing, m.stopFold = "", nil
			switch {
			case winnow.CodeOf(err) == winnow.NothingToFold:
				m.tell(told{text: panel.NothingToFold(err)})
			case err != nil && stopped:
				m.tell(told{text: "folding was stopped; the session is as it was"})
			}
			return m.sync() // of other failures the engine tells by an event
		}
	}))
}

func (m *chat) prune(arguments string) tea.Cmd {
	id, engine := m.session, m.config.Engine
	return m.attempt("nothing was pruned", func(ctx context.Context) (string, error) {
		out, err := engine.Prune(ctx, id, arguments == "--force")
		if out.Pruned == nil {
			return "nothing to prune: " + refusals(out.Refusals), err
		}
		return "", err
	})
}

// attempt does something that takes time beside the program, and says what came of it.
func (m *chat) attempt(failed string, work func(ctx context.Context) (said string, err error)) tea.Cmd {
	return m.do(func(ctx context.Context) func(m *chat) tea.Cmd {
		said, err := work(ctx)
		return func(m *chat) tea.Cmd {
			if err != nil {
				said = failed
			}
			m.tell(told{said, err})
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
