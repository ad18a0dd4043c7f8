package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/all"
)

// output is where a changed session goes.
type output struct {
	to      string // "-" is standard output
	format  string
	inPlace bool
	force   bool
}

func (o *output) flags(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&o.to, "output", "o", "", `where to write the session, "-" for standard output`)
	cmd.Flags().StringVar(&o.format, "format", "", "format of the session that is written (default: that of SRC)")
	cmd.Flags().BoolVar(&o.inPlace, "in-place", false, "replace SRC; the original is kept beside it as SRC.orig")
	cmd.Flags().BoolVarP(&o.force, "force", "f", false, "overwrite the file that is written to")
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

// write writes the session of a source as it is now, and returns the path, "" when nothing was to be written. word names what was done, for the
// name of the file: "session.jsonl" becomes "session.compacted.jsonl".
func (a *app) write(ctx context.Context, s *source, o output, word string) (string, error) {
	f, doc, err := a.target(s, o)
	if err != nil {
		return "", err
	}
	log, state, err := s.engine.Session(ctx, s.id)
	if err != nil {
		return "", err
	}
	change := format.Change{Session: log, Ledger: state.Ledger, Undone: state.Undone}
	if o.to == "-" {
		w := bufio.NewWriter(a.env.Stdout)
		if err := f.Write(w, doc, change); err != nil {
			return "", err
		}
		return "-", w.Flush()
	}
	path, err := a.outputPath(s, o, f, word)
	if err != nil {
		return "", err
	}
	if o.inPlace {
		if err := keepOriginal(path); err != nil {
			return "", err
		}
	}
	return path, writeFile(ctx, path, func(w io.Writer) error { return f.Write(w, doc, change) })
}

// target is the format to write in, and the document to write from: nil when the formats differ.
func (a *app) target(s *source, o output) (format.Format, *format.Document, error) {
	name := o.format
	if name == "" {
		name = s.doc.Format
	}
	f, err := all.Named(name)
	if err != nil {
		return nil, nil, err
	}
	doc := s.doc
	if doc == nil || doc.Format != name {
		doc = nil
	}
	return f, doc, nil
}

func (a *app) outputPath(s *source, o output, f format.Format, word string) (string, error) {
	switch {
	case o.inPlace && s.path == "-":
		return "", usage("standard input cannot be replaced; name a file with -o")
	case o.inPlace:
		return a.path(s.path), nil
	case o.to != "":
		path := a.path(o.to)
		return path, a.mayWrite(path, o.force)
	}
	base := filepath.Base(s.path)
	if s.path == "-" {
		base = s.id
	}
	base = strings.TrimSuffix(base, ".gz")
	ext := filepath.Ext(base)
	path := filepath.Join(a.env.Dir, strings.TrimSuffix(base, ext)+"."+word+ext)
	return path, a.mayWrite(path, o.force)
}

func (a *app) mayWrite(path string, force bool) error {
	if _, err := os.Lstat(path); err == nil && !force {
		return usage("%s is there already; use --force to overwrite it, or -o to name another file", path)
	}
	return nil
}

// keepOriginal copies a file beside itself, unless that was done before: the first original is the one to keep.
func keepOriginal(path string) error {
	kept := path + ".orig"
	if _, err := os.Lstat(kept); err == nil {
		return nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return writeFile(context.Background(), kept, func(w io.Writer) error { _, err := w.Write(data); return err })
}

// writeFile writes to a temporary file beside the target and renames it: whoever looks sees the old file or the new one.
func writeFile(ctx context.Context, path string, write func(io.Writer) error) (err error) {
	mode := fs.FileMode(0o600) // a session may hold anything
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("cannot write beside %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, ignoreClosed(f.Close()), os.Remove(f.Name()))
		}
	}()
	w := bufio.NewWriterSize(f, 1<<20)
	if err = write(w); err != nil {
		return err
	}
	if err = w.Flush(); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err = f.Chmod(mode); err != nil {
		return err
	}
	if err = f.Sync(); err != nil {
		return err
	}
	if err = ctx.Err(); err != nil {
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

func ignoreClosed(err error) error {
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}
