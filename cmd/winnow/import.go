package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/report"
	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/token"
	"github.com/winnowhq/winnow/visible"
)

// imported is the JSON document of import.
type imported struct {
	Sessions  []importedSession `json:"sessions"`
	Files     int               `json:"files"`     // that were looked at
	Unchanged int               `json:"unchanged"` // sessions of them that are known as they were
	Read      int               `json:"read"`      // of the files; the others are as they were by size and time
	Failed    []failedFile      `json:"failed"`
}

type importedSession struct {
	Source   string          `json:"source"`
	ID       string          `json:"id,omitzero"`
	Format   string          `json:"format,omitzero"`
	Messages int             `json:"messages"`         // of the file
	Added    int             `json:"added"`            // of them new in the store
	Updated  int             `json:"updated"`          // of them that have gone on since
	Aside    string          `json:"aside,omitzero"`   // id under which the session that was there goes on
	Skipped  string          `json:"skipped,omitzero"` // why nothing was imported
	Damaged  []format.Damage `json:"damaged"`
}

// failedFile is a file that could not be read.
type failedFile struct {
	Source string `json:"source"`
	Error  string `json:"error"`
}

func (a *app) importCommand() *cobra.Command {
	var update bool
	cmd := &cobra.Command{
		Use:   "import SRC…",
		Short: "Put sessions into the store, and what is new of those that are there",
		Long: `import reads session files, every session below a folder, or every session of a database of OpenCode's, into the store, each with its
original, so that "winnow export" gives it back in its own format.

Importing again costs what is new: a file, or a session of a database, that is as it was is not read, and of one that has grown the new messages are added to the
session in the store, whatever was decided about it there. Each session is written whole or not at all; an import that was stopped goes on where
it was.

Where the past of a file is no longer that of the session in the store, the session is left as it is; --update takes what the file has
now, and keeps the session that was there, with its elisions and pins, under the id ID~1, ID~2, ….`,
		Example: `  winnow import session.jsonl
  winnow import ~/.claude/projects
  winnow import ~/.local/share/opencode/opencode.db
  winnow import --update session.jsonl`,
		Args: between(1, -1, "at least one SRC"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.runImport(cmd.Context(), args, update) },
	}
	cmd.Flags().BoolVar(&update, "update", false, "read every file again, and take its log also where its past was rewritten; the stored session stays as ID~1")
	return cmd
}

func (a *app) runImport(ctx context.Context, args []string, update bool) error {
	if _, err := a.settings(); err != nil {
		return err
	}
	kept, err := a.openStore(ctx, making)
	if err != nil {
		return err
	}
	defer kept.Close()
	in := importer{app: a, store: kept, update: update, doc: imported{Sessions: []importedSession{}, Failed: []failedFile{}}}
	files, failed := a.candidates(ctx, args)
	for _, err := range failed {
		in.failed("", err)
	}
	if err := in.run(ctx, files); err != nil {
		return err
	}
	return in.report()
}

// importer is one run of import.
type importer struct {
	app       *app
	store     store.Store
	update    bool
	doc       imported
	problems  partly
	known     map[string]store.File
	changed   int          // sessions that are new or have grown
	rewritten int          // sessions that were left as they are, because their file tells another past
	passed    []store.File // files to be remembered that changed no session
}

// run reads the files and stores what is new, one session in one transaction.
func (in *importer) run(ctx context.Context, files []candidate) (err error) {
	if filer, ok := in.store.(store.Filer); ok {
		if in.known, err = filer.Files(ctx); err != nil {
			return err
		}
	}
	say, done := in.app.counting()
	defer done()
	trusted := in.known
	if in.update {
		trusted = nil // every file is read again
	}
	in.app.look(ctx, files, trusted, func(l looked) bool {
		in.doc.Files++
		if l.read {
			in.doc.Read++
		}
		say("importing %s of %s files, %s changed", token.Grouped(in.doc.Files), token.Grouped(len(files)), plural(in.changed, "session", "sessions"))
		err = in.take(ctx, l)
		return err == nil
	})
	if err == nil {
		err = ctx.Err()
	}
	return errors.Join(err, in.remember(context.WithoutCancel(ctx)))
}

// take stores what is in a file. An error ends the import; what is wrong with one file does not.
func (in *importer) take(ctx context.Context, l looked) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case l.err != nil:
		in.failed(l.path, l.err)
		return nil
	case l.none, l.same && l.file.Session == "":
		in.pass(l)
		return nil // other files in a folder are not our business
	case l.same:
		in.pass(l)
		in.doc.Unchanged++
		in.doc.Sessions = append(in.doc.Sessions, importedSession{Source: l.path, ID: l.file.Session, Messages: l.file.Messages,
			Skipped: "it is in the store already, and the file is as it was", Damaged: []format.Damage{}})
		return nil
	}
	one := importedSession{Source: l.path, ID: l.doc.Session.Info.ID, Format: l.doc.Format, Messages: len(l.doc.Session.Messages),
		Damaged: append([]format.Damage{}, l.doc.Damaged...)}
	for attempt := 0; ; attempt++ {
		err := in.put(ctx, l, &one)
		if (errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrExists)) && attempt < 8 {
			continue // another process was faster: look again
		}
		if fatal(err) {
			return err
		}
		if err != nil {
			in.failed(l.path, fmt.Errorf("%s: %w", l.path, err))
			return nil
		}
		break
	}
	if len(one.Damaged) > 0 {
		in.problems.across++
		in.problems.damaged = append(in.problems.damaged, one.Damaged...)
	}
	if one.Skipped == "" {
		in.changed++
	}
	in.doc.Sessions = append(in.doc.Sessions, one)
	return nil
}

// fatal tells whether an error would be the same for the next file.
func fatal(err error) bool {
	for _, e := range []error{context.Canceled, context.DeadlineExceeded, store.ErrLocked, store.ErrFull, store.ErrReadOnly, store.ErrCorrupt, store.ErrClosed,
		store.ErrNewer, store.ErrConflict, store.ErrExists} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// put stores the session of a file, or what is new of it.
func (in *importer) put(ctx context.Context, l looked, one *importedSession) error {
	s := l.doc.Session
	if s.Info.ID == "" {
		s.Info.ID = "session"
		one.ID, l.file.Session = s.Info.ID, s.Info.ID
	}
	if s.Info.Time.Created == 0 {
		now := session.Millis(in.app.env.Now().UnixMilli())
		s.Info.Time.Created, s.Info.Time.Updated = now, now
	}
	change := store.Change{Create: &s.Info, Append: s.Messages, Commit: l.doc.Ledger.All(), Source: &store.Source{Format: l.doc.Format, Path: l.path, Data: l.doc.Source},
		Spend: report.Beside(l.doc.Beside)}
	if l.file.Path != "" {
		change.File = &l.file
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
	g := grow(stored, s.Messages, taken)
	switch {
	case g.rewritten != "" && !in.update:
		in.rewritten++
		one.Added, one.Skipped = 0, "its past was rewritten: "+g.rewritten+"; the session in the store stays as it is (--update takes the file's)"
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
		return slices.ContainsFunc(state.Spent, func(t store.Spend) bool { return t.Message == s.Message && t.Kind == s.Kind })
	})
	change.Commit = nil
	for _, e := range l.doc.Ledger.All() {
		if !state.Ledger.Has(rule.Key{Part: e.Part, Field: e.Field}) {
			change.Commit = append(change.Commit, e) // what the product itself left out since
		}
	}
	one.Added, one.Updated = len(g.appended), len(g.updated)
	change.Base, change.Create, change.Info, change.Append, change.Update = state.Revision, nil, &s.Info, g.appended, g.updated
	if len(g.appended)+len(g.updated)+len(change.Commit) == 0 {
		one.Skipped = "it is in the store already"
		if f, known := in.known[l.file.Path]; !known || f.Session != s.Info.ID || len(s.Messages) < taken {
			in.pass(l)
			return nil // a copy of it
		}
		change.Info = nil // the file has more lines, none of them a message
	}
	if g.own > 0 {
		change.Source = nil // what was added in the store stands behind the file that it was added to
	}
	_, err = in.store.Apply(ctx, s.Info.ID, change)
	return err
}

// stored reads a session, oldest message first, and how many of its messages came from its file.
func (in *importer) stored(ctx context.Context, id string, l looked) (messages []session.Message, taken int, err error) {
	for m, err := range in.store.Messages(ctx, id) {
		if err != nil {
			return nil, 0, err
		}
		messages = append(messages, m)
	}
	slices.Reverse(messages)
	if f, known := in.known[l.file.Path]; known && f.Session == id {
		return messages, f.Messages, nil
	}
	// It came from elsewhere, or before files were remembered. Its source tells how much of it is the product's.
	source, err := in.store.Source(ctx, id)
	if err != nil || source == nil {
		return messages, 0, err
	}
	if was, err := all.Read(source.Data); err == nil {
		taken = len(was.Session.Messages)
	}
	if l.file.Path != source.Path {
		taken = min(taken, len(l.doc.Session.Messages)) // a copy may be shorter
	}
	return messages, taken, nil
}

// free is the first id of ID~1, ID~2, … that no session has.
func (in *importer) free(ctx context.Context, id string) (string, error) {
	for n := 1; ; n++ {
		aside := id + "~" + strconv.Itoa(n)
		if _, err := in.store.Revision(ctx, aside); errors.Is(err, store.ErrNotFound) {
			return aside, nil
		} else if err != nil {
			return "", err
		}
	}
}

func (in *importer) failed(path string, err error) {
	in.problems.failed = append(in.problems.failed, err)
	in.doc.Failed = append(in.doc.Failed, failedFile{path, err.Error()})
}

// pass notes a file that gave nothing new, so that it is not read the next time.
func (in *importer) pass(l looked) {
	if l.file.Path != "" {
		in.passed = append(in.passed, l.file)
	}
}

// remember keeps the files that were passed over, all in one transaction: they only save time.
func (in *importer) remember(ctx context.Context) error {
	filer, ok := in.store.(store.Filer)
	if !ok || len(in.passed) == 0 {
		return nil
	}
	return filer.SetFiles(ctx, in.passed...)
}

// report tells what was done.
func (in *importer) report() error {
	a := in.app
	if in.changed == 0 && len(in.doc.Sessions) == 0 && len(in.problems.failed) > 0 {
		return errors.Join(in.problems.failed...)
	}
	if a.json {
		if err := a.print(in.doc); err != nil {
			return err
		}
	} else {
		in.show()
	}
	switch {
	case len(in.doc.Sessions) == 0:
		return hinted{nothing{"there is no session in what was named"}, "winnow knows " + strings.Join(all.Names(), ", ")}
	case len(in.problems.damaged)+len(in.problems.failed) > 0:
		return in.problems
	case in.changed == 0 && in.rewritten > 0:
		return hinted{nothing{plural(in.rewritten, "session was", "sessions were") + " rewritten since, and nothing else is new"},
			"--update takes what the files have now, and keeps what is in the store beside it"}
	case in.changed == 0:
		return nothing{"all of it is in the store already"}
	}
	return nil
}

// show prints a line for each session that there is something to say about.
func (in *importer) show() {
	a := in.app
	for _, one := range in.doc.Sessions {
		line := fmt.Sprintf("%s  %s: ", visible.Line(one.ID), visible.Line(a.short(one.Source)))
		switch {
		case one.Skipped != "" && in.doc.Unchanged > 10 && one.Format == "":
			continue // as it was; counted below
		case one.Skipped != "":
			line += one.Skipped
		case one.Aside != "":
			line += fmt.Sprintf("%s messages (%s); the one that was there is %s", token.Grouped(one.Messages), one.Format, one.Aside)
		case one.Added == one.Messages:
			line += fmt.Sprintf("%s messages (%s)", token.Grouped(one.Messages), one.Format)
		default:
			line += fmt.Sprintf("%s of %s messages are new", token.Grouped(one.Added), token.Grouped(one.Messages))
			if one.Updated > 0 {
				line += fmt.Sprintf(", %s went on", token.Grouped(one.Updated))
			}
			line += " (" + one.Format + ")"
		}
		a.printf("%s\n", line)
	}
	if in.doc.Unchanged > 10 {
		a.printf("%s are as they were\n", plural(in.doc.Unchanged, "file", "files"))
	}
}

// counting says on a terminal how far it is, ten times a second at most; done wipes it away.
func (a *app) counting() (say func(format string, args ...any), done func()) {
	if !a.env.StderrTerminal || a.quiet {
		return func(string, ...any) {}, func() {}
	}
	var last time.Time
	say = func(format string, args ...any) {
		if now := time.Now(); now.Sub(last) >= 100*time.Millisecond {
			last = now
			a.say(format+"…", args...)
		}
	}
	return say, func() { a.say("") }
}
