package river

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"

	"riverqueue.com/riverui"
)

// policy is what River's own page may load: what comes from the same place. Its styles are partly
// written by its scripts.
const policy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
	"font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Page is River's own page under a prefix such as /jobs: what waits, runs and has failed, with
// buttons to try again or to cancel. It works until the context ends. It refuses what pages of
// other origins send, and lets nobody in or out otherwise: that is for who serves it.
func (q *Queue) Page(ctx context.Context, prefix string) (http.Handler, error) {
	page, err := riverui.NewHandler(&riverui.HandlerOpts{Endpoints: riverui.NewEndpoints(q.adding, nil),
		Logger: slog.New(slog.DiscardHandler), Prefix: prefix})
	if err != nil {
		return nil, fmt.Errorf("job: the page of jobs: %w", err)
	}
	if err := page.Start(ctx); err != nil {
		return nil, fmt.Errorf("job: the page of jobs: %w", err)
	}
	own := http.NewCrossOriginProtection().Handler(page)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		own.ServeHTTP(w, r)
	}), nil
}
