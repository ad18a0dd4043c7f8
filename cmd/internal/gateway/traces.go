package gateway

import (
	"context"
	"net/http"

	"github.com/winnowhq/winnow/gateway/trace"
)

// traced carries requests to their providers, each in a span until its answer begins.
type traced struct {
	base   http.RoundTripper
	tracer *trace.Tracer
}

// RoundTrip implements http.RoundTripper.
func (c traced) RoundTrip(r *http.Request) (*http.Response, error) {
	_, ended := c.tracer.Start(r.Context(), "upstream", "server.address", r.URL.Host)
	defer ended()
	return c.base.RoundTrip(r)
}

// CloseIdleConnections closes those of the base.
func (c traced) CloseIdleConnections() {
	if base, ok := c.base.(interface{ CloseIdleConnections() }); ok {
		base.CloseIdleConnections()
	}
}

// stage is the span of one step of a request.
func (r *Relay) stage(ctx context.Context, name string) (ended func()) {
	_, ended = r.tracer.Start(ctx, name)
	return ended
}
