package gateway

import (
	"net/http"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/gateway/tenant"
)

// referring are requests that name what the provider keeps for whoever has its key.
var referring = []struct{ path, body, member string }{
	{"/v1/responses", `{"model":"gpt-4.1","input":"go on","previous_response_id":"resp_bobs"}`, "previous_response_id"},
	{"/v1/responses", `{"model":"gpt-4.1","input":"go on","previous\u005fresponse_id":"resp_bobs"}`, "previous_response_id"},
	{"/v1/responses", `{"model":"gpt-4.1","input":"go on","conversation":{"id":"conv_bobs"}}`, "conversation"},
	{"/v1/responses/compact", `{"model":"gpt-4.1","previous_response_id":"resp_bobs"}`, "previous_response_id"},
	{"/v1/responses/input_tokens", `{"model":"gpt-4.1","previous_response_id":"resp_bobs"}`, "previous_response_id"},
	{"/v1/messages", `{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":[{"type":"document",` +
		`"source":{"type":"file","file_id":"file_bobs"}}]}]}`, "file_id"},
	{"/v1/chat/completions", `{"model":"gpt-4.1","messages":[{"role":"user","content":[{"type":"file","file":{"file_id":"file_bobs"}}]}]}`, "file_id"},
	{"/v1beta/models/gemini-2.5-flash:generateContent", `{"contents":[],"cachedContent":"cachedContents/bobs"}`, "cachedContent"},
}

// With a key that the server holds, a tenant names nothing that the provider keeps for its owner:
// another tenant may have been given it.
func TestStored_aHeldKeyNamesNothingOfAnother(t *testing.T) {
	sent := func(l *till) int { return len(l.provider.Others()) + len(l.provider.Records()) }
	held := openTill(t, "", tenant.Tenant{Name: "ann", Keys: map[string]string{"up": "team"}}, says)
	for _, c := range referring {
		for _, mode := range []string{"", "off"} {
			before := sent(held)
			status, text := held.ask("POST", c.path, c.body, "Anthropic-Version", "2023-06-01", "X-Winnow", mode)
			if status != http.StatusForbidden || !strings.Contains(text, c.member) || !strings.Contains(text, "--routes messages,chat,") ||
				sent(held) != before {
				t.Errorf("%s %s, mode %q: %d %.300s", c.path, c.body, mode, status, text)
			}
		}
	}
	if status, text := held.ask("POST", "/v1/responses", "not to be read", "Content-Encoding", "gzip"); status != http.StatusForbidden ||
		!strings.Contains(text, "cannot be read") {
		t.Errorf("a body that cannot be read: %d %s", status, text)
	}
	if status, text := held.ask("POST", "/v1/responses", `{"model":"gpt-4.1","input":"hello","previous_response_id":null}`); status != http.StatusOK {
		t.Errorf("a request that names nothing: %d %s", status, text)
	}
	for name, ann := range map[string]tenant.Tenant{
		"without a held key": {Name: "ann"},
		"with a list that has stored": {Name: "ann", Keys: map[string]string{"up": "team"},
			Routes: []string{"messages", "chat", "responses", "gemini", "compact", "count", "stored"}},
		"with any": {Name: "ann", Keys: map[string]string{"up": "team"}, Routes: []string{"any"}},
	} {
		l := openTill(t, "", ann, says)
		for _, c := range referring {
			if status, text := l.ask("POST", c.path, c.body, "Anthropic-Version", "2023-06-01"); status == http.StatusForbidden {
				t.Errorf("%s, %s %s: %s", name, c.path, c.body, text)
			}
		}
	}
	files := openTill(t, "", tenant.Tenant{Name: "ann", Keys: map[string]string{"up": "team"},
		Routes: []string{"messages", "responses", "files"}}, says)
	both := `{"model":"gpt-4.1","input":[{"role":"user","content":[{"type":"input_file","file_id":"f"}]}],"previous_response_id":"resp_bobs"}`
	for body, refused := range map[string]bool{referring[0].body: true, both: true,
		strings.Replace(both, `"resp_bobs"`, "null", 1): false} {
		if status, text := files.ask("POST", "/v1/responses", body); (status == http.StatusForbidden) != refused {
			t.Errorf("with files, %s: %d %s", body, status, text)
		}
	}
}
