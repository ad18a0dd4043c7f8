package main

import (
	"errors"

	"github.com/spf13/cobra"
)

// secrets is what --secrets says: "mask", which "" is too, or "keep".
type secrets string

const (
	maskSecrets secrets = "mask"
	keepSecrets secrets = "keep"
)

// The three are what cobra asks of a flag.
func (s *secrets) String() string { return string(*s) }
func (s *secrets) Type() string   { return "string" }
func (s *secrets) Set(word string) error {
	if *s = secrets(word); *s != maskSecrets && *s != keepSecrets {
		return errors.New("it is mask or keep")
	}
	return nil
}

// secretsFlag lets a command that writes something for others keep the secrets in it.
func (a *app) secretsFlag(cmd *cobra.Command, where string) {
	a.secrets = maskSecrets
	cmd.Flags().Var(&a.secrets, "secrets", "keys, tokens and passwords "+where+": mask or keep")
	complete(cmd, "secrets", string(maskSecrets), string(keepSecrets))
}

func (a *app) keepSecrets() bool { return a.secrets == keepSecrets }
