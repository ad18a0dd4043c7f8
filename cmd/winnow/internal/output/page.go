package output

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/cmd/winnow/internal/cli"
	"github.com/winnowhq/winnow/cmd/winnow/internal/source"
	"github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/page"
	"github.com/winnowhq/winnow/pivot"
)

// Page is where a page for a browser goes.
type Page struct {
	To    string // "" is nowhere, "-" is standard output
	Force bool
}

// Flags adds --html, and --secrets for the page and for whatever else of the command where names.
func (o *Page) Flags(a *cli.App, cmd *cobra.Command, where string) {
	cmd.Flags().StringVar(&o.To, "html", "", `write a page for a browser to this file, "-" for standard output`)
	a.SecretsFlag(cmd, where)
}

// WithForce adds --force where the command has none of its own.
func (o *Page) WithForce(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&o.Force, "force", "f", false, "overwrite the file that --html names, also when it is no page of winnow's")
}

// Check refuses flags that contradict each other.
func (o *Page) Check(json bool) error {
	if o.To == "-" && json {
		return cli.Usage("--json and --html - both want standard output; name a file for the page")
	}
	return nil
}

// Place is the file that a page may be written to: a new one, or a page that winnow wrote. Anything else needs --force, and what is read, or
// was just written to what flag named, is never overwritten.
func (o *Page) Place(a *cli.App, s *source.Session, sessionTo, flag string) (string, error) {
	path := a.Path(o.To)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		if sessionTo != "" && sessionTo != "-" && filepath.Clean(a.Path(sessionTo)) == filepath.Clean(path) {
			return "", cli.Usage("%s and --html both name %s", flag, o.To)
		}
		if folder := filepath.Dir(path); !cli.IsFolder(folder) {
			return "", cli.Hint(fmt.Errorf("%s cannot be written: there is no folder %s", path, folder), "make the folder first, or name another file with --html")
		}
		return path, nil
	}
	if err != nil {
		return "", err
	}
	if info.IsDir() {
		return "", cli.Usage("%s is a folder; name a file in it", path)
	}
	if s.Stat != nil && os.SameFile(info, s.Stat) {
		return "", cli.Usage("%s is what is read; name another file with --html", path)
	}
	if sessionTo != "" && sessionTo != "-" {
		if other, err := os.Stat(a.Path(sessionTo)); err == nil && os.SameFile(info, other) {
			return "", cli.Usage("%s and --html both name %s", flag, o.To)
		}
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if !info.Mode().IsRegular() || o.Force || info.Size() == 0 || isPage(path) {
		return path, nil
	}
	return "", cli.Usage("%s is there already and is no page that winnow wrote; use --force to overwrite it, or name another file with --html", path)
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

// WritePage writes the page of a session as it is now, and returns the path. done is the receipt of what was done to it just now, nil for
// nothing; remark a sentence about that; name the session as the commands on the page are to name it.
func WritePage(ctx context.Context, a *cli.App, s *source.Session, o *Page, name string, done *pivot.Receipt, remark, sessionTo string) (string, error) {
	path := "-"
	if o.To != "-" {
		var err error
		if path, err = o.Place(a, s, sessionTo, "-o"); err != nil {
			return "", err
		}
	}
	c := page.Content{Name: s.Title(), Source: name, Done: done, Remark: remark, KeepSecrets: a.KeepSecrets()}
	if err := look(ctx, s, &c); err != nil {
		return "", err
	}
	if s.Doc != nil {
		c.Damaged = s.Doc.Damaged
		c.Report.Messages, c.Report.ToolCalls = s.Doc.Counts.Messages, s.Doc.Counts.ToolCalls
		if f, err := all.Named(s.Doc.Format); err == nil {
			c.Product = f.Title()
		}
	}
	defer a.Progress("writing the page")()
	write := func(w io.Writer) error { return page.Write(w, c) }
	if path == "-" {
		return path, write(a.Data())
	}
	return path, a.Files.Write(ctx, path, write)
}

// look fills in what the engine reports of a session, all of it of one moment: another process may be writing to the store.
func look(ctx context.Context, s *source.Session, c *page.Content) error {
	for {
		var err error
		if c.Session, c.State, err = s.Engine.Session(ctx, s.ID); err != nil {
			return err
		}
		if c.Report, err = s.Engine.Inspect(ctx, s.ID); err != nil {
			return err
		}
		if c.Parts, err = s.Engine.Parts(ctx, s.ID); err != nil {
			return err
		}
		_, state, err := s.Engine.Session(ctx, s.ID)
		if err != nil || state.Revision == c.State.Revision {
			return err
		}
	}
}

// SayPage says where the page is.
func SayPage(a *cli.App, path string) {
	if path != "" {
		a.Printf("\nThe page is %s\n", a.Short(path))
	}
}

// Named is how a source is named on the command line.
func Named(s *source.Session, a *cli.App) string {
	if s.FromFile() && s.Path != "-" {
		return a.Short(a.Path(s.Path))
	}
	if s.FromFile() {
		return "SRC"
	}
	return s.ID
}
