package output

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/desk/discover"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/format/claudecode"
	"github.com/winnowhq/winnow/format/codex"
	"github.com/winnowhq/winnow/format/opencode"
	"github.com/winnowhq/winnow/format/pi"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
)

// successors are the words for the products in which a session can go on, and the names of their
// formats.
var successors = map[string]string{
	"claude": claudecode.Name, claudecode.Name: claudecode.Name, codexName: codexName,
	"opencode": opencode.Name, "pi": pi.Name,
}

const codexName = "codex"

// Successors are the words for the products in which a session can go on, for help.
func Successors() []string { return []string{"claude", "codex", "opencode", "pi"} }

// Handed is a session that was handed over.
type Handed struct {
	Product string   // in which it goes on: the name of its format
	ID      string   // there
	Path    string   // its file; of OpenCode one that it imports
	Has     int      // messages that the product has of it now
	Added   int      // messages of them that it did not have
	Renamed int      // calls that are in the words of the product
	Foreign []string // tools that the product does not have
	Import  bool     // the product has to import the file
	Folder  string   // in which it works
}

// Successor is the name of a product's format, by its word.
func Successor(word string) (string, error) {
	if name := successors[word]; name != "" {
		return name, nil
	}
	return "", cli.Usage("--in %s: choose claude, codex, opencode or pi", word)
}

// HandOver lets a session go on in the agent of another product: it writes it in that product's
// format and in the words of its tools, to where the product keeps its own sessions of the current
// folder. A session that came from that product is not doubled: the one that it came from gets the
// messages that it does not have.
func HandOver(ctx context.Context, a *cli.App, s *source.Session, product string) (d Handed, err error) {
	if s.FromFile() && s.Doc.Format == product {
		return d, cli.Usage("%s is a session of %s already", s.Title(), product)
	}
	f, err := all.Named(product)
	if err != nil {
		return d, err
	}
	folder, err := filepath.EvalSymlinks(a.Env.Dir)
	if err != nil {
		return d, err
	}
	log, state, err := s.Engine.Session(ctx, s.ID)
	if err != nil {
		return d, err
	}
	to, renamed, foreign := translated(log, product, folder)
	d = Handed{Product: product, Renamed: renamed, Foreign: foreign, Folder: folder,
		Import: product == opencode.Name}
	change := format.Change{Session: to, Ledger: state.Ledger, Undone: state.Undone}
	before, err := origin(ctx, a, s, log.Info, product)
	if err != nil {
		return d, err
	}
	if before != nil {
		defer before.Close()
		d.Folder = cmp.Or(before.Doc.Session.Info.Directory, folder)
		if change, d.Added, err = d.joined(before, s, change); err != nil {
			return d, err
		}
	}
	return d, d.put(ctx, a, f, before, change)
}

// put writes the session to where the product looks for it.
func (d *Handed) put(ctx context.Context, a *cli.App, f format.Format, before *source.Session, c format.Change) error {
	var doc *format.Document
	if before != nil {
		doc = before.Doc
	}
	var text bytes.Buffer
	if err := f.Write(&text, doc, c); err != nil {
		return err
	}
	written, err := f.Read(text.Bytes())
	if err != nil {
		return err
	}
	d.ID, d.Has = idIn(d.Product, written.Session.Info), len(written.Session.Messages)
	switch {
	case d.Import:
		d.Path = filepath.Join(os.TempDir(), "winnow-"+FileName(d.ID)+".json")
	case before != nil && d.Added == 0:
		d.Path = before.Path
		return nil
	case before != nil:
		return d.add(ctx, a, before, text.Bytes())
	default:
		env := source.Search(a).Env
		if d.Path = discover.Own(env, d.Product, &written.Session.Info); d.Path == "" {
			return cli.Usage("there is no home folder; set HOME")
		}
		_, err := os.Stat(d.Path)
		if err == nil {
			return cli.Hint(fmt.Errorf("%s is there already, and is another session", d.Path),
				"move it away, or write the session elsewhere with winnow export")
		}
		if err := os.MkdirAll(filepath.Dir(d.Path), 0o700); err != nil {
			return err
		}
	}
	if before == nil {
		d.Added = d.Has
	}
	return a.Files.Write(ctx, d.Path, func(w io.Writer) error {
		_, err := w.Write(text.Bytes())
		return err
	})
}

// add replaces the file of a session that has new messages. The original is kept.
func (d *Handed) add(ctx context.Context, a *cli.App, before *source.Session, text []byte) error {
	o := Target{InPlace: true, Command: "continue"}
	held, err := Open(ctx, a, before.Path, &o, false)
	if err != nil {
		return err
	}
	defer held.Close()
	if !bytes.Equal(held.Doc.Source, before.Doc.Source) {
		return fmt.Errorf("%s was written to meanwhile: run the command again", before.Path)
	}
	held.Exact = text
	d.Path, err = Write(ctx, a, held, &o, "continued")
	return err
}

// origin is the session of a product that a session was made from by an earlier handover, or was
// made by one from it, nil if there is none. The caller closes it.
func origin(ctx context.Context, a *cli.App, s *source.Session, info session.Info,
	product string) (*source.Session, error) {
	search := source.Search(a)
	search.Product = product
	found, _, err := search.Find(ctx)
	if err != nil {
		return nil, err
	}
	for _, one := range found {
		if one.ID == s.ID || one.ID == idIn(product, info) || idIn(s.Format(), session.Info{ID: one.ID}) == s.ID {
			return source.Open(ctx, a, one.Source)
		}
	}
	return nil, nil
}

// idIn is the id by which a product knows a session.
func idIn(product string, info session.Info) string {
	switch product {
	case claudecode.Name:
		return claudecode.SessionID(info.ID)
	case codexName:
		return codex.ThreadID(info.ID)
	case opencode.Name:
		return opencode.SessionID(&info)
	}
	return info.ID
}

// joined is the change by which a session of the product gets the messages that it does not have.
// Both must have gone the same way until then. Where the product's session was made from this one, this
// one is compared as the product would read it: formats may keep two messages as one.
func (d *Handed) joined(before, s *source.Session, c format.Change) (format.Change, int, error) {
	had := before.Doc.Session
	there, err := again(d.Product, c)
	if err != nil {
		return c, 0, err
	}
	if there != nil && common(had, there.Session) > 0 {
		return d.with(before, there.Session, there.Ledger, common(had, there.Session))
	}
	here, err := again(s.Format(), format.Change{Session: had, Ledger: before.Doc.Ledger})
	if err != nil {
		return c, 0, err
	}
	n, ids := 0, map[string]string{}
	for here != nil && n < min(len(had.Messages), len(here.Session.Messages), len(c.Session.Messages)) &&
		c.Session.Messages[n].ID == here.Session.Messages[n].ID {
		ids[c.Session.Messages[n].ID] = had.Messages[n].ID
		n++
	}
	c.Session.Messages = behind(c.Session.Messages, ids)
	return d.with(before, c.Session, c.Ledger, n)
}

// with adds the messages of a session behind the first n, which both have.
func (d *Handed) with(before *source.Session, s session.Session, ledger rule.Ledger, n int) (format.Change, int, error) {
	had := before.Doc.Session
	if n < len(had.Messages) && n < len(s.Messages) {
		return format.Change{}, 0, cli.Hint(fmt.Errorf("%s went on by itself: message %d is another one there",
			before.Title(), n+1), "write the session elsewhere with winnow export")
	}
	added, all := s.Messages[n:], before.Doc.Ledger
	for _, el := range ledger.All() {
		if slices.ContainsFunc(added, func(m session.Message) bool { return m.ID == el.Message }) {
			all = all.With(el)
		}
	}
	had.Messages = append(slices.Clone(had.Messages), added...)
	return format.Change{Session: had, Ledger: all}, len(added), nil
}

// common is how many messages two sessions begin with alike, by their ids.
func common(a, b session.Session) (n int) {
	for n < min(len(a.Messages), len(b.Messages)) && a.Messages[n].ID == b.Messages[n].ID {
		n++
	}
	return n
}

// again is a session as it is read once it is written in a format, nil if that is only read.
func again(product string, c format.Change) (*format.Document, error) {
	f, err := all.Named(product)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	switch err := f.Write(&text, nil, c); {
	case errors.Is(err, format.ErrReadOnly):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return f.Read(text.Bytes())
}
