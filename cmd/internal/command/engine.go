package command

import (
	"cmp"
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/rpc"
)

func engineCommand(a *cli.App) *cobra.Command {
	var stdio, schema bool
	cmd := &cobra.Command{
		Use:   "engine",
		Short: "Serve the engine to a program in another language, over standard input and output",
		Long: `engine --stdio keeps the sessions of a program that is not written in Go: JSON-RPC 2.0,
one object a line, over standard input and output. One process serves many sessions; they are kept in
winnow's own store, where every other command finds them. It ends when standard input does, at a
request "shutdown", or at a signal, after it has answered what it was asked.

engine --schema prints the protocol as a JSON Schema. Clients for TypeScript and Python, one file
each, are in the folder bindings of winnow's source; docs/bindings.md says how to bind another SDK.`,
		Example: `  winnow engine --stdio
  winnow engine --stdio --store sessions.db --model anthropic/claude-sonnet-4-5
  winnow engine --schema`,
		Args: cli.Exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case stdio == schema:
				return cli.Usage("give --stdio or --schema; see winnow engine --help")
			case schema:
				_, err := a.Data().Write(rpc.SchemaText())
				return err
			}
			return runEngine(cmd.Context(), a)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.Flags().BoolVar(&stdio, "stdio", false, "serve over standard input and output")
	cmd.Flags().BoolVar(&schema, "schema", false, "print the protocol as a JSON Schema")
	return cmd
}

func runEngine(ctx context.Context, a *cli.App) (err error) {
	a.Orderly.Store(true)
	settings, err := a.Settings()
	if err != nil {
		return err
	}
	kept, err := source.OpenStore(ctx, a, source.Making)
	if err != nil {
		return err
	}
	defer kept.Close()
	c, err := source.Config(a, kept, settings)
	if err != nil {
		return err
	}
	server := rpc.New(rpc.Config{Version: a.Version, Settings: &settings.Settings, Policy: settings.Policy, Auto: settings.Compaction.Auto,
		Store: source.StoreAt(a), Now: a.Env.Now})
	hooks := a.Hooks(settings, false, func(_, warning string) { a.Warn("%s", warning) })
	c.Hooks = hooks.Hooks()
	c.Model = cmp.Or(a.Model, settings.Model)
	c.SummarizerFor = server.SummarizerFor(c.SummarizerFor)
	e, err := winnow.Open(c)
	if err != nil {
		return err
	}
	defer e.Close()
	defer hooks.Watch(e).Start(ctx)()
	return server.Serve(ctx, e, a.Env.Stdin, flushing{a})
}

// flushing is standard output for lines that somebody waits for.
type flushing struct{ a *cli.App }

var _ io.Writer = flushing{}

func (f flushing) Write(data []byte) (int, error) {
	defer f.a.Show()
	return f.a.Data().Write(data)
}
