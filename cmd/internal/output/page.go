package output

import (
	"context"
	"github.com/winnowhq/winnow"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/look/page"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/store/report"
)

// Page is where a page for a browser goes.
type Page struct {
	To    string // "" is nowhere, "-" is standard output
	Force bool
}

// Flags adds --html, and --secrets for the page and for what else where names.
func (o *Page) Flags(a *cli.App, cmd *cobra.Command, where string) {
	cmd.Flags().StringVar(&o.To, "html", "", `write a page for a browser to this file, "-" for standard output`)
	a.SecretsFlag(cmd, where)
}

// WithForce adds --force to a command that has none of its own.
func (o *Page) WithForce(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&o.Force, "force", "f", false,
		"overwrite the file that --html names, even if it is not a page of winnow's")
}

// Check refuses flags that contradict each other.
func (o *Page) Check(json bool) error {
	if o.To == "-" && json {
		return cli.Usage("--json and --html - both want standard output; name a file for the page")
	}
	return nil
}

// Place is the file that a page may be written to: a new one, or a page that winnow wrote. Anything
// else needs --force. What is read, and what flag names for something else, is never overwritten.
func (o *Page) Place(a *cli.App, s *source.Session, other, flag string) (string, error) {
	path := a.Path(o.To)
	if other != "" && other != "-" {
		here, err := os.Stat(path)
		there, failed := os.Stat(a.Path(other))
		same := err == nil && failed == nil && os.SameFile(here, there)
		if same || err != nil && filepath.Clean(a.Path(other)) == filepath.Clean(path) {
			return "", cli.Usage("%s and --html both name %s", flag, o.To)
		}
	}
	p := Place{Flag: "--html", Force: o.Force, Read: s.Stat, Own: isPage, What: "a page that winnow wrote"}
	return p.Check(path)
}

// File is the file that a page of many sessions may be written to: a new one, or a page that winnow
// wrote. Anything else needs --force.
func (o *Page) File(a *cli.App) (string, error) {
	return Place{Flag: "--html", Force: o.Force, Own: isPage, What: "a page that winnow wrote"}.Check(a.Path(o.To))
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

// Written is what a page says of how it came about.
type Written struct {
	Name   string         // of the session, as the commands on the page are to name it
	Done   *pivot.Receipt // of what was done to it just now, nil for nothing
	Remark string         // a sentence about that
	To     string         // where the session was written to, "" for nowhere
}

// Write writes the page of a session as it is now, and returns the path.
func (o *Page) Write(ctx context.Context, a *cli.App, s *source.Session, w Written) (path string, err error) {
	if o.To != "-" {
		if path, err = o.Place(a, s, w.To, "-o"); err != nil {
			return "", err
		}
	}
	c := page.Content{Name: s.Title(), Source: w.Name, Done: w.Done, Remark: w.Remark, KeepSecrets: a.KeepSecrets()}
	if err := look(ctx, s, &c); err != nil {
		return "", err
	}
	if w.Done == nil {
		_, c.Compact, _ = source.Preview(ctx, s) // an error says that there is nothing to fold
	}
	if s.Doc != nil {
		c.Damaged = s.Doc.Damaged
		c.Report.Messages, c.Report.ToolCalls = s.Doc.Counts.Messages, s.Doc.Counts.ToolCalls
		if f, err := all.Named(s.Doc.Format); err == nil {
			c.Product = f.Title()
		}
	}
	return WritePage(ctx, a, path, func(w io.Writer) error { return page.Write(w, c) })
}

// WritePage writes a page to a file, or to standard output if path is "", and returns where it is.
func WritePage(ctx context.Context, a *cli.App, path string, write func(io.Writer) error) (string, error) {
	defer a.Progress("writing the page")()
	if path == "" || path == "-" {
		return "-", write(a.Data())
	}
	return path, a.Files.Write(ctx, path, write)
}

// look fills in what the engine reports of a session, all of it of one moment: another process may
// be writing to the store.
func look(ctx context.Context, s *source.Session, c *page.Content) error {
	for {
		var err error
		if c.Session, c.State, err = s.Engine.Session(ctx, s.ID); err != nil {
			return err
		}
		if c.Report, err = winnow.Look(ctx, s.Engine, s.ID, report.Inspect); err != nil {
			return err
		}
		if c.Parts, err = winnow.Look(ctx, s.Engine, s.ID, report.Parts); err != nil {
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

// NameOf is how a session is named on the command line.
func NameOf(a *cli.App, s *source.Session) string {
	switch {
	case !s.FromFile():
		return s.ID
	case s.Path == "-":
		return "SRC"
	}
	return a.Short(a.Path(s.Path))
}
