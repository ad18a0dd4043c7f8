package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/text/quantity"
)

// Exactly accepts n arguments, which what names.
func Exactly(n int, what string) cobra.PositionalArgs { return Between(n, n, what) }

// Between accepts least to most arguments, any number above least if most is negative.
func Between(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least || most >= 0 && len(args) > most {
			return Usage("%[1]s takes %[2]s, not %[3]s; see %[1]s --help", cmd.CommandPath(), what,
				quantity.Plural(len(args), "argument", "arguments"))
		}
		return nil
	}
}

// Second is the second argument, or "".
func Second(args []string) string {
	if len(args) > 1 {
		return args[1]
	}
	return ""
}

// Complete offers words for a flag.
func Complete(cmd *cobra.Command, flag string, words ...string) {
	CompleteBy(cmd, flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// CompleteBy offers for a flag what a function finds.
func CompleteBy(cmd *cobra.Command, flag string, find cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, find); err != nil {
		panic(err) // the flag does not exist or is registered twice, which no user can cause
	}
}

// DryRun adds --dry-run.
func DryRun(cmd *cobra.Command, dry *bool, what string) {
	cmd.Flags().BoolVarP(dry, "dry-run", "n", false, what)
}

// secrets is the value of --secrets.
type secrets string

var secretsWords = []string{"mask", "keep"}

// String, Type and Set make it a flag.
func (s *secrets) String() string { return string(*s) }
func (s *secrets) Type() string   { return "string" }
func (s *secrets) Set(word string) error {
	if !slices.Contains(secretsWords, word) {
		return Usage("use %s", strings.Join(secretsWords, " or "))
	}
	*s = secrets(word)
	return nil
}

// SecretsFlag adds --secrets to a command that writes something for others.
func (a *App) SecretsFlag(cmd *cobra.Command, where string) {
	a.secrets = "mask"
	cmd.Flags().Var(&a.secrets, "secrets", "keys, tokens and passwords "+where+": mask or keep")
	Complete(cmd, "secrets", secretsWords...)
}

// KeepSecrets reports whether secrets are written as they are.
func (a *App) KeepSecrets() bool { return a.secrets == "keep" }
