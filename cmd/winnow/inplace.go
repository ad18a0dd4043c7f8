package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/inplace"
	"github.com/winnowhq/winnow/visible"
)

// room is where the originals of files that are replaced are kept.
func (a *app) room() (inplace.Room, error) {
	dir := a.env.xdg("XDG_DATA_HOME", ".local/share")
	if dir == "" {
		return inplace.Room{}, usage("there is no home folder in which originals could be kept; set HOME or XDG_DATA_HOME")
	}
	return inplace.Room{Dir: filepath.Join(dir, "winnow"), Home: a.env.home(), Now: a.env.Now, Step: a.files.step}, nil
}

// hold takes the file that a word stands for, where it is to be replaced: nobody else replaces it until the claim is closed, and one that somebody is at
// work on is refused before anything costly is done. It is nil where no file is replaced; what is wrong with the word is said when it is opened.
func (a *app) hold(ctx context.Context, src string, o *output, dry bool) (*inplace.Claim, error) {
	if dry || src == "-" || !o.inPlace && (o.to == "" || o.to == "-" || !o.force) {
		return nil, nil
	}
	src, err := a.resolve(ctx, src)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(a.path(src))
	if err != nil || !info.Mode().IsRegular() {
		return nil, nil
	}
	if !o.inPlace {
		to, err := os.Stat(a.path(o.to))
		if err != nil || !os.SameFile(to, info) {
			return nil, nil
		}
		o.inPlace = true // -o names SRC itself
	}
	room, err := a.room()
	if err != nil {
		return nil, err
	}
	return room.Take(ctx, a.path(src), inplace.Taking{Command: o.command, Force: o.force, Waiting: func(holder string) {
		fmt.Fprintln(a.env.Stderr, visible.Text(fmt.Sprintf("winnow: waiting for %s, which is replacing %s", holder, src)))
	}})
}

// openOutput opens a source whose change goes to an output. The caller closes it.
func (a *app) openOutput(ctx context.Context, src string, o *output, dry bool) (*source, error) {
	s, err := a.openHeld(ctx, src, o, dry, func() (*source, error) { return a.openFor(ctx, src, dry) })
	if err != nil {
		return nil, err
	}
	if err := o.of(s, dry); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if s.claim != nil {
		a.warnOfAgents(s)
	}
	return s, nil
}

// openHeld opens a source with its file taken, where that is to be replaced.
func (a *app) openHeld(ctx context.Context, src string, o *output, dry bool, open func() (*source, error)) (*source, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	claim, err := a.hold(ctx, src, o, dry)
	if err != nil {
		return nil, err
	}
	a.held = claim
	s, err := open()
	a.held = nil
	if err != nil {
		if claim != nil {
			err = errors.Join(err, claim.Close())
		}
		return nil, err
	}
	s.claim = claim
	return s, nil
}

// warnOfAgents says, before anything costly is done, which running agent may have the session that is about to be replaced.
func (a *app) warnOfAgents(s *source) {
	room, err := a.room()
	if err != nil {
		return
	}
	for _, p := range room.Clients(s.doc.Format, s.doc.Session.Info.Directory) {
		fmt.Fprintln(a.env.Stderr, visible.Text(fmt.Sprintf("winnow: %v is running in %s; if it has this session, end it: what it writes next goes on from before the change",
			p, s.doc.Session.Info.Directory)))
	}
}

// replace puts the session in the place of its file.
func (a *app) replace(ctx context.Context, s *source, o *output, writeTo func(io.Writer) error) error {
	a.orderly.Store(true) // once the file is replaced, what came to the original is carried over
	defer a.orderly.Store(false)
	name, err := a.files.draft(ctx, s.claim.Path, 0o600, writeTo)
	if err != nil {
		return err
	}
	done, err := s.claim.Replace(ctx, inplace.Draft{Name: name, Rename: a.files.finish})
	var late *inplace.Late
	if err != nil && !errors.As(err, &late) {
		return errors.Join(err, a.files.remove(name))
	}
	o.replaced = &done
	if done.CarriedLines > 0 {
		if b, bypassed := a.bypassed(done.Path); bypassed {
			done.Notes = append(done.Notes, sayBypass(b))
			s.unsettled = append(s.unsettled, sayBypass(b))
		}
	}
	if done.Disordered {
		s.unsettled = append(s.unsettled, done.Notes...)
	}
	if done.Left > 0 {
		s.unsettled = append(s.unsettled, fmt.Sprintf("%s at the end of the original, an incomplete line, are in %s alone", plural(int(done.Left), "byte", "bytes"), done.Original))
	}
	for _, p := range done.Open {
		s.unsettled = append(s.unsettled, fmt.Sprintf("%v still has the original open: what it writes lands in %s alone; end it, then: winnow doctor %s", p, done.Original, shellWord(a.short(done.Path))))
	}
	return err
}

// bypassed looks whether the newest compaction of a file counts.
func (a *app) bypassed(path string) (format.Bypass, bool) {
	data, err := os.ReadFile(path)
	if err != nil {
		return format.Bypass{}, false
	}
	doc, err := all.Read(data)
	if err != nil {
		return format.Bypass{}, false
	}
	return bypass(doc)
}

func bypass(doc *format.Document) (format.Bypass, bool) {
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

func sayBypass(b format.Bypass) string {
	return fmt.Sprintf("the compaction in line %d does not count: %s from line %d on lead round it", b.Line, plural(b.Entries, "entry", "entries"), b.First)
}

// unsettled is the end of a command that replaced a file, and somebody else's writing went on.
type unsettled struct{ what []string }

func (u unsettled) Error() string {
	return "the file was replaced, but:\n  " + strings.Join(u.what, "\n  ")
}

// sayOriginal tells people where the original of a replaced file is.
func (a *app) sayOriginal(o *output) {
	if o.replaced == nil {
		return
	}
	a.printf("The original is %s\n", a.short(o.replaced.Original))
	if n := o.replaced.CarriedLines; n > 0 {
		a.printf("%s written meanwhile, and carried over\n", plural(n, "line was", "lines were"))
	}
	for _, note := range o.replaced.Notes {
		a.printf("%s\n", visible.Text(note))
	}
}
