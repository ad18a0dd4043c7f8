package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/gateway"
	"github.com/winnowhq/winnow/cmd/internal/output"
	"github.com/winnowhq/winnow/cmd/internal/source"
)

// firstCommands are those to try where there is no session yet.
func firstCommands() []suggestion {
	client := "claude"
	for _, c := range gateway.Clients() {
		if _, err := exec.LookPath(c.Name); err == nil {
			client = c.Name
			break
		}
	}
	return []suggestion{
		{Name: "list", Command: "winnow ls",
			what: "what agents have kept on this computer, and what it cost"},
		{Name: "wrap", Command: "winnow wrap " + client, what: "run an agent with its requests pruned on the way"},
		{Name: "inspect", Command: "winnow inspect FILE", what: "where the tokens of a session went"},
	}
}

// commandsFor are the commands that go on with a session.
func commandsFor(a *cli.App, n *newestSession, r resumption) []suggestion {
	word := source.Latest
	all := []suggestion{{Name: "inspect", Command: "winnow inspect " + word, key: "i", what: "where the tokens went"}}
	going := r.from(a.Env.Dir)
	switch fold := foldCommand(n, word); {
	case n.Ailment != "":
		line := "winnow rescue " + word
		if going != "" {
			line += " && " + going
		}
		all = append(all, suggestion{Name: "rescue", Command: line, key: "c", what: "rescue, and resume"})
	case fold != "" && going != "":
		all = append(all, suggestion{Name: "compact", Command: fold + " && " + going, key: "c",
			what: "compact, and resume"})
	case fold != "":
		all = append(all, suggestion{Name: "compact", Command: fold, key: "c", what: "compact"})
	case going != "":
		all = append(all, suggestion{Name: "resume", Command: going, key: "r", what: "resume as it is"})
	}
	if client, args := r.wrapped(); client != "" {
		words := []string{"winnow", "wrap", client}
		for _, arg := range args {
			words = append(words, cli.ShellWord(arg))
		}
		line := strings.Join(words, " ")
		if r.Folder != "" && r.Folder != a.Env.Dir {
			line = "cd " + cli.ShellWord(r.Folder) + " && " + line
		}
		all = append(all, suggestion{Name: "wrap", Command: line, key: "w",
			what: "resume, pruned on the way"})
	}
	return append(all, suggestion{Name: "page", Command: "winnow inspect " + word + " --html session.html", key: "o",
		what: "open its page in a browser"})
}

// foldCommand is the command that compacts a session so that its product goes on with the rest,
// "" if there is nothing to fold.
func foldCommand(n *newestSession, word string) string {
	switch {
	case n.Read && (n.Compact.Nothing != "" || n.Compact.TokensAfter >= n.Compact.TokensBefore):
		return ""
	case n.Product == source.Own:
		return "winnow compact " + word
	case n.inStore():
		return "winnow compact " + word + " -o " + cli.ShellWord(n.copied()) + " && " + n.Product + " import " +
			cli.ShellWord(n.copied())
	}
	return "winnow compact " + word + " --in-place"
}

// inStore reports whether it is in a store of OpenCode's or a folder of OpenHands', which are never
// written to.
func (n *newestSession) inStore() bool {
	info, err := os.Stat(n.Source)
	return err != nil || info.IsDir()
}

// copied is where the compacted copy of a session in a store is written to.
func (n *newestSession) copied() string {
	return filepath.Join(os.TempDir(), output.FileName(n.ID)+".compacted.json")
}
