package signin

import (
	"bytes"
	"log/slog"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/winnowhq/winnow/desk/config"
)

// A sign-in leads back to a path of this listener, and nowhere else.
func TestPathHere_leadsNowhereElse(t *testing.T) {
	for to, want := range map[string]string{"/~t/": "/~t/", "/~t/ann/?q=a%2Fb": "/~t/ann/?q=a%2Fb", "": "/", "/": "/",
		"//evil.example": "/", `/\evil.example`: "/", "/\t/evil.example": "/", "https://evil.example/": "/", "evil": "/",
		"javascript:alert(1)": "/", "/~sign/out": "/", "/" + strings.Repeat("a", mostPath): "/"} {
		if got := pathHere(to); got != want {
			t.Errorf("%q leads to %q, want %q", to, got, want)
		}
	}
}

// The log names the provider that is not reached, and why.
func TestSignIn_saysWhyTheProviderIsNotReached(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().String()
	l.Close()
	var log bytes.Buffer
	s := New(config.GatewayOIDC{Issuer: "http://" + at, ClientID: "w"}, "secret", []byte("key"), time.Now,
		slog.New(slog.NewTextHandler(&log, nil)))
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest("GET", "/~sign/in?to=%2F~t%2F", nil))
	if want := at + ": it refuses connections"; w.Code != 502 || !strings.Contains(log.String(), want) {
		t.Errorf("%d, the log has no %q:\n%s", w.Code, want, &log)
	}
}
