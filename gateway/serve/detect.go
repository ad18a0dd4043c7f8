package serve

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// modeHeader is in the answer of /healthz: it names a winnow, and says what it does.
const modeHeader = "X-Winnow-Mode"

// Detect asks whether an upstream is a winnow itself, and in which mode; "" if it is not one, does
// not answer at once, or is not on this computer: no other one is asked. It sends nothing of a
// client's.
func Detect(ctx context.Context, upstream string) (mode string) {
	to, err := url.Parse(upstream)
	if err != nil || !Loopback(to.Host) {
		return ""
	}
	ctx, stop := context.WithTimeout(ctx, 2*time.Second)
	defer stop()
	at := url.URL{Scheme: to.Scheme, Host: to.Host, Path: "/healthz"}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return ""
	}
	alone := &http.Transport{DisableKeepAlives: true} // no proxy, and nothing is left of it
	answer, err := alone.RoundTrip(r)
	if err != nil {
		return ""
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return ""
	}
	return answer.Header.Get(modeHeader)
}
