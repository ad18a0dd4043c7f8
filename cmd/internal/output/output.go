// Package output writes what a command made: a changed session beside its file or in its place, and
// a page for a browser.
package output

import (
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/desk/inplace"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/format/cline"
	"github.com/winnowhq/winnow/format/openhands"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/secret"
)

// Target is where a changed session goes.
type Target struct {
	To      string // "-" is standard output
	Format  string
	InPlace bool
	Force   bool
	Command string // that writes it
	Mask    bool   // secrets are masked: what is written is for others
	Masked  int    // how many were, once it was written
	Mends   bool   // an incomplete last line of SRC is mended, and no reason to leave the file

	Replaced *inplace.Replaced // how SRC was replaced, once it was
	Live
}

// Flags adds those that say where a changed session goes.
func (o *Target) Flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&o.To, "output", "o", "", `where to write the session, "-" for standard output`)
	flags.StringVar(&o.Format, "format", "", "format of the session that is written (default: that of SRC)")
	flags.BoolVar(&o.InPlace, "in-place", false, "replace SRC; the original is kept, see winnow doctor originals")
	flags.BoolVarP(&o.Force, "force", "f", false,
		"overwrite the file that is written to; with --in-place, replace SRC although somebody may be writing to it")
	cli.Complete(cmd, "format", Writable()...)
	o.Command = cmd.Name()
}

// Writable are the formats that can be written.
func Writable() []string {
	var names []string
	for _, f := range all.Formats() {
		if err := f.Write(io.Discard, nil, format.Change{}); !errors.Is(err, format.ErrReadOnly) {
			names = append(names, f.Name())
		}
	}
	return names
}

// Check refuses flags that contradict each other, before any work is done.
func (o *Target) Check() error {
	if o.InPlace && (o.To != "" || o.Format != "") {
		return cli.Usage("--in-place cannot be combined with -o or --format")
	}
	if o.Format != "" {
		if _, err := all.Named(o.Format); err != nil {
			return cli.Misuse(err)
		}
	}
	return nil
}

// suits refuses a file for a session that is changed in the store, and a format that cannot be
// written, before any work is done. With dry nothing will be written.
func (o *Target) suits(s *source.Session, dry bool) error {
	switch {
	case !s.FromFile() && (o.To != "" || o.Format != "" || o.InPlace):
		return cli.Usage("%s is in the store and is changed there; use `winnow export` to write it to a file", s.ID)
	case s.Stored && o.InPlace && s.Doc.Format == openhands.Name:
		return cli.Usage("%s is a folder of OpenHands, which is never written to; leave --in-place out, "+
			"and a file is written, in the format of --format", s.Path)
	case s.Stored && o.InPlace:
		return cli.Usage("%s is in OpenCode's own store, which is never written to; leave --in-place out, "+
			"and a file for `opencode import` is written. `winnow prune`, restore and undo of opencode:ID "+
			"tell a running OpenCode", s.ID)
	case s.FromFile() && !dry:
		if name := cmp.Or(o.Format, s.Doc.Format); !slices.Contains(Writable(), name) {
			return fmt.Errorf("writing %s as %s: %w", s.Title(), name, format.ErrReadOnly)
		}
	}
	return nil
}

// OpenToChange opens a session whose change goes to an output, and reports on it as it is before.
// The caller closes it.
func OpenToChange(ctx context.Context, a *cli.App, src string, o *Target, dry bool) (*source.Session,
	report.Report, error) {
	s, err := Open(ctx, a, src, o, dry)
	if err != nil {
		return nil, report.Report{}, err
	}
	before, err := winnow.Look(ctx, s.Engine, s.ID, report.Inspect)
	if err != nil {
		s.Close()
		return nil, report.Report{}, err
	}
	return s, before, nil
}

// Origin reads the file that a stored session came from, so that what was not changed is written as
// it was.
func Origin(ctx context.Context, s *source.Session, o *Target) error {
	from, err := s.Store.Source(ctx, s.ID)
	if err != nil {
		return err
	}
	if from == nil {
		o.Format = cmp.Or(o.Format, "opencode")
		return nil
	}
	s.Doc, err = source.FromStore(from)
	return err
}

// Write writes a session as it is now, and returns the path. word says what was done, for the name
// of the file: "session.jsonl" becomes "session.compacted.jsonl".
func Write(ctx context.Context, a *cli.App, s *source.Session, o *Target, word string) (path string, err error) {
	name := cmp.Or(o.Format, s.Format())
	f, err := all.Named(name)
	if err != nil {
		return "", err
	}
	log, state, err := s.Engine.Session(ctx, s.ID)
	if err != nil {
		return "", err
	}
	doc := s.Doc
	if s.Format() != name {
		doc = nil
	}
	change := format.Change{Session: log, Ledger: state.Ledger, Undone: state.Undone}
	if s.Stored && doc != nil {
		if told, err := o.tell(ctx, a, s, change); told || err != nil {
			return "", err
		}
	}
	write := func(w io.Writer) error { return f.Write(w, doc, change) }
	switch {
	case doc != nil && s.Exact != nil:
		write = func(w io.Writer) error { _, err := w.Write(s.Exact); return err }
	case doc != nil && unchanged(doc, change): // even if the format is only read
		write = func(w io.Writer) error { _, err := w.Write(doc.Source); return err }
	}
	if o.Mask {
		write = o.masked(write)
	}
	defer a.Progress("writing " + s.Title())()
	defer func() { s.Written = err == nil }()
	if o.To == "-" {
		return "-", write(a.Data())
	}
	path, err = Path(a, s, o, word)
	if err != nil {
		return "", err
	}
	packed := write
	if filepath.Ext(path) == ".gz" {
		packed = func(w io.Writer) error {
			z := gzip.NewWriter(w)
			return errors.Join(write(z), z.Close())
		}
	}
	if s.Claim != nil {
		return path, replace(ctx, a, s, o, packed)
	}
	return path, a.Files.Write(ctx, path, packed)
}

// masked masks the secrets in all that is written, including members that no format knows. A file
// of JSON stays one.
func (o *Target) masked(write func(io.Writer) error) func(io.Writer) error {
	return func(w io.Writer) error {
		var whole strings.Builder
		if err := write(&whole); err != nil {
			return err
		}
		text, n := secret.Mask(whole.String())
		o.Masked = n
		_, err := io.WriteString(w, text)
		return err
	}
}

// unchanged reports whether a session still is what the document says. Messages are only ever added
// to it.
func unchanged(doc *format.Document, c format.Change) bool {
	if len(c.Undone) > 0 || len(c.Session.Messages) != len(doc.Session.Messages) || c.Ledger.Len() != doc.Ledger.Len() {
		return false
	}
	for _, el := range doc.Ledger.All() {
		if !c.Ledger.Has(el.Key()) {
			return false
		}
	}
	return true
}

// Path is the file to write to. A symbolic link stands for the file that it leads to: the link
// stays.
func Path(a *cli.App, s *source.Session, o *Target, word string) (string, error) {
	place := Place{Flag: "-o", Force: o.Force, Read: s.Stat,
		Instead: "use --in-place to replace it and keep the original, or -o to name another file"}
	switch {
	case o.InPlace && s.Path == "-":
		return "", cli.Usage("standard input cannot be replaced; name a file with -o")
	case s.Claim != nil:
		return s.Claim.Path, nil
	case o.InPlace:
		return "", cli.Usage("%s is not a regular file and cannot be replaced; name a file with -o", s.Path)
	case o.To != "":
		return place.Check(a.Path(o.To))
	}
	base := strings.TrimSuffix(filepath.Base(s.Path), ".gz")
	ext := filepath.Ext(base)
	base = strings.TrimSuffix(base, ext)
	nameless := s.Path == "-" || s.Stored
	if nameless {
		base = FileName(s.ID)
	}
	if nameless || o.Format != "" && o.Format != s.Doc.Format {
		ext = Extension(cmp.Or(o.Format, s.Doc.Format))
	}
	return place.Check(filepath.Join(a.Env.Dir, base+"."+word+ext))
}

// Extension is how the files of a format end.
func Extension(formatName string) string {
	switch formatName {
	case "claude-code", "codex", "copilot", "pi", "qwen-code", "gemini-cli":
		return ".jsonl"
	case cline.Name:
		return cline.Ending
	}
	return ".json"
}

// FileName is an id as the name of a file.
func FileName(id string) string {
	return strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' || r < ' ' {
			return '_'
		}
		return r
	}, id)
}

// SayWritten says where the session was written to, or else how to take back what was done to it in
// the store.
func SayWritten(a *cli.App, s *source.Session, path string) {
	if path != "" {
		a.Printf("Written to %s\n", a.Short(path))
	} else {
		a.Printf("Undo with: winnow undo %s\n", s.ID)
	}
}
