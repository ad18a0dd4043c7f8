package serve

import (
	"net/http"
	"net/url"
	"strings"
)

// credentials are the headers in which clients show their providers who they are.
var credentials = []string{"Authorization", "X-Api-Key", "Api-Key", "X-Goog-Api-Key"}

// shownAsKey is a token that a client shows in the place of its provider's key, "" if it shows
// none.
func shownAsKey(r *http.Request) string {
	for _, name := range credentials {
		value := strings.TrimPrefix(r.Header.Get(name), "Bearer ")
		if strings.HasPrefix(value, tokenPrefix) {
			return value
		}
	}
	if r.URL.RawQuery != "" {
		if value := r.URL.Query().Get("key"); strings.HasPrefix(value, tokenPrefix) {
			return value
		}
	}
	return ""
}

// authorize puts the key that the server holds in the place of what the client shows. Without such
// a key what the client shows stays, but for a token of ours: it reports whether anything is left
// then.
func authorize(r *http.Request, key Key) bool {
	ours := false
	for _, name := range credentials {
		value := r.Header.Get(name)
		mine := strings.HasPrefix(strings.TrimPrefix(value, "Bearer "), tokenPrefix)
		if ours = ours || mine; mine || key.Value != "" {
			r.Header.Del(name)
		}
	}
	if q := r.URL.Query(); q.Has("key") {
		mine := strings.HasPrefix(q.Get("key"), tokenPrefix)
		if ours = ours || mine; mine || key.Value != "" {
			to := *r.URL
			to.RawQuery = without(to.RawQuery, "key")
			r.URL = &to
		}
	}
	if key.Value != "" {
		r.Header.Set(key.Header, key.Value)
		return true
	}
	return !ours
}

// without is a query without a parameter, the others as they were written.
func without(query, name string) string {
	var kept []string
	for part := range strings.SplitSeq(query, "&") {
		key, _, _ := strings.Cut(part, "=")
		if decoded, err := url.QueryUnescape(key); err == nil && decoded == name {
			continue
		}
		kept = append(kept, part)
	}
	return strings.Join(kept, "&")
}
