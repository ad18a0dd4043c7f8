package command

import (
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/desk/config"
	"github.com/winnowhq/winnow/gateway/tenant"
)

// tokenMade is what token add prints as JSON.
type tokenMade struct {
	Client string `json:"client"` // the client that it belongs to
	Token  string `json:"token"`  // the token, which is nowhere else
	File   string `json:"file"`   // the configuration file that has its hash
}

// tokenList is what token list prints as JSON, and token remove.
type tokenList struct {
	Clients []string `json:"clients"` // the clients that have a token now
}

// clientsKey is the setting that has the hashes of tokens.
const clientsKey = "gateway.clients"

func tokenCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Say who may ask through winnow serve, with a token for each",
		Long: `token makes and removes the tokens of those who may ask through "winnow serve". As soon as
there is one, every request needs a token: in the header x-winnow-token, or, where a client can be told
a base URL and nothing else, as the first segment of the path: http://HOST:4141/TOKEN/anthropic.

Of a token only the SHA-256 is kept, in gateway.clients of the configuration. A serve that runs reads it
within two seconds.`,
		Example: `  winnow serve token add ann
  winnow serve token list
  winnow serve token remove ann`,
		Args: cli.Exactly(0, "add, list or remove"),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		&cobra.Command{
			Use: "add NAME", Short: "Make a token and print it, once", Example: "  winnow serve token add ann",
			Args: cli.Exactly(1, "NAME"), ValidArgsFunction: cobra.NoFileCompletions,
			RunE: func(_ *cobra.Command, args []string) error { return addToken(a, args[0]) },
		},
		&cobra.Command{
			Use: "list", Short: "Show who has a token", Example: "  winnow serve token list",
			Args: cli.Exactly(0, "no arguments"), ValidArgsFunction: cobra.NoFileCompletions,
			RunE: func(*cobra.Command, []string) error { return listTokens(a) },
		},
		&cobra.Command{
			Use: "remove NAME", Short: "Take a token back", Example: "  winnow serve token remove ann",
			Args: cli.Exactly(1, "NAME"), ValidArgsFunction: cobra.NoFileCompletions,
			RunE: func(_ *cobra.Command, args []string) error { return removeToken(a, args[0]) },
		})
	return cmd
}

// clientsOf are the clients in the user's own file, and that file.
func clientsOf(a *cli.App) (clients map[string]string, file string, err error) {
	if file, err = a.OwnConfig(); err != nil {
		return nil, "", err
	}
	loaded, err := config.Load(config.Sources{File: a.ConfigFile, User: a.Env.Config()})
	if err != nil {
		return nil, "", cli.Misuse(err)
	}
	return loaded.Settings.Gateway.Clients, file, nil
}

func addToken(a *cli.App, name string) error {
	if name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") != "" {
		return cli.Usage("%q cannot name a client: use letters, digits, - and _", name)
	}
	clients, file, err := clientsOf(a)
	if err != nil {
		return err
	}
	if clients[name] != "" {
		return cli.Usage("%s has a token already; take it back first: winnow serve token remove %s", name, name)
	}
	token, hash := tenant.NewSecret()
	if err := config.Set(file, clientsKey+"."+name, hash); err != nil {
		return cli.Misuse(err)
	}
	if !a.JSON && !a.Quiet {
		a.Warn("the token of %s is shown this once; its hash is in %s", name, file)
	}
	return a.Tell(tokenMade{name, token, file}, func() { a.Printf("%s\n", token) })
}

func listTokens(a *cli.App) error {
	clients, _, err := clientsOf(a)
	if err != nil {
		return err
	}
	names := append([]string{}, slices.Sorted(maps.Keys(clients))...)
	err = a.Tell(tokenList{names}, func() {
		for _, name := range names {
			a.Printf("%s\n", name)
		}
	})
	if err == nil && len(names) == 0 {
		return cli.Nothing("there is no token: anybody who reaches the listener may ask")
	}
	return err
}

func removeToken(a *cli.App, name string) error {
	clients, file, err := clientsOf(a)
	if err != nil {
		return err
	}
	if clients[name] == "" {
		return cli.Usage("%s has no token; `winnow serve token list` shows who has one", name)
	}
	delete(clients, name)
	left, err := json.Marshal(clients, json.Deterministic(true))
	if err != nil {
		return err
	}
	if err := config.Set(file, clientsKey, string(left)); err != nil {
		return cli.Misuse(err)
	}
	names := append([]string{}, slices.Sorted(maps.Keys(clients))...)
	return a.Tell(tokenList{names}, func() { a.Printf("%s has no token any more\n", name) })
}
