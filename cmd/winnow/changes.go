package main

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/edit"
	"github.com/winnowhq/winnow/inplace"
	"github.com/winnowhq/winnow/pivot"
	"github.com/winnowhq/winnow/report"
	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/token"
)

// change is the JSON document of undo, redo, restore and pin.
type change struct {
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
func (c *change) touched(elisions []rule.Elision) {
	for _, el := range elisions {
		if !slices.Contains(c.Parts, el.Part) {
			c.Parts = append(c.Parts, el.Part)
		}
	}
}

// receipt notes what was done or undone.
func (c *change) receipt(r *pivot.Receipt) {
	c.Receipt, c.Marker, c.kind = r.ID, r.Marker, r.Kind
	c.touched(r.Committed)
	c.touched(r.Replaced)
	c.Parts = append(c.Parts, r.Quoted...)
	c.Quoted = r.Quoted
}

func (a *app) undoCommand() *cobra.Command {
	var out output
	cmd := &cobra.Command{
		Use:   "undo SRC [ID]",
		Short: "Take back a compaction, a pruning, a restore or a pin",
		Long: `undo takes back what was done last to what the model sees, or what the receipt or the marker named is for: a compaction, a pruning, a
restore, a pin. What the model sees is then what it saw before, to the byte. In the store nothing is deleted: "winnow redo" makes it count again. Of a file a copy is written,
without the compaction.`,
		Example: `  winnow undo ses_0123            the newest one
  winnow undo session.compacted.jsonl -o session.jsonl`,
		Args: between(1, 2, "SRC and at most one ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runChange(cmd.Context(), args[0], out, "undone", func(s *source, c *change) error {
				return a.undo(cmd.Context(), s, second(args), c)
			})
		},
	}
	out.flags(cmd)
	return cmd
}

// undo takes a pivot or a pruning back, a restore or a pin. A file has no receipts but those of recallRestores: what it says itself counts, the time of each elision and
// quotation, and the pivot that the window begins with.
func (a *app) undo(ctx context.Context, s *source, what string, c *change) error {
	if what == "" && s.fromFile() {
		newest, err := newestOf(ctx, s)
		restore, failed := newestRestore(ctx, s)
		if failed != nil {
			return failed
		}
		if restore != nil && (err != nil || restore.Time >= newest.time) {
			newest, err = deed{made: restore.ID}, nil
		}
		if err != nil {
			return err
		}
		if what = newest.made; what == "" {
			done, err := s.engine.Edit(ctx, s.id, edit.Request{Fields: newest.elisions})
			c.touched(done.Replaced)
			return err
		}
	}
	receipt, err := s.engine.Undo(ctx, s.id, what)
	if err != nil {
		return orNothing(err, what)
	}
	c.receipt(receipt)
	s.undone(receipt.ID)
	return nil
}

// orNothing makes "there is nothing to undo" of an error, when nothing was named.
func orNothing(err error, what string) error {
	if what == "" && winnow.CodeOf(err) == winnow.NotFound {
		return nothing{err.(*winnow.Error).Err.Error()}
	}
	return err
}

// deed is the newest thing that was done to a session that was read from a file.
type deed struct {
	made     string     // id of a marker or a receipt, or what a quotation is there for
	elisions []rule.Key // of a pruning
	time     session.Millis
}

// newestRestore is the newest restore of elided parts that stands, nil without one. All receipts of a file are of such.
func newestRestore(ctx context.Context, s *source) (*pivot.Receipt, error) {
	_, state, err := s.engine.Session(ctx, s.id)
	for i := range slices.Backward(state.Receipts) {
		if r := &state.Receipts[i]; report.Stands(state, r) {
			return r, err
		}
	}
	return nil, err
}

// together is how far apart, in milliseconds, the marks of one pruning are: another product looks at the clock for each of them.
const together = 1000

func newestOf(ctx context.Context, s *source) (deed, error) {
	report, err := winnow.Look(ctx, s.engine, s.id, report.Inspect)
	if err != nil {
		return deed{}, err
	}
	log, state, err := s.engine.Session(ctx, s.id)
	if err != nil {
		return deed{}, err
	}
	var newest session.Millis
	foreign := false // the newest one is a mark of another product
	for _, el := range state.Ledger.All() {
		if el.Time >= newest {
			newest, foreign = el.Time, el.Rule == rule.Mark
		}
	}
	made, since := report.Window.Pivot, session.Millis(-1)
	if at := session.Index(log.Messages, made); at >= 0 {
		since = log.Messages[at].Time.Created
	}
	for i := range log.Messages {
		// What was restored later than the pivot; what was carried over behind it is part of it.
		m := &log.Messages[i]
		if n, kept := m.Kept(); kept && m.Time.Created > since && !state.Undone[n.Kept] {
			made, since = n.Kept, m.Time.Created
		}
	}
	if made != "" && since >= newest {
		return deed{made: made, time: since}, nil
	}
	d := deed{time: newest}
	for _, el := range state.Ledger.All() {
		if el.Time == newest || foreign && el.Rule == rule.Mark && el.Time >= newest-together {
			d.elisions = append(d.elisions, el.Key())
		}
	}
	if len(d.elisions) == 0 {
		none := nothing{"nothing is elided and nothing is folded"}
		if s.doc.Format != "anthropic" && s.doc.Format != "openai" {
			return d, none
		}
		return d, hinted{none, "a request body, once it is written, does not say what was left out; go back to the original"}
	}
	return d, nil
}

func (a *app) redoCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "redo ID [RECEIPT]",
		Short:   "Make an undone compaction, pruning, restore or pin count again",
		Example: `  winnow redo ses_0123`,
		Args:    between(1, 2, "the id of a session in the store and at most one receipt"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runChange(cmd.Context(), args[0], output{}, "redone", func(s *source, c *change) error {
				if s.fromFile() {
					return usage("a file keeps nothing that was undone; redo takes a session in the store")
				}
				receipt, err := s.engine.Redo(cmd.Context(), s.id, second(args))
				if err == nil {
					c.receipt(receipt)
				}
				return orNothing(err, second(args))
			})
		},
	}
}

func (a *app) restoreCommand() *cobra.Command {
	var out output
	cmd := &cobra.Command{
		Use:   "restore SRC PART…",
		Short: "Show elided and folded parts whole again",
		Long: `restore shows parts whole again. PART is the id of a part or of a call, or a handle as placeholders show it. What was elided comes back in its place. What a
compaction folded is quoted behind the summary, a call with its result, word for word and with its place in the session; it stays there behind later summaries
too, while there is room. Nothing before it changes, so that the provider's cache holds. "winnow undo" takes a restore back, also in the file that was written.

What cannot be shown is an error and changes nothing: what is shown whole already (exit 5), what is unknown, what was undone, files whose bytes are not in the log, and
what the window has no room for.`,
		Example: `  winnow restore ses_0123 prt_0456
  winnow restore ses_0123 k3f7a2`,
		Args: between(2, -1, "SRC and at least one PART"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runChange(cmd.Context(), args[0], out, "restored", func(s *source, c *change) error {
				done, err := s.engine.Edit(cmd.Context(), s.id, edit.Request{Restore: args[1:], All: true})
				if err == nil {
					c.receipt(done.Receipt)
				}
				return err
			})
		},
	}
	out.flags(cmd)
	return cmd
}

func second(args []string) string {
	if len(args) > 1 {
		return args[1]
	}
	return ""
}

// openToChange opens a source whose change goes to an output, and reports on it as it is before. The caller closes it.
func (a *app) openToChange(ctx context.Context, src string, out *output, dry bool) (*source, report.Report, error) {
	s, err := a.openOutput(ctx, src, out, dry)
	if err != nil {
		return nil, report.Report{}, err
	}
	before, err := winnow.Look(ctx, s.engine, s.id, report.Inspect)
	if err != nil {
		s.Close()
		return nil, report.Report{}, err
	}
	return s, before, nil
}

// runChange opens a source, changes it, writes a file's copy, and tells what the view was and is.
func (a *app) runChange(ctx context.Context, src string, out output, did string, do func(*source, *change) error) error {
	s, before, err := a.openToChange(ctx, src, &out, false)
	if err != nil {
		return err
	}
	defer s.Close()
	if s.fromFile() {
		if err := a.recallRestores(ctx, s); err != nil {
			return err
		}
	}
	doc := change{Source: src, Did: did, Parts: []string{}, TokensBefore: before.Window.Tokens}
	if err := do(s, &doc); err != nil {
		return err
	}
	after, err := winnow.Look(ctx, s.engine, s.id, report.Inspect)
	if err != nil {
		return err
	}
	doc.TokensAfter = after.Window.Tokens
	if s.fromFile() && doc.Did != "listed" {
		if doc.Output, err = a.write(ctx, s, &out, doc.Did); err != nil {
			return err
		}
		if doc.Output == "-" {
			return s.done()
		}
		a.rememberRestores(ctx, s, doc.Output, out.replaced)
		doc.InPlace = out.replaced
	}
	if doc.Did == "restored" || doc.Pin != nil && doc.Receipt != "" {
		doc.Undo = cmp.Or(undoOf(a.short(doc.Output)), "winnow undo "+s.id+" "+doc.Receipt)
	}
	if a.json {
		if err := a.print(doc); err != nil {
			return err
		}
		return s.done()
	}
	a.showChange(doc)
	a.sayOriginal(&out)
	return s.done()
}

func (a *app) showChange(doc change) {
	switch {
	case doc.Did == "listed":
		if len(doc.Pins) == 0 {
			a.printf("No pins.\n")
		}
		for _, p := range doc.Pins {
			what := p.Text
			switch {
			case p.Part != "":
				what = "part " + p.Part
			case p.Message != "":
				what = "message " + p.Message
			}
			a.printf("%s\n", strings.TrimRight(p.ID+"  "+rule.Shorten(what, 80)+"  "+p.Note, " "))
		}
		return
	case doc.Pin != nil:
		a.printf("Pinned as %s\n", doc.Pin.ID)
	case doc.kind == pivot.Pinning:
		a.printf("The pin is %s.\n", doc.Did)
	case doc.kind == pivot.Restoring && doc.Did != "restored":
		a.printf("The restore of %s is %s.\n", plural(len(doc.Parts), "part", "parts"), doc.Did)
	case doc.Marker != "":
		a.printf("The compaction %s is %s.\n", doc.Marker, doc.Did)
	case doc.Did == "unpinned":
		a.printf("Unpinned.\n")
	default:
		are := "parts are"
		if len(doc.Parts) == 1 {
			are = "part is"
		}
		a.printf("%s %s %s.\n", token.Grouped(len(doc.Parts)), are, doc.Did)
	}
	if n := len(doc.Quoted); n > 0 && doc.Did == "restored" {
		a.printf("%s quoted behind the summary that stands for it.\n", plural(n, "folded part is", "folded parts are"))
	}
	a.printf("The view: %s → %s tokens\n", token.Grouped(doc.TokensBefore), token.Grouped(doc.TokensAfter))
	if doc.Output != "" {
		a.printf("Written to %s\n", a.short(doc.Output))
	}
	if doc.Undo != "" {
		a.printf("Undo with: %s\n", doc.Undo)
	}
}
