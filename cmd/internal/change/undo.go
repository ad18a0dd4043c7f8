package change

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/edit"
	"github.com/winnowhq/winnow/store/report"
)

// Undo takes back a compaction, a pruning, a restore or a pin. A file has no receipts except those
// of RecallRestores: what it says itself counts, the time of each elision and quotation, and the
// pivot that the window begins with. What the product did itself is only taken back by name.
func Undo(ctx context.Context, a *cli.App, s *source.Session, what string, c *Document) error {
	if what == "" && s.FromFile() {
		newest, err := newestOf(ctx, s)
		if kept, is := rescuedFrom(a, s, newest); is {
			return undoRescue(ctx, s, kept, newest, c)
		}
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
		if err := newest.theirs(s); err != nil {
			return err
		}
		if what = newest.made; what == "" {
			done, err := s.Engine.Edit(ctx, s.ID, edit.Request{Fields: newest.elisions})
			c.touched(done.Replaced)
			if c.Unbound = done.Unbound; err == nil {
				id := strconv.FormatInt(int64(done.Replaced[0].Time), 10)
				c.undoing = source.Undoing{ID: id, Kind: pivot.Pruning, Parts: c.Parts}
			}
			return err
		}
	}
	if err := forked(ctx, s, what); err != nil {
		return err
	}
	receipt, err := s.Engine.Undo(ctx, s.ID, what)
	if err != nil {
		return OrNothing(err, what)
	}
	c.Note(receipt)
	c.undoing = source.Undoing{ID: cmp.Or(receipt.Marker, receipt.ID), Kind: receipt.Kind, Marker: receipt.Marker,
		Receipt: receipt.ID, Parts: c.Parts}
	undone(s, receipt.ID)
	return nil
}

// forked refuses to undo a compaction in a file that does not have the folded messages. A product
// that forks a session copies the summary and what follows it, and nothing from before.
func forked(ctx context.Context, s *source.Session, marker string) error {
	if !s.FromFile() {
		return nil
	}
	log, _, err := s.Engine.Session(ctx, s.ID)
	at := session.Index(log.Messages, marker)
	if err != nil || at < 0 || log.Messages[at].Marker() == nil {
		return err
	}
	for i := range log.Messages[:at] {
		if m := &log.Messages[i]; m.Marker() == nil && !m.Completes() {
			return nil
		}
	}
	return cli.Hint(cli.Nothing("this file does not have the messages that the compaction folded: the session is a fork"),
		"undo it in the session from which this one was forked")
}

// OrNothing makes "there is nothing to undo" of an error, if nothing was named.
func OrNothing(err error, what string) error {
	if what == "" && winnow.CodeOf(err) == winnow.NotFound {
		return cli.Nothing(err.(*winnow.Error).Err.Error())
	}
	return err
}

// deed is the newest thing that was done to a session that was read from a file.
type deed struct {
	made     string     // id of a marker or a receipt, or what a quotation is there for
	elisions []rule.Key // of a pruning
	time     session.Millis
	foreign  bool // of a pruning: it is the product's
}

// theirs refuses to take back what the product did itself and nobody named.
func (d deed) theirs(s *source.Session) error {
	src := cli.ShellWord(s.Path)
	switch {
	case s.Doc.Theirs[d.made]:
		return cli.Hint(cli.Nothing("the newest compaction is not winnow's: "+s.Doc.Format+" made it"),
			"to take it back all the same: winnow undo "+src+" "+d.made)
	case d.foreign:
		return cli.Hint(cli.Nothing("what was left out last is not winnow's: "+s.Doc.Format+" did it"),
			"to show a part again: winnow restore "+src+" PART, with an id that winnow explain "+src+" lists")
	}
	return nil
}

// newestRestore is the newest restore that was not undone, or nil. All receipts of a
// file are of restores.
func newestRestore(ctx context.Context, s *source.Session) (*pivot.Receipt, error) {
	_, state, err := s.Engine.Session(ctx, s.ID)
	for i := range slices.Backward(state.Receipts) {
		if r := &state.Receipts[i]; report.Stands(state, r) {
			return r, err
		}
	}
	return nil, err
}

// together is how far apart, in milliseconds, the marks of one pruning are: another product reads
// the clock for each.
const together = 1000

// newestOf finds what was done last.
func newestOf(ctx context.Context, s *source.Session) (deed, error) {
	report, err := winnow.Look(ctx, s.Engine, s.ID, report.Inspect)
	if err != nil {
		return deed{}, err
	}
	log, state, err := s.Engine.Session(ctx, s.ID)
	if err != nil {
		return deed{}, err
	}
	var newest session.Millis
	foreign := false // the newest one is a mark of another product
	for _, el := range state.Ledger.All() {
		if el.Time >= newest && el.Rule != rule.Rebound {
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
	d := deed{time: newest, foreign: foreign}
	for _, el := range state.Ledger.All() {
		if el.Rule == rule.Rebound {
			continue // it goes and comes with what was undone
		}
		if el.Time == newest || foreign && el.Rule == rule.Mark && el.Time >= newest-together {
			d.elisions = append(d.elisions, el.Key())
		}
	}
	if len(d.elisions) == 0 {
		none := cli.Nothing("nothing is left out and nothing is folded")
		if !slices.Contains([]string{"anthropic", "openai", "gemini"}, s.Doc.Format) {
			return d, none
		}
		return d, cli.Hint(none,
			"a request body, once it is written, does not say what was left out; go back to the original")
	}
	return d, nil
}
