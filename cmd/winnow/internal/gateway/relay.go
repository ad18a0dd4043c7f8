package gateway

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/cmd/winnow/internal/cli"
	"github.com/winnowhq/winnow/cmd/winnow/internal/source"
	"github.com/winnowhq/winnow/config"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/schedule"
	"github.com/winnowhq/winnow/serve"
	"github.com/winnowhq/winnow/transport"
)

// Relay is a listener with what carries its requests.
type Relay struct {
	Mode transport.Mode

	listener net.Listener
	log      *slog.Logger
	carrier  *transport.Transport
	requests atomic.Int64
	close    []func() error
	ended    chan error
	stop     context.CancelFunc
}

// safe is the mode in which something is left out only where that costs nothing.
const safe transport.Mode = "safe"

// Modes are the words of --mode.
func Modes() []string { return config.GatewayModes() }

// CheckMode says what is wrong with a mode.
func CheckMode(mode string) error {
	if !slices.Contains(Modes(), mode) {
		return cli.Usage("unknown mode %q; use %s", mode, strings.Join(Modes(), ", "))
	}
	return nil
}

// Open opens a listener, and the engine and the store for what goes through it; mode off needs
// neither.
func Open(ctx context.Context, a *cli.App, settings config.Settings, address string, mode transport.Mode,
	log *slog.Logger) (_ *Relay, err error) {
	r := &Relay{Mode: mode, log: log, ended: make(chan error, 1)}
	defer func() {
		if err != nil {
			r.Close()
		}
	}()
	undumpable()
	if r.listener, err = serve.Listen(address); err != nil {
		var failed *net.OpError
		if !errors.As(err, &failed) {
			err = cli.Misuse(err)
		}
		return nil, err
	}
	if mode == safe {
		r.Mode, mode = transport.Full, transport.Full
		settings.Schedule = schedule.Cold{}.Name()
	}
	settings.Compaction.Auto = false // the client has its own idea of when to
	var engine *winnow.Engine
	if mode != transport.Off {
		if engine, err = r.engine(ctx, a, settings); err != nil {
			return nil, err
		}
	}
	r.carrier = transport.New(engine, transport.Options{Base: serve.Direct(), Mode: mode,
		Models: settings.Catalogue(model.Default()), Log: log, Now: a.Env.Now})
	return r, nil
}

func (r *Relay) engine(ctx context.Context, a *cli.App, settings config.Settings) (*winnow.Engine, error) {
	kept, err := source.OpenStore(ctx, a, source.Making)
	if err != nil {
		return nil, err
	}
	r.close = append(r.close, kept.Close)
	c, err := source.Config(a, kept, settings)
	if err != nil {
		return nil, err
	}
	engine, err := winnow.Open(c)
	if err != nil {
		return nil, err
	}
	r.close = append(r.close, engine.Close)
	return engine, nil
}

// Address is where it listens: HOST:PORT.
func (r *Relay) Address() string { return r.listener.Addr().String() }

// Start relays to the upstreams until Stop, or until it fails, which Ended tells.
func (r *Relay) Start(ctx context.Context, upstreams map[string]string, patience time.Duration) error {
	handler, err := serve.New(serve.Config{Upstreams: upstreams, Transport: counting{r}, Host: r.Address(), Log: r.log})
	if err != nil {
		return err
	}
	ctx, r.stop = context.WithCancel(ctx)
	go func() { r.ended <- serve.Until(ctx, r.listener, handler, patience, r.log) }()
	return nil
}

// counting counts the requests that are relayed.
type counting struct{ r *Relay }

// RoundTrip implements http.RoundTripper.
func (c counting) RoundTrip(r *http.Request) (*http.Response, error) {
	c.r.requests.Add(1)
	return c.r.carrier.RoundTrip(r)
}

// Ended tells how the listener ended.
func (r *Relay) Ended() <-chan error { return r.ended }

// Stop ends the listener, waits for what is under way, and closes the store.
func (r *Relay) Stop() error {
	r.stop()
	err := <-r.ended
	r.Close()
	return err
}

// Close closes what Open opened, the newest first. A listener that was started has ended.
func (r *Relay) Close() {
	if r.listener != nil {
		r.listener.Close() // it may be closed already
	}
	for _, end := range slices.Backward(r.close) {
		if err := end(); err != nil {
			r.log.Error("closing", "why", err)
		}
	}
}

// Account is what came of it, in three lines for people. client is what was run.
func (r *Relay) Account(client string) []string {
	return account(client, int(r.requests.Load()), r.Mode, r.carrier.Totals())
}
