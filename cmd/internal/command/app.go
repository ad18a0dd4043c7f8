package command

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/source"
)

// root is the command without a name, with all others below it.
func root(a *cli.App) *cobra.Command {
	root := &cobra.Command{
		Use:   programName(a),
		Short: "Keep an agent's session inside its context window, without losing anything",
		Long: `winnow shows where the tokens of a coding agent's session went, and makes the session smaller:
it leaves out old tool outputs, and folds the past into a summary. It deletes nothing. Without a
command it shows the newest session of this project, its cost, and how much it can save.`,
		Example: `  winnow                         the newest session of this project
  winnow inspect session.jsonl   where the tokens went
  winnow compact session.jsonl   a smaller session, and a receipt
  winnow cost                    what this week cost`,
		SilenceErrors: true, SilenceUsage: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			if near := suggested(cmd, args[0]); near != "" {
				return cli.Usage("unknown command %q; did you mean %q?", args[0], near)
			}
			if _, err := os.Stat(a.Path(args[0])); err == nil {
				return cli.Usage("unknown command %q; to look at that file: winnow inspect %s", args[0], args[0])
			}
			return cli.Usage("unknown command %q; see winnow --help", args[0])
		},
		SuggestionsMinimumDistance: 2,
		RunE:                       func(cmd *cobra.Command, args []string) error { return runFront(cmd.Context(), a) },
	}
	flags := root.PersistentFlags()
	flags.BoolVar(&a.JSON, "json", false, "print one JSON document")
	flags.StringVar(&a.ConfigFile, "config", "", "configuration file to use instead of the usual two")
	flags.StringVar(&a.StoreFile, "store", "", "the store: a file, or postgres://… (default $WINNOW_STORE, else "+
		"$XDG_DATA_HOME/winnow/winnow.db)")
	flags.StringVar(&a.Policy, "policy", "",
		"careful, balanced, thrifty, classic or aggressive (default from the configuration: balanced)")
	flags.StringVar(&a.Model, "model", "", "provider/model that reads the session (default: the one the session names)")
	flags.StringVar(&a.Counter, "counter", "",
		"how tokens are counted: auto, chars4, linear, bpe:o200k_base, bpe:cl100k_base")
	flags.BoolVar(&a.NoColor, "no-color", false, "no colour, as with NO_COLOR set")
	flags.BoolVarP(&a.Quiet, "quiet", "q", false, "no progress")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return cli.Usage("%w; see %s --help", wrongValue(err), cmd.CommandPath())
	})
	root.AddCommand(
		inspectCommand(a), pruneCommand(a), viewCommand(a), compactCommand(a), replayCommand(a), explainCommand(a),
		undoCommand(a), redoCommand(a), restoreCommand(a), recallCommand(a), pinCommand(a), dismissCommand(a),
		handlesCommand(a), discardCommand(a), distillCommand(a), runCommand(a), chatCommand(a), engineCommand(a),
		installCommand(a), uninstallCommand(a), anchorCommand(a), shapeCommand(a), wrapCommand(a),
		serveCommand(a), tenantCommand(a), statusCommand(a), mcpCommand(a),
		importCommand(a), exportCommand(a), continueCommand(a), listCommand(a), searchCommand(a), showCommand(a),
		revertCommand(a), rescueCommand(a),
		originalsCommand(a), adviseCommand(a), doctorCommand(a), repairCommand(a), sessionCommand(a), storeCommand(a),
		configCommand(a), modelsCommand(a), versionCommand(a), lsCommand(a), costCommand(a), protectCommand(a),
		gcCommand(a),
		advancedTopic(),
	)
	arrange(a, root)
	for _, cmd := range root.Commands() {
		if cmd.ValidArgsFunction == nil && strings.Contains(cmd.Use, " ") {
			cmd.ValidArgsFunction = source.CompleteSources(a)
		}
	}
	cli.Complete(root, "policy", "careful", "balanced", "thrifty", "classic", "aggressive")
	cli.Complete(root, "counter", "auto", "chars4", "linear", "bpe:o200k_base", "bpe:cl100k_base")
	cli.CompleteBy(root, "model", source.CompleteModels(a))
	root.Version = a.Version
	root.SetVersionTemplate(programName(a) + " {{.Version}}\n")
	if programName(a) != "winnow" {
		inOwnName(a, root)
	}
	return root
}

// inOwnName has help and errors name this program where they name a command that it has.
func inOwnName(a *cli.App, root *cobra.Command) {
	words := []string{"--help", "help"}
	for _, cmd := range root.Commands() {
		words = append(words, cmd.Name())
	}
	called := regexp.MustCompile(`\bwinnow (` + strings.Join(words, "|") + `)\b`)
	a.InOwnName = func(text string) string {
		if !strings.Contains(text, "winnow ") {
			return text
		}
		return called.ReplaceAllString(text, root.Name()+" $1")
	}
	var rename func(cmd *cobra.Command)
	rename = func(cmd *cobra.Command) {
		cmd.Short, cmd.Long, cmd.Example = a.InOwnName(cmd.Short), a.InOwnName(cmd.Long), a.InOwnName(cmd.Example)
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) { f.Usage = a.InOwnName(f.Usage) })
		for _, below := range cmd.Commands() {
			rename(below)
		}
	}
	rename(root)
}

// programName is winnow, or winnowd where that has what a team's server needs.
func programName(a *cli.App) string {
	if a.Shared.Missing == nil {
		return "winnowd"
	}
	return "winnow"
}

// sources says how a session is named, and exitCodes how a command ends.
const (
	sources = `winnow reads and writes the session files of Claude Code, Codex, OpenCode, pi, Gemini CLI, Qwen Code,
Copilot CLI and Cline, and request bodies of the Anthropic, OpenAI and Gemini APIs. It reads those of
OpenHands and SWE-agent, and OpenCode's database.

SRC names a session:

  session.jsonl       a file; "-" is standard input
  FOLDER              of an OpenHands conversation
  PATH#ID             a session in OpenCode's database
  latest              the newest session of this project
  PRODUCT:ID          where its product keeps it, as "winnow ls" shows it; PRODUCT: is its newest
  ses_0123            a session in winnow's own store

The beginning of an id or of a title is enough if no other session has it.`

	exitCodes = `Exit codes
    0  done
    1  failed
    2  wrong usage or configuration; nothing was done
    3  input not understood
    4  done in part: damage was skipped, something was refused, or doctor found something
    5  nothing to do
  130  interrupted; nothing is half-written`
)

// wrongValue explains why a flag refuses a value.
func wrongValue(err error) error {
	var wrong *pflag.InvalidValueError
	if !errors.As(err, &wrong) {
		return err
	}
	must := map[string]string{"int": "a whole number", "int64": "a whole number", "uint": "a whole number",
		"float64": "a number", "bool": "true or false", "duration": "a length of time such as 90s or 10m"}
	flag := wrong.GetFlag()
	kind := must[flag.Value.Type()]
	switch {
	case kind == "":
		return err
	case errors.Is(err, strconv.ErrRange):
		return fmt.Errorf("--%s: %s is too large", flag.Name, wrong.GetValue())
	}
	return fmt.Errorf("--%s must be %s, not %q", flag.Name, kind, wrong.GetValue())
}
