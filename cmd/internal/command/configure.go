package command

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/gateway"
	"github.com/winnowhq/winnow/desk/config"
)

// configGot is the JSON document of config get.
type configGot struct {
	Key         string         `json:"key"`         // the key as it was given
	Value       jsontext.Value `json:"value"`       // the value in force
	Default     jsontext.Value `json:"default"`     // the value that holds if nothing sets the key
	Origin      string         `json:"origin"`      // file or variable that set it; empty for the default
	Description string         `json:"description"` // its meaning, in a line
	// Why the policy in force does not read the key; empty if it does.
	Unread string `json:"unread"`
}

// configUnset is the JSON document of config unset.
type configUnset struct {
	File  string         `json:"file"`  // the file that was written
	Key   string         `json:"key"`   // the key that is no longer set there
	Value jsontext.Value `json:"value"` // the value in force now
}

// configEdited is the JSON document of config edit.
type configEdited struct {
	File string `json:"file"` // the file that was written
}

func configGetCommand(a *cli.App) *cobra.Command {
	var describe bool
	cmd := &cobra.Command{
		Use:   "get KEY",
		Short: "Print the value of a setting that is in force",
		Long: `get prints the value of one setting, a text without quotation marks and anything else as
JSON. With --describe it also says what the setting is, its default, and what set it.`,
		Example: `  winnow config get compaction.model
  winnow config get compaction.keep --describe`,
		Args:              cli.Exactly(1, "one KEY"),
		ValidArgsFunction: completeKeys,
		RunE: func(cmd *cobra.Command, args []string) error {
			doc, err := got(a, args[0])
			if err != nil {
				return err
			}
			return a.Tell(doc, func() { doc.show(a, describe) })
		},
	}
	cmd.Flags().BoolVar(&describe, "describe", false, "say what it is, its default, and what set it")
	return cmd
}

// got looks a setting up.
func got(a *cli.App, key string) (doc configGot, err error) {
	loaded, err := config.Load(a.ConfigSources())
	if err != nil {
		return doc, cli.Misuse(err)
	}
	doc = configGot{Key: key, Origin: loaded.Origins[key], Description: config.Describe(key),
		Unread: unread(a, loaded.Settings, key)}
	if doc.Value, err = loaded.Value(key); err != nil {
		return doc, cli.Misuse(err)
	}
	doc.Default, err = config.Loaded{Settings: config.Default()}.Value(key)
	return doc, err
}

func (doc configGot) show(a *cli.App, describe bool) {
	a.Printf("%s\n", plainValue(doc.Value))
	if !describe {
		return
	}
	showIndented(a, 2, doc.Description)
	a.Printf("  default: %s\n", cmp.Or(plainValue(doc.Default), `""`))
	a.Printf("  set by: %s\n", cmp.Or(doc.Origin, "nothing, it is the default"))
	if doc.Unread != "" {
		a.Printf("  it has no effect: %s\n", doc.Unread)
	}
}

// plainValue is a value for people: a text is itself.
func plainValue(value jsontext.Value) string {
	var text string
	if value.Kind() == '"' && json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}

func configUnsetCommand(a *cli.App) *cobra.Command {
	var project bool
	cmd := &cobra.Command{
		Use:   "unset KEY",
		Short: "Remove a setting from the user's configuration file",
		Example: `  winnow config unset compaction.keep
  winnow config unset policy --project`,
		Args:              cli.Exactly(1, "one KEY"),
		ValidArgsFunction: completeKeys,
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := configFile(a, project)
			if err != nil {
				return err
			}
			was := false
			err = a.ConfigSources().Keep(file, func() (err error) {
				was, err = config.Unset(file, args[0])
				return err
			})
			switch {
			case err != nil:
				return cli.Misuse(err)
			case !was:
				return cli.Hint(cli.Nothing(fmt.Sprintf("%s is not set in %s", args[0], file)),
					"`winnow config get "+args[0]+" --describe` says what sets it")
			}
			now, err := got(a, args[0])
			if err != nil { // what is wrong elsewhere is told by the commands that need it
				now.Value = jsontext.Value("null")
			}
			return a.Tell(configUnset{file, args[0], now.Value}, func() {
				a.Printf("%s is no longer set in %s; it is %s now, %s\n", args[0], file,
					cmp.Or(plainValue(now.Value), `""`), cmp.Or(now.Origin, "the default"))
			})
		},
	}
	cmd.Flags().BoolVar(&project, "project", false, "remove it from winnow.jsonc of the current folder instead")
	return cmd
}

// configFile is the configuration file that is changed: the user's, or that of the current folder.
func configFile(a *cli.App, project bool) (string, error) {
	if project && a.ConfigFile == "" {
		return a.ProjectFile()
	}
	return a.OwnConfig()
}

func configEditCommand(a *cli.App) *cobra.Command {
	var project bool
	cmd := &cobra.Command{
		Use:   "edit",
		Short: "Open the user's configuration file in an editor",
		Long: `edit opens a copy of the configuration file in $VISUAL or $EDITOR, and puts it in the place
of the file when the editor has ended and everything in it can be meant. What is wrong is said, and
the copy is kept.`,
		Example: `  winnow config edit
  EDITOR="code --wait" winnow config edit --project`,
		Args: cli.Exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := configFile(a, project)
			if err != nil {
				return err
			}
			return editConfig(a, file)
		},
	}
	cmd.Flags().BoolVar(&project, "project", false, "edit winnow.jsonc of the current folder instead")
	return cmd
}

// newConfig is what a configuration file begins with.
const newConfig = "{\n\t// `winnow config --describe` lists what can be set here.\n}\n"

func editConfig(a *cli.App, file string) error {
	before, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		before, err = []byte(newConfig), nil
	}
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "winnow-")
	if err != nil {
		return err
	}
	draft := filepath.Join(folder, config.Name)
	if err := os.WriteFile(draft, before, 0o600); err != nil {
		return err
	}
	if err := runEditor(a, draft); err != nil {
		return errors.Join(err, os.RemoveAll(folder))
	}
	after, err := os.ReadFile(draft)
	if err != nil {
		return err
	}
	if bytes.Equal(before, after) {
		return errors.Join(os.RemoveAll(folder), cli.Nothing(file+" was left as it is"))
	}
	if err := a.ConfigSources().Keep(file, func() error { return config.Write(file, after) }); err != nil {
		return cli.Hint(cli.Misuse(fmt.Errorf("%w; %s was left as it is", err, file)),
			"what you wrote is kept in "+draft)
	}
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	return a.Tell(configEdited{file}, func() { a.Printf("%s is written\n", file) })
}

// runEditor runs the user's editor on a file, and waits for its end.
func runEditor(a *cli.App, file string) error {
	words := strings.Fields(cmp.Or(a.Env.Getenv("VISUAL"), a.Env.Getenv("EDITOR"), "vi"))
	a.Enduring.Store(true)
	_ = a.Err.Flush()
	code, err := gateway.Run(words[0], append(words[1:], file), a.Env.Environ)
	a.Enduring.Store(false)
	switch {
	case err != nil:
		return cli.Hint(fmt.Errorf("the editor %s cannot be started: %w", words[0], err), "set VISUAL or EDITOR")
	case code != 0:
		return fmt.Errorf("the editor %s ended with exit code %d; nothing was changed", words[0], code)
	}
	return nil
}

// editSummary has the user edit a summary.
func editSummary(a *cli.App, summary string) (string, error) {
	folder, err := os.MkdirTemp("", "winnow-")
	if err != nil {
		return "", err
	}
	file := filepath.Join(folder, "summary.md")
	if err := os.WriteFile(file, []byte(summary), 0o600); err != nil {
		return "", err
	}
	if err := runEditor(a, file); err != nil {
		return "", errors.Join(err, os.RemoveAll(folder))
	}
	text, err := os.ReadFile(file)
	return string(text), errors.Join(err, os.RemoveAll(folder))
}
