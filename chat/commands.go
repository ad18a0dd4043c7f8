package chat

import (
	"context"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/report"
	"github.com/winnowhq/winnow/rule"
)

// commands are all that can be typed with a slash, in the order in which /help lists them.
func commands() []command {
	return []command{
		{"compact", "[focus]", "fold the past into a summary; shows first what would go", (*chat).preview},
		{"prune", "", "leave out what the rules find, now", (*chat).prune},
		{"context", "", "what takes the space in the window", (*chat).showContext},
		{"undo", "[id]", "take the newest pruning or folding back, or the one named", (*chat).undo},
		{"redo", "", "make what was undone count again", (*chat).redo},
		{"receipt", "[id]", "what prunings and foldings did", (*chat).showReceipts},
		{"model", "[name]", "show or choose who answers", (*chat).chooseModel},
		{"cost", "", "what the session took", (*chat).showCost},
		{"sessions", "", "go on with another session", (*chat).showSessions},
		{"title", "[text]", "show or set the title of the session", (*chat).retitle},
		{"export", "[file]", "write the session into a file", (*chat).export},
		{"revert", "", "go back to before a message of yours, files too", (*chat).chooseRevert},
		{"pin", "text", "keep a text through every pruning and folding", (*chat).pin},
		{"new", "", "begin a new session", (*chat).restart},
		{"help", "", "commands and keys", (*chat).showHelp},
		{"quit", "", "leave; the session is kept", (*chat).quit},
	}
}

// typedCommand carries out what was typed with a slash.
func (m *chat) typedCommand(text string) tea.Cmd {
	name, arguments, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(text), "/"), " ")
	arguments = strings.TrimSpace(arguments)
	all := commands()
	for _, c := range all {
		if c.name == strings.ToLower(name) {
			return c.run(m, arguments)
		}
	}
	m.transcript.say(wrong(unknownCommand(name, all)))
	return nil
}

// unknownCommand names the command that is nearest to what was typed.
func unknownCommand(name string, all []command) string {
	text := "there is no /" + oneLine(name)
	best, least := "", 3 // further away is another word
	for _, c := range all {
		if d := distance(strings.ToLower(name), c.name); d < least {
			best, least = c.name, d
		}
	}
	if i := slices.IndexFunc(all, func(c command) bool { return name != "" && strings.HasPrefix(c.name, strings.ToLower(name)) }); i >= 0 {
		best = all[i].name
	}
	if best != "" {
		return text + "; do you mean /" + best + "? (// begins a message with a slash)"
	}
	return text + "; /help lists what there is (// begins a message with a slash)"
}

// distance is how many letters must be put in, left out, changed or swapped with a neighbour to make one word of another.
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

// need reports whether there is a session, and says so where there is none.
func (m *chat) need() bool {
	if m.session == "" {
		m.tell(told{text: "there is no session yet: say something first"})
	}
	return m.session != ""
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
	if !m.need() {
		return nil
	}
	m.panel = nil
	id, engine := m.session, m.config.Engine
	if m.work != nil {
		return m.do(func(ctx context.Context) func(m *chat) tea.Cmd {
			_, err := engine.Compact(ctx, id, winnow.CompactOptions{Later: true, Auto: true})
			return func(m *chat) tea.Cmd {
				if err != nil {
					m.tell(told{"the past is not folded", err})
				} else {
					m.tell(told{text: "the past will be folded before the next step"})
				}
				return m.sync()
			}
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
				m.tell(told{text: nothingToFold(err)})
			case err != nil && stopped:
				m.tell(told{text: "folding was stopped; the session is as it was"})
			}
			return m.sync() // of other failures the engine tells by an event
		}
	}))
}

func (m *chat) prune(string) tea.Cmd {
	if !m.need() {
		return nil
	}
	id, engine := m.session, m.config.Engine
	return m.do(func(ctx context.Context) func(m *chat) tea.Cmd {
		out, err := engine.Prune(ctx, id)
		return func(m *chat) tea.Cmd {
			switch {
			case err != nil:
				m.tell(told{"nothing was pruned", err})
			case out.Pruned == nil:
				m.tell(told{text: "nothing to prune: " + refusals(out.Refusals)})
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
		said = append(said, oneLine(r.Reason))
	}
	for _, s := range sums {
		if len(said) == 3 {
			break
		}
		said = append(said, grouped(s.Parts)+"× "+oneLine(s.Reason))
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
