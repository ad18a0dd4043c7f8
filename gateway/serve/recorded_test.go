package serve

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/internal/outside"
)

// What eleven clients were recorded to send leaves as it came: every header in its spelling, every
// byte of the body.
func TestRelay_recordedRequests(t *testing.T) {
	var paths []string
	for _, pattern := range []string{"*/[0-9]*.json*", "extra/*/[0-9]*.json*"} {
		found, err := filepath.Glob(filepath.Join(outside.Path(t, "fixtures", "traffic"), pattern))
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, found...)
	}
	if len(paths) < 100 {
		t.Fatalf("there are %d recorded requests", len(paths))
	}
	up := rawly(t, drain)
	at := relayed(t, Config{Upstreams: map[string]string{"up": "http://" + up.Addr().String()}})
	var names, want []string
	for _, path := range paths {
		var r struct {
			Method, Path, Body string
			Headers            [][2]string
		}
		if err := json.Unmarshal(outside.Read(t, path), &r, json.MatchCaseInsensitiveNames(true)); err != nil {
			t.Fatal(err)
		}
		var in, out strings.Builder
		fmt.Fprintf(&in, "%s /up%s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n", r.Method, r.Path, at)
		fmt.Fprintf(&out, "%s %s HTTP/1.1\r\nHost: %s\r\n", r.Method, r.Path, up.Addr())
		upgrades := false
		for _, h := range r.Headers {
			switch name := http.CanonicalHeaderKey(h[0]); name {
			case "Host", "Connection", "Keep-Alive", "Transfer-Encoding":
			case "Upgrade":
				upgrades = true
			case "Content-Length":
				fmt.Fprintf(&in, "%s: %s\r\n", h[0], h[1])
				fmt.Fprintf(&out, "Content-Length: %s\r\n", h[1]) // net/http spells it
			default:
				fmt.Fprintf(&in, "%s: %s\r\n", h[0], h[1])
				fmt.Fprintf(&out, "%s: %s\r\n", h[0], h[1])
			}
		}
		if upgrades {
			continue // see TestRelay_refusals
		}
		if answer := talk(t, at, in.String()+"\r\n"+r.Body); !strings.HasPrefix(answer, "HTTP/1.1 200") {
			t.Fatalf("%s is answered %q", path, answer)
		}
		names = append(names, path)
		want = append(want, out.String()+"\r\n"+r.Body)
	}
	for i, got := range up.got() {
		head, body := cut(got)
		wantHead, wantBody := cut(want[i])
		// The order of headers of different names is net/http's.
		if !slices.Equal(head, wantHead) {
			t.Errorf("%s: the head (-want +got):\n%s", names[i], cmp.Diff(wantHead, head))
		}
		if body != wantBody {
			t.Errorf("%s: the body has %d bytes, want %d", names[i], len(body), len(wantBody))
		}
	}
	t.Logf("%d requests", len(want))
}
