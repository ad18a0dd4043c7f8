package serve

import "net/http"

// Local lets only requests of this computer's user through to a handler: those that name a loopback
// address or the address of the listener as their Host, and that no page of another origin sent.
func Local(next http.Handler, address string) http.Handler {
	h := &handler{Config: Config{Host: address}}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !h.trusted(r) {
			http.Error(w, "403 this listener is for this computer alone", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}
