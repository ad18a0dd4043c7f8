// Package change changes what the model sees of a session and takes such changes back: what undo,
// redo, restore, pin, discard and distill have in common.
package change

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/output"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/desk/inplace"
	"github.com/winnowhq/winnow/format/opencodeserver"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/store/edit"
	"github.com/winnowhq/winnow/text/quantity"
)

// Document is the JSON document of undo, redo, restore and pin.
type Document struct {
	Source string `json:"source"` // SRC as it was given
	// "undone", "redone", "restored", "pinned", "unpinned" or "listed".
	Did string `json:"did"`
	// Id of the receipt that was undone or redone, or that a restore or a pin made.
	Receipt string    `json:"receipt,omitzero"`
	Marker  string    `json:"marker,omitzero"` // id of the marker that was undone or redone
	Parts   []string  `json:"parts"`           // ids of the parts that are now shown differently
	Pin     *rule.Pin `json:"pin,omitzero"`    // the new pin
	// All pins of the session; for a file, those that it quotes.
	Pins []rule.Pin `json:"pins,omitzero"`
	// Ids of those of "parts" that a compaction folded: they are quoted after its summary.
	Quoted []string `json:"quoted,omitzero"`
	// Parts with reasoning that were left out, because they were made behind what was undone (or,
	// after a redo, before it counted again) and their model takes them only there.
	Unbound      int    `json:"unbound,omitzero"`
	TokensBefore int    `json:"tokensBefore"`    // tokens of the view before
	TokensAfter  int    `json:"tokensAfter"`     // tokens of the view afterwards
	Output       string `json:"output,omitzero"` // path of the file that was written
	Undo         string `json:"undo,omitzero"`   // the command that undoes a restore or a pin

	InPlace *inplace.Replaced       `json:"inPlace,omitzero"` // how SRC was replaced
	Server  *opencodeserver.Outcome `json:"server,omitzero"`  // the changes that a running OpenCode was told
	// Path of a file for "opencode import" with the messages that were removed from a running
	// OpenCode.
	Kept    string   `json:"kept,omitzero"`
	Limits  []string `json:"limits,omitzero"` // sentences, as in "prune"
	kind    pivot.Kind
	again   string         // the command that leaves the parts out again, "" if undo or redo does
	undoing source.Undoing // of a file
}

// touched notes the parts of elisions, each once.
func (d *Document) touched(elisions []rule.Elision) {
	for _, el := range elisions {
		if !slices.Contains(d.Parts, el.Part) {
			d.Parts = append(d.Parts, el.Part)
		}
	}
}

// Note records a change, or that it was undone.
func (d *Document) Note(r *pivot.Receipt) {
	d.Receipt, d.Marker, d.kind, d.Unbound = r.ID, r.Marker, r.Kind, r.Unbound
	d.touched(r.Committed)
	d.touched(r.Replaced)
	d.Parts = append(d.Parts, r.Quoted...)
	d.Quoted = r.Quoted
}

// Run opens a session, changes it, writes the copy of a file, and tells what the view was and is.
func Run(ctx context.Context, a *cli.App, src string, o output.Target, did string,
	do func(*source.Session, *Document) error) error {
	s, before, err := output.OpenToChange(ctx, a, src, &o, false)
	if err != nil {
		return err
	}
	defer s.Close()
	if s.FromFile() {
		if err := RecallRestores(ctx, a, s); err != nil {
			return err
		}
	}
	doc := Document{Source: src, Did: did, Parts: []string{}, TokensBefore: before.Window.Tokens}
	if err := do(s, &doc); err != nil {
		return err
	}
	if s.FromFile() && doc.Did != "listed" {
		if doc.Output, err = output.Write(ctx, a, s, &o, doc.Did); err != nil {
			return err
		}
		if doc.Output == "-" {
			return s.Done()
		}
		if o.Told == nil {
			if err := remember(ctx, a, s, &doc, o.Replaced); err != nil { // the file is written all the same
				a.Warn("winnow undo and redo will not know of this change: %v", err)
			}
		}
		doc.InPlace, doc.Server, doc.Limits = o.Replaced, o.Told, o.Limits
	}
	after, err := o.Seen(ctx, a, s)
	if err != nil {
		return err
	}
	doc.TokensAfter = after.Window.Tokens
	if doc.Kept = o.Kept; o.Told != nil && o.Kept == "" {
		doc.again = o.Again("prune", src) // a running OpenCode keeps nothing that was undone
	} else if doc.Did == "restored" || doc.Pin != nil && doc.Receipt != "" {
		doc.Undo = cmp.Or(cli.UndoOf(a.Short(doc.Output)), "winnow undo "+s.ID+" "+doc.Receipt)
	}
	return s.Tell(a, doc, func() {
		doc.show(a)
		o.SayTold(a)
		output.SayOriginal(a, &o)
	})
}

func (d *Document) show(a *cli.App) {
	switch {
	case d.Did == "listed":
		d.listPins(a)
		return
	case d.Pin != nil:
		a.Printf("Pinned as %s\n", d.Pin.ID)
	case d.kind == pivot.Pinning:
		a.Printf("The pin is %s.\n", d.Did)
	case d.kind == pivot.Restoring && d.Did != "restored":
		a.Printf("The restore of %s is %s.\n", quantity.Plural(len(d.Parts), "part", "parts"), d.Did)
	case d.kind == rescue:
		a.Printf("The rescue is %s: the session is as its agent left it.\n", d.Did)
	case d.Marker != "":
		a.Printf("The compaction %s is %s.\n", d.Marker, d.Did)
	case d.Did == "unpinned":
		a.Printf("Unpinned.\n")
	default:
		a.Printf("%s %s.\n", quantity.Plural(len(d.Parts), "part is", "parts are"), d.Did)
	}
	if n := len(d.Quoted); n > 0 && d.Did == "restored" {
		a.Printf("%s quoted behind the summary that stands for it.\n",
			quantity.Plural(n, "folded part is", "folded parts are"))
	}
	const onlyThere = "model takes reasoning only behind the exact prompt that it was made for"
	switch n := d.Unbound; {
	case n == 1:
		a.Printf("1 part with reasoning is left out: it was made meanwhile, and its %s.\n", onlyThere)
	case n > 1:
		a.Printf("%s parts with reasoning are left out: they were made meanwhile, and their %s.\n",
			quantity.Number(n), onlyThere)
	}
	sayView(a, d.TokensBefore, d.TokensAfter)
	if d.Output != "" {
		a.Printf("Written to %s\n", a.Short(d.Output))
	}
	if d.Undo != "" {
		a.Printf("Undo with: %s\n", d.Undo)
	}
	if d.again != "" {
		a.Printf("Leave out again with: %s\n", d.again)
	}
}

func (d *Document) listPins(a *cli.App) {
	if len(d.Pins) == 0 {
		a.Printf("No pins.\n")
	}
	for _, p := range d.Pins {
		what := p.Text
		switch {
		case p.Part != "":
			what = "part " + p.Part
		case p.Message != "":
			what = "message " + p.Message
		}
		a.Printf("%s\n", strings.TrimRight(p.ID+"  "+rule.Shorten(what, 80)+"  "+p.Note, " "))
	}
}

// sayView says how large the view was and is.
func sayView(a *cli.App, before, after int) {
	a.Printf("The view: %s → %s tokens\n", quantity.Number(before), quantity.Number(after))
}

// ByHandDocument is the JSON document of discard and distill.
type ByHandDocument struct {
	Source string `json:"source"` // SRC as it was given
	Did    string `json:"did"`    // "discarded" or "distilled"
	// One entry for each target, in the order in which they were given.
	Targets      []edit.Target `json:"targets"`
	TokensBefore int           `json:"tokensBefore"` // tokens of the view before
	TokensAfter  int           `json:"tokensAfter"`  // tokens of the view afterwards
	// Id of the receipt, which "winnow undo SRC ID" takes.
	Receipt string `json:"receipt,omitzero"`
	Output  string `json:"output,omitzero"` // path of the file that was written

	InPlace *inplace.Replaced `json:"inPlace,omitzero"` // how SRC was replaced
	Limits  []string          `json:"limits,omitzero"`  // sentences, as in "prune"
}

// ByHand opens a session, prunes it by handle, writes the copy of a file, and tells what became of
// each target.
func ByHand(ctx context.Context, a *cli.App, src string, o output.Target, did string,
	do func(*source.Session) (winnow.Edited, error)) error {
	s, before, err := output.OpenToChange(ctx, a, src, &o, false)
	if err != nil {
		return err
	}
	defer s.Close()
	done, err := do(s)
	if err != nil {
		return err
	}
	doc := ByHandDocument{Source: src, Did: did, Targets: done.Targets, TokensBefore: before.Window.Tokens,
		TokensAfter: before.Window.Tokens}
	if r := done.Receipt; r != nil {
		doc.Receipt, doc.TokensAfter = r.ID, r.TokensAfter
	}
	if done.Changed && s.FromFile() {
		if doc.Output, err = output.Write(ctx, a, s, &o, did); err != nil {
			return err
		}
		doc.InPlace, doc.Limits = o.Replaced, o.Limits
	}
	if doc.Output != "-" { // standard output has the session
		err = a.Tell(doc, func() {
			if done.Changed {
				doc.show(a, s)
				o.SayTold(a)
				output.SayOriginal(a, &o)
			}
		})
	}
	refused := refusals(done.Targets)
	switch {
	case err != nil:
		return err
	case done.Changed && refused != "":
		return errors.Join(cli.Incomplete(refused), s.Done())
	case done.Changed:
		return s.Done()
	case refused != "":
		return cli.Nothing(refused)
	}
	return cli.Nothing("it is so already: " + done.Targets[0].Reason)
}

// refusals lists the targets that were refused and why, "" if none was.
func refusals(targets []edit.Target) string {
	var lines []string
	for _, t := range targets {
		if !t.OK {
			lines = append(lines, fmt.Sprintf("%s: %s (%s)", t.Target, t.Reason, t.Code))
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return quantity.Plural(len(lines), "target was", "targets were") + " refused:\n  " + strings.Join(lines, "\n  ")
}

func (d *ByHandDocument) show(a *cli.App, s *source.Session) {
	for _, t := range d.Targets {
		if !t.OK {
			continue // standard error has it
		}
		line := fmt.Sprintf("%s  %s tokens less", t.Handle, quantity.Number(t.Saved))
		if t.Code == winnow.Already {
			line = t.Handle + "  nothing to do"
		}
		if t.Reason != "" {
			line += "; " + t.Reason
		}
		a.Printf("%s\n", line)
	}
	sayView(a, d.TokensBefore, d.TokensAfter)
	output.SayWritten(a, s, d.Output)
}
