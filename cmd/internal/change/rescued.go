package change

import (
	"context"
	"slices"
	"strconv"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/output"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/desk/inplace"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/store/edit"
)

// rescue is the command whose changes are taken back as a whole, and the kind of them.
const rescue = "rescue"

// rescuedFrom is the original of a file that rescue replaced, if nothing was done to the file since
// but that its product went on.
func rescuedFrom(a *cli.App, s *source.Session, newest deed) (inplace.Original, bool) {
	room, err := output.Room(a)
	if err != nil || s.Stored || s.Path == "-" {
		return inplace.Original{}, false
	}
	path, err := inplace.Real(a.Path(s.Path))
	if err != nil {
		return inplace.Original{}, false
	}
	kept, found := room.MadeBy(rescue, path, s.Doc.Source)
	return kept, found && newest.time <= kept.Time
}

// undoRescue goes back to the file as it was before a rescue. Lines that were appended since are
// appended to that.
func undoRescue(ctx context.Context, s *source.Session, kept inplace.Original, newest deed, c *Document) error {
	before, err := kept.Before()
	if err != nil {
		return err
	}
	if lines := s.Doc.Source[kept.MadeBytes:]; len(lines) > 0 {
		if before, err = graftedOnto(s, lines, before); err != nil {
			return err
		}
	}
	// The view is that of the original once its marks and its pivot are undone.
	var receipt pivot.Receipt
	switch {
	case newest.made != "":
		done, err := s.Engine.Undo(ctx, s.ID, newest.made)
		if err != nil {
			return err
		}
		receipt = *done
	case len(newest.elisions) > 0 && !newest.foreign:
		done, err := s.Engine.Edit(ctx, s.ID, edit.Request{Fields: newest.elisions})
		if err != nil {
			return err
		}
		c.touched(done.Replaced)
	}
	c.Note(&receipt)
	id := rescue + "-" + strconv.FormatInt(int64(kept.Time), 10)
	c.kind, c.Receipt = rescue, id
	c.undoing = source.Undoing{ID: id, Kind: rescue, Marker: receipt.Marker, Receipt: receipt.ID, Parts: c.Parts}
	s.Exact = before
	return nil
}

// graftedOnto is a file with the lines that were appended to the new version of it.
func graftedOnto(s *source.Session, lines, before []byte) ([]byte, error) {
	f, err := all.Named(s.Doc.Format)
	if err != nil {
		return nil, err
	}
	from, err := f.Read(s.Doc.Source[:len(s.Doc.Source)-len(lines)])
	if err != nil {
		return nil, err
	}
	onto, err := f.Read(before)
	if err != nil {
		return nil, err
	}
	if grafter, appended := f.(format.Grafter); appended {
		lines = grafter.Graft(lines, from, onto)
	}
	text := slices.Clone(before)
	if n := len(text); n > 0 && text[n-1] != '\n' {
		text = append(text, '\n')
	}
	return append(text, lines...), nil
}
