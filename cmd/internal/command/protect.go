package command

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/cmd/internal/change"
	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/output"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/desk/config"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/quantity"
	"github.com/winnowhq/winnow/text/visible"
)

// protectFlags are those of protect.
type protectFlags struct {
	pinFlags
	paths   []string
	project bool
	dismiss []string
}

// protecting is the JSON document of protect SRC.
type protecting struct {
	Source      string               `json:"source"`      // SRC as it was given
	Pins        []rule.Pin           `json:"pins"`        // protected parts and texts
	Constraints []report.Instruction `json:"constraints"` // the instructions, as in "dismiss"
	// Patterns of files that are protected in every session ("compaction.protectedPaths").
	Paths []string `json:"paths"`
}

func protectCommand(a *cli.App) *cobra.Command {
	var f protectFlags
	var out output.Target
	cmd := &cobra.Command{
		Use:   "protect [SRC|FILE] [PART]",
		Short: "Keep a part, a text or files whatever is pruned and folded",
		Long: `protect keeps a part, a text or files word for word in the model's view, whatever is pruned and
folded, under every policy. With SRC alone it lists the protections there.

PART is a handle, or the id of a part, a call or a message. --text protects a text of your own. Both
take effect at once: a part that was left out is shown again, and a text, or a part that a compaction
folded, is quoted behind the summary. Protected parts are never cut.

FILE, a file or folder that is no session, protects the output of all calls about it in every session;
--path does so for the files that match a pattern. Both are a setting, compaction.protectedPaths.

Sentences of yours with "never", "always", "only use" and the like are instructions: each compaction
keeps them word for word. --dismiss N stops that for one that is none; it needs a session in the store.

--remove takes a protection back, and so does "winnow undo" for parts and texts. Protected parts live
in the store. A session file has a place for texts and for folded parts only: they are written to a
copy, or with --in-place to the file.`,
		Example: `  winnow protect ses_0123
  winnow protect ses_0123 k3f7a2
  winnow protect session.jsonl --text "Never touch the Store type." --in-place
  winnow protect docs/rules.md
  winnow protect --path 'docs/**'
  winnow protect ses_0123 --dismiss 3
  winnow protect ses_0123 k3f7a2 --remove`,
		Args: cli.Between(0, 2, "SRC and at most one PART"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			defer func() { err = hintPath(err, args) }()
			about := f.text != "" || len(args) > 1
			switch {
			case len(f.paths) > 0 && (len(args) > 0 || f.text != "" || len(f.dismiss) > 0):
				return cli.Usage("--path is for every session; give it alone")
			case len(f.paths) > 0:
				return protectPaths(a, f)
			case len(args) == 0 && f.project:
				return cli.Usage("--project needs a file, or --path")
			case len(args) == 0:
				return cli.Usage("name a session or a file; see winnow protect --help")
			case len(args) == 1 && !about && len(f.dismiss) == 0:
				return protectNamed(cmd.Context(), a, args[0], f)
			case f.project:
				return cli.Usage("--project is about a file, or --path; give it alone")
			case len(f.dismiss) > 0 && about:
				return cli.Usage("--dismiss is about an instruction; leave PART and --text out")
			case len(f.dismiss) > 0:
				return runDismiss(cmd.Context(), a, args[0], f.dismiss, f.remove)
			}
			return runPin(cmd.Context(), a, args[0], cli.Second(args), f.pinFlags, out)
		},
	}
	out.Flags(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.text, "text", "", "a text to protect instead of a part")
	flags.StringVar(&f.note, "note", "", "why, for yourself")
	flags.StringArrayVar(&f.paths, "path", nil, "files to protect in every session, as a pattern such as 'docs/**'")
	flags.BoolVar(&f.project, "project", false, "with --path: in winnow.jsonc of the current folder")
	flags.StringArrayVar(&f.dismiss, "dismiss", nil, "an instruction, by its number or words, that is none")
	flags.BoolVar(&f.remove, "remove", false, "take the protection of the part, text, files or dismissal back")
	return cmd
}

// protectNamed protects a file, or lists the protections of a session, whichever the name is of.
func protectNamed(ctx context.Context, a *cli.App, name string, f protectFlags) error {
	file := ""
	info, err := os.Stat(a.Path(name))
	switch {
	case err == nil && info.IsDir():
		file = source.InProject(a, name) + "/**"
	case err == nil && info.Mode().IsRegular():
		file = source.InProject(a, name)
	case strings.ContainsAny(name, "*?[{"):
		file = name
	}
	f.paths = []string{file}
	switch {
	case file != "" && (f.remove || f.project || err != nil || info.IsDir()):
		return protectPaths(a, f)
	case f.remove || f.project:
		return cli.Usage("name a part of the session with --remove, or a file that exists")
	}
	err = runProtected(ctx, a, name)
	var syntax *format.SyntaxError
	if file != "" && errors.As(err, &syntax) && syntax.Format == all.UnknownFormat {
		return protectPaths(a, f)
	}
	return err
}

// hintPath names the command that protects files where neither a session nor a part has the name of
// one.
func hintPath(err error, args []string) error {
	if len(args) == 0 || winnow.CodeOf(err) != winnow.NotFound && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if last := args[len(args)-1]; strings.ContainsAny(last, "/*.") {
		return cli.Hint(err, "to protect a file in every session: winnow protect --path "+cli.ShellWord(last))
	}
	return err
}

// protectPaths changes the patterns of protected files.
func protectPaths(a *cli.App, f protectFlags) error {
	const key = "compaction.protectedPaths"
	file, err := listFile(a, f.project, key, f.paths)
	if f.remove {
		file, err = configFile(a, f.project)
	}
	if err != nil {
		return err
	}
	var changed []string
	did := "added to"
	err = a.ConfigSources().Keep(file, func() (err error) {
		if f.remove {
			did = "removed from"
			changed, err = config.Remove(file, key, !f.project || a.ConfigFile != "", f.paths...)
			return err
		}
		changed, err = config.Add(file, key, f.paths...)
		return err
	})
	return tellListed(a, file, key, changed, err, did)
}

// runProtected lists what is protected in a session.
func runProtected(ctx context.Context, a *cli.App, src string) error {
	settings, err := a.Settings()
	if err != nil {
		return err
	}
	s, err := source.Open(ctx, a, src)
	if err != nil {
		return err
	}
	defer s.Close()
	if s.FromFile() {
		if err := change.RecallRestores(ctx, a, s); err != nil {
			return err
		}
	}
	_, state, err := s.Engine.Session(ctx, s.ID)
	if err != nil {
		return err
	}
	said, err := winnow.Look(ctx, s.Engine, s.ID, report.Instructions)
	if err != nil {
		return err
	}
	doc := protecting{Source: src, Pins: append([]rule.Pin{}, state.Pins...),
		Constraints: append([]report.Instruction{}, said...),
		Paths:       append([]string{}, settings.Compaction.ProtectedPaths...)}
	return s.Tell(a, doc, func() {
		if len(doc.Pins) > 0 {
			a.Printf("Protected parts and texts\n")
		}
		for _, p := range doc.Pins {
			a.Printf("  %s\n", visible.Line(pinned(p)))
		}
		if len(doc.Constraints) > 0 {
			a.Printf("Instructions\n")
			showInstructions(a, doc.Constraints)
		}
		a.Printf("Files, in every session\n")
		for _, p := range doc.Paths {
			a.Printf("  %s\n", visible.Line(p))
		}
		if len(doc.Paths) == 0 {
			a.Printf("  none; winnow protect --path PATTERN adds some\n")
		}
		a.Printf("%s and %s protected here.\n", quantity.Plural(len(doc.Pins), "part or text", "parts and texts"),
			quantity.Plural(inForce(doc.Constraints), "instruction is", "instructions are"))
	})
}

// pinned is a pin for people.
func pinned(p rule.Pin) string {
	text := p.ID + "  "
	switch {
	case p.Text != "":
		text += "“" + rule.Shorten(p.Text, 100) + "”"
	case p.Part != "":
		text += "part " + p.Part
	default:
		text += "message " + p.Message
	}
	if p.Note != "" {
		text += " (" + rule.Shorten(p.Note, 60) + ")"
	}
	return text
}
