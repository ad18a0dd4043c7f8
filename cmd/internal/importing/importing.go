// Package importing puts sessions into the store, and adds new messages of files that have grown.
package importing

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/desk/discover"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/quantity"
	"github.com/winnowhq/winnow/text/visible"
)

// Document is the JSON document of import.
type Document struct {
	Sessions []importedSession `json:"sessions"` // one entry for each session that was found
	// Files, conversation folders and sessions of a database that were checked.
	Files     int `json:"files"`
	Unchanged int `json:"unchanged"` // how many of them are known sessions without a change
	// How many of them had to be read; the others are as they were, by size and time.
	Read   int          `json:"read"`
	Failed []failedFile `json:"failed"` // files that could not be read; the others were imported
}

type importedSession struct {
	// Path of its file or its folder; for a session in a store of OpenCode the path, "#", and the
	// id.
	Source   string `json:"source"`
	ID       string `json:"id,omitzero"`     // its id in the store
	Format   string `json:"format,omitzero"` // format of the file, if it was read
	Messages int    `json:"messages"`        // messages of the file's log
	Added    int    `json:"added"`           // how many of them are new in the store
	// How many of them were there and have changed since, such as a call that ended.
	Updated int `json:"updated"`
	// With "--update": the new id of the session that was there, because its past was rewritten.
	Aside   string `json:"aside,omitzero"`
	Skipped string `json:"skipped,omitzero"` // why it was not imported
	// The pieces of the file that were skipped; empty for a file that was not read again.
	Damaged []format.Damage `json:"damaged"`
}

// failedFile is a file that could not be read.
type failedFile struct {
	Source string `json:"source"` // its path; empty if the error names it
	Error  string `json:"error"`  // the fault
}

// New is a run of import into a store.
func New(a *cli.App, kept store.Store, update bool) *Importer {
	return &Importer{app: a, store: kept, update: update,
		doc: Document{Sessions: []importedSession{}, Failed: []failedFile{}}}
}

// Importer is one run of import.
type Importer struct {
	app       *cli.App
	store     store.Store
	update    bool
	doc       Document
	problems  cli.Partly
	known     map[string]store.File
	changed   int          // sessions that are new or have grown
	rewritten int          // sessions that were left as they are, because their file tells another past
	passed    []store.File // files to be remembered that changed no session
}

// Run reads the files and stores new messages, one session in one transaction.
func (in *Importer) Run(ctx context.Context, files []source.Candidate) (err error) {
	if filer, ok := in.store.(store.Filer); ok {
		if in.known, err = filer.Files(ctx); err != nil {
			return err
		}
	}
	say, done := in.app.Counting()
	defer done()
	trusted := in.known
	if in.update {
		trusted = nil // every file is read again
	}
	source.LookAll(ctx, in.app, files, trusted, func(l source.Looked) bool {
		in.doc.Files++
		if l.Read {
			in.doc.Read++
		}
		say(in.doc.Files, len(files), "importing %s of %s files, %s changed", quantity.Number(in.doc.Files),
			quantity.Number(len(files)), quantity.Plural(in.changed, "session", "sessions"))
		err = in.take(ctx, l)
		return err == nil
	})
	if err == nil {
		err = ctx.Err()
	}
	return errors.Join(err, in.remember(context.WithoutCancel(ctx)))
}

// take stores the session of a file. An error ends the import; a damaged file does not.
func (in *Importer) take(ctx context.Context, l source.Looked) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case l.Err != nil:
		in.Failed(l.Path, l.Err)
		return nil
	case l.None, l.Same && l.File.Session == "":
		in.pass(l)
		return nil // other files in a folder are not our business
	case l.Same:
		in.pass(l)
		in.doc.Unchanged++
		in.doc.Sessions = append(in.doc.Sessions, importedSession{Source: l.Path, ID: l.File.Session,
			Messages: l.File.Messages, Skipped: "it is in the store already, and the file is unchanged",
			Damaged: []format.Damage{}})
		return nil
	}
	one := importedSession{Source: l.Path, ID: l.Doc.Session.Info.ID, Format: l.Doc.Format,
		Messages: len(l.Doc.Session.Messages), Damaged: append([]format.Damage{}, l.Doc.Damaged...)}
	for attempt := 0; ; attempt++ {
		err := in.put(ctx, l, &one)
		if (errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrExists)) && attempt < 8 {
			continue // another process was faster: look again
		}
		if fatal(err) {
			return err
		}
		if err != nil {
			in.Failed(l.Path, fmt.Errorf("%s: %w", l.Path, err))
			return nil
		}
		break
	}
	if len(one.Damaged) > 0 {
		in.problems.Across++
		in.problems.Damaged = append(in.problems.Damaged, one.Damaged...)
	}
	if one.Skipped == "" {
		in.changed++
	}
	in.doc.Sessions = append(in.doc.Sessions, one)
	return nil
}

// fatal tells whether an error would be the same for the next file.
func fatal(err error) bool {
	return slices.ContainsFunc([]error{context.Canceled, context.DeadlineExceeded, store.ErrLocked, store.ErrFull,
		store.ErrReadOnly, store.ErrCorrupt, store.ErrClosed, store.ErrNewer, store.ErrConflict, store.ErrExists},
		func(e error) bool { return errors.Is(err, e) })
}

// put stores the session of a file, or its new messages.
func (in *Importer) put(ctx context.Context, l source.Looked, one *importedSession) error {
	s := l.Doc.Session
	if s.Info.ID == "" {
		s.Info.ID = "session"
		one.ID, l.File.Session = s.Info.ID, s.Info.ID
	}
	if s.Info.Time.Created == 0 {
		now := session.Millis(in.app.Env.Now().UnixMilli())
		s.Info.Time.Created, s.Info.Time.Updated = now, now
	}
	change := store.Change{Create: &s.Info, Append: s.Messages, Commit: l.Doc.Ledger.All(),
		Source: source.ForStore(l.Doc, l.Path),
		Spend:  report.Beside(l.Doc.Beside)}
	if l.File.Path != "" {
		change.File = &l.File
	}
	one.Added, one.Updated, one.Skipped = len(s.Messages), 0, ""
	state, err := in.store.State(ctx, s.Info.ID)
	if errors.Is(err, store.ErrNotFound) {
		_, err = in.store.Apply(ctx, s.Info.ID, change)
		return err
	}
	if err != nil {
		return err
	}
	stored, taken, err := in.stored(ctx, s.Info.ID, l)
	if err != nil {
		return err
	}
	s.Messages = Returned(stored, s.Messages, state.Receipts) // a seat has its product write them
	g := grow(stored, s.Messages, taken)
	if g.rewritten != "" {
		if one.Skipped, err = in.left(ctx, s.Info.ID, l); err != nil || one.Skipped != "" {
			one.Added = 0
			in.pass(l)
			return err
		}
	}
	switch {
	case g.rewritten != "" && !in.update:
		in.rewritten++
		one.Added, one.Skipped = 0, "its past was rewritten: "+g.rewritten+
			"; the session in the store stays as it is (--update takes the file's)"
		return nil
	case g.rewritten != "":
		if change.Aside, err = in.free(ctx, s.Info.ID); err != nil {
			return err
		}
		one.Aside = change.Aside
		_, err = in.store.Apply(ctx, s.Info.ID, change)
		return err
	}
	change.Spend = slices.DeleteFunc(change.Spend, func(s store.Spend) bool {
		same := func(t store.Spend) bool { return t.Message == s.Message && t.Kind == s.Kind }
		return slices.ContainsFunc(state.Spent, same)
	})
	change.Commit = nil
	for _, e := range l.Doc.Ledger.All() {
		if !state.Ledger.Has(rule.Key{Part: e.Part, Field: e.Field}) {
			change.Commit = append(change.Commit, e) // what the product itself left out since
		}
	}
	one.Added, one.Updated = len(g.appended), len(g.updated)
	change.Base, change.Create, change.Info = state.Revision, nil, &s.Info
	change.Append, change.Update = g.appended, g.updated
	if len(g.appended)+len(g.updated)+len(change.Commit) == 0 {
		one.Skipped = "it is in the store already"
		if f, known := in.known[l.File.Path]; !known || f.Session != s.Info.ID || len(s.Messages) < taken {
			in.pass(l)
			return nil // a copy of it
		}
		change.Info = nil // the file has more lines, none of them a message
	}
	if g.own > 0 {
		change.Source = nil // what was added in the store belongs to the file that it was added to
	}
	_, err = in.store.Apply(ctx, s.Info.ID, change)
	return err
}

const codex = "codex" // the format

// left says why a file is not the session's any more: Codex goes on in another one.
func (in *Importer) left(ctx context.Context, id string, l source.Looked) (why string, err error) {
	from, err := in.store.Source(ctx, id)
	if err != nil || from == nil || from.Format != codex || l.Doc.Format != codex ||
		!discover.CodexResumes(from.Path, l.Path) {
		return "", err
	}
	return "the user went back to an older turn: Codex goes on in " + filepath.Base(from.Path), nil
}

// stored reads a session, oldest message first, and how many of its messages came from its file.
func (in *Importer) stored(ctx context.Context, id string, l source.Looked) (messages []session.Message,
	taken int, err error) {
	for m, err := range in.store.Messages(ctx, id) {
		if err != nil {
			return nil, 0, err
		}
		messages = append(messages, m)
	}
	slices.Reverse(messages)
	if f, known := in.known[l.File.Path]; known && f.Session == id {
		return messages, f.Messages, nil
	}
	// It came from elsewhere, or before files were remembered. Its source tells how much of it is
	// the product's.
	from, err := in.store.Source(ctx, id)
	if err != nil || from == nil {
		return messages, 0, err
	}
	if was, err := source.FromStore(from); err == nil {
		taken = len(was.Session.Messages)
	}
	if l.File.Path != from.Path {
		taken = min(taken, len(l.Doc.Session.Messages)) // a copy may be shorter
	}
	return messages, taken, nil
}

// free is the first id of ID~1, ID~2, … that no session has.
func (in *Importer) free(ctx context.Context, id string) (string, error) {
	for n := 1; ; n++ {
		aside := id + "~" + strconv.Itoa(n)
		if _, err := in.store.Revision(ctx, aside); errors.Is(err, store.ErrNotFound) {
			return aside, nil
		} else if err != nil {
			return "", err
		}
	}
}

func (in *Importer) Failed(path string, err error) {
	in.problems.Failed = append(in.problems.Failed, err)
	in.doc.Failed = append(in.doc.Failed, failedFile{path, err.Error()})
}

// pass notes a file that gave nothing new, so that it is not read the next time.
func (in *Importer) pass(l source.Looked) {
	if l.File.Path != "" {
		in.passed = append(in.passed, l.File)
	}
}

// remember keeps the files that were passed over, all in one transaction: they only save time.
func (in *Importer) remember(ctx context.Context) error {
	filer, ok := in.store.(store.Filer)
	if !ok || len(in.passed) == 0 {
		return nil
	}
	return filer.SetFiles(ctx, in.passed...)
}

// Report prints the result of an import.
func (in *Importer) Report() error {
	a := in.app
	if in.changed == 0 && len(in.doc.Sessions) == 0 && len(in.problems.Failed) > 0 {
		return errors.Join(in.problems.Failed...)
	}
	if err := a.Tell(in.doc, in.show); err != nil {
		return err
	}
	switch {
	case len(in.doc.Sessions) == 0:
		return cli.Hint(cli.Nothing("there is no session in what was named"),
			"winnow recognises "+strings.Join(all.Names(), ", "))
	case len(in.problems.Damaged)+len(in.problems.Failed) > 0:
		return in.problems
	case in.changed == 0 && in.rewritten > 0:
		were := quantity.Plural(in.rewritten, "session was", "sessions were")
		return cli.Hint(cli.Nothing(were+" rewritten since, and nothing else is new"),
			"--update takes what the files have now, and keeps what is in the store beside it")
	case in.changed == 0:
		return cli.Nothing("all of it is in the store already")
	}
	return nil
}

// show prints a line for each session that there is something to say about.
func (in *Importer) show() {
	a := in.app
	for _, one := range in.doc.Sessions {
		line := fmt.Sprintf("%s  %s: ", visible.Line(one.ID), visible.Line(a.Short(one.Source)))
		switch {
		case one.Skipped != "" && in.doc.Unchanged > 10 && one.Format == "":
			continue // unchanged; counted below
		case one.Skipped != "":
			line += one.Skipped
		case one.Aside != "":
			line += fmt.Sprintf("%s messages (%s); the one that was there is now %s",
				quantity.Number(one.Messages), one.Format, one.Aside)
		case one.Added == one.Messages:
			line += fmt.Sprintf("%s messages (%s)", quantity.Number(one.Messages), one.Format)
		default:
			line += fmt.Sprintf("%s of %s messages are new", quantity.Number(one.Added), quantity.Number(one.Messages))
			if one.Updated > 0 {
				line += fmt.Sprintf(", %s continued", quantity.Number(one.Updated))
			}
			line += " (" + one.Format + ")"
		}
		a.Printf("%s\n", line)
	}
	if in.doc.Unchanged > 10 {
		a.Printf("%s unchanged\n", quantity.Plural(in.doc.Unchanged, "file", "files"))
	}
}
