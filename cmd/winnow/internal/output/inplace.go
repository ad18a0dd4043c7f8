package output

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/winnowhq/winnow/cmd/winnow/internal/cli"
	"github.com/winnowhq/winnow/cmd/winnow/internal/source"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/inplace"
	"github.com/winnowhq/winnow/visible"
)

// Room is where the originals of files that are replaced are kept.
func Room(a *cli.App) (inplace.Room, error) {
	dir := a.Env.XDG("XDG_DATA_HOME", ".local/share")
	if dir == "" {
		return inplace.Room{}, cli.Usage("there is no home folder in which originals could be kept; set HOME or XDG_DATA_HOME")
	}
	return inplace.Room{Dir: filepath.Join(dir, "winnow"), Home: a.Env.Home(), Now: a.Env.Now, Step: a.Files.Step}, nil
}

// hold takes the file that a word stands for, where it is to be replaced: nobody else replaces it until the claim is closed, and one that somebody is at
// work on is refused before anything costly is done. It is nil where no file is replaced; what is wrong with the word is said when it is opened.
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
	return room.Take(ctx, a.Path(src), inplace.Taking{Command: o.Command, Force: o.Force, Waiting: func(holder string) {
		fmt.Fprintln(a.Env.Stderr, visible.Text(fmt.Sprintf("winnow: waiting for %s, which is replacing %s", holder, src)))
	}})
}

// Open opens a source whose change goes to an output. The caller closes it.
func Open(ctx context.Context, a *cli.App, src string, o *Target, dry bool) (*source.Session, error) {
	s, err := OpenHeld(ctx, a, src, o, dry, func() (*source.Session, error) { return source.OpenFor(ctx, a, src, dry) })
	if err != nil {
		return nil, err
	}
	if err := o.of(s, dry); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if s.Claim != nil {
		warnOfAgents(a, s)
	}
	return s, nil
}

// OpenHeld opens a source with its file taken, where that is to be replaced.
func OpenHeld(ctx context.Context, a *cli.App, src string, o *Target, dry bool, open func() (*source.Session, error)) (*source.Session, error) {
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
	s.Claim = claim
	return s, nil
}

// warnOfAgents says, before anything costly is done, which running agent may have the session that is about to be replaced.
func warnOfAgents(a *cli.App, s *source.Session) {
	room, err := Room(a)
	if err != nil {
		return
	}
	for _, p := range room.Clients(s.Doc.Format, s.Doc.Session.Info.Directory) {
		fmt.Fprintln(a.Env.Stderr, visible.Text(fmt.Sprintf("winnow: %v is running in %s; if it has this session, end it: what it writes next goes on from before the change",
			p, s.Doc.Session.Info.Directory)))
	}
}

// replace puts the session in the place of its file.
func replace(ctx context.Context, a *cli.App, s *source.Session, o *Target, writeTo func(io.Writer) error) error {
	a.Orderly.Store(true) // once the file is replaced, what came to the original is carried over
	defer a.Orderly.Store(false)
	name, err := a.Files.Draft(ctx, s.Claim.Path, 0o600, writeTo)
	if err != nil {
		return err
	}
	done, err := s.Claim.Replace(ctx, inplace.Draft{Name: name, Rename: a.Files.Finish})
	var late *inplace.Late
	if err != nil && !errors.As(err, &late) {
		return errors.Join(err, a.Files.Remove(name))
	}
	o.Replaced = &done
	if done.CarriedLines > 0 {
		if b, bypassed := bypassed(a, done.Path); bypassed {
			done.Notes = append(done.Notes, SayBypass(b))
			s.Unsettled = append(s.Unsettled, SayBypass(b))
		}
	}
	if done.Disordered {
		s.Unsettled = append(s.Unsettled, done.Notes...)
	}
	if done.Left > 0 {
		s.Unsettled = append(s.Unsettled, fmt.Sprintf("%s at the end of the original, an incomplete line, are in %s alone", cli.Plural(int(done.Left), "byte", "bytes"), done.Original))
	}
	for _, p := range done.Open {
		s.Unsettled = append(s.Unsettled, fmt.Sprintf("%v still has the original open: what it writes lands in %s alone; end it, then: winnow doctor %s", p, done.Original, cli.ShellWord(a.Short(done.Path))))
	}
	return err
}

// bypassed looks whether the newest compaction of a file counts.
func bypassed(a *cli.App, path string) (format.Bypass, bool) {
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

func Bypass(doc *format.Document) (format.Bypass, bool) {
	f, err := all.Named(doc.Format)
	if err != nil {
		return format.Bypass{}, false
	}
	linked, ok := f.(format.Linked)
	if !ok {
		return format.Bypass{}, false
	}
	return linked.Bypassed(doc)
}

func SayBypass(b format.Bypass) string {
	return fmt.Sprintf("the compaction in line %d does not count: %s from line %d on lead round it", b.Line, cli.Plural(b.Entries, "entry", "entries"), b.First)
}

// SayOriginal tells people where the original of a replaced file is.
func SayOriginal(a *cli.App, o *Target) {
	if o.Replaced == nil {
		return
	}
	a.Printf("The original is %s\n", a.Short(o.Replaced.Original))
	if n := o.Replaced.CarriedLines; n > 0 {
		a.Printf("%s written meanwhile, and carried over\n", cli.Plural(n, "line was", "lines were"))
	}
	for _, note := range o.Replaced.Notes {
		a.Printf("%s\n", visible.Text(note))
	}
}
