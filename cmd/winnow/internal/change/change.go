// Package change changes what the model sees of a session and takes such changes back: what undo,
// redo, restore, pin, discard and distill have in common.
package change

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/cmd/winnow/internal/cli"
	"github.com/winnowhq/winnow/cmd/winnow/internal/output"
	"github.com/winnowhq/winnow/cmd/winnow/internal/source"
	"github.com/winnowhq/winnow/inplace"
	"github.com/winnowhq/winnow/pivot"
	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/token"
)

// Document is the JSON document of undo, redo, restore and pin.
type Document struct {
	Source       string     `json:"source"`
	Did          string     `json:"did"`
	Receipt      string     `json:"receipt,omitzero"`
	Marker       string     `json:"marker,omitzero"`
	Parts        []string   `json:"parts"` // that are shown otherwise now
	Pin          *rule.Pin  `json:"pin,omitzero"`
	Pins         []rule.Pin `json:"pins,omitzero"`
	Quoted       []string   `json:"quoted,omitzero"` // of the parts, those that a compaction folded and that are quoted behind its summary
	TokensBefore int        `json:"tokensBefore"`
	TokensAfter  int        `json:"tokensAfter"`
	Output       string     `json:"output,omitzero"`
	Undo         string     `json:"undo,omitzero"` // the command that takes a restore or a pin back

	InPlace *inplace.Replaced `json:"inPlace,omitzero"`
	kind    pivot.Kind
}

// touched notes the parts of elisions, each once.
func (c *Document) touched(elisions []rule.Elision) {
	for _, el := range elisions {
		if !slices.Contains(c.Parts, el.Part) {
			c.Parts = append(c.Parts, el.Part)
		}
	}
}

// Note notes what was done or undone.
func (c *Document) Note(r *pivot.Receipt) {
	c.Receipt, c.Marker, c.kind = r.ID, r.Marker, r.Kind
	c.touched(r.Committed)
	c.touched(r.Replaced)
	c.Parts = append(c.Parts, r.Quoted...)
	c.Quoted = r.Quoted
}

// Run opens a source, changes it, writes a file's copy, and tells what the view was and is.
func Run(ctx context.Context, a *cli.App, src string, out output.Target, did string, do func(*source.Session, *Document) error) error {
	s, before, err := output.OpenToChange(ctx, a, src, &out, false)
	if err != nil {
		return err
	}
	defer s.Close()
	if s.FromFile() {
		if err := recallRestores(ctx, a, s); err != nil {
			return err
		}
	}
	doc := Document{Source: src, Did: did, Parts: []string{}, TokensBefore: before.Window.Tokens}
	if err := do(s, &doc); err != nil {
		return err
	}
	after, err := s.Engine.Inspect(ctx, s.ID)
	if err != nil {
		return err
	}
	doc.TokensAfter = after.Window.Tokens
	if s.FromFile() && doc.Did != "listed" {
		if doc.Output, err = output.Write(ctx, a, s, &out, doc.Did); err != nil {
			return err
		}
		if doc.Output == "-" {
			return s.Done()
		}
		rememberRestores(ctx, a, s, doc.Output, out.Replaced)
		doc.InPlace = out.Replaced
	}
	if doc.Did == "restored" || doc.Pin != nil && doc.Receipt != "" {
		doc.Undo = cmp.Or(cli.UndoOf(a.Short(doc.Output)), "winnow undo "+s.ID+" "+doc.Receipt)
	}
	if a.JSON {
		if err := a.Print(doc); err != nil {
			return err
		}
		return s.Done()
	}
	showChange(a, doc)
	output.SayOriginal(a, &out)
	return s.Done()
}

func showChange(a *cli.App, doc Document) {
	switch {
	case doc.Did == "listed":
		if len(doc.Pins) == 0 {
			a.Printf("No pins.\n")
		}
		for _, p := range doc.Pins {
			what := p.Text
			switch {
			case p.Part != "":
				what = "part " + p.Part
			case p.Message != "":
				what = "message " + p.Message
			}
			a.Printf("%s\n", strings.TrimRight(p.ID+"  "+rule.Shorten(what, 80)+"  "+p.Note, " "))
		}
		return
	case doc.Pin != nil:
		a.Printf("Pinned as %s\n", doc.Pin.ID)
	case doc.kind == pivot.Pinning:
		a.Printf("The pin is %s.\n", doc.Did)
	case doc.kind == pivot.Restoring && doc.Did != "restored":
		a.Printf("The restore of %s is %s.\n", cli.Plural(len(doc.Parts), "part", "parts"), doc.Did)
	case doc.Marker != "":
		a.Printf("The compaction %s is %s.\n", doc.Marker, doc.Did)
	case doc.Did == "unpinned":
		a.Printf("Unpinned.\n")
	default:
		are := "parts are"
		if len(doc.Parts) == 1 {
			are = "part is"
		}
		a.Printf("%s %s %s.\n", token.Grouped(len(doc.Parts)), are, doc.Did)
	}
	if n := len(doc.Quoted); n > 0 && doc.Did == "restored" {
		a.Printf("%s quoted behind the summary that stands for it.\n", cli.Plural(n, "folded part is", "folded parts are"))
	}
	a.Printf("The view: %s → %s tokens\n", token.Grouped(doc.TokensBefore), token.Grouped(doc.TokensAfter))
	if doc.Output != "" {
		a.Printf("Written to %s\n", a.Short(doc.Output))
	}
	if doc.Undo != "" {
		a.Printf("Undo with: %s\n", doc.Undo)
	}
}
