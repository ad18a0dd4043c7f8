package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/cmd/winnow/internal/cli"
	"github.com/winnowhq/winnow/cmd/winnow/internal/source"
	"github.com/winnowhq/winnow/config"
	"github.com/winnowhq/winnow/quantity"
	"github.com/winnowhq/winnow/serve"
	"github.com/winnowhq/winnow/transport"
)

// Relay is a listener with what carries its requests.
type Relay struct {
	Mode transport.Mode

	listener net.Listener
	log      *slog.Logger
	carrier  *transport.Transport
	close    []func() error
	ended    chan error
	stop     context.CancelFunc
}

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
	if r.listener, err = serve.Listen(address); err != nil {
		return nil, err
	}
	var engine *winnow.Engine
	if mode != transport.Off {
		if engine, err = r.engine(ctx, a, settings); err != nil {
			return nil, err
		}
	}
	r.carrier = transport.New(engine, transport.Options{Base: serve.Direct(), Mode: mode, Log: log, Now: a.Env.Now})
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
	handler, err := serve.New(serve.Config{Upstreams: upstreams, Transport: r.carrier, Host: r.Address(), Log: r.log})
	if err != nil {
		return err
	}
	ctx, r.stop = context.WithCancel(ctx)
	go func() { r.ended <- serve.Until(ctx, r.listener, handler, patience, r.log) }()
	return nil
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
	t := r.carrier.Totals()
	if t.Requests == 0 {
		return []string{client + " asked nothing through winnow. If it did ask a model, its own settings lead elsewhere: " +
			"see --upstream in winnow wrap --help"}
	}
	lines := []string{quantity.Plural(t.Requests, "request", "requests") + " relayed"}
	if r.Mode == transport.Off {
		return append(lines, "mode off: nothing was pruned, counted or kept")
	}
	lines[0] += fmt.Sprintf(", %s of them pruned", quantity.Number(t.Edited))
	if t.Resent > 0 {
		lines[0] += fmt.Sprintf("; %s refused by the provider and sent again whole", quantity.Number(t.Resent))
	}
	saved := t.Otherwise - t.Billed
	word := "net saved "
	if saved < 0 {
		saved, word = -saved, "net lost "
	}
	lines = append(lines, fmt.Sprintf("billed %s, without winnow %s: %s%s", quantity.Dollars(t.Billed),
		quantity.Dollars(t.Otherwise), word, quantity.Dollars(saved)))
	more := "winnow list"
	if len(t.Sessions) == 1 {
		more = "winnow inspect " + t.Sessions[0]
	}
	return append(lines, fmt.Sprintf("%s left out; more: %s", quantity.Plural(t.LeftOut, "token", "tokens"), more))
}
