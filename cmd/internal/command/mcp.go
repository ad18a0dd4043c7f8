package command

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/gateway"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/gateway/mcp"
	"github.com/winnowhq/winnow/gateway/serve"
)

func mcpCommand(a *cli.App) *cobra.Command {
	var listen, session string
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve the tools recall, search, context, pin and compact to an agent (MCP)",
		Long: `mcp is a server of the Model Context Protocol over standard input and output, or over
HTTP with --listen. It gives an agent four tools: recall shows what was left out of its context, search
finds words in its session, context says what fills its context, pin keeps something in it. A fifth,
compact, asks for a compaction when the agent's turn has ended. Clients that are known to compact by
themselves are not offered it, unless the setting mcp.compact is on. Sessions are resources:
winnow://sessions, winnow://sessions/ID, winnow://sessions/ID/HANDLE.

They work on the session that an agent worked on last through winnow wrap or serve; recall and pin look
for their handle in all sessions, as winnow recall does. --session names one for all of them.

An agent that has a shell needs no server: it can run winnow recall. Tool declarations are sent with
every request; these take about 200 tokens.

--listen accepts loopback addresses only; requests must name them as their Host, and pages of other
origins are refused. The server ends when standard input does, or at a signal.`,
		Example: `  winnow mcp
  winnow mcp --listen 127.0.0.1:4142
  claude mcp add winnow -- winnow mcp
  codex mcp add winnow -- winnow mcp`,
		Args:              cli.Exactly(0, "no arguments"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return runMCP(cmd.Context(), a, listen, session) },
	}
	cmd.Flags().StringVar(&listen, "listen", "", "HOST:PORT to serve HTTP at, instead of standard input and output")
	cmd.Flags().StringVar(&session, "session", "", "only this session, named by its id or the beginning of it")
	return cmd
}

func runMCP(ctx context.Context, a *cli.App, listen, session string) error {
	engine, done, err := openToRecall(ctx, a, source.Making)
	if err != nil {
		return err
	}
	defer done()
	settings, err := a.Settings()
	if err != nil {
		return err
	}
	c := mcp.Config{Engine: engine, Version: a.Version, Compact: gateway.CompactTool(settings.MCP.Compact), Alone: true}
	if session != "" {
		if c.Session, err = source.FindSession(ctx, engine.Store(), session); err != nil {
			return err
		}
	}
	server := mcp.New(c)
	if listen != "" {
		return listenMCP(ctx, a, server, listen)
	}
	if err = mcp.Serve(ctx, server, a.Env.Stdin, flushing{a}); errors.Is(err, io.EOF) {
		return nil // the client has left
	}
	return err
}

func listenMCP(ctx context.Context, a *cli.App, server *sdk.Server, address string) error {
	a.Enduring.Store(true) // before anybody can see that it listens, and end it
	l, err := serve.Listen(address)
	if err != nil {
		var failed *net.OpError
		if !errors.As(err, &failed) {
			err = cli.Misuse(err)
		}
		return err
	}
	log := slog.New(slog.NewTextHandler(a.Err, nil))
	log.Info("listening", "address", "http://"+l.Addr().String())
	_ = a.Err.Flush()
	handler := serve.Local(mcp.Handler(server), l.Addr().String())
	return serve.Until(ctx, l, handler, time.Second, log)
}
