package output

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/desk/archive"
	"github.com/winnowhq/winnow/desk/inplace"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/quantity"
	"github.com/winnowhq/winnow/text/visible"
)

// Room is where the originals of replaced files are kept.
func Room(a *cli.App) (inplace.Room, error) {
	dir := a.Env.Kept()
	if dir == "" {
		return inplace.Room{}, cli.Usage("there is no home folder for originals; set HOME or XDG_DATA_HOME")
	}
	return inplace.Room{Dir: dir, Home: a.Env.Home(), Now: a.Env.Now, Step: a.Files.Step}, nil
}

// Archive is the archive of old sessions.
func Archive(a *cli.App) (archive.Archive, error) {
	room, err := Room(a)
	return archive.Archive{Room: room}, err
}

// Archived are the sessions that are in the archive and not in their place. A receipt that cannot
// be read is left out; "winnow gc --archived" reports it.
func Archived(a *cli.App) (list []archive.Session) {
	kept, err := Archive(a)
	if err != nil {
		return nil // there is no home folder
	}
	list, _ = kept.List()
	return slices.DeleteFunc(list, func(s archive.Session) bool { return s.Restored != 0 })
}

// Open opens a session whose change goes to an output. The caller closes it.
func Open(ctx context.Context, a *cli.App, src string, o *Target, dry bool) (*source.Session, error) {
	if s, err := o.openLive(ctx, a, src, dry); s != nil || err != nil {
		return s, err
	}
	s, err := OpenHeld(ctx, a, src, o, dry, func() (*source.Session, error) { return source.OpenFor(ctx, a, src, dry) })
	if err != nil {
		return nil, err
	}
	if err := o.suits(s, dry); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if s.Claim != nil {
		warnOfAgents(a, s)
	}
	return s, nil
}

// OpenHeld opens a session after claiming its file, if that is to be replaced.
func OpenHeld(ctx context.Context, a *cli.App, src string, o *Target, dry bool,
	open func() (*source.Session, error)) (*source.Session, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	claim, err := hold(ctx, a, src, o, dry)
	if err != nil {
		return nil, err
	}
	a.Held = claim
	s, err := open()
	a.Held = nil
	if err != nil {
		if claim != nil {
			err = errors.Join(err, claim.Close())
		}
		return nil, err
	}
	if s.Claim = claim; claim == nil && !dry && o.To != "" {
		warnOfPictures(a, a.Path(s.Path))
	}
	return s, nil
}

// hold claims the file that a word stands for, if it is to be replaced: nobody else replaces it
// until the claim is closed. A file that somebody is working on is refused before anything costly
// is done. The claim is nil if no file is replaced; what is wrong with the word is reported when it
// is opened.
func hold(ctx context.Context, a *cli.App, src string, o *Target, dry bool) (*inplace.Claim, error) {
	if dry || src == "-" || !o.InPlace && (o.To == "" || o.To == "-" || !o.Force) {
		return nil, nil
	}
	src, err := source.Resolve(ctx, a, src)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(a.Path(src))
	if err != nil || !info.Mode().IsRegular() {
		return nil, nil
	}
	if !o.InPlace {
		to, err := os.Stat(a.Path(o.To))
		if err != nil || !os.SameFile(to, info) {
			return nil, nil
		}
		o.InPlace = true // -o names SRC itself
	}
	room, err := Room(a)
	if err != nil {
		return nil, err
	}
	makeWhole(ctx, a, a.Path(src), o.Force)
	how := inplace.Taking{Command: o.Command, Force: o.Force, Torn: o.Mends, Waiting: func(holder string) {
		a.Warn("waiting for %s, which is replacing %s", holder, src)
	}}
	return room.Take(ctx, a.Path(src), how)
}

// lacks are the parts that "winnow gc --shrink" took out of a file, the newest first.
func lacks(kept archive.Archive, path string) []archive.Session {
	real, err := inplace.Real(path)
	if err != nil {
		return nil // it is no file
	}
	list, _ := kept.Everything() // "winnow gc --archived" reports what cannot be read
	return slices.DeleteFunc(list, func(s archive.Session) bool {
		return s.Source != real || s.Parts == nil || s.Restored != 0
	})
}

// makeWhole puts the bytes back that were taken out of a file: into a changed one they cannot be
// put any more. If they cannot be put back, the file is changed without them.
func makeWhole(ctx context.Context, a *cli.App, path string, force bool) {
	kept, err := Archive(a)
	list := lacks(kept, path)
	if err != nil || len(list) == 0 {
		return // without a home folder, there is no archive
	}
	kept.Unseen = force
	release, _, err := kept.Open()
	if err == nil {
		for i := 0; i < len(list) && err == nil; i++ {
			err = kept.Restore(ctx, &list[i], session.Millis(a.Env.Now().UnixMilli()))
		}
		err = errors.Join(err, release())
	}
	if err != nil {
		a.Warn("the bytes that winnow gc --shrink took out of %s are not put back: %v", path, err)
	}
}

// warnOfPictures warns of pictures that a session lacks: a file made of it has pictures of one
// pixel.
func warnOfPictures(a *cli.App, path string) {
	kept, err := Archive(a)
	if err == nil && slices.ContainsFunc(lacks(kept, path), func(s archive.Session) bool {
		return s.Parts.Taken[format.Pictures] > 0
	}) {
		a.Warn("pictures of %s are in the archive; winnow restore %[1]s puts them back", cli.ShellWord(a.Short(path)))
	}
}

// warnOfAgents warns, before anything costly is done, of running agents that may have the session
// that is about to be replaced.
func warnOfAgents(a *cli.App, s *source.Session) {
	room, err := Room(a)
	if err != nil {
		return
	}
	folder := s.Doc.Session.Info.Directory
	for _, p := range room.Clients(s.Doc.Format, folder) {
		a.Warn("%v is running in %s; if it has this session, end it: it would continue from before the change",
			p, folder)
	}
}

// replace puts the session in the place of its file.
func replace(ctx context.Context, a *cli.App, s *source.Session, o *Target, write func(io.Writer) error) error {
	a.Orderly.Store(true) // once the file is replaced, what was written to the original is carried over
	defer a.Orderly.Store(false)
	name, err := a.Files.Draft(ctx, s.Claim.Path, 0o600, write)
	if err != nil {
		return err
	}
	done, err := s.Claim.Replace(ctx, inplace.Draft{Name: name, Rename: a.Files.Finish})
	var late *inplace.Late
	if err != nil && !errors.As(err, &late) {
		return errors.Join(err, a.Files.Remove(name))
	}
	o.Replaced = &done
	unsettled := func(format string, args ...any) { s.Unsettled = append(s.Unsettled, fmt.Sprintf(format, args...)) }
	if done.CarriedLines > 0 {
		if b, bypassed := bypassed(done.Path); bypassed {
			done.Notes = append(done.Notes, SayBypass(b))
			unsettled("%s", SayBypass(b))
		}
	}
	if done.Disordered {
		s.Unsettled = append(s.Unsettled, done.Notes...)
	}
	if done.Left > 0 {
		unsettled("%s at the end of the original, an incomplete line, are only in %s",
			quantity.Plural(int(done.Left), "byte", "bytes"), done.Original)
	}
	for _, p := range done.Open {
		unsettled("%v still has the original open: what it writes goes only to %s; end it, then: winnow doctor %s",
			p, done.Original, cli.ShellWord(a.Short(done.Path)))
	}
	return err
}

// bypassed reports whether the newest compaction of a file has no effect.
func bypassed(path string) (format.Bypass, bool) {
	data, err := os.ReadFile(path)
	if err != nil {
		return format.Bypass{}, false
	}
	doc, err := all.Read(data)
	if err != nil {
		return format.Bypass{}, false
	}
	return Bypass(doc)
}

// Bypass reports whether the newest compaction of a document has no effect.
func Bypass(doc *format.Document) (format.Bypass, bool) {
	f, _ := all.Named(doc.Format)
	linked, ok := f.(format.Linked)
	if !ok {
		return format.Bypass{}, false
	}
	return linked.Bypassed(doc)
}

// Faults are what makes the product of a document resume it otherwise than it was meant.
func Faults(doc *format.Document) []format.Fault {
	f, _ := all.Named(doc.Format)
	if repairer, ok := f.(format.Repairer); ok {
		return repairer.Faults(doc)
	}
	return nil
}

// SayBypass says why a compaction has no effect.
func SayBypass(b format.Bypass) string {
	return fmt.Sprintf("the compaction in line %d has no effect: %s from line %d on bypass it", b.Line,
		quantity.Plural(b.Entries, "entry", "entries"), b.First)
}

// SayOriginal says where the original of a replaced file is.
func SayOriginal(a *cli.App, o *Target) {
	if o.Replaced == nil {
		return
	}
	a.Printf("The original is %s\n", a.Short(o.Replaced.Original))
	if n := o.Replaced.CarriedLines; n > 0 {
		a.Printf("%s written meanwhile, and carried over\n", quantity.Plural(n, "line was", "lines were"))
	}
	for _, note := range o.Replaced.Notes {
		a.Printf("%s\n", visible.Text(note))
	}
}
