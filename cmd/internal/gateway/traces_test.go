package gateway

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/desk/config"
	"github.com/winnowhq/winnow/gateway/transport"
	"github.com/winnowhq/winnow/team"
)

// A collector gets where the time of a request went, and nothing of what was said in it; the
// listener's own routes are not traced.
func TestRelay_traces(t *testing.T) {
	sent := make(chan string, 9)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		sent <- string(text)
	}))
	defer collector.Close()
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "{}") }))
	defer up.Close()
	dir := t.TempDir()
	a := cli.New(cli.Env{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard, Dir: dir, Now: time.Now,
		Getenv: func(name string) string {
			return map[string]string{"HOME": dir, "OTEL_EXPORTER_OTLP_ENDPOINT": collector.URL}[name]
		}}, "test")
	a.Shared = team.Parts()
	r, err := Open(t.Context(), a, config.Default(), "127.0.0.1:0", transport.Full, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Start(t.Context(), map[string]string{"up": up.URL}, time.Minute); err != nil {
		t.Fatal(err)
	}
	ask, _ := http.NewRequest("POST", "http://"+r.Address()+"/up/v1/messages?key=canary", strings.NewReader(strings.Replace(conversation, "hello", "canary", 1)))
	ask.Header.Set("X-Api-Key", "canary")
	for _, request := range []*http.Request{ask, httptest.NewRequest("GET", "http://"+r.Address()+"/healthz", nil)} {
		request.RequestURI = ""
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
	}
	if err := r.Stop(); err != nil {
		t.Fatal(err)
	}
	var names, traces, parents []string
	whole := ""
	for len(sent) > 0 {
		text := <-sent
		whole += text
		var e struct {
			ResourceSpans []struct {
				ScopeSpans []struct {
					Spans []struct{ TraceID, ParentSpanID, Name string }
				}
			}
		}
		if err := json.Unmarshal([]byte(text), &e, json.MatchCaseInsensitiveNames(true)); err != nil {
			t.Fatal(err)
		}
		for _, s := range e.ResourceSpans[0].ScopeSpans[0].Spans {
			names, traces = append(names, s.Name), append(traces, s.TraceID)
			if s.Name != "relay" {
				parents = append(parents, s.ParentSpanID)
			}
		}
	}
	slices.Sort(names)
	if want := []string{"adopt", "decide", "identify", "relay", "splice", "upstream"}; !slices.Equal(names, want) {
		t.Errorf("the spans are %v, want %v", names, want)
	}
	if len(slices.Compact(traces)) != 1 || len(slices.Compact(parents)) != 1 {
		t.Errorf("they are not one trace: %s", whole)
	}
	if strings.Contains(whole, "canary") {
		t.Errorf("what was said or shown is in it: %s", whole)
	}
}
