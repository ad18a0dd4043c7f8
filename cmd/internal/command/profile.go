package command

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/pprof"
	"time"

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
	server := &http.Server{Handler: local(mux), ReadHeaderTimeout: 10 * time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.Error("the listener for profiles has ended", "error", err)
		}
	}()
	log.Info("profiles", "at", "http://"+l.Addr().String()+"/debug/pprof/")
	return func() {
		ctx, stop := context.WithTimeout(context.Background(), time.Second)
		defer stop()
		if server.Shutdown(ctx) != nil {
			server.Close()
		}
		<-done
	}, nil
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
