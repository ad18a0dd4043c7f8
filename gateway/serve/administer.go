package serve

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/winnowhq/winnow/gateway/tenant"
)

// Administered is the path of the admin API. No upstream has such a name.
const Administered = "/~admin/"

// forTokens reports whether a path is for those who show a token: what a browser adds by itself does
// not count there.
func forTokens(path string) bool { return path == forAgents || strings.HasPrefix(path, Administered) }

// administer answers with the admin API.
func (h *handler) administer(w http.ResponseWriter, r *http.Request, g *Client) {
	switch {
	case !ofItself(r):
		h.Log.Warn("refused: another page asks", "origin", r.Header.Get("Origin"), "tenant", g.Tenant)
		Refuse(w, http.StatusForbidden, "permission_error", "a page of another origin asked for this")
	case !g.Scopes.Has(tenant.Admin):
		h.forbid(w, r, Administered, g, tenant.Admin)
	default:
		h.Admin.ServeHTTP(w, r)
	}
}

// ofItself reports whether no page of another origin sent a request.
func ofItself(r *http.Request) bool {
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return true
	}
	from, err := url.Parse(origins[0])
	return err == nil && len(origins) == 1 && from.Host == r.Host
}
