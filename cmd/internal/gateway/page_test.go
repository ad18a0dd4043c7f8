package gateway

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/winnowhq/winnow/desk/config"
	"github.com/winnowhq/winnow/gateway/transport"
)

// browsing is a browser with the page open: lines of its stream.
type browsing struct {
	t      *testing.T
	url    string
	stream *http.Response
	lines  *bufio.Scanner
}

func browse(t *testing.T, r *Relay) *browsing {
	t.Helper()
	b := &browsing{t: t, url: "http://" + r.Address()}
	var err error
	if b.stream, err = http.Get(b.url + "/~/events"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.stream.Body.Close() })
	b.lines = bufio.NewScanner(b.stream.Body)
	b.lines.Buffer(nil, 1<<20)
	return b
}

// told waits for changes with a word in them; "" is the end of the stream.
func (b *browsing) told(word string) {
	b.t.Helper()
	for b.lines.Scan() {
		if line := b.lines.Text(); word != "" && strings.HasPrefix(line, "data: ") && strings.Contains(line, word) {
			return
		}
	}
	if word != "" {
		b.t.Fatalf("the stream ended without %s", word)
	}
}

// switches asks for another mode, as the page does.
func (b *browsing) switches(mode string) (status int, said string) {
	b.t.Helper()
	r, _ := http.NewRequest("GET", b.url+"/", nil)
	r.Header.Set("Accept", "text/html")
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	html, _ := io.ReadAll(got.Body)
	got.Body.Close()
	_, rest, _ := strings.Cut(string(html), `name="winnow-page" content="`)
	word, _, _ := strings.Cut(rest, `"`)
	r, _ = http.NewRequest("POST", b.url+"/~/act", strings.NewReader(`{"do":"mode","mode":"`+mode+`"}`))
	r.Header = http.Header{"Content-Type": {"application/json"}, "Origin": {b.url}, "X-Winnow-Page": {word}}
	if got, err = http.DefaultClient.Do(r); err != nil {
		b.t.Fatal(err)
	}
	defer got.Body.Close()
	text, _ := io.ReadAll(got.Body)
	return got.StatusCode, string(text)
}

// The page switches the mode for new requests; that stays when the configuration is read again, until
// it names another mode than before. A page that is open holds up neither.
func TestRelay_thePageSwitchesTheMode(t *testing.T) {
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "{}") }))
	defer up.Close()
	settings := config.Default()
	r := opened(t, settings, transport.Full)
	upstreams := map[string]string{"up": up.URL}
	if err := r.Start(t.Context(), upstreams, time.Hour); err != nil {
		t.Fatal(err)
	}
	defer http.DefaultClient.CloseIdleConnections()
	if r.Page() != "/" {
		t.Errorf("the page is at %q", r.Page())
	}
	b := browse(t, r)
	b.told(`"mode":"full"`)
	if status, said := b.switches("observe"); status != 200 || !strings.Contains(said, "new requests") {
		t.Fatalf("%d %s", status, said)
	}
	b.told("") // it comes again by itself, to what is in force now
	b = browse(t, r)
	b.told(`"mode":"observe"`)
	answer, err := http.Post("http://"+r.Address()+"/up/v1/messages", "application/json", strings.NewReader(conversation))
	if err != nil {
		t.Fatal(err)
	}
	io.Copy(io.Discard, answer.Body)
	answer.Body.Close()
	b.told(`"requests":1`)
	mode := func() string {
		health, err := http.Get("http://" + r.Address() + "/healthz")
		if err != nil {
			t.Fatal(err)
		}
		health.Body.Close()
		return health.Header.Get("X-Winnow-Mode")
	}
	for _, c := range []struct {
		named transport.Mode
		want  string
	}{{transport.Full, "observe"}, {transport.Safe, "safe"}, {transport.Full, "full"}} {
		if err := r.Change(t.Context(), settings, c.named, upstreams); err != nil {
			t.Fatal(err)
		}
		if got := mode(); got != c.want {
			t.Errorf("after a configuration with mode %s it is in mode %s, want %s", c.named, got, c.want)
		}
	}
	b = browse(t, r)
	b.told(`"mode":"full"`)
	for _, mode := range []string{"off", "full"} {
		if status, said := b.switches(mode); status != 200 {
			t.Errorf("%s: %d %s", mode, status, said)
		}
	}
	none := settings
	none.Gateway.Page = false
	if err := r.Change(t.Context(), none, transport.Full, upstreams); err != nil {
		t.Fatal(err)
	}
	if got, err := http.Get("http://" + r.Address() + "/~/events"); err != nil || got.StatusCode != 404 {
		t.Errorf("without a page: %v %v", got.StatusCode, err)
	}
	if err := r.Change(t.Context(), settings, transport.Full, upstreams); err != nil {
		t.Fatal(err)
	}
	b = browse(t, r)
	if err := r.Stop(); err != nil { // else it waits an hour
		t.Error(err)
	}
	b.told("")
}
