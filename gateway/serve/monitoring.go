package serve

import (
	"net/http"
	"slices"
)

// Monitoring answers the probes, and GET /metrics with the figures of all tenants, to whoever asks. It
// is for an address that only those reach who look after the gateway.
func Monitoring(c Config) http.Handler {
	if c.Metrics == nil {
		c.Metrics = Uncounted{}
	}
	h := &handler{Config: c}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch path := r.URL.Path; {
		case slices.Contains(probed, path):
			h.probe(w, r, path)
		case path != "/metrics":
			http.NotFound(w, r)
		case !onlyReads(r):
			useGet(w)
		case h.Authenticator != nil:
			h.Metrics.WithTenants(h.Authenticator.Metrics()).ServeHTTP(w, r)
		default:
			h.Metrics.ServeHTTP(w, r)
		}
	})
}
