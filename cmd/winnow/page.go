package main

import (
	"context"
	"errors"
	"fmt"
	"github.com/winnowhq/winnow"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/page"
	"github.com/winnowhq/winnow/pivot"
	"github.com/winnowhq/winnow/report"
)

// pageOutput is where a page for a browser goes.
type pageOutput struct {
	to    string // "" is nowhere, "-" is standard output
	force bool
}

// flags adds --html, and --secrets for the page and for whatever else of the command where names.
func (o *pageOutput) flags(a *app, cmd *cobra.Command, where string) {
	cmd.Flags().StringVar(&o.to, "html", "", `write a page for a browser to this file, "-" for standard output`)
	a.secretsFlag(cmd, where)
}

// withForce adds --force where the command has none of its own.
func (o *pageOutput) withForce(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&o.force, "force", "f", false, "overwrite the file that --html names, also when it is no page of winnow's")
}

// check refuses flags that contradict each other.
func (o *pageOutput) check(json bool) error {
	if o.to == "-" && json {
		return usage("--json and --html - both want standard output; name a file for the page")
	}
	return nil
}

// place is the file that a page may be written to: a new one, or a page that winnow wrote. Anything else needs --force, and what is read, or
// was just written to what flag named, is never overwritten.
func (o *pageOutput) place(a *app, s *source, sessionTo, flag string) (string, error) {
	path := a.path(o.to)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		if sessionTo != "" && sessionTo != "-" && filepath.Clean(a.path(sessionTo)) == filepath.Clean(path) {
			return "", usage("%s and --html both name %s", flag, o.to)
		}
		if folder := filepath.Dir(path); !isFolder(folder) {
			return "", hinted{fmt.Errorf("%s cannot be written: there is no folder %s", path, folder), "make the folder first, or name another file with --html"}
		}
		return path, nil
	}
	if err != nil {
		return "", err
	}
	if info.IsDir() {
		return "", usage("%s is a folder; name a file in it", path)
	}
	if s.stat != nil && os.SameFile(info, s.stat) {
		return "", usage("%s is what is read; name another file with --html", path)
	}
	if sessionTo != "" && sessionTo != "-" {
		if other, err := os.Stat(a.path(sessionTo)); err == nil && os.SameFile(info, other) {
			return "", usage("%s and --html both name %s", flag, o.to)
		}
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if !info.Mode().IsRegular() || o.force || info.Size() == 0 || isPage(path) {
		return path, nil
	}
	return "", usage("%s is there already and is no page that winnow wrote; use --force to overwrite it, or name another file with --html", path)
}

func isPage(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 512)
	n, _ := io.ReadFull(f, head)
	return page.Is(head[:n])
}

// writePage writes the page of a session as it is now, and returns the path. done is the receipt of what was done to it just now, nil for
// nothing; remark a sentence about that; name the session as the commands on the page are to name it.
func (a *app) writePage(ctx context.Context, s *source, o *pageOutput, name string, done *pivot.Receipt, remark, sessionTo string) (string, error) {
	path := "-"
	if o.to != "-" {
		var err error
		if path, err = o.place(a, s, sessionTo, "-o"); err != nil {
			return "", err
		}
	}
	c := page.Content{Name: s.title(), Source: name, Done: done, Remark: remark, KeepSecrets: a.keepSecrets()}
	if err := s.look(ctx, &c); err != nil {
		return "", err
	}
	if s.doc != nil {
		c.Damaged = s.doc.Damaged
		c.Report.Messages, c.Report.ToolCalls = s.doc.Counts.Messages, s.doc.Counts.ToolCalls
		if f, err := all.Named(s.doc.Format); err == nil {
			c.Product = f.Title()
		}
	}
	defer a.progress("writing the page")()
	write := func(w io.Writer) error { return page.Write(w, c) }
	if path == "-" {
		return path, write(a.data())
	}
	return path, a.files.write(ctx, path, write)
}

// look fills in what the engine reports of a session, all of it of one moment: another process may be writing to the store.
func (s *source) look(ctx context.Context, c *page.Content) error {
	for {
		var err error
		if c.Session, c.State, err = s.engine.Session(ctx, s.id); err != nil {
			return err
		}
		if c.Report, err = winnow.Look(ctx, s.engine, s.id, report.Inspect); err != nil {
			return err
		}
		if c.Parts, err = winnow.Look(ctx, s.engine, s.id, report.Parts); err != nil {
			return err
		}
		_, state, err := s.engine.Session(ctx, s.id)
		if err != nil || state.Revision == c.State.Revision {
			return err
		}
	}
}

// sayPage says where the page is.
func (a *app) sayPage(path string) {
	if path != "" {
		a.printf("\nThe page is %s\n", a.short(path))
	}
}

// named is how a source is named on the command line.
func (s *source) named(a *app) string {
	if s.fromFile() && s.path != "-" {
		return a.short(a.path(s.path))
	}
	if s.fromFile() {
		return "SRC"
	}
	return s.id
}
