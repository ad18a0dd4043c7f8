package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Listen opens a listener at "HOST:PORT"; port 0 is a free one. The address must be a loopback
// address, so that only this computer reaches it.
func Listen(address string) (net.Listener, error) {
	host, err := hostOf(address)
	if err != nil {
		return nil, err
	}
	if !loopback(host) {
		return nil, fmt.Errorf("%s can be reached from other computers: give each client a token (winnow serve token "+
			"add NAME), and a certificate (gateway.tls.cert and gateway.tls.key) or gateway.tls.inFront; or listen at "+
			"127.0.0.1, and let a tunnel or a proxy of yours lead there", address)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	if bound, ok := l.Addr().(*net.TCPAddr); !ok || !bound.IP.IsLoopback() { // localhost may be anything
		l.Close()
		return nil, fmt.Errorf("%s leads to %s, which is not a loopback address", address, l.Addr())
	}
	return listener{Listener: l}, nil
}

// ListenOpenly opens a listener at any "HOST:PORT". Its requests must be for a handler with
// Clients, or with an Authenticator that is closed. c is how they are encrypted; nil is not at all,
// because something in front does it.
func ListenOpenly(address string, c *tls.Config) (net.Listener, error) {
	if _, err := hostOf(address); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	return listener{l, c}, nil
}

func hostOf(address string) (string, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return "", fmt.Errorf("%q is not an address to listen at; write one like 127.0.0.1:4141", address)
	}
	return host, nil
}

// Loopback reports whether an address to listen at, or the host of a URL, can be reached from this
// computer alone.
func Loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = strings.Trim(address, "[]")
	}
	return loopback(host)
}

// Until serves a listener of Listen until the context ends; then it takes no more connections, and
// answers that are under way have patience to end before they are cut off. It returns when nothing
// of it runs any more. The error is that of the listener.
func Until(ctx context.Context, l net.Listener, h http.Handler, patience time.Duration, log *slog.Logger) error {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	// Requests do not end with ctx, but when patience is over.
	alive, cut := context.WithCancel(context.WithoutCancel(ctx))
	var under sync.WaitGroup
	defer under.Wait()
	defer cut() // tunnels end with it, too
	counted := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		under.Add(1)
		defer under.Done()
		h.ServeHTTP(w, r)
	})
	s := &http.Server{
		Handler: counted, DisableGeneralOptionsHandler: true, ReadHeaderTimeout: 30 * time.Second,
		IdleTimeout: 10 * time.Minute, MaxHeaderBytes: maxHead,
		ConnContext: withConn, ConnState: state, BaseContext: func(net.Listener) context.Context { return alive },
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug), // a client that left, a head that is not HTTP
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	select {
	case err := <-ended:
		s.Close()
		return err
	case <-ctx.Done():
	}
	waiting, stop := context.WithTimeout(alive, patience)
	defer stop()
	if err := s.Shutdown(waiting); err != nil {
		cut()
		s.Close()
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
