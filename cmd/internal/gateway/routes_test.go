package gateway

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/gateway/tenant"
	"github.com/winnowhq/winnow/internal/llmtest"
)

// ask sends any request of ann's, its path as it is written.
func (l *till) ask(method, path, body string, headers ...string) (int, string) {
	l.t.Helper()
	r, err := http.NewRequestWithContext(l.t.Context(), method, "http://"+l.relays[0].Address(), strings.NewReader(body))
	if err != nil {
		l.t.Fatal(err)
	}
	r.URL = &url.URL{Scheme: "http", Host: l.relays[0].Address(), Opaque: "/up" + path}
	r.Header = http.Header{"X-Winnow-Token": {l.token}, "Content-Type": {"application/json"}, "Authorization": {"Bearer own"}}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		l.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text)
}

// unmetered are the requests of a provider's API that a held key must not reach.
var unmetered = []struct{ method, path string }{
	{"GET", "/v1/files"}, {"POST", "/v1/files"}, {"DELETE", "/v1/files/file_1"}, {"POST", "/v1/files/"},
	{"POST", "/v1/messages/batches"}, {"GET", "/v1/messages/batches"}, {"POST", "/v1/messages/batches/"},
	{"GET", "/v1/organizations/api_keys"}, {"GET", "/v1/organizations/api_keys/"}, {"GET", "/v1/responses/resp_1"},
	{"DELETE", "/v1/responses/resp_1"}, {"GET", "/v1/responses"}, {"GET", "/v1/chat/completions"},
	{"POST", "/v1/threads/t_1/messages"}, {"POST", "/v1/conversations/c/messages"}, {"POST", "//v1//files//"},
	{"GET", "/v1/%66iles"}, {"GET", "/v1/%2566iles"}, {"GET", "/V1/Files"}, {"DELETE", "/v1/models/ft:mine"},
	{"POST", "/v1/embeddings"}, {"POST", "/v1/messages/x"}, {"GET", "/v1/models/m/operations"},
	{"POST", "/v1beta/models/m:batchGenerateContent"}, {"GET", "/"}, {"GET", ""}, {"POST", "/v1/models/%2e%2e%2ffiles"},
	{"GET", "/v1/models/%2e%2e"}, {"PUT", "/v1/messages"},
}

// A key that the server holds reaches the routes that are metered and no other, however they are
// spelled; nothing of the others leaves.
func TestRoutes_aHeldKeyReachesWhatIsMetered(t *testing.T) {
	l := openTill(t, "", tenant.Tenant{Name: "ann", Keys: map[string]string{"up": "team"}}, says)
	for _, c := range unmetered {
		before := len(l.provider.Others()) + len(l.provider.Records())
		status, text := l.ask(c.method, c.path, `{"model":"claude-sonnet-4-5"}`)
		if status != http.StatusForbidden || !strings.Contains(text, "permission") && !strings.Contains(text, "PERMISSION") ||
			!strings.Contains(text, "is none of its routes") {
			t.Errorf("%s %s: %d %s", c.method, c.path, status, text)
		}
		if after := len(l.provider.Others()) + len(l.provider.Records()); after != before {
			t.Errorf("%s %s: it left", c.method, c.path)
		}
	}
	for _, path := range []string{"/v1/realtime", "/v1/models", "/v1/messages"} {
		if status, text := l.ask("GET", path, "", "Upgrade", "websocket", "Connection", "Upgrade"); status != http.StatusForbidden ||
			!strings.Contains(text, "a WebSocket") {
			t.Errorf("a WebSocket to %s: %d %s", path, status, text)
		}
	}
	if status, _ := l.ask("GET", "/v1/responses", "", "Upgrade", "websocket", "Connection", "Upgrade"); status != http.StatusUpgradeRequired {
		t.Errorf("Codex's WebSocket: %d", status)
	}
	if status, _ := l.ask("GET", "/v1/models", "", "X-HTTP-Method-Override", "DELETE"); status != http.StatusForbidden {
		t.Errorf("another method by a header: %d", status)
	}
	for _, path := range []string{"/v1/messages", "/v1/messages/", "//v1/messages", "/v1/%6dessages", "/V1/Messages"} {
		q := asks(llmtest.Anthropic, false, "")
		if status, text := l.ask("POST", path, q.body, "Anthropic-Version", "2023-06-01"); status != http.StatusOK {
			t.Errorf("%s: %d %.300s", path, status, text)
		}
	}
	for _, p := range llmtest.Protocols() {
		q := asks(p, true, "")
		if status, text := l.ask("POST", q.path, q.body, "Anthropic-Version", "2023-06-01"); status != http.StatusOK {
			t.Errorf("%s: %d %.300s", p, status, text)
		}
	}
	for _, path := range []string{"/v1/models", "/v1/models/ft:mine", "/v1beta/models"} {
		if status, text := l.ask("GET", path, ""); status == http.StatusForbidden {
			t.Errorf("GET %s: %s", path, text)
		}
	}
}

// A tenant has lists of its own, of routes and of models, with and without a held key; one that has
// neither is held to nothing.
func TestRoutes_aTenantHasListsOfItsOwn(t *testing.T) {
	l := openTill(t, "", tenant.Tenant{Name: "ann", Routes: []string{"messages", "gemini", "files"},
		Models: []string{"claude-*", "gemini-2.5-flash"}}, says)
	const message = `"max_tokens":9,"messages":[{"role":"user","content":"hello"}]}`
	for _, c := range []struct {
		method, path, body string
		want               string // of the refusal; "": it is sent
	}{
		{"POST", "/v1/messages", `{"model":"claude-sonnet-4-5",` + message, ""},
		{"POST", "/v1/messages", `{"model":"gpt-4.1",` + message, "the model gpt-4.1 is none of its models"},
		{"POST", "/v1/messages", `{"model":"gpt-4.1","model":"claude-sonnet-4-5",` + message, "gpt-4.1 is none"},
		{"POST", "/v1/messages", `{"model":"claude-sonnet-4-5","mod\u0065l":"gpt-4.1",` + message, "gpt-4.1 is none"},
		{"POST", "/v1/messages", `{"model":"claude-sonnet-4-5","MODEL":"gpt-4.1",` + message, "gpt-4.1 is none"},
		{"POST", "/v1/messages", `{"model":["claude-sonnet-4-5"],` + message, "cannot tell which model"},
		{"POST", "/v1/messages", `{` + message, "cannot tell which model"},
		{"POST", "/v1/messages", `{"model":"claude-sonnet-4-5",` + message + `{"model":"gpt-4.1"}`, "cannot tell which model"},
		{"POST", "/v1beta/models/gemini-2.5-pro:generateContent", `{"model":"gemini-2.5-flash","contents":[]}`, "gemini-2.5-pro is none"},
		{"POST", "/v1beta/models/gemini-2.5-flash:generateContent", `{"contents":[{"parts":[{"text":"a"}]}]}`, ""},
		{"POST", "/v1/chat/completions", `{"model":"claude-sonnet-4-5",` + message, "is none of its routes"},
		{"POST", "/v1/messages/count_tokens", `{"model":"claude-sonnet-4-5",` + message, "is none of its routes"},
		{"GET", "/v1/models", "", "is none of its routes"},
		{"GET", "/v1/files", "", ""},
	} {
		for _, mode := range []string{"", "off"} {
			status, text := l.ask(c.method, c.path, c.body, "Anthropic-Version", "2023-06-01", "X-Winnow", mode)
			if (status == http.StatusForbidden) != (c.want != "") || !strings.Contains(text, c.want) {
				t.Errorf("%s %s %s, mode %q: %d %.200s, want %q", c.method, c.path, c.body, mode, status, text, c.want)
			}
		}
	}
	free := openTill(t, "", tenant.Tenant{Name: "ann"}, says)
	for _, c := range unmetered[:12] {
		if status, text := free.ask(c.method, c.path, "{}"); status != http.StatusNotFound { // of the provider
			t.Errorf("without a key and a list, %s %s: %d %s", c.method, c.path, status, text)
		}
	}
}

// A refusal counts for the tenant that was refused, whatever refused it.
func TestRoutes_refusalsCountForTheirTenant(t *testing.T) {
	l := openTill(t, "", tenant.Tenant{Name: "ann", Routes: []string{"messages"}, Models: []string{"claude-*"},
		Limits: tenant.Limits{PerMinute: 3}}, says)
	q := asks(llmtest.Anthropic, false, "")
	l.ask("GET", "/v1/files", "")
	l.ask("POST", q.path, strings.Replace(q.body, "claude-", "other-", 1), "Anthropic-Version", "2023-06-01")
	for range 2 {
		l.ask("POST", q.path, q.body, "Anthropic-Version", "2023-06-01")
	}
	w := httptest.NewRecorder()
	r := l.relays[0]
	r.metrics.WithTenants(r.tenants.Metrics()).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for _, code := range []string{"route", "model", "rate"} {
		if line := `winnow_refused_requests_total{code="` + code + `",tenant="ann"} 1`; !strings.Contains(w.Body.String(), line) {
			t.Errorf("the metrics have no %s:\n%s", line, w.Body)
		}
	}
}

// Gemini's address names the model: another one in the body changes no price.
func TestBudget_countsTheModelOfTheAddress(t *testing.T) {
	l := newTill(t, "", plenty, says)
	q := asks(llmtest.Gemini, true, `,"model":"gemini-2.5-flash-lite"`)
	if status, text := l.send(q); status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	l.equal("another model in the body", false)
}
