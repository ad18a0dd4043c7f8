package serve

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/winnowhq/winnow/gateway/tenant"
)

// TokenHeader is the header in which a client shows its token. One that can be told a base URL and
// nothing else shows it as the first segment of the path: /TOKEN/NAME/rest.
const TokenHeader = "X-Winnow-Token"

// ClientHeader tells the transport which client asks. What a client says in it does not count.
const ClientHeader = "X-Winnow-Client"

// PersonHeader names the person within a tenant for the transport. One that a client
// sends does not count.
const PersonHeader = "X-Winnow-Person"

// tokenPrefix begins every token.
const tokenPrefix = tenant.Prefix

// admitted is a request without the token that it shows, its path as it was sent without one, the
// token, and the name of the client, "" if nobody has such a token.
func (h *handler) admitted(r *http.Request, path string) (_ *http.Request, rest, token, name string) {
	token = r.Header.Get(TokenHeader)
	if first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/"); strings.HasPrefix(first, tokenPrefix) {
		token, path = first, strings.TrimPrefix(path, "/"+first)
		to := &url.URL{Path: strings.TrimPrefix(r.URL.Path, "/"+first),
			RawPath: strings.TrimPrefix(r.URL.RawPath, "/"+first), RawQuery: r.URL.RawQuery,
			ForceQuery: r.URL.ForceQuery}
		r = r.WithContext(r.Context())
		r.URL = to
	}
	if token != "" {
		_, by, _ := h.clients.Who(token, time.Time{}) // they never expire
		name = by.Label
	}
	if r.Header[ClientHeader] != nil || r.Header[PersonHeader] != nil || name != "" || r.Header[TokenHeader] != nil {
		r = r.WithContext(r.Context())
		r.Header = r.Header.Clone()
		r.Header.Del(TokenHeader)
		r.Header.Del(ClientHeader)
		r.Header.Del(PersonHeader)
		if name != "" {
			r.Header.Set(ClientHeader, name)
		}
	}
	return r, path, token, name
}
