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
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/cmd/winnow/internal/cli"
	"github.com/winnowhq/winnow/cmd/winnow/internal/source"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/format/openhands"
	"github.com/winnowhq/winnow/inplace"
	"github.com/winnowhq/winnow/secret"
)

// OpenToChange opens a source whose change goes to an output, and reports on it as it is before. The caller closes it.
func OpenToChange(ctx context.Context, a *cli.App, src string, out *Target, dry bool) (*source.Session, winnow.Report, error) {
	s, err := Open(ctx, a, src, out, dry)
	if err != nil {
		return nil, winnow.Report{}, err
	}
	before, err := s.Engine.Inspect(ctx, s.ID)
	if err != nil {
		s.Close()
		return nil, winnow.Report{}, err
	}
	return s, before, nil
}

// Writable are the formats that can be written.
func Writable() []string {
	var names []string
	for _, f := range all.Formats() {
		if err := f.Write(new(strings.Builder), nil, format.Change{}); !errors.Is(err, format.ErrReadOnly) {
			names = append(names, f.Name())
		}
	}
	return names
}

// Origin reads the file that a stored session came from, so that what was not changed is written as it was.
func Origin(ctx context.Context, a *cli.App, s *source.Session, out *Target) error {
	from, err := s.Store.Source(ctx, s.ID)
	if err != nil {
		return err
	}
	if from == nil {
		if out.Format == "" {
			out.Format = "opencode"
		}
		return nil
	}
	f, err := all.Named(from.Format)
	if err != nil {
		return err
	}
	s.Doc, err = f.Read(from.Data)
	return err
}

// Target is where a changed session goes.
type Target struct {
	To      string // "-" is standard output
	Format  string
	InPlace bool
	Force   bool
	Command string // that writes it
	Mask    bool   // secrets are masked: what is written is for others
	Masked  int    // how many were, once it was written

	Replaced *inplace.Replaced // how SRC was replaced, once it was
}

func (o *Target) Flags(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&o.To, "output", "o", "", `where to write the session, "-" for standard output`)
	cmd.Flags().StringVar(&o.Format, "format", "", "format of the session that is written (default: that of SRC)")
	cmd.Flags().BoolVar(&o.InPlace, "in-place", false, "replace SRC; the original is kept, see winnow originals")
	cmd.Flags().BoolVarP(&o.Force, "force", "f", false, "overwrite the file that is written to; with --in-place, replace SRC although somebody may be writing to it")
	cli.Complete(cmd, "format", Writable()...)
	o.Command = cmd.Name()
}

// Check refuses flags that contradict each other before any work is done.
func (o *Target) Check() error {
	if o.InPlace && (o.To != "" || o.Format != "") {
		return cli.Usage("--in-place goes neither with -o nor with --format")
	}
	if o.Format != "" {
		if _, err := all.Named(o.Format); err != nil {
			return cli.Misuse(err)
		}
	}
	return nil
}

// of refuses to name a file for a session that is changed in the store, and, before any work is done, a format that cannot be written. With dry nothing
// will be.
func (o *Target) of(s *source.Session, dry bool) error {
	if !s.FromFile() && (o.To != "" || o.Format != "" || o.InPlace) {
		return cli.Usage("%s is in the store and is changed there; use `winnow export` to write it to a file", s.ID)
	}
	if s.Stored && o.InPlace && s.Doc.Format == openhands.Name {
		return cli.Usage("%s is a folder that OpenHands keeps, which is never written to; without --in-place, and with --format, a file is written", s.Path)
	}
	if s.Stored && o.InPlace {
		return cli.Usage("%s is in OpenCode's own store, which is never written to; without --in-place a file is written that `opencode import` takes", s.ID)
	}
	if s.FromFile() && !dry {
		if name := cmp.Or(o.Format, s.Doc.Format); !slices.Contains(Writable(), name) {
			return fmt.Errorf("writing %s as %s: %w", s.Title(), name, format.ErrReadOnly)
		}
	}
	return nil
}

// Write writes the session of a source as it is now, and returns the path, "" when nothing was to be written. word names what was done, for the
// name of the file: "session.jsonl" becomes "session.compacted.jsonl".
func Write(ctx context.Context, a *cli.App, s *source.Session, o *Target, word string) (string, error) {
	f, doc, err := target(a, s, o)
	if err != nil {
		return "", err
	}
	log, state, err := s.Engine.Session(ctx, s.ID)
	if err != nil {
		return "", err
	}
	change := format.Change{Session: log, Ledger: state.Ledger, Undone: state.Undone}
	writeTo := func(w io.Writer) error { return f.Write(w, doc, change) }
	if doc != nil && unchanged(doc, change) { // also where the format is only read
		writeTo = func(w io.Writer) error { _, err := w.Write(doc.Source); return err }
	}
	if s.Exact != nil && doc != nil {
		writeTo = func(w io.Writer) error { _, err := w.Write(s.Exact); return err }
	}
	if o.Mask {
		writeTo = o.withoutSecrets(writeTo)
	}
	defer a.Progress("writing " + s.Title())()
	if o.To == "-" {
		return "-", writeTo(a.Data())
	}
	path, err := Path(a, s, o, word)
	if err != nil {
		return "", err
	}
	packed := func(w io.Writer) error {
		if filepath.Ext(path) != ".gz" {
			return writeTo(w)
		}
		z := gzip.NewWriter(w)
		return errors.Join(writeTo(z), z.Close())
	}
	if s.Claim != nil {
		return path, replace(ctx, a, s, o, packed)
	}
	return path, a.Files.Write(ctx, path, packed)
}

// withoutSecrets masks the secrets in all that is written, the members that no format knows among it. A file of JSON stays one.
func (o *Target) withoutSecrets(write func(io.Writer) error) func(io.Writer) error {
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

// unchanged tells whether a session still is what the document says. Messages are only ever added to it.
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

// target is the format to write in, and the document to write from: nil when the formats differ.
func target(a *cli.App, s *source.Session, o *Target) (format.Format, *format.Document, error) {
	name := o.Format
	if name == "" {
		name = s.Doc.Format
	}
	f, err := all.Named(name)
	if err != nil {
		return nil, nil, err
	}
	doc := s.Doc
	if doc != nil && doc.Format != name {
		doc = nil
	}
	return f, doc, nil
}

// Path is the file to write to. A symbolic link stands for the file that it leads to: the link stays.
func Path(a *cli.App, s *source.Session, o *Target, word string) (string, error) {
	switch {
	case o.InPlace && s.Path == "-":
		return "", cli.Usage("standard input cannot be replaced; name a file with -o")
	case s.Claim != nil:
		return s.Claim.Path, nil
	case o.InPlace:
		return "", cli.Usage("%s is no regular file and cannot be replaced; name a file with -o", s.Path)
	case o.To != "":
		return mayWrite(a, a.Path(o.To), s, o.Force)
	}
	base := strings.TrimSuffix(filepath.Base(s.Path), ".gz")
	ext := filepath.Ext(base)
	base = strings.TrimSuffix(base, ext)
	if s.Path == "-" || s.Stored {
		base = FileName(s.ID)
	}
	if name := s.Doc.Format; s.Path == "-" || s.Stored || o.Format != "" && o.Format != name {
		if o.Format != "" {
			name = o.Format
		}
		ext = Extension(name)
	}
	return mayWrite(a, filepath.Join(a.Env.Dir, base+"."+word+ext), s, o.Force)
}

// Extension is how the files of a format end.
func Extension(formatName string) string {
	switch formatName {
	case "claude-code", "codex", "pi":
		return ".jsonl"
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

// mayWrite refuses what must not be overwritten, and follows links.
func mayWrite(a *cli.App, path string, s *source.Session, force bool) (string, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		folder := filepath.Dir(path)
		if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
			return "", cli.Hint(fmt.Errorf("%s cannot be written: there is no folder %s", path, folder), "make the folder first, or name another file with -o")
		}
		return path, nil
	}
	if err != nil {
		return "", err
	}
	if info.IsDir() {
		return "", cli.Usage("%s is a folder; name a file in it", path)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	switch {
	case !info.Mode().IsRegular(), force: // a device or a pipe is written to, not replaced
		return path, nil
	case s.Stat != nil && os.SameFile(info, s.Stat):
		return "", cli.Usage("%s is what is read; use --in-place to replace it and keep the original, or -o to name another file", path)
	}
	return "", cli.Usage("%s is there already; use --force to overwrite it, or -o to name another file", path)
}
