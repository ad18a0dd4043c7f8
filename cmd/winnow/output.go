package main

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

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/format/openhands"
	"github.com/winnowhq/winnow/inplace"
	"github.com/winnowhq/winnow/secret"
)

// output is where a changed session goes.
type output struct {
	to      string // "-" is standard output
	format  string
	inPlace bool
	force   bool
	command string // that writes it
	mask    bool   // secrets are masked: what is written is for others
	masked  int    // how many were, once it was written

	replaced *inplace.Replaced // how SRC was replaced, once it was
}

func (o *output) flags(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&o.to, "output", "o", "", `where to write the session, "-" for standard output`)
	cmd.Flags().StringVar(&o.format, "format", "", "format of the session that is written (default: that of SRC)")
	cmd.Flags().BoolVar(&o.inPlace, "in-place", false, "replace SRC; the original is kept, see winnow originals")
	cmd.Flags().BoolVarP(&o.force, "force", "f", false, "overwrite the file that is written to; with --in-place, replace SRC although somebody may be writing to it")
	complete(cmd, "format", writable()...)
	o.command = cmd.Name()
}

// check refuses flags that contradict each other before any work is done.
func (o *output) check() error {
	if o.inPlace && (o.to != "" || o.format != "") {
		return usage("--in-place goes neither with -o nor with --format")
	}
	if o.format != "" {
		if _, err := all.Named(o.format); err != nil {
			return usageError{err}
		}
	}
	return nil
}

// of refuses to name a file for a session that is changed in the store, and, before any work is done, a format that cannot be written. With dry nothing
// will be.
func (o *output) of(s *source, dry bool) error {
	if !s.fromFile() && (o.to != "" || o.format != "" || o.inPlace) {
		return usage("%s is in the store and is changed there; use `winnow export` to write it to a file", s.id)
	}
	if s.stored && o.inPlace && s.doc.Format == openhands.Name {
		return usage("%s is a folder that OpenHands keeps, which is never written to; without --in-place, and with --format, a file is written", s.path)
	}
	if s.stored && o.inPlace {
		return usage("%s is in OpenCode's own store, which is never written to; without --in-place a file is written that `opencode import` takes", s.id)
	}
	if s.fromFile() && !dry {
		if name := cmp.Or(o.format, s.doc.Format); !slices.Contains(writable(), name) {
			return fmt.Errorf("writing %s as %s: %w", s.title(), name, format.ErrReadOnly)
		}
	}
	return nil
}

// write writes the session of a source as it is now, and returns the path, "" when nothing was to be written. word names what was done, for the
// name of the file: "session.jsonl" becomes "session.compacted.jsonl".
func (a *app) write(ctx context.Context, s *source, o *output, word string) (string, error) {
	f, doc, err := a.target(s, o)
	if err != nil {
		return "", err
	}
	log, state, err := s.engine.Session(ctx, s.id)
	if err != nil {
		return "", err
	}
	change := format.Change{Session: log, Ledger: state.Ledger, Undone: state.Undone}
	writeTo := func(w io.Writer) error { return f.Write(w, doc, change) }
	if doc != nil && unchanged(doc, change) { // also where the format is only read
		writeTo = func(w io.Writer) error { _, err := w.Write(doc.Source); return err }
	}
	if s.exact != nil && doc != nil {
		writeTo = func(w io.Writer) error { _, err := w.Write(s.exact); return err }
	}
	if o.mask {
		writeTo = o.withoutSecrets(writeTo)
	}
	defer a.progress("writing " + s.title())()
	if o.to == "-" {
		return "-", writeTo(a.data())
	}
	path, err := a.outputPath(s, o, word)
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
	if s.claim != nil {
		return path, a.replace(ctx, s, o, packed)
	}
	return path, a.files.write(ctx, path, packed)
}

// withoutSecrets masks the secrets in all that is written, the members that no format knows among it. A file of JSON stays one.
func (o *output) withoutSecrets(write func(io.Writer) error) func(io.Writer) error {
	return func(w io.Writer) error {
		var whole strings.Builder
		if err := write(&whole); err != nil {
			return err
		}
		text, n := secret.Mask(whole.String())
		o.masked = n
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
func (a *app) target(s *source, o *output) (format.Format, *format.Document, error) {
	name := o.format
	if name == "" {
		name = s.doc.Format
	}
	f, err := all.Named(name)
	if err != nil {
		return nil, nil, err
	}
	doc := s.doc
	if doc != nil && doc.Format != name {
		doc = nil
	}
	return f, doc, nil
}

// outputPath is the file to write to. A symbolic link stands for the file that it leads to: the link stays.
func (a *app) outputPath(s *source, o *output, word string) (string, error) {
	switch {
	case o.inPlace && s.path == "-":
		return "", usage("standard input cannot be replaced; name a file with -o")
	case s.claim != nil:
		return s.claim.Path, nil
	case o.inPlace:
		return "", usage("%s is no regular file and cannot be replaced; name a file with -o", s.path)
	case o.to != "":
		return a.mayWrite(a.path(o.to), s, o.force)
	}
	base := strings.TrimSuffix(filepath.Base(s.path), ".gz")
	ext := filepath.Ext(base)
	base = strings.TrimSuffix(base, ext)
	if s.path == "-" || s.stored {
		base = fileName(s.id)
	}
	if name := s.doc.Format; s.path == "-" || s.stored || o.format != "" && o.format != name {
		if o.format != "" {
			name = o.format
		}
		ext = extension(name)
	}
	return a.mayWrite(filepath.Join(a.env.Dir, base+"."+word+ext), s, o.force)
}

// extension is how the files of a format end.
func extension(formatName string) string {
	switch formatName {
	case "claude-code", "codex", "pi":
		return ".jsonl"
	}
	return ".json"
}

// fileName is an id as the name of a file.
func fileName(id string) string {
	return strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' || r < ' ' {
			return '_'
		}
		return r
	}, id)
}

// mayWrite refuses what must not be overwritten, and follows links.
func (a *app) mayWrite(path string, s *source, force bool) (string, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		folder := filepath.Dir(path)
		if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
			return "", hinted{fmt.Errorf("%s cannot be written: there is no folder %s", path, folder), "make the folder first, or name another file with -o"}
		}
		return path, nil
	}
	if err != nil {
		return "", err
	}
	if info.IsDir() {
		return "", usage("%s is a folder; name a file in it", path)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	switch {
	case !info.Mode().IsRegular(), force: // a device or a pipe is written to, not replaced
		return path, nil
	case s.stat != nil && os.SameFile(info, s.stat):
		return "", usage("%s is what is read; use --in-place to replace it and keep the original, or -o to name another file", path)
	}
	return "", usage("%s is there already; use --force to overwrite it, or -o to name another file", path)
}
