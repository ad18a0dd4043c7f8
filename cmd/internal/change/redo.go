package change

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/output"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/policy"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/report"
)

// Redo reapplies an undone change: in the store the one that is named, or the last one; in a file
// the last one.
func Redo(ctx context.Context, a *cli.App, s *source.Session, what string, c *Document) error {
	if s.FromFile() {
		return redoFile(ctx, a, s, what, c)
	}
	receipt, err := s.Engine.Redo(ctx, s.ID, what)
	if err == nil {
		c.Note(receipt)
	}
	return OrNothing(err, what)
}

// redoFile goes back to the file as it was before the newest undo. Lines that were appended since
// are appended to that.
func redoFile(ctx context.Context, a *cli.App, s *source.Session, what string, c *Document) error {
	r, file, err := remembered(a, s)
	if err != nil {
		return err
	}
	last := len(r.Undone) - 1
	if last < 0 || r.Path != file {
		return cli.Nothing("winnow knows of nothing that was undone in this file")
	}
	u := &r.Undone[last]
	if what != "" && what != u.ID && what != u.Receipt {
		return cli.Usage("what was undone last in %s is %s; name that, or nothing", s.Path, u.ID)
	}
	src := s.Doc.Source
	if len(src) < u.Size || hashText(src[:u.Size]) != u.Written {
		return stale(s, u.From, "it was changed since, and not only by lines at its end")
	}
	at, before, err := standing(a, s, u)
	if err != nil {
		return err
	}
	c.Note(&pivot.Receipt{ID: u.Receipt, Kind: u.Kind, Marker: u.Marker})
	c.Parts, s.Undone = append(c.Parts, u.Parts...), r.Undone[:last]
	doc, err := grafted(s, u, before)
	if err != nil {
		return stale(s, at, err.Error())
	}
	s.Restores, s.Grown = u.Restores, len(src) > u.Size
	if err := s.Become(ctx, a, doc); err != nil {
		return err
	}
	if err := applyRestores(ctx, s); err != nil {
		return err
	}
	c.Unbound, err = rebind(ctx, a, s, u.ID, before)
	return err
}

func stale(s *source.Session, at, why string) error {
	return &winnow.Error{Code: rule.Stale, Op: "redo", Session: s.ID, Err: errors.New(s.Path + ": " + why),
		Hint: "nothing was changed; the session as it was before the undo is in " + at}
}

// standing reads the file as it was before an undo: where it was left, or among the originals.
func standing(a *cli.App, s *source.Session, u *source.Undoing) (at string, doc *format.Document, err error) {
	places := []string{u.From}
	if room, err := output.Room(a); err == nil {
		originals, _ := room.Originals() // those that can be read
		for _, o := range originals {
			if o.Hash == u.Hash {
				places = append(places, o.Path)
			}
		}
	}
	why := fmt.Sprintf("%s is not as it was before the undo", u.From)
	for _, at := range places {
		data, _, err := source.ReadFile(a, at)
		if errors.Is(err, fs.ErrNotExist) {
			why = fmt.Sprintf("%s, which the undo was made from, is missing", u.From)
			continue
		}
		if err == nil {
			data, err = all.Plain(data)
		}
		if err != nil || len(data) < u.Bytes || hashText(data[:u.Bytes]) != u.Hash {
			continue
		}
		if doc, err = all.Read(data[:u.Bytes]); err != nil || doc.Format == s.Doc.Format {
			return at, doc, err
		}
	}
	return "", nil, &winnow.Error{Code: rule.NotKept, Op: "redo", Session: s.ID, Err: errors.New(why),
		Hint: "compact or prune the session again"}
}

// grafted is the file from before an undo with the lines that were appended to the file since.
func grafted(s *source.Session, u *source.Undoing, before *format.Document) (*format.Document, error) {
	lines := s.Doc.Source[u.Size:]
	if len(lines) == 0 {
		return before, nil
	}
	f, err := all.Named(before.Format)
	if err != nil {
		return nil, err
	}
	grafter, appended := f.(format.Grafter)
	if !appended {
		return nil, fmt.Errorf("it was changed since, and %s does not only append", before.Format)
	}
	undone, err := f.Read(s.Doc.Source[:u.Size])
	if err != nil {
		return nil, err
	}
	text := slices.Clone(before.Source)
	if n := len(text); n > 0 && text[n-1] != '\n' && lines[0] != '\n' {
		text = append(text, '\n')
	}
	doc, err := f.Read(append(text, grafter.Graft(lines, undone, before)...))
	if err != nil {
		return nil, err
	}
	_, was := output.Bypass(before)
	if b, is := output.Bypass(doc); is && !was {
		return nil, errors.New("what was appended since goes on from an earlier place: " + output.SayBypass(b))
	}
	return doc, nil
}

// rebind leaves out the reasoning in lines that were appended since an undo, where its model binds
// it, and counts the parts.
func rebind(ctx context.Context, a *cli.App, s *source.Session, id string, before *format.Document) (int,
	error) {
	had := map[string]bool{}
	for i := range before.Session.Messages {
		had[before.Session.Messages[i].ID] = true
	}
	planner, err := winnow.Look(ctx, s.Engine, s.ID,
		func(r *report.Session) (policy.State, error) { return r.Planner, nil })
	if err != nil {
		return 0, err
	}
	back, commit := planner.Turned(id, func(m *session.Message) bool { return !had[m.ID] })
	if len(commit)+len(back) == 0 {
		return 0, nil
	}
	for i := range commit {
		commit[i].Time = session.Millis(a.Env.Now().UnixMilli())
	}
	return len(commit), s.Apply(ctx, store.Change{Restore: back, Commit: commit})
}

// noteUndoing notes which bytes an undo made of which: from is where the file from before is, and
// written is the new one.
func noteUndoing(a *cli.App, u source.Undoing, s *source.Session, from, written string) (source.Undoing, error) {
	data, _, err := source.ReadFile(a, written)
	if err != nil {
		return u, err
	}
	if data, err = all.Plain(data); err != nil {
		return u, err
	}
	u.From, u.Bytes, u.Hash = from, len(s.Doc.Source), hashText(s.Doc.Source)
	u.Size, u.Written, u.Restores = len(data), hashText(data), s.Restores
	return u, nil
}
