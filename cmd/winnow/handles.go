package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/edit"
	"github.com/winnowhq/winnow/inplace"
	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/token"
	"github.com/winnowhq/winnow/visible"
)

// handleList is the JSON document of handles.
type handleList struct {
	Source  string       `json:"source"`
	Minimum int          `json:"minimum"` // tokens, of a piece of a part
	Handles []edit.Named `json:"handles"`
}

// selfPruned is the JSON document of discard and distill.
type selfPruned struct {
	Source       string        `json:"source"`
	Did          string        `json:"did"`
	Targets      []edit.Target `json:"targets"`
	TokensBefore int           `json:"tokensBefore"`
	TokensAfter  int           `json:"tokensAfter"`
	Receipt      string        `json:"receipt,omitzero"`
	Output       string        `json:"output,omitzero"`

	InPlace *inplace.Replaced `json:"inPlace,omitzero"`
}

// refusedTargets is the end of a command that did some of what it was asked for.
type refusedTargets struct{ targets []edit.Target }

func (r refusedTargets) Error() string {
	var lines []string
	for _, t := range r.targets {
		if !t.OK {
			lines = append(lines, fmt.Sprintf("%s: %s (%s)", t.Target, t.Reason, t.Code))
		}
	}
	return plural(len(lines), "target was", "targets were") + " refused:\n  " + strings.Join(lines, "\n  ")
}

func (a *app) handlesCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "handles SRC",
		Short: "List the parts that are worth pruning by hand, with their handles",
		Long: `handles lists the larger parts of the older steps, with the short names that discard, distill, restore, explain and pin take. A handle is made
from the id of the call: it is the same tomorrow, and in a copy of the session. What is protected or pinned is not listed; what is left out already is.`,
		Example: `  winnow handles session.jsonl`,
		Args:    exactly(1, "one SRC"),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.runHandles(cmd.Context(), args[0]) },
	}
}

func (a *app) runHandles(ctx context.Context, src string) error {
	s, err := a.open(ctx, src)
	if err != nil {
		return err
	}
	defer s.Close()
	named, err := winnow.Look(ctx, s.engine, s.id, edit.Handles)
	if err != nil {
		return err
	}
	if a.json {
		err = a.print(handleList{Source: src, Minimum: rule.HandleMinimum, Handles: named})
	} else if len(named) > 0 {
		a.showHandles(named)
	}
	if err == nil && len(named) == 0 {
		err = nothing{fmt.Sprintf("no part of an older step has %d tokens or more and may go", rule.HandleMinimum)}
	}
	if err != nil {
		return err
	}
	return s.done()
}

func (a *app) showHandles(named []edit.Named) {
	handle, size := len("handle"), len("tokens")
	for _, n := range named {
		handle, size = max(handle, len(n.Handle)), max(size, len(token.Grouped(n.Tokens)))
	}
	a.printf("%-*s  %*s  %5s  %s\n", handle, "handle", size, "tokens", "steps", "what")
	for _, n := range named {
		what := visible.Line(cmp.Or(n.Tool, n.Type) + " " + n.Target)
		if n.State == edit.Elided {
			what += fmt.Sprintf(" (%s: %s tokens shown)", n.Rule, token.Grouped(n.Shown))
		}
		a.printf("%-*s  %*s  %5d  %s\n", handle, n.Handle, size, token.Grouped(n.Tokens), n.Age, what)
	}
}

func (a *app) discardCommand() *cobra.Command {
	var out output
	cmd := &cobra.Command{
		Use:   "discard SRC HANDLE…",
		Short: "Leave out single parts, by their handles",
		Long: `discard leaves out the parts that are named by handle, call id or part id, and shows a placeholder in the place of each. Nothing is deleted:
"winnow restore" shows them whole again, "winnow undo" takes the whole commit back. A target that cannot be done holds up no other.`,
		Example: `  winnow discard ses_0123 k3f7a2 mwq5zd
  winnow discard session.jsonl k3f7a2 -o smaller.jsonl`,
		Args: between(2, -1, "SRC and at least one HANDLE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runSelfPrune(cmd.Context(), args[0], out, "discarded", func(s *source) (winnow.Edited, error) {
				return s.engine.Edit(cmd.Context(), s.id, edit.Request{Discard: args[1:]})
			})
		},
	}
	out.flags(cmd)
	return cmd
}

func (a *app) distillCommand() *cobra.Command {
	var out output
	var text, file string
	cmd := &cobra.Command{
		Use:   "distill SRC HANDLE…",
		Short: "Show a summary of your own in the place of parts",
		Long: `distill shows one summary in the place of the parts that are named by handle, call id or part id: the largest of them shows it, the others
name that part. The summary is kept with the session and shown in every later view. One that is larger than what it would replace is refused.`,
		Example: `  winnow distill ses_0123 k3f7a2 --text "a.go: the parser; entry point Parse(r io.Reader)."
  winnow distill session.jsonl k3f7a2 mwq5zd --file notes.md`,
		Args: between(2, -1, "SRC and at least one HANDLE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			switch {
			case (text == "") == (file == ""):
				return usage("give the summary with --text or with --file")
			case file == "-" && args[0] == "-":
				return usage("standard input cannot be the session and the summary")
			case file != "":
				data, _, err := a.readFile(file)
				if err != nil {
					return err
				}
				if text = string(data); strings.TrimSpace(text) == "" {
					return usage("%s is empty: there is no summary in it", file)
				}
			}
			return a.runSelfPrune(ctx, args[0], out, "distilled", func(s *source) (winnow.Edited, error) {
				return s.engine.Edit(ctx, s.id, edit.Request{Distill: []edit.Distillation{{Targets: args[1:], Summary: text}}})
			})
		},
	}
	out.flags(cmd)
	cmd.Flags().StringVar(&text, "text", "", "the summary")
	cmd.Flags().StringVar(&file, "file", "", `a file that holds the summary, "-" for standard input`)
	return cmd
}

// runSelfPrune opens a source, prunes it by handle, writes a file's copy, and tells what became of each target.
func (a *app) runSelfPrune(ctx context.Context, src string, out output, did string, do func(*source) (winnow.Edited, error)) error {
	s, before, err := a.openToChange(ctx, src, &out, false)
	if err != nil {
		return err
	}
	defer s.Close()
	done, err := do(s)
	if err != nil {
		return err
	}
	doc := selfPruned{Source: src, Did: did, Targets: done.Targets, TokensBefore: before.Window.Tokens, TokensAfter: before.Window.Tokens}
	if r := done.Receipt; r != nil {
		doc.Receipt, doc.TokensAfter = r.ID, r.TokensAfter
	}
	if done.Changed && s.fromFile() {
		if doc.Output, err = a.write(ctx, s, &out, did); err != nil {
			return err
		}
		doc.InPlace = out.replaced
	}
	switch {
	case doc.Output == "-": // standard output has the session
	case a.json:
		if err := a.print(doc); err != nil {
			return err
		}
	case done.Changed:
		a.showSelfPruned(doc, s)
		a.sayOriginal(&out)
	}
	if err := outcomeOf(done); !done.Changed {
		return err
	} else {
		return errors.Join(err, s.done())
	}
}

// outcomeOf is how a command ends: done, some targets refused, or nothing done.
func outcomeOf(done winnow.Edited) error {
	refused := refusedTargets{done.Targets}
	for _, t := range done.Targets {
		switch {
		case t.OK:
		case done.Changed:
			return refused
		default:
			return nothing{refused.Error()}
		}
	}
	if !done.Changed {
		return nothing{"it is so already: " + done.Targets[0].Reason}
	}
	return nil
}

func (a *app) showSelfPruned(doc selfPruned, s *source) {
	for _, t := range doc.Targets {
		if !t.OK {
			continue // standard error has it
		}
		line := fmt.Sprintf("%s  %s tokens less", t.Handle, token.Grouped(t.Saved))
		if t.Code == winnow.Already {
			line = t.Handle + "  nothing to do"
		}
		if t.Reason != "" {
			line += "; " + t.Reason
		}
		a.printf("%s\n", line)
	}
	a.printf("The view: %s → %s tokens\n", token.Grouped(doc.TokensBefore), token.Grouped(doc.TokensAfter))
	if doc.Output != "" {
		a.printf("Written to %s\n", a.short(doc.Output))
	} else {
		a.printf("Undo with: winnow undo %s\n", s.id)
	}
}
