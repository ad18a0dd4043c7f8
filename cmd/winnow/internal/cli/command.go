package cli

import (
	"errors"

	"github.com/spf13/cobra"
)

// Exactly wants so many arguments.
func Exactly(n int, what string) cobra.PositionalArgs {
	return Between(n, n, what)
}

func Between(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least || most >= 0 && len(args) > most {
			return Usage("winnow %s takes %s, not %s; see winnow %s --help", cmd.Name(), what, Plural(len(args), "argument", "arguments"), cmd.Name())
		}
		return nil
	}
}

func Second(args []string) string {
	if len(args) > 1 {
		return args[1]
	}
	return ""
}

// Complete offers words for a flag.
func Complete(cmd *cobra.Command, flag string, words ...string) {
	// It fails only for a flag that does not exist or is registered twice, which no user can cause.
	if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err)
	}
}

// secrets is what --secrets says: "mask", which "" is too, or "keep".
type secrets string

const (
	maskSecrets secrets = "mask"
	keepSecrets secrets = "keep"
)

// The three are what cobra asks of a flag.
func (s *secrets) String() string { return string(*s) }

func (s *secrets) Type() string { return "string" }

func (s *secrets) Set(word string) error {
	if *s = secrets(word); *s != maskSecrets && *s != keepSecrets {
		return errors.New("it is mask or keep")
	}
	return nil
}

// SecretsFlag lets a command that writes something for others keep the secrets in it.
func (a *App) SecretsFlag(cmd *cobra.Command, where string) {
	a.secrets = maskSecrets
	cmd.Flags().Var(&a.secrets, "secrets", "keys, tokens and passwords "+where+": mask or keep")
	Complete(cmd, "secrets", string(maskSecrets), string(keepSecrets))
}

func (a *App) KeepSecrets() bool { return a.secrets == keepSecrets }
