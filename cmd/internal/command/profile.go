package command

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/gateway/serve"
)

// profile listens at a loopback address, "" for none, for those who ask for profiles of the
// process, until the returned function is called.
func profile(address string, log *slog.Logger) (end func(), err error) {
	if address == "" {
		return func() {}, nil
	}
	l, err := serve.Listen(address)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return beside{l}.serve(local(mux), "profiles", "/debug/pprof/", log), nil
}

// listenForMetrics listens at any address, "" for none, for those who look after the gateway.
func listenForMetrics(address string) (beside, error) {
	if address == "" {
		return beside{}, nil
	}
	l, err := serve.ListenOpenly(address, nil)
	var failed *net.OpError
	if err != nil && !errors.As(err, &failed) {
		err = cli.Misuse(err)
	}
	return beside{l}, err
}

// beside is a listener beside the one that relays, nil for none.
type beside struct{ net.Listener }

func (l beside) close() {
	if l.Listener != nil {
		l.Close()
	}
}

// serve serves it until the returned function is called. The log calls it by a name, and says at which
// path there is something.
func (l beside) serve(h http.Handler, name, path string, log *slog.Logger) (end func()) {
	if l.Listener == nil {
		return func() {}
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.Error("the listener for "+name+" has ended", "error", err)
		}
	}()
	log.Info(name, "at", "http://"+l.Addr().String()+path)
	return func() {
		ctx, stop := context.WithTimeout(context.Background(), time.Second)
		defer stop()
		if server.Shutdown(ctx) != nil {
			server.Close()
		}
		<-done
	}
}

// local refuses what a page in a browser sends under a name that leads to this computer.
func local(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !serve.Loopback(r.Host) || r.Header.Get("Origin") != "" {
			http.NotFound(w, r)
			return
		}
		h.ServeHTTP(w, r)
	})
}
