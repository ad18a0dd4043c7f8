package change

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/cmd/winnow/internal/cli"
	"github.com/winnowhq/winnow/cmd/winnow/internal/output"
	"github.com/winnowhq/winnow/cmd/winnow/internal/source"
	"github.com/winnowhq/winnow/inplace"
	"github.com/winnowhq/winnow/token"
)

// SelfPruned is the JSON document of discard and distill.
type SelfPruned struct {
	Source       string            `json:"source"`
	Did          string            `json:"did"`
	Targets      []winnow.Targeted `json:"targets"`
	TokensBefore int               `json:"tokensBefore"`
	TokensAfter  int               `json:"tokensAfter"`
	Receipt      string            `json:"receipt,omitzero"`
	Output       string            `json:"output,omitzero"`

	InPlace *inplace.Replaced `json:"inPlace,omitzero"`
}

// refusals lists the targets that were refused, with the reason for each.
func refusals(targets []winnow.Targeted) string {
	var lines []string
	for _, t := range targets {
		if !t.OK {
			lines = append(lines, fmt.Sprintf("%s: %s (%s)", t.Target, t.Reason, t.Code))
		}
	}
	return cli.Plural(len(lines), "target was", "targets were") + " refused:\n  " + strings.Join(lines, "\n  ")
}

// ByHand opens a source, prunes it by handle, writes a file's copy, and tells what became of each target.
func ByHand(ctx context.Context, a *cli.App, src string, out output.Target, did string, do func(*source.Session) (winnow.SelfPruned, error)) error {
	s, before, err := output.OpenToChange(ctx, a, src, &out, false)
	if err != nil {
		return err
	}
	defer s.Close()
	done, err := do(s)
	if err != nil {
		return err
	}
	doc := SelfPruned{Source: src, Did: did, Targets: done.Targets, TokensBefore: before.Window.Tokens, TokensAfter: before.Window.Tokens}
	if r := done.Receipt; r != nil {
		doc.Receipt, doc.TokensAfter = r.ID, r.TokensAfter
	}
	if done.Changed && s.FromFile() {
		if doc.Output, err = output.Write(ctx, a, s, &out, did); err != nil {
			return err
		}
		doc.InPlace = out.Replaced
	}
	switch {
	case doc.Output == "-": // standard output has the session
	case a.JSON:
		if err := a.Print(doc); err != nil {
			return err
		}
	case done.Changed:
		showSelfPruned(a, doc, s)
		output.SayOriginal(a, &out)
	}
	if err := outcomeOf(done); !done.Changed {
		return err
	} else {
		return errors.Join(err, s.Done())
	}
}

// outcomeOf is how a command ends: done, some targets refused, or nothing done.
func outcomeOf(done winnow.SelfPruned) error {
	if slices.ContainsFunc(done.Targets, func(t winnow.Targeted) bool { return !t.OK }) {
		if done.Changed {
			return cli.Incomplete(refusals(done.Targets))
		}
		return cli.Nothing(refusals(done.Targets))
	}
	if !done.Changed {
		return cli.Nothing("it is so already: " + done.Targets[0].Reason)
	}
	return nil
}

func showSelfPruned(a *cli.App, doc SelfPruned, s *source.Session) {
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
		a.Printf("%s\n", line)
	}
	a.Printf("The view: %s → %s tokens\n", token.Grouped(doc.TokensBefore), token.Grouped(doc.TokensAfter))
	if doc.Output != "" {
		a.Printf("Written to %s\n", a.Short(doc.Output))
	} else {
		a.Printf("Undo with: winnow undo %s\n", s.ID)
	}
}
