package main

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/cmd/winnow/internal/cli"
	"github.com/winnowhq/winnow/cmd/winnow/internal/gateway"
	"github.com/winnowhq/winnow/config"
	"github.com/winnowhq/winnow/serve"
	"github.com/winnowhq/winnow/transport"
)

func serveCommand(a *cli.App) *cobra.Command {
	var listen, mode string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Relay the requests of agents to their providers, pruned on the way",
		Long: `serve listens on this computer for the requests of agents and relays /NAME/… to the
provider of that name: anthropic, openai, gemini, and those of gateway.upstreams in the configuration.
In the base URL of an agent put http://127.0.0.1:4141/NAME in the place of the provider's own address:
http://127.0.0.1:4141/openai/v1 instead of https://api.openai.com/v1. Keys stay with the agents.

For one run of one agent, winnow wrap does all that by itself.

serve ends at a signal: it takes no more requests, and answers that are under way have 30 seconds to
end; a second signal ends it at once. What it does is logged on standard error, a line for each request, without any content (--json:
as JSON). It listens at loopback addresses only.`,
		Example: `  winnow serve
  winnow serve --mode observe
  winnow serve --listen 127.0.0.1:8080 --json`,
		Args:              cli.Exactly(0, "no argument"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runServe(cmd.Context(), a, listen, mode)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "",
		"HOST:PORT to listen at (default from the configuration: 127.0.0.1:4141)")
	cmd.Flags().StringVar(&mode, "mode", "", "what is done to requests: "+strings.Join(gateway.Modes(), ", ")+
		" (default from the configuration: full)")
	cli.Complete(cmd, "mode", gateway.Modes()...)
	return cmd
}

func runServe(ctx context.Context, a *cli.App, listen, mode string) error {
	settings, err := a.Settings()
	if err != nil {
		return err
	}
	mode = cmp.Or(mode, settings.Gateway.Mode)
	if err := gateway.CheckMode(mode); err != nil {
		return err
	}
	upstreams := upstreamsOf(settings)
	for _, name := range slices.Sorted(maps.Keys(upstreams)) {
		if _, err := serve.Upstream(name, upstreams[name]); err != nil {
			return cli.Usage("gateway.upstreams.%w", err)
		}
	}
	log := slog.New(slog.NewTextHandler(a.Err, nil))
	if a.JSON {
		log = slog.New(slog.NewJSONHandler(a.Err, nil))
	}
	relay, err := gateway.Open(ctx, a, settings, cmp.Or(listen, settings.Gateway.Listen), transport.Mode(mode), log)
	if err != nil {
		return err
	}
	if err := relay.Start(context.WithoutCancel(ctx), upstreams, patience); err != nil {
		relay.Close()
		return err
	}
	a.Enduring.Store(true)
	log.Info("listening", "address", "http://"+relay.Address(), "mode", mode,
		"upstreams", strings.Join(slices.Sorted(maps.Keys(upstreams)), " "))
	_ = a.Err.Flush()
	select {
	case err := <-relay.Ended():
		relay.Close()
		return err
	case <-ctx.Done():
	}
	log.Info("ending: no more requests, and 30 seconds for answers that are under way; a second signal cuts them off")
	again := make(chan os.Signal, 1)
	signal.Notify(again, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(again)
	stopped := make(chan error, 1)
	go func() { stopped <- relay.Stop() }()
	select {
	case err := <-stopped:
		log.Info("ended")
		return err
	case <-again:
		return cli.ErrInterrupted
	}
}

// upstreamsOf are the providers that everybody has, and those of the settings.
func upstreamsOf(settings config.Settings) map[string]string {
	all := serve.Names()
	maps.Copy(all, settings.Gateway.Upstreams)
	return all
}
