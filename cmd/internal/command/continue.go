package command

import (
	"context"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/output"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/format/opencode"
	"github.com/winnowhq/winnow/text/quantity"
)

// continued is the JSON document of continue.
type continued struct {
	Source  string `json:"source"`  // SRC as it was given
	Product string `json:"product"` // the format of the product in which the session goes on
	ID      string `json:"id"`      // its id there
	// The file in which the product keeps it. OpenCode imports one, which is named only if it is
	// still to be imported.
	Output   string `json:"output,omitzero"`
	Messages int    `json:"messages"` // messages of the session there
	Added    int    `json:"added"`    // messages that the product did not have
	Renamed  int    `json:"renamed"`  // calls that have the product's names of tools and arguments
	// Tools whose calls keep their names, because the product has none that does the same.
	Foreign []string `json:"foreign"`
	Resume  string   `json:"resume"` // the line of a shell that goes on with it
}

type continueFlags struct {
	in           string
	compact, run bool
}

func continueCommand(a *cli.App) *cobra.Command {
	var f continueFlags
	cmd := &cobra.Command{
		Use:   "continue SRC --in PRODUCT",
		Short: "Go on with a session in another agent",
		Long: `continue puts a session where another agent keeps its own, and prints the line that resumes it there:
in Claude Code, Codex, OpenCode or pi, in the current folder. SRC stays as it is.

Messages, calls, results and what winnow left out go along. Calls get the names of the other agent's
tools and arguments where it has such a tool. Other calls keep theirs, and one sentence behind your
newest words tells the model so. Reasoning stays behind: providers take it back only from the model
that wrote it.

Continued back, a session is not doubled: the one that it came from gets the messages that it does not
have, and its file is kept (see "winnow doctor originals"). If both went on by themselves, nothing is
written.

--compact folds the past first, as "winnow compact" does. --run starts the agent.`,
		Example: `  winnow continue latest --in codex
  winnow continue opencode:ses_0123 --in claude --compact
  winnow continue session.jsonl --in pi --run`,
		Args: cli.Exactly(1, "one SRC"),
		RunE: func(cmd *cobra.Command, args []string) error { return runContinue(cmd.Context(), a, args[0], f) },
	}
	cmd.Flags().StringVar(&f.in, "in", "", "the agent to go on in: claude, codex, opencode or pi")
	cmd.Flags().BoolVar(&f.compact, "compact", false, "fold the past into a summary first")
	cmd.Flags().BoolVar(&f.run, "run", false, "start the agent with the session")
	cli.Complete(cmd, "in", output.Successors()...)
	return cmd
}

func runContinue(ctx context.Context, a *cli.App, src string, f continueFlags) error {
	product, err := output.Successor(f.in)
	if err != nil {
		return err
	}
	s, err := source.OpenFor(ctx, a, src, true)
	if err != nil {
		return err
	}
	defer s.Close()
	if f.compact {
		done := a.Progress("folding " + src)
		_, err := s.Engine.Compact(ctx, s.ID, winnow.CompactOptions{KeepSecrets: a.KeepSecrets()})
		done()
		if code := winnow.CodeOf(err); err != nil && code != winnow.NothingToFold && code != winnow.NoProgress {
			return err
		}
	}
	given, err := output.HandOver(ctx, a, s, product)
	if err != nil {
		return err
	}
	r := resumptionOf(product, given.ID, given.Folder, given.Path, given.Import)
	if given.Import && imports(ctx, a, given.Path) {
		r.Steps, given.Path = r.Steps[1:], ""
	}
	doc := continued{Source: src, Product: product, ID: given.ID, Output: given.Path, Messages: given.Has,
		Added: given.Added, Renamed: given.Renamed, Foreign: append([]string{}, given.Foreign...), Resume: r.line()}
	err = s.Tell(a, doc, func() { showContinued(a, s, doc, r) })
	if err != nil || !f.run {
		return err
	}
	return r.run(ctx, a)
}

// imports has OpenCode import a file, and reports whether it did. The file goes then.
func imports(ctx context.Context, a *cli.App, path string) bool {
	program, err := exec.LookPath(opencode.Name)
	if err != nil {
		return false
	}
	cmd := exec.CommandContext(ctx, program, "import", path)
	cmd.Dir, cmd.Env = a.Env.Dir, a.Env.Environ
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "Imported session") {
		a.Warn("opencode did not import %s: %s", path, strings.TrimSpace(string(out)))
		return false
	}
	return os.Remove(path) == nil
}

func showContinued(a *cli.App, s *source.Session, doc continued, r resumption) {
	switch {
	case doc.Added == 0:
		a.Printf("%s has all of it already: %s\n", doc.Product, quantity.Plural(doc.Messages, "message", "messages"))
	case doc.Added < doc.Messages:
		a.Printf("%s added to the session that %s has: %s now\n", quantity.Plural(doc.Added, "message", "messages"),
			doc.Product, quantity.Number(doc.Messages))
	default:
		a.Printf("%s of %s handed over to %s\n", quantity.Plural(doc.Messages, "message", "messages"), s.Title(),
			doc.Product)
	}
	if doc.Renamed > 0 && doc.Added == doc.Messages {
		a.Printf("%s renamed to the tools of %s\n", quantity.Plural(doc.Renamed, "call was", "calls were"),
			doc.Product)
	}
	if len(doc.Foreign) > 0 && doc.Added > 0 {
		a.Printf("tools that it does not have: %s; the model is told\n", strings.Join(doc.Foreign, ", "))
	}
	if doc.Output != "" && doc.Added > 0 {
		a.Printf("Written to %s\n", a.Short(doc.Output))
	}
	a.Printf("Go on with: %s\n", r.from(a.Env.Dir))
}
