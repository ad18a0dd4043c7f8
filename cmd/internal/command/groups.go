package command

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/look/tui"
)

// group is commands that winnow --help lists together.
type group struct {
	title string
	names []string
}

// groups are the commands that winnow --help lists, in its order. "winnow help advanced" lists the
// others.
func groups(a *cli.App) []group {
	list := []group{
		{"Look", []string{"ls", "cost", "inspect", "explain", "search"}},
		{"Save", []string{"compact", "prune", "undo", "restore", "protect"}},
		{"Live", []string{"wrap", "serve", "status"}},
		{"Decide", []string{"advise"}},
		{"Set up", []string{"install", "doctor", "config"}},
		{"Agent", []string{"chat", "run"}},
	}
	if a.Shared.Missing == nil {
		list = append(list, group{"Team", []string{"tenant", "store", "session"}})
	}
	return list
}

// renamed are the old names of commands, which go with the next release, and what to type instead.
func renamed() map[string]string {
	return map[string]string{
		"list":      "winnow ls (or winnow ls --store)",
		"show":      "winnow inspect SRC --log",
		"view":      "winnow inspect SRC --as text",
		"handles":   "winnow explain SRC --handles",
		"pin":       "winnow protect SRC PART",
		"dismiss":   "winnow protect SRC --dismiss N",
		"repair":    "winnow doctor SRC --fix",
		"originals": "winnow doctor originals",
		"models":    "winnow config models",
	}
}

// arrange hides the commands outside the groups, and lets old names print the new ones.
func arrange(a *cli.App, root *cobra.Command) {
	listed := map[string]bool{}
	for _, g := range groups(a) {
		for _, name := range g.names {
			listed[name] = true
		}
	}
	for _, cmd := range root.Commands() {
		cmd.Hidden = !listed[cmd.Name()]
		if now := renamed()[cmd.Name()]; now != "" {
			cmd.PreRun = func(cmd *cobra.Command, _ []string) {
				a.Warn("%s is now %s; the old name goes with the next release", cmd.CommandPath(), now)
			}
		}
	}
	usual := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		switch {
		case !cmd.HasParent():
			overview(a, cmd)
		case cmd.Name() == advanced:
			others(a, cmd.Root())
		default:
			cmd.Long = fill(cmd.Long, a.Env.Width)
			usual(cmd, args)
		}
	})
}

// overview prints what winnow is and the commands of its groups.
func overview(a *cli.App, root *cobra.Command) {
	a.Printf("%s\n\nUsage: %s [command]\n", fill(root.Long, a.Env.Width), root.Name())
	for _, g := range groups(a) {
		a.Printf("\n%s\n", g.title)
		for _, name := range g.names {
			cmd, _, err := root.Find([]string{name})
			if err != nil || cmd == root {
				continue
			}
			a.Printf("%s\n", a.Cut(fmt.Sprintf("  %-9s %s", name, cmd.Short), 0))
		}
	}
	a.Printf("\n%s\n", fill(fmt.Sprintf("`%[1]s COMMAND --help` has the flags of a command, "+
		"`%[1]s help advanced` the other commands, the flags of all, exit codes, and how to name a session.",
		root.Name()), a.Env.Width))
}

// advanced is the help topic for everything outside the groups.
const advanced = "advanced"

func advancedTopic() *cobra.Command {
	return &cobra.Command{Use: advanced,
		Short:   "The other commands, the flags of all, exit codes, and names of sessions",
		Example: "  winnow help advanced"}
}

// others prints the commands outside the groups, the flags of all commands and the exit codes.
func others(a *cli.App, root *cobra.Command) {
	a.Printf("%s\n\nOther commands\n", fill(sources, a.Env.Width))
	for _, cmd := range root.Commands() {
		if _, old := renamed()[cmd.Name()]; !cmd.Hidden || old || cmd.Name() == advanced {
			continue
		}
		a.Printf("%s\n", a.Cut(fmt.Sprintf("  %-10s %s", cmd.Name(), cmd.Short), 0))
	}
	a.Printf("\nFlags of every command\n%s\n%s\n", root.PersistentFlags().FlagUsagesWrapped(a.Env.Width), exitCodes)
}

// widest is the most columns that a paragraph of help takes.
const widest = 100

// fill sets the paragraphs of a text as wide as a terminal is. Lines that are indented stay.
func fill(text string, width int) string {
	if width <= 0 || width > widest {
		width = widest
	}
	var filled []string
	for _, paragraph := range strings.Split(text, "\n\n") {
		lines := strings.Split(paragraph, "\n")
		if !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, " ") }) {
			words := strings.Fields(strings.Join(lines, " "))
			paragraph = strings.Join(tui.Wrap(words, width, len(words)+1), "\n")
		}
		filled = append(filled, paragraph)
	}
	return strings.Join(filled, "\n\n")
}

// meant are commands by words that people try for them.
func meant() map[string]string {
	return map[string]string{
		"compress": "compact", "shrink": "compact", "fold": "compact", "summarize": "compact", "trim": "prune",
		"clean": "prune", "costs": "cost", "spend": "cost", "spent": "cost", "usage": "cost", "week": "cost",
		"today": "cost", "month": "cost", "money": "cost", "bill": "cost", "sessions": "ls", "why": "explain",
		"find": "search", "grep": "search", "keep": "protect", "unpin": "protect", "revive": "restore",
		"proxy": "serve", "gateway": "serve", "live": "status", "stats": "status", "save": "advise",
		"setup": "install", "fix": "doctor", "check": "doctor", "settings": "config", "look": "inspect",
		"context": "inspect", "cure": "rescue", "stuck": "rescue", "resume": "chat", "remove": "uninstall",
		"disk": "gc", "space": "gc", "archive": "gc",
	}
}

// suggested is the command that a word may stand for, "" for none: by its meaning, else by its letters.
func suggested(root *cobra.Command, word string) string {
	near := root.SuggestionsFor(word)
	near = slices.DeleteFunc(near, func(name string) bool { return renamed()[name] != "" })
	return cmp.Or(meant()[strings.ToLower(word)], append(near, "")[0])
}
