package command

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io/fs"
	"maps"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/gateway"
	"github.com/winnowhq/winnow/desk/config"
	"github.com/winnowhq/winnow/gateway/serve"
	"github.com/winnowhq/winnow/gateway/transport"
)

func (s *listening) modeOf(settings config.Settings) transport.Mode {
	return transport.Mode(cmp.Or(s.mode, settings.Gateway.Mode))
}

func (s *listening) address(settings config.Settings) string {
	return cmp.Or(s.listen, settings.Gateway.Listen)
}

// encrypts reports whether what comes is encrypted.
func (s *listening) encrypts() bool { return s.settings.Gateway.TLS.Cert != "" }

// check says what of the settings cannot be.
func (s *listening) check(settings config.Settings) error {
	if err := gateway.CheckMode(string(s.modeOf(settings))); err != nil {
		return err
	}
	upstreams := s.upstreams(settings)
	for _, name := range slices.Sorted(maps.Keys(upstreams)) {
		if _, err := serve.Upstream(name, upstreams[name]); err != nil {
			return cli.Usage("gateway.upstreams.%w", err)
		}
	}
	g := settings.Gateway
	if g.Metrics != "" && s.a.Shared.Missing != nil {
		return cli.Usage("gateway.metrics is for winnowd serve; winnow status shows what was saved")
	}
	if (g.TLS.Cert == "") != (g.TLS.Key == "") {
		return cli.Usage("gateway.tls.cert and gateway.tls.key belong together: set both, or neither")
	}
	if g.TLS.Cert != "" {
		c, err := tls.LoadX509KeyPair(g.TLS.Cert, g.TLS.Key)
		if err != nil {
			return cli.Usage("gateway.tls: %s", certificateFault(err))
		}
		s.certificate.Store(&c)
	}
	if serve.Loopback(s.address(settings)) {
		return nil
	}
	if len(g.Clients) == 0 && s.a.Shared.Missing != nil { // a server with tenants may wait for the first one
		return cli.Usage("%s can be reached from other computers, and there is no token by which winnow knows its "+
			"clients: make one with `winnow serve token add NAME`, or listen at 127.0.0.1", s.address(settings))
	}
	if g.TLS.Cert == "" && !g.TLS.InFront {
		return cli.Usage("%s can be reached from other computers, and what they send would not be encrypted: set "+
			"gateway.tls.cert and gateway.tls.key, or gateway.tls.inFront true if something in front of winnow does it",
			s.address(settings))
	}
	return nil
}

// open opens the listener.
func (s *listening) open() (l net.Listener, err error) {
	address := s.address(s.settings)
	if serve.Loopback(address) && !s.encrypts() {
		l, err = serve.Listen(address)
	} else {
		var c *tls.Config
		if s.encrypts() {
			c = &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
				GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return s.certificate.Load(), nil }}
		}
		l, err = serve.ListenOpenly(address, c)
	}
	var failed *net.OpError
	if err != nil && !errors.As(err, &failed) {
		return nil, cli.Misuse(err)
	}
	return l, err
}

// lookEvery is how often the files of the configuration are looked at.
const lookEvery = 2 * time.Second

// hangups are the signals that ask for the configuration to be read again. main takes such a signal
// as an end, and does not any more.
func hangups() chan os.Signal {
	asked := make(chan os.Signal, 1)
	signal.Reset(syscall.SIGHUP)
	signal.Notify(asked, syscall.SIGHUP)
	return asked
}

// hungUp reports whether the terminal that it was started in has gone.
func (s *listening) hungUp() bool {
	return s.a.Env.StderrTerminal && !term.IsTerminal(int(os.Stderr.Fd()))
}

// keep does the upkeep of a relay and the jobs on its store until the returned function is called,
// which waits for their end. end is called if a signal says that the terminal has gone.
func (s *listening) keep(ctx context.Context, relay *gateway.Relay, jobs *gateway.Jobs, asked chan os.Signal,
	end func()) (ended func()) {
	ctx, stop := context.WithCancel(ctx)
	ticker := time.NewTicker(lookEvery)
	var all sync.WaitGroup
	all.Go(func() {
		gateway.Upkeep{Ticks: ticker.C, Asked: asked, HungUp: s.hungUp, End: end, Look: s.look, Seen: s.seen,
			Reload: func(ctx context.Context) error { return s.reload(ctx, relay, jobs) }}.Run(ctx, relay)
	})
	all.Go(func() {
		if err := jobs.Run(ctx); err != nil {
			s.log.Error("work beside requests has ended; requests go on", "error", err)
		}
	})
	return sync.OnceFunc(func() {
		ticker.Stop()
		stop()
		all.Wait()
		jobs.Close()
	})
}

// look is what the files of the configuration look like.
func (s *listening) look() []string {
	sources := s.a.ConfigSources()
	files := []string{sources.File}
	if sources.File == "" {
		files = []string{sources.Own(), filepath.Join(sources.Dir, config.Name)}
	}
	t := s.settings.Gateway.TLS
	return gateway.Signatures(append(files, t.Cert, t.Key)...)
}

// reload puts the configuration in force as it is now, as far as that can change.
func (s *listening) reload(ctx context.Context, relay *gateway.Relay, jobs *gateway.Jobs) error {
	next, err := s.a.Settings()
	if err != nil {
		return err
	}
	was := s.settings
	if s.address(next) != s.address(was) || (next.Gateway.TLS.Cert == "") != (was.Gateway.TLS.Cert == "") {
		s.log.Warn("gateway.listen and whether gateway.tls.cert is set count from the next start on",
			"address", s.address(was))
		next.Gateway.Listen, next.Gateway.TLS = was.Gateway.Listen, was.Gateway.TLS
	}
	if err := s.check(next); err != nil {
		return err
	}
	if next.Gateway.Metrics != was.Gateway.Metrics {
		s.log.Warn("gateway.metrics counts from the next start on", "address", was.Gateway.Metrics)
		next.Gateway.Metrics = was.Gateway.Metrics
	}
	upstreams := s.upstreams(next)
	if err := relay.Change(ctx, next, s.modeOf(next), upstreams); err != nil {
		return err
	}
	s.settings = next
	if age := next.Gateway.Retention; age != was.Gateway.Retention {
		s.retention.Store(&age)
		if err := jobs.Expire(ctx); err != nil {
			return err
		}
	}
	s.log.Info("the configuration was read again", "mode", s.modeOf(next), "upstreams",
		strings.Join(slices.Sorted(maps.Keys(upstreams)), " "), "clients", len(next.Gateway.Clients))
	s.tellAside(relay)
	_ = s.a.Err.Flush()
	return nil
}

func (s *listening) tellAside(relay *gateway.Relay) {
	for _, name := range relay.Aside() {
		s.log.Warn("the upstream is a winnow itself: what goes there is relayed in mode off", "upstream", name)
	}
}

// certificateFault says why a certificate cannot be used. Its files are settings, not arguments.
func certificateFault(err error) string {
	var path *fs.PathError
	switch {
	case errors.As(err, &path) && errors.Is(err, fs.ErrNotExist):
		return path.Path + ": there is no such file"
	case errors.As(err, &path):
		return path.Path + ": " + path.Err.Error()
	}
	return err.Error()
}
