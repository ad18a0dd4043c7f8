package command

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/desk/config"
)

// configListed is the JSON document of config add and config remove.
type configListed struct {
	File   string         `json:"file"`   // the file that was written
	Key    string         `json:"key"`    // the key whose list was changed
	Values []string       `json:"values"` // the values that were added, or removed
	Value  jsontext.Value `json:"value"`  // the list in force now
	// Why the policy in force does not read the key; empty if it does.
	Unread string `json:"unread"`
}

func configAddCommand(a *cli.App) *cobra.Command {
	var project bool
	cmd := &cobra.Command{
		Use:   "add KEY VALUE…",
		Short: "Add values to a list in the user's configuration file",
		Long: `add puts each VALUE into the list of KEY, and leaves everything else in the list: what the file
has, and the defaults of compaction.protectedPaths and compaction.protectedTools. A VALUE that
"winnow config remove" took away is a default again. A VALUE of permissions is a JSON object.`,
		Example: `  winnow config add compaction.protectedPaths 'docs/**'
  winnow config add gateway.tools.drop 'mcp__github__*' WebSearch
  winnow config add permissions '{"action": "run", "target": "go test", "verdict": "allow"}'`,
		Args:              cli.Between(2, -1, "KEY and values"),
		ValidArgsFunction: completeKeys,
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := listFile(a, project, args[0], args[1:])
			if err != nil {
				return err
			}
			var added []string
			err = a.ConfigSources().Keep(file, func() (err error) {
				added, err = config.Add(file, args[0], args[1:]...)
				return err
			})
			return tellListed(a, file, args[0], added, err, "added to")
		},
	}
	cmd.Flags().BoolVar(&project, "project", false, "add to winnow.jsonc of the current folder instead")
	return cmd
}

func configRemoveCommand(a *cli.App) *cobra.Command {
	var project bool
	cmd := &cobra.Command{
		Use:   "remove KEY VALUE…",
		Short: "Remove values from a list in the user's configuration file",
		Long: `remove takes each VALUE out of the list of KEY, and leaves everything else in the list. A default
of compaction.protectedPaths or compaction.protectedTools stays unless it is named: for one, remove
writes "!VALUE" into the file. A project's file cannot take a default away.`,
		Example: `  winnow config remove compaction.protectedPaths 'docs/**'
  winnow config remove compaction.protectedPaths '**/.env*'
  winnow config remove gateway.tools.drop WebSearch --project`,
		Args:              cli.Between(2, -1, "KEY and values"),
		ValidArgsFunction: completeKeys,
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := configFile(a, project)
			if err != nil {
				return err
			}
			var removed []string
			err = a.ConfigSources().Keep(file, func() (err error) {
				removed, err = config.Remove(file, args[0], !project || a.ConfigFile != "", args[1:]...)
				return err
			})
			return tellListed(a, file, args[0], removed, err, "removed from")
		},
	}
	cmd.Flags().BoolVar(&project, "project", false, "remove from winnow.jsonc of the current folder instead")
	return cmd
}

// listFile is the configuration file to add values to.
func listFile(a *cli.App, project bool, key string, values []string) (string, error) {
	if !project || a.ConfigFile != "" {
		return a.OwnConfig()
	}
	list, err := json.Marshal(values)
	if err != nil {
		return "", cli.Misuse(err)
	}
	return a.ProjectConfig(key, string(list))
}

// tellListed says what became of a list, and what it is now.
func tellListed(a *cli.App, file, key string, values []string, err error, did string) error {
	if err != nil {
		return cli.Misuse(err)
	}
	now, err := got(a, key)
	if err != nil { // what is wrong elsewhere is told by the commands that need it
		now.Value = jsontext.Value("null")
	}
	if len(values) == 0 {
		return cli.Nothing(fmt.Sprintf("nothing is %s %s in %s; it is %s, %s", did, key, file, plainValue(now.Value),
			cmp.Or(now.Origin, "the default")))
	}
	return a.Tell(configListed{file, key, values, now.Value, now.Unread}, func() {
		a.Printf("%s %s %s in %s; it is %s now\n", strings.Join(values, ", "), did, key, file, plainValue(now.Value))
		if now.Unread != "" {
			a.Printf("it has no effect: %s\n", now.Unread)
		}
	})
}
