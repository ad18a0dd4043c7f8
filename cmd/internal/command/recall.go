package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/look/retrieve"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/visible"
)

// recalled is the JSON document of recall.
type recalled struct {
	Session string `json:"session"` // id of the session
	Message string `json:"message"` // id of the message
	Part    string `json:"part"`    // id of the part
	Handle  string `json:"handle"`  // the short name that placeholders show
	// Where it was found if not in the store: a session file, or an original that "--in-place"
	// kept.
	File string `json:"file,omitzero"`
	Type string `json:"type"`          // type of the part: "tool", "text", "file", "reasoning"
	Tool string `json:"tool,omitzero"` // for a call: the tool
	// For a call: the file, command or address that it was called on.
	Target string `json:"target,omitzero"`
	// The text that was asked for: all of it, the lines, or the lines with the words, each with its
	// number: its place, or the number that a tool that reads files wrote before it.
	Text  string   `json:"text"`
	Lines int      `json:"lines"`           // lines of all of it
	Files []string `json:"files,omitempty"` // its pieces that are not text, by name and type
	// Whether it is noted in the session that this was needed after it had been left out; false
	// also if nothing of it was left out, or the store cannot be written.
	Missed bool `json:"missed"`
}

func recallCommand(a *cli.App) *cobra.Command {
	var id, lines string
	cmd := &cobra.Command{
		Use:   "recall HANDLE [WORDS…]",
		Short: "Print what was left out, by the handle that its placeholder shows",
		Long: `recall prints a part of a session as it was: all of it, the lines that --lines names, or the
lines that have the WORDS, with three lines around each. The numbers are those that placeholders name:
of a file that a tool read with numbers the file's own. HANDLE is what a placeholder shows, or the id
of a part or of a call. An agent that runs it has the text again, as the output of its own command.

The part is looked for in the session that an agent worked on last through winnow wrap or serve, then
in the other sessions of the store, the newest first. What they do not have is looked for in the files
that --in-place replaced, whose originals have what was left out, and in the sessions that agents keep on
this computer, whatever folder they are about. --session names one: a path, an id in the store, or what
"winnow ls --store" shows. If sessions of the store that were used within the same hour have different parts of
that name, recall lists them and ends with exit code 2.

That a part was needed after it had been left out is noted in its session in the store: winnow inspect
shows it, and from then on less is left out there. Nothing else changes.`,
		Example: `  winnow recall k3f7a2
  winnow recall k3f7a2 --lines 120-180
  winnow recall k3f7a2 timeout retry
  winnow recall k3f7a2 --session live_9cad18242963
  winnow recall k3f7a2 --session session.jsonl`,
		Args:              cli.Between(1, -1, "HANDLE, and words"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			region, err := retrieve.Lines(lines)
			if err != nil {
				return cli.Usage("--lines: %w", err)
			}
			region.Words = strings.Fields(strings.Join(args[1:], " "))
			return runRecall(cmd.Context(), a, args[0], id, region)
		},
	}
	cmd.Flags().StringVar(&id, "session", "", "only in this session: a path, an id, or what winnow ls --store shows")
	cmd.Flags().StringVar(&lines, "lines", "", "only these lines: 120-180, 120-, -40 or 120")
	return cmd
}

func runRecall(ctx context.Context, a *cli.App, handle, id string, region retrieve.Region) error {
	handle = bare(handle)
	engine, done, err := openToRecall(ctx, a, source.Changing)
	var f retrieve.Found
	if err == nil {
		defer done()
		f, err = findPart(ctx, engine, handle, id)
	}
	in := ""
	if err != nil && (errors.Is(err, source.ErrNoStore) || winnow.CodeOf(err) == winnow.NotFound || id != "") {
		f, in, err = findInFiles(ctx, a, handle, id, err)
	}
	if err != nil {
		return err
	}
	doc := recalled{Session: f.Session.ID, Message: f.Part.MessageID, Part: f.Part.ID, Handle: f.Handle,
		Type: string(f.Part.Type), Tool: f.Part.Tool, Target: f.Target, Files: f.Files(), File: in}
	doc.Text, doc.Lines, err = region.Of(f.Everything())
	if errors.Is(err, retrieve.ErrNothing) && len(doc.Files) == 0 {
		return cli.Nothing(err.Error())
	}
	if f.Hidden && in == "" {
		// What cannot be noted is shown all the same: the store may be read-only, as in a sandbox.
		doc.Missed = retrieve.Missed(ctx, engine, f, doc.Text) == nil
	}
	return a.Tell(doc, func() {
		if doc.Text != "" {
			a.Printf("%s\n", strings.TrimSuffix(doc.Text, "\n"))
		}
		for _, name := range doc.Files {
			a.Printf("(with the file %s, which winnow restore %s %s shows to the model again)\n", visible.Line(name),
				cli.ShellWord(cmp.Or(in, doc.Session)), doc.Handle)
		}
	})
}

// bare is a handle without the placeholder that it was copied from.
func bare(handle string) string {
	copied, ok := strings.CutPrefix(strings.TrimSpace(handle), "[winnow ")
	if !ok {
		return handle
	}
	handle, _, _ = strings.Cut(copied, ":")
	return handle
}

// findInFiles finds what a handle names in the session files on this computer, or in the one that
// was named. inStore is why the store does not have it.
func findInFiles(ctx context.Context, a *cli.App, handle, src string, inStore error) (retrieve.Found, string, error) {
	files := newFileFinder(a, handle)
	var missing *report.Missing
	if src == "" {
		f, in, err := files.anywhere(ctx)
		switch {
		case errors.Is(err, errNotInFiles) && errors.As(inStore, &missing) && missing.Withheld:
			err = inStore // the part is known, and gateway.capture kept its text out of the store
		case errors.Is(err, errNotInFiles) && errors.Is(inStore, source.ErrNoStore):
			err = fmt.Errorf("no session file on this computer has a part %s, and %w", rule.Shorten(handle, 40), inStore)
		case errors.Is(err, errNotInFiles):
			err = cli.Hint(fmt.Errorf("no session has a part %s, neither in the store nor in a file on this computer",
				rule.Shorten(handle, 40)), "handles stand in placeholders, as in [winnow HANDLE: …]")
		}
		return f, in, err
	}
	word, err := source.Resolve(ctx, a, src)
	if err != nil {
		return retrieve.Found{}, "", err
	}
	f, in, err := files.in(ctx, word)
	if word == src && !source.LooksLikePath(src) && winnow.CodeOf(inStore) == winnow.NotFound {
		err = inStore // it is a session of the store
	}
	return f, in, err
}

// openToRecall opens an engine on the store, which another process may be using, and may not be
// writable.
func openToRecall(ctx context.Context, a *cli.App, want source.Access) (*winnow.Engine, func(), error) {
	settings, err := a.Settings()
	if err != nil {
		return nil, nil, err
	}
	kept, err := openToWrite(ctx, a, want)
	if err != nil {
		return nil, nil, err
	}
	var engine *winnow.Engine
	c, err := source.Config(a, kept, settings)
	if err == nil {
		engine, err = winnow.Open(c)
	}
	if err != nil {
		kept.Close()
		return nil, nil, err
	}
	return engine, func() {
		engine.Close()
		kept.Close()
	}, nil
}

// findPart finds what a handle names, in one session if its id or the beginning of it is given.
func findPart(ctx context.Context, e *winnow.Engine, handle, id string) (f retrieve.Found, err error) {
	if id == "" {
		f, err = retrieve.Find(ctx, e, handle)
	} else if id, err = source.FindSession(ctx, e.Store(), id); err == nil {
		f, err = retrieve.In(ctx, e, id, handle)
	}
	var several *retrieve.Ambiguous
	if errors.As(err, &several) {
		return f, cli.Hint(cli.Misuse(err), "--session says which one is meant")
	}
	return f, err
}
