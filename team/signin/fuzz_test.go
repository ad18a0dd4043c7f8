package signin

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/winnowhq/winnow/desk/config"
	"github.com/winnowhq/winnow/gateway/tenant"
)

// Nobody gets in with a cookie that was not sealed here, for this use, with this key.
func FuzzVisitor_takesOnlyItsOwnCookies(f *testing.F) {
	now := func() time.Time { return time.Unix(1_800_000_000, 0) }
	of := func(key string) *SignIn {
		return New(config.GatewayOIDC{Redirect: "https://h/~sign/back"}, "", []byte(key), now, slog.New(slog.DiscardHandler))
	}
	s := of("a key of thirty-two bytes at least")
	v := visit{Tenant: "acme", Who: "oidc:ann", Scopes: tenant.Scopes{tenant.Read}, Until: now().Unix() + 1}
	own := s.sealed(visitCookie, v)
	late, relays := v, v
	late.Until, relays.Scopes = now().Unix()-1, tenant.Scopes{tenant.Relay}
	for _, seed := range []string{own, s.sealed(visitCookie, late), s.sealed(visitCookie, relays), s.sealed(signingCookie, v),
		of("another key of thirty-two bytes").sealed(visitCookie, v), "", ".", own + "x", "e30." + s.signature(visitCookie, "e30")} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.AddCookie(&http.Cookie{Name: visitCookie, Value: value})
		g := s.Viewer(r)
		if g != nil && (value != own || g.Who != v.Who || g.Tenant != v.Tenant) {
			t.Errorf("%q lets %+v in", value, g)
		}
		if g == nil && value == own {
			t.Error("its own cookie does not count")
		}
	})
}
