package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/importing"
	"github.com/winnowhq/winnow/cmd/internal/output"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/desk/inplace"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/claudecode"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/plainfile"
	"github.com/winnowhq/winnow/text/span"
	"github.com/winnowhq/winnow/text/visible"
)

// anchored is the JSON document of anchor.
type anchored struct {
	Session string `json:"session"` // id of the session of Claude Code
	Path    string `json:"path"`    // its file
	// "anchored", "repaired" (what was handed back is not known any more: the file is resumed as it
	// was left, and the log has some messages twice), "undone" (with "--ended": the last compaction
	// was taken back) or "nothing".
	Done  string   `json:"done"`
	Notes []string `json:"notes"` // remarks, a sentence each
}

// awaited is what was handed back for a session, until its file is anchored.
type awaited struct {
	Path string `json:"path"`
	claudecode.Handing
}

func anchorCommand(a *cli.App) *cobra.Command {
	var ended, undo bool
	var watchFrom int64
	cmd := &cobra.Command{
		Use:   "anchor SESSION",
		Short: "Make Claude Code resume what the plugin compacted",
		Long: `anchor writes into the file of a session what Claude Code needs to resume a compaction by winnow's
plugin as the session was left: which messages the compaction kept. The plugin runs it after the turn,
at the end of the session, and at the start for a session that was killed in between; running it again
changes nothing. The session may be open: lines that are written meanwhile are carried over.

SESSION is the id of a session of Claude Code, or its file.`,
		Example: `  winnow anchor 9005bf11-59a8-41bd-9ebd-4108e50dfecd`,
		Args:    cli.Exactly(1, "one SESSION"),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := transcriptOf(a, args[0])
			if err != nil {
				return err
			}
			switch {
			case undo:
				return noteUndo(cmd.Context(), a, path)
			case watchFrom >= 0:
				return anchorWhenWritten(cmd.Context(), a, path, watchFrom)
			}
			doc, err := anchor(cmd.Context(), a, path)
			if err == nil && ended {
				err = undoNoted(cmd.Context(), a, path, &doc)
			}
			if err != nil {
				return err
			}
			if doc.Done == "nothing" && !a.JSON {
				return cli.Nothing("no compaction of the plugin waits to be anchored")
			}
			return a.Tell(doc, func() {
				a.Printf("%s: %s\n", a.Short(doc.Path), doc.Done)
				for _, note := range doc.Notes {
					a.Printf("%s\n", visible.Text(note))
				}
			})
		},
	}
	cmd.Flags().BoolVar(&ended, "ended", false, "the session has ended: also take back what --undo noted")
	cmd.Flags().BoolVar(&undo, "undo", false, "note that the last compaction is to be taken back when the session "+
		"ends, as /winnow:undo does")
	cmd.Flags().Int64Var(&watchFrom, "watch-from", -1, "wait for the compaction behind this many bytes of the file")
	_ = cmd.Flags().MarkHidden("watch-from") // for the process that shape leaves behind
	cmd.MarkFlagsMutuallyExclusive("ended", "undo", "watch-from")
	return cmd
}

// transcriptOf is the file of a session of Claude Code: the path itself, or what has the id.
func transcriptOf(a *cli.App, name string) (string, error) {
	if filepath.Ext(name) == ".jsonl" {
		return a.Path(name), nil
	}
	home := a.Env.Getenv("CLAUDE_CONFIG_DIR")
	if home == "" {
		home = filepath.Join(a.Env.Home(), ".claude")
	}
	folders, err := os.ReadDir(filepath.Join(home, "projects"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	for _, folder := range folders {
		path := filepath.Join(home, "projects", folder.Name(), filepath.Base(name)+".jsonl")
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path, nil
		}
	}
	return "", cli.Usage("Claude Code has no session %q in %s", name, filepath.Join(home, "projects"))
}

// awaitedAt is where it is noted what was handed back for a session.
func awaitedAt(a *cli.App, path string) string {
	return a.Env.Kept("handed", filepath.Base(path)+".json")
}

func readAwaited(a *cli.App, path string) (w awaited, err error) {
	text, _, err := plainfile.Read(awaitedAt(a, path), 0)
	if err != nil {
		return w, err
	}
	return w, json.Unmarshal(text, &w, session.ReadOptions())
}

func (w awaited) save(a *cli.App) error {
	text, err := json.Marshal(w, session.ReadOptions())
	if err != nil {
		return err
	}
	at := awaitedAt(a, w.Path)
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		return err
	}
	return plainfile.Replace(at, func(f *os.File) error { _, err := f.Write(text); return err })
}

// anchor anchors a file, if a compaction of it waits for that.
func anchor(ctx context.Context, a *cli.App, path string) (anchored, error) {
	return anchorBy(ctx, a, path, true)
}

// anchorBy is anchor; without repair, what is not all of what was handed back is left as it is,
// because the product may still be writing it.
func anchorBy(ctx context.Context, a *cli.App, path string, repair bool) (anchored, error) {
	doc := anchored{Session: idOfFile(path), Path: path, Done: "nothing", Notes: []string{}}
	wait, err := readAwaited(a, path)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		doc.Notes = append(doc.Notes, fmt.Sprintf("what was handed back cannot be read: %v", err))
	}
	room, err := output.Room(a)
	if err != nil {
		return doc, err
	}
	claim, err := room.Take(ctx, path, inplace.Taking{Command: "anchor", Force: true})
	if err != nil {
		return doc, err
	}
	defer claim.Close()
	data, _, err := source.ReadFile(a, path)
	if err == nil {
		data, err = claim.Read(data)
	}
	if err != nil {
		return doc, err
	}
	read, err := claudecode.Format{}.Read(data)
	if err != nil {
		return doc, fmt.Errorf("%s: %w", path, err)
	}
	edits, ok := claudecode.Anchored(read, wait.Handing)
	doc.Done = "anchored"
	if !ok && repair {
		if edits, doc.Done = unanchored(read), "repaired"; len(edits) > 0 && !missing {
			doc.Notes = append(doc.Notes, "what is in the file is not what was handed back")
		}
	}
	if len(edits) == 0 {
		doc.Done = "nothing"
		return doc, nil
	}
	if err := replaceBy(ctx, a, claim, span.Splice(data, edits...)); err != nil {
		return doc, err
	}
	if err := os.Remove(awaitedAt(a, path)); err != nil && !missing {
		doc.Notes = append(doc.Notes, err.Error())
	}
	_ = claim.Close()
	if err := importFile(ctx, a, path); err != nil {
		doc.Notes = append(doc.Notes, fmt.Sprintf("the store was not brought up to date: %v", err))
	}
	return doc, nil
}

// unanchored are the edits for a compaction of which nobody knows what was handed back.
func unanchored(doc *format.Document) (edits []span.Edit) {
	for _, f := range output.Faults(doc) {
		if f.Code == claudecode.Unanchored {
			edits = append(edits, f.Edits...)
		}
	}
	return edits
}

// replaceBy puts a text in the place of a claimed file. The original is not kept: every byte of it
// is in the new one.
func replaceBy(ctx context.Context, a *cli.App, claim *inplace.Claim, text []byte) error {
	a.Orderly.Store(true)
	defer a.Orderly.Store(false)
	name, err := a.Files.Draft(ctx, claim.Path, 0o600, func(w io.Writer) error { _, err := w.Write(text); return err })
	if err != nil {
		return err
	}
	done, err := claim.Replace(ctx, inplace.Draft{Name: name, Rename: a.Files.Finish})
	var late *inplace.Late
	if err != nil && !errors.As(err, &late) {
		return errors.Join(err, a.Files.Remove(name))
	}
	if err == nil && done.Left == 0 && len(done.Open) == 0 && !done.Beside {
		err = errors.Join(os.Remove(done.Original), os.Remove(done.Original+".json"))
	}
	return err
}

// importFile brings the session of a file in the store up to date.
func importFile(ctx context.Context, a *cli.App, path string) error {
	kept, err := source.OpenStore(ctx, a, source.Making)
	if err != nil {
		return err
	}
	defer kept.Close()
	in := importing.New(a, kept, false)
	files, failed := source.Candidates(ctx, a, []string{path})
	if len(failed) > 0 {
		return errors.Join(failed...)
	}
	return in.Run(ctx, files)
}

func idOfFile(path string) string {
	name := filepath.Base(path)
	return name[:len(name)-len(filepath.Ext(name))]
}
