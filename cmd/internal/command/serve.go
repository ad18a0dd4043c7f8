package command

import (
	"context"
	"crypto/tls"
	"log/slog"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/gateway"
	"github.com/winnowhq/winnow/desk/config"
	"github.com/winnowhq/winnow/gateway/serve"
)

func serveCommand(a *cli.App) *cobra.Command {
	s := &listening{a: a}
	var upstreams []string
	var check bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Relay the requests of agents to their providers, and prune them",
		Long: `serve listens on this computer for the requests of agents and relays /NAME/… to the
provider of that name: anthropic, openai, gemini, those of gateway.upstreams in the configuration, and
those of --upstream.
In the base URL of an agent put http://127.0.0.1:4141/NAME in the place of the provider's own address:
http://127.0.0.1:4141/openai/v1 instead of https://api.openai.com/v1. Keys stay with the agents.

For one run of one agent, winnow wrap does all that by itself. In a browser, the address itself is a page
of what goes through, live, with buttons to undo, restore and pin.

It listens at loopback addresses, and at others only for clients with tokens (winnow serve token, or the
tenants of winnowd) and with a certificate (gateway.tls.cert, gateway.tls.key) or something in front that
has one (gateway.tls.inFront). When the configuration changes, or at SIGHUP, it is read again.

serve ends at a signal: it takes no more requests, at an address that other computers reach after three
seconds in which its probes send balancers elsewhere, and answers that are under way have 30 seconds to
end (gateway.drain); a second signal ends it at once. What it does is logged on standard error, lines for each request
without any content (--json: as JSON).`,
		Example: `  winnow serve
  winnow serve --mode observe
  winnow serve --listen 127.0.0.1:8080 --json
  winnow serve --upstream house=http://127.0.0.1:9000
  winnow serve --check`,
		Args:              cli.Exactly(0, "no arguments"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if s.named, err = namedUpstreams(upstreams); err != nil {
				return err
			}
			if check {
				return checkServe(s)
			}
			return runServe(cmd.Context(), s)
		},
	}
	cmd.Flags().StringVar(&s.listen, "listen", "",
		"HOST:PORT to listen at (default from the configuration: 127.0.0.1:4141)")
	cmd.Flags().StringArrayVar(&upstreams, "upstream", nil, "NAME=URL: relay /NAME/… to this base URL, in this run "+
		"instead of gateway.upstreams.NAME; may be repeated")
	cmd.Flags().StringVar(&s.mode, "mode", "", "what is done to requests: "+strings.Join(gateway.Modes(), ", ")+
		" (default from the configuration: full)")
	cmd.Flags().BoolVar(&check, "check", false, "read and try what serve does before it listens, say what it found, and "+
		"end")
	cli.Complete(cmd, "mode", gateway.Modes()...)
	cmd.AddCommand(tokenCommand(a))
	return cmd
}

// listening is what serve was told, beside the configuration.
type listening struct {
	a            *cli.App
	listen, mode string
	named        map[string]string // upstreams
	log          *slog.Logger
	certificate  atomic.Pointer[tls.Certificate]
	settings     config.Settings        // in force
	retention    atomic.Pointer[string] // gateway.retention as it is in force, for the jobs
	seen         []string               // what its files looked like before they were read
}

func runServe(ctx context.Context, s *listening) error {
	a := s.a
	before := s.look()
	settings, err := a.Settings()
	if err != nil {
		return err
	}
	s.settings = settings
	s.seen = append(before[:len(before)-2], s.look()[len(before)-2:]...) // the last two are named by it
	ctx, end := context.WithCancel(ctx)
	defer end()
	asked := hangups()
	defer signal.Stop(asked)
	if err := s.check(settings); err != nil {
		return err
	}
	s.log = slog.New(slog.NewTextHandler(a.Err, nil))
	if a.JSON {
		s.log = slog.New(slog.NewJSONHandler(a.Err, nil))
	}
	l, err := s.open()
	if err != nil {
		return err
	}
	relay, err := gateway.OpenAt(ctx, a, settings, l, s.modeOf(settings), s.log)
	if err != nil {
		return err
	}
	if err := relay.Tenants(ctx, !serve.Loopback(s.address(settings))); err != nil {
		relay.Close()
		return err
	}
	s.retention.Store(&settings.Gateway.Retention)
	jobs, err := relay.Jobs(ctx, func() string { return *s.retention.Load() })
	if err != nil {
		relay.Close()
		return err
	}
	profiles, err := profile(settings.Gateway.Profile, s.log)
	if err != nil {
		relay.Close()
		return err
	}
	defer profiles()
	monitoring, err := listenForMetrics(settings.Gateway.Metrics)
	if err != nil {
		relay.Close()
		return err
	}
	upstreams := s.upstreams(settings)
	a.Enduring.Store(true) // before anybody can see that it listens, and end it
	if err := relay.Start(context.WithoutCancel(ctx), upstreams, s.drain()); err != nil {
		monitoring.close()
		relay.Close()
		return err
	}
	defer monitoring.serve(relay.Monitoring(), "metrics", "/metrics", s.log)()
	scheme := "http://"
	if s.encrypts() {
		scheme = "https://"
	}
	told := []any{"address", scheme + relay.Address(), "mode", relay.Mode,
		"upstreams", strings.Join(slices.Sorted(maps.Keys(upstreams)), " ")}
	if page := relay.Page(); page != "" {
		told = append(told, "page", scheme+relay.Address()+page)
	}
	s.log.Info("listening", told...)
	s.tellAside(relay)
	_ = a.Err.Flush()
	ended := s.keep(ctx, relay, jobs, asked, end)
	defer ended()
	select {
	case err := <-relay.Ended():
		relay.Close()
		return err
	case <-ctx.Done():
	}
	return s.leave(relay, ended)
}

// noticePeriod is how long a listener that other computers reach goes on taking requests when it is
// to end. Balancers ask probes once a second or so, and a connection that one of them has made
// breaks when the listener closes before it is accepted.
const noticePeriod = 3 * time.Second

// leave ends a relay after a signal. ended ends the work beside requests.
func (s *listening) leave(relay *gateway.Relay, ended func()) error {
	again := make(chan os.Signal, 1)
	signal.Notify(again, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(again)
	relay.GiveNotice()
	how := "ending: no more requests"
	if !serve.Loopback(s.address(s.settings)) {
		how += " in " + noticePeriod.String()
	}
	s.log.Info(how + ", and " + s.drain().String() + " for answers that are under way; a second signal cuts them off")
	if !serve.Loopback(s.address(s.settings)) {
		select {
		case <-time.After(noticePeriod):
		case <-again:
			return cli.ErrInterrupted
		}
	}
	ended()
	stopped := make(chan error, 1)
	go func() { stopped <- relay.Stop() }()
	select {
	case err := <-stopped:
		s.log.Info("ended")
		return err
	case <-again:
		return cli.ErrInterrupted
	}
}

// upstreams are the providers that everybody has, those of the settings, and those of --upstream.
func (s *listening) upstreams(settings config.Settings) map[string]string {
	all := serve.Names()
	maps.Copy(all, settings.Gateway.Upstreams)
	maps.Copy(all, s.named)
	return all
}

// namedUpstreams are the upstreams of --upstream by name.
func namedUpstreams(given []string) (map[string]string, error) {
	all, err := baseURLs(given)
	if err != nil {
		return nil, err
	}
	if base, ok := all[""]; ok {
		return nil, cli.Usage("--upstream %s: give NAME=URL, for example house=%s", base, base)
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if _, err := serve.Upstream(name, all[name]); err != nil {
			return nil, cli.Usage("--upstream %w", err)
		}
	}
	return all, nil
}
