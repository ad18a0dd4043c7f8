package workbench

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/agent/snapshot"
	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/quantity"
)

// Reversion is the JSON document of revert.
type Reversion struct {
	From string `json:"from"` // id of the session that was reverted; it stays as it was
	// Id of the session to continue with; omitted with "--dry-run" and "--snapshot".
	Session string `json:"session,omitzero"`
	Message string `json:"message,omitzero"` // id of the user's message before which it ends
	// Hash of the snapshot to which the files were restored; omitted if there is none, and with
	// "--keep-files".
	Snapshot string `json:"snapshot,omitzero"`
	Before   string `json:"before,omitzero"` // hash of the snapshot of the files as they were
	// Files that were written or removed, or with "--dry-run" would be.
	Changed []string `json:"changed"`
	// Newer files that stayed, because they are ignored or were too large for a snapshot.
	Kept []string `json:"kept"`
	Back string   `json:"back,omitzero"` // the command that restores the files as they were before
	Dry  bool     `json:"dry,omitzero"`  // true with "--dry-run"
}

// RevertFlags are those of revert.
type RevertFlags struct {
	Snapshot  string
	KeepFiles bool
	Dry       bool
	files     *snapshot.Repository // where somebody has it open; nil: that of the session's folder
}

// reverting goes back to before a message of the user's, and tells what was done.
type reverting func(ctx context.Context, sessionID, messageID string) (newID, told string, err error)

// Reverter goes back to before a message of the user's, for chat.Config.Revert.
func Reverter(a *cli.App, e *winnow.Engine, files *snapshot.Repository) reverting {
	return func(ctx context.Context, sessionID, messageID string) (string, string, error) {
		doc, err := Revert(ctx, a, e, sessionID, messageID, RevertFlags{files: files})
		if err != nil && doc.Back == "" {
			return "", "", err // no file was touched
		}
		return doc.Session, strings.TrimSuffix(doc.Told(), "\n"), err
	}
}

// Revert restores the files first: if that does not work, there is no new session that says it
// did.
func Revert(ctx context.Context, a *cli.App, e *winnow.Engine, id, message string, f RevertFlags) (Reversion, error) {
	log, _, err := e.Session(ctx, id)
	if err != nil {
		return Reversion{}, err
	}
	at, err := writtenAt(log.Messages, message)
	if err != nil {
		return Reversion{}, err
	}
	doc := Reversion{From: id, Changed: []string{}, Kept: []string{}, Dry: f.Dry}
	if tree := snapshotAfter(log.Messages[at:]); tree != "" && !f.KeepFiles {
		if doc, err = RestoreFiles(ctx, a, e, id, tree, f); err != nil {
			return doc, err
		}
	}
	doc.Message = log.Messages[at].ID
	if f.Dry {
		return doc, nil
	}
	if doc.Session, err = e.Fork(ctx, id, doc.Message); err != nil && doc.Back != "" {
		err = cli.Hint(err, "the files were already restored; to have them as they were: "+doc.Back)
	}
	return doc, err
}

// writtenAt finds a message of the user's by its id or the number of its turn.
func writtenAt(log []session.Message, name string) (int, error) {
	turns := session.Turns(log)
	if n, err := strconv.Atoi(name); err == nil {
		if n < 1 || n > len(turns) {
			return 0, cli.Usage("there is no turn %d; the session has %d", n, len(turns))
		}
		return turns[n-1].Start, nil
	}
	at := session.Index(log, name)
	if at < 0 {
		return 0, cli.Hint(fmt.Errorf("there is no message %s", name),
			"`winnow inspect ID --log` lists the turns with their messages")
	}
	if log[at].Written() {
		return at, nil
	}
	for _, t := range turns {
		if t.Start <= at && at < t.End {
			return 0, cli.Usage("%s is not one of your messages; the one before it is %s", name, log[t.Start].ID)
		}
	}
	return 0, cli.Usage("%s is not one of your messages", name)
}

// snapshotAfter is the snapshot with which the first step of a log begins; "" where calls came
// before the first one.
func snapshotAfter(log []session.Message) string {
	for i := range log {
		for j := range log[i].Parts {
			switch p := &log[i].Parts[j]; {
			case p.Type == session.StepStartPart && p.Snapshot != "":
				return p.Snapshot
			case p.Type == session.ToolPart:
				return ""
			}
		}
	}
	return ""
}

// RestoreFiles brings the working folder of a session back to a snapshot.
func RestoreFiles(ctx context.Context, a *cli.App, e *winnow.Engine, id, tree string,
	f RevertFlags) (Reversion, error) {
	doc := Reversion{From: id, Snapshot: tree, Changed: []string{}, Kept: []string{}, Dry: f.Dry}
	log, _, err := e.Session(ctx, id)
	if err != nil {
		return doc, err
	}
	const leave = "--keep-files leaves the files alone"
	folder := log.Info.Directory
	kept := f.files
	if kept == nil {
		kept, err = SnapshotsThere(ctx, a, folder)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return doc, cli.Hint(fmt.Errorf("the working folder %s is not there", folder), leave)
	case errors.Is(err, snapshot.ErrNoGit):
		return doc, cli.Hint(err, leave)
	case err != nil:
		return doc, err
	case kept == nil:
		return doc, cli.Hint(fmt.Errorf("winnow has no snapshots of %s", folder),
			"another program took those of this session; "+leave)
	}
	if f.Dry {
		now, err := kept.Take(ctx)
		if err != nil {
			return doc, err
		}
		files, err := kept.Diff(ctx, now, tree)
		for _, f := range files {
			doc.Changed = append(doc.Changed, f.File)
		}
		return doc, err
	}
	done, err := kept.Restore(ctx, tree)
	doc.Before = done.Before
	doc.Changed, doc.Kept = append(doc.Changed, done.Changed...), append(doc.Kept, done.Kept...)
	if len(doc.Changed) > 0 {
		doc.Back = "winnow revert " + id + " --snapshot " + done.Before
	}
	if err != nil && doc.Back != "" {
		err = cli.Hint(err, "some files were changed already; to have them as they were: "+doc.Back)
	}
	return doc, err
}

// listedFiles is how many files are listed for people.
const listedFiles = 20

// Told says what was done, for people.
func (d Reversion) Told() string {
	var b strings.Builder
	list := func(names []string, one, more string) {
		if len(names) == 0 {
			return
		}
		fmt.Fprintf(&b, "%s:\n", quantity.Plural(len(names), one, more))
		for i, name := range names {
			if i == listedFiles {
				fmt.Fprintf(&b, "  and %d more\n", len(names)-i)
				break
			}
			fmt.Fprintf(&b, "  %s\n", printable(name))
		}
	}
	switch {
	case d.Dry:
		list(d.Changed, "file would change", "files would change")
	default:
		list(d.Changed, "file was restored", "files were restored")
	}
	list(d.Kept, "file that came later stays: it is ignored, or too large for a snapshot",
		"files that came later stay: they are ignored, or too large for a snapshot")
	switch {
	case len(d.Changed) == 0 && d.Snapshot != "":
		b.WriteString("The files are already as they were then.\n")
	case d.Snapshot == "":
		b.WriteString("The files were left as they are.\n")
	}
	if d.Session != "" {
		fmt.Fprintf(&b, "Continue with session %s; %s stays as it is.\n", d.Session, d.From)
	}
	if d.Back != "" {
		fmt.Fprintf(&b, "To have the files as they were: %s\n", d.Back)
	}
	return b.String()
}

// printable is a file name in which nothing moves the cursor.
func printable(name string) string {
	if quoted := strconv.Quote(name); quoted != `"`+name+`"` {
		return quoted
	}
	return name
}
