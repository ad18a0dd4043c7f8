package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/gateway"
	"github.com/winnowhq/winnow/gateway/transport"
)

// wrapFlags are those of wrap.
type wrapFlags struct {
	mode      string
	upstreams []string
	log       string
	alias     bool
}

func wrapCommand(a *cli.App) *cobra.Command {
	var f wrapFlags
	var names []string
	for _, c := range gateway.Clients() {
		names = append(names, c.Name)
	}
	cmd := &cobra.Command{
		Use:   "wrap CLIENT [ARGUMENT…] | wrap -- COMMAND [ARGUMENT…]",
		Short: "Run an agent with its requests going through winnow",
		Long: `wrap starts an agent and relays its requests to its provider, pruned on the way. The
agent gets the address of a listener that is for it alone, in its own variables or arguments; nothing
is written into its settings, and without wrap it starts as before. Terminal, signals and exit code are
the agent's own.

CLIENT is ` + list(names) + `. Behind "--" stands any other
command; it is told in ANTHROPIC_BASE_URL, OPENAI_BASE_URL, OPENAI_API_BASE and GOOGLE_GEMINI_BASE_URL.

Requests go to where the client would have sent them: the base URL in its own variable or settings,
or its provider. --upstream names another one: a base URL as the client would be given it, for the
client's first provider, or NAME=URL for one of several.

On a terminal, the address of a page of what goes through is printed first; it ends with the agent.
At the end three lines on standard error say how many requests were relayed, what they were billed
against what they would have been, and what was left out.`,
		Example: `  winnow wrap claude
  winnow wrap codex exec "add a test for the parser"
  winnow wrap --mode observe opencode
  winnow wrap --upstream https://gateway.example/anthropic claude
  winnow wrap -- python agent.py
  winnow wrap --install-alias claude >>~/.bashrc`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case f.alias:
				return installAlias(a, args)
			case len(args) == 0:
				return cli.Usage("say what to run: winnow wrap claude, or winnow wrap -- COMMAND; " +
					"see winnow wrap --help")
			case a.JSON:
				return cli.Usage("wrap prints nothing of its own on standard output; leave out --json")
			}
			if cmd.ArgsLenAtDash() == 0 {
				return runWrap(cmd.Context(), a, gateway.Command(args[0]), args[1:], f)
			}
			for _, c := range gateway.Clients() {
				if c.Name == args[0] {
					return runWrap(cmd.Context(), a, c, args[1:], f)
				}
			}
			return cli.Usage("unknown client %q; use %s, or winnow wrap -- %s", args[0], list(names), args[0])
		},
		ValidArgs: names,
	}
	flags := cmd.Flags()
	flags.SetInterspersed(false) // what stands behind the client is the client's
	flags.StringVar(&f.mode, "mode", "", "what is done to requests: "+strings.Join(gateway.Modes(), ", ")+
		" (default from the configuration: full)")
	flags.StringArrayVar(&f.upstreams, "upstream", nil, "base URL of a provider, or NAME=URL; may be repeated")
	flags.StringVar(&f.log, "log", "", "file to which a line of JSON about each request is appended, without content")
	flags.BoolVar(&f.alias, "install-alias", false,
		"print the line for a shell's profile that puts wrap before a client")
	cli.Complete(cmd, "mode", gateway.Modes()...)
	return cmd
}

// list is words for people: "a, b or c".
func list(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// installAlias prints one line that a shell understands: aliases for the clients that are named, or
// for those that are installed.
func installAlias(a *cli.App, names []string) error {
	var aliases []string
	for _, c := range gateway.Clients() {
		_, err := exec.LookPath(c.Name)
		wanted := len(names) == 0 && err == nil
		for i, name := range names {
			if name == c.Name {
				wanted = true
				names = append(names[:i:i], names[i+1:]...)
				break
			}
		}
		if wanted {
			aliases = append(aliases, fmt.Sprintf("alias %s='winnow wrap %s'", c.Name, c.Name))
		}
	}
	if len(names) > 0 {
		return cli.Usage("unknown client %q; see winnow wrap --help", names[0])
	}
	if len(aliases) == 0 {
		return cli.Nothing("no client that winnow knows is installed; name one: winnow wrap --install-alias claude")
	}
	a.Printf("%s\n", strings.Join(aliases, "; "))
	return nil
}

func runWrap(ctx context.Context, a *cli.App, client gateway.Client, args []string, f wrapFlags) (err error) {
	settings, err := a.Settings()
	if err != nil {
		return err
	}
	mode := cmp.Or(f.mode, settings.Gateway.Mode)
	if err := gateway.CheckMode(mode); err != nil {
		return err
	}
	upstreams, err := baseURLs(f.upstreams)
	if err != nil {
		return err
	}
	settings.Gateway.Clients = nil // it listens for one process alone
	log, closeLog, err := logTo(a, f.log)
	if err != nil {
		return err
	}
	defer closeLog()
	relay, err := gateway.Open(ctx, a, settings, "127.0.0.1:0", transport.Mode(mode), log)
	if err != nil && mode != string(transport.Off) {
		// The client can work without us.
		a.Warn("%v\n  %s runs all the same: mode off, nothing is pruned", err, path.Base(client.Name))
		relay, err = gateway.Open(ctx, a, settings, "127.0.0.1:0", transport.Off, log)
	}
	if err != nil {
		return err
	}
	plan, err := gateway.For(client, args, relay.Address(), gateway.Sources{Getenv: a.Env.Getenv, Home: a.Env.Home(),
		Dir: a.Env.Dir, Upstreams: upstreams})
	if err != nil {
		relay.Close()
		return cli.Misuse(err)
	}
	defer func() { err = errors.Join(err, plan.Remove()) }()
	if err := gateway.Discreet(plan, a); err != nil {
		relay.Close()
		return err
	}
	if relay.Mode != transport.Off {
		gateway.WayBack(plan, a)
	}
	if err := relay.Start(context.WithoutCancel(ctx), plan.Upstreams, lastWords); err != nil {
		relay.Close()
		return cli.Misuse(err)
	}
	relay.Expire()
	if aside := relay.Aside(); len(aside) > 0 {
		a.Warn("requests to %s go through another winnow already, which prunes them: they pass here untouched (mode "+
			"off)",
			strings.Join(aside, ", "))
	}
	if page := relay.Page(); page != "" && a.Env.StderrTerminal && !a.Quiet { // nothing reads what is printed
		a.Warn("live page: http://%s%s", relay.Address(), page)
	}
	if said := coldResume(ctx, a, path.Base(plan.Program), args); said != "" {
		a.Warn("%s", said)
	}
	a.Enduring.Store(true)
	_ = a.Err.Flush()
	code, err := gateway.Run(plan.Program, plan.Args, plan.Environ(a.Env.Environ))
	stopped := relay.Stop()
	switch {
	case errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist):
		return cli.Hint(fmt.Errorf("%s is not installed: there is no such program in PATH", plan.Program),
			"install it, or give its path: winnow wrap -- PATH")
	case err != nil:
		return fmt.Errorf("%s cannot be started: %w", plan.Program, err)
	}
	if !a.Quiet {
		for _, line := range relay.Account(path.Base(plan.Program)) {
			a.Warn("%s", line)
		}
	}
	if code != 0 {
		return cli.Passed(code)
	}
	return stopped
}

// baseURLs are the upstreams of --upstream by name.
func baseURLs(given []string) (map[string]string, error) {
	all := map[string]string{}
	for _, one := range given {
		name, base, ok := strings.Cut(one, "=")
		if !ok || strings.Contains(name, ":") { // the = of a query
			name, base = "", one
		}
		if !strings.Contains(base, "://") {
			return nil, cli.Usage("--upstream: give a base URL such as https://host/v1, or NAME=URL")
		}
		all[name] = base
	}
	return all, nil
}

// logTo opens the log of requests, which only this user can read; without a name nothing is logged.
func logTo(a *cli.App, name string) (*slog.Logger, func(), error) {
	if name == "" {
		return slog.New(slog.DiscardHandler), func() {}, nil
	}
	file, err := os.OpenFile(a.Path(name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, err
	}
	return slog.New(slog.NewJSONHandler(file, nil)), func() { file.Close() }, nil
}

const (
	// patience is how long answers that are under way may go on when serve is to end.
	patience = 30 * time.Second
	// lastWords is the same when a wrapped client has ended: its last answer has arrived, and is
	// being kept.
	lastWords = 2 * time.Second
)
