package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/snapshot"
)

// reversion is the JSON document of revert.
type reversion struct {
	From     string   `json:"from"`              // id of the session that was reverted
	Session  string   `json:"session,omitzero"`  // id of the one to go on with
	Message  string   `json:"message,omitzero"`  // the user's message before which it ends
	Snapshot string   `json:"snapshot,omitzero"` // what the files were brought back to
	Before   string   `json:"before,omitzero"`   // the snapshot of the files as they were
	Changed  []string `json:"changed"`           // files that were written or removed
	Kept     []string `json:"kept"`              // files that came later and stayed: ignored, or too large for a snapshot
	Back     string   `json:"back,omitzero"`     // the command that brings the files back to where they were
	Dry      bool     `json:"dry,omitzero"`
}

// revertFlags are those of revert.
type revertFlags struct {
	snapshot  string
	keepFiles bool
	dry       bool
	files     *snapshot.Repository // where somebody has it open; nil: that of the session's folder
}

func (a *app) revertCommand() *cobra.Command {
	var f revertFlags
	cmd := &cobra.Command{
		Use:   "revert ID [MESSAGE]",
		Short: "Go back to before a message of yours: the files, and a session to go on with",
		Long: `revert brings the files of a session's working folder back to what they were when MESSAGE, one of yours, came, and begins a new session with the log
before it. Nothing is deleted from the old session. MESSAGE is an id or the number of a turn; "winnow show ID" lists both.

Files are restored from the snapshots that winnow took while it worked: what differs is written, and what came later is removed. What git ignores is never
touched. What is there now is taken as a snapshot first, and the command that brings it back is printed.`,
		Example: `  winnow revert ses_0123 3
  winnow revert ses_0123 msg_0456 --dry-run
  winnow revert ses_0123 3 --keep-files
  winnow revert ses_0123 --snapshot 5ea74704059fc5a9733637caec07c81af89d5623`,
		Args: between(1, 2, "the id of a session in the store and a MESSAGE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runRevert(cmd.Context(), args[0], second(args), f)
		},
	}
	cmd.Flags().StringVar(&f.snapshot, "snapshot", "", "restore the files to this snapshot, and leave the session as it is")
	cmd.Flags().BoolVar(&f.keepFiles, "keep-files", false, "begin the new session, and leave the files as they are")
	cmd.Flags().BoolVar(&f.dry, "dry-run", false, "only say which files would change")
	return cmd
}

func (a *app) runRevert(ctx context.Context, src, message string, f revertFlags) error {
	switch {
	case (message == "") == (f.snapshot == ""):
		return usage("name a message of yours, by its id or the number of its turn, or a snapshot with --snapshot")
	case f.snapshot != "" && f.keepFiles:
		return usage("--snapshot is about files and --keep-files leaves them; give one of them")
	}
	s, err := a.openFor(ctx, src, false)
	if err != nil {
		return err
	}
	defer s.Close()
	if s.fromFile() {
		return usage("only sessions in the store have snapshots, and %s is another product's", src)
	}
	var doc reversion
	if f.snapshot != "" {
		doc, err = a.restoreFiles(ctx, s.engine, s.id, f.snapshot, f)
	} else {
		doc, err = a.revert(ctx, s.engine, s.id, message, f)
	}
	if err != nil {
		return err
	}
	if a.json {
		return a.print(doc)
	}
	a.printf("%s", doc.told())
	return nil
}

// reverter goes back to before a message of the user's, for chat.Config.Revert.
func (a *app) reverter(e *winnow.Engine, files *snapshot.Repository) func(ctx context.Context, sessionID, messageID string) (newID, told string, err error) {
	return func(ctx context.Context, sessionID, messageID string) (string, string, error) {
		doc, err := a.revert(ctx, e, sessionID, messageID, revertFlags{files: files})
		if err != nil && doc.Back == "" {
			return "", "", err // no file was touched
		}
		return doc.Session, strings.TrimSuffix(doc.told(), "\n"), err
	}
}

// revert restores the files first: where that does not work, there is no new session that says it did.
func (a *app) revert(ctx context.Context, e *winnow.Engine, id, message string, f revertFlags) (reversion, error) {
	log, _, err := e.Session(ctx, id)
	if err != nil {
		return reversion{}, err
	}
	at, err := writtenAt(log.Messages, message)
	if err != nil {
		return reversion{}, err
	}
	doc := reversion{From: id, Changed: []string{}, Kept: []string{}, Dry: f.dry}
	if tree := snapshotAfter(log.Messages[at:]); tree != "" && !f.keepFiles {
		if doc, err = a.restoreFiles(ctx, e, id, tree, f); err != nil {
			return doc, err
		}
	}
	doc.Message = log.Messages[at].ID
	if f.dry {
		return doc, nil
	}
	if doc.Session, err = e.Fork(ctx, id, doc.Message); err != nil && doc.Back != "" {
		err = hinted{err, "the files were brought back already; to have them as they were: " + doc.Back}
	}
	return doc, err
}

// writtenAt finds a message of the user's by its id or the number of its turn.
func writtenAt(log []session.Message, name string) (int, error) {
	turns := session.Turns(log)
	if n, err := strconv.Atoi(name); err == nil {
		if n < 1 || n > len(turns) {
			return 0, usage("there is no turn %d; the session has %d", n, len(turns))
		}
		return turns[n-1].Start, nil
	}
	at := session.Index(log, name)
	if at < 0 {
		return 0, hinted{fmt.Errorf("there is no message %s", name), "`winnow show ID` lists the turns with their messages"}
	}
	if log[at].Written() {
		return at, nil
	}
	for _, t := range turns {
		if t.Start <= at && at < t.End {
			return 0, usage("%s is none of your messages; the one that it follows is %s", name, log[t.Start].ID)
		}
	}
	return 0, usage("%s is none of your messages", name)
}

// snapshotAfter is the snapshot with which the first step of a log begins; "" where calls came before the first one.
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

// restoreFiles brings the working folder of a session back to a snapshot.
func (a *app) restoreFiles(ctx context.Context, e *winnow.Engine, id, tree string, f revertFlags) (reversion, error) {
	doc := reversion{From: id, Snapshot: tree, Changed: []string{}, Kept: []string{}, Dry: f.dry}
	log, _, err := e.Session(ctx, id)
	if err != nil {
		return doc, err
	}
	folder := log.Info.Directory
	kept := f.files
	if kept == nil {
		kept, err = a.snapshotsThere(ctx, folder)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return doc, hinted{fmt.Errorf("the working folder %s is not there", folder), "--keep-files leaves the files alone"}
	case errors.Is(err, snapshot.ErrNoGit):
		return doc, hinted{err, "--keep-files leaves the files alone"}
	case err != nil:
		return doc, err
	case kept == nil:
		return doc, hinted{fmt.Errorf("winnow has no snapshots of %s", folder), "another program took those of this session; --keep-files leaves the files alone"}
	}
	if f.dry {
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
	doc.Before, doc.Changed, doc.Kept = done.Before, append(doc.Changed, done.Changed...), append(doc.Kept, done.Kept...)
	if len(doc.Changed) > 0 {
		doc.Back = "winnow revert " + id + " --snapshot " + done.Before
	}
	if err != nil && doc.Back != "" {
		err = hinted{err, "some files were changed already; to have them as they were: " + doc.Back}
	}
	return doc, err
}

// listedFiles is how many files are listed for people.
const listedFiles = 20

// told says what was done, for people.
func (d reversion) told() string {
	var b strings.Builder
	list := func(names []string, one, more string) {
		if len(names) == 0 {
			return
		}
		fmt.Fprintf(&b, "%s:\n", plural(len(names), one, more))
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
		list(d.Changed, "file was brought back", "files were brought back")
	}
	list(d.Kept, "file that came later stays: it is ignored, or too large for a snapshot", "files that came later stay: they are ignored, or too large for a snapshot")
	switch {
	case len(d.Changed) == 0 && d.Snapshot != "":
		b.WriteString("The files are as they were then already.\n")
	case d.Snapshot == "":
		b.WriteString("The files were left as they are.\n")
	}
	if d.Session != "" {
		fmt.Fprintf(&b, "The session to go on with is %s; %s stays as it is.\n", d.Session, d.From)
	}
	if d.Back != "" {
		fmt.Fprintf(&b, "To have the files as they were: %s\n", d.Back)
	}
	return b.String()
}

// printable is a name of a file in which nothing moves the cursor.
func printable(name string) string {
	if quoted := strconv.Quote(name); quoted != `"`+name+`"` {
		return quoted
	}
	return name
}
