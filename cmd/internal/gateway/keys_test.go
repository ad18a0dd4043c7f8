package gateway

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/desk/config"
	"github.com/winnowhq/winnow/gateway/tenant"
	"github.com/winnowhq/winnow/internal/llmtest"
)

// A key that cannot be read keeps its last value, or has its requests refused if it never had one;
// others go on and can be exchanged. The log has each change once.
func TestKeys_oneThatCannotBeReadHoldsUpNoOther(t *testing.T) {
	l := openTill(t, "", tenant.Tenant{Name: "ann", Keys: map[string]string{"up": "team"}}, says)
	d := l.relays[0].tenants
	l.relays[0].ending() // it does what is due by itself no more
	file := filepath.Join(t.TempDir(), "key")
	write := func(key string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(key), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("sk-first\n")
	settings := config.Default()
	settings.Gateway.Keys = map[string]config.GatewayKey{"team": {File: file}, "other": {Env: "OTHER_KEY"}}
	asked := asks(llmtest.Anthropic, false, "")
	has := func(when, value string) {
		t.Helper()
		d.followKeys(settings)
		d.followKeys(settings)
		held := d.keysOf(tenant.Tenant{Keys: map[string]string{"up": "team", "openai": "other"}})
		if got := held["up"].Value; got != "Bearer "+value {
			t.Errorf("%s, the key team is %q, want %q", when, got, value)
		}
		if held["openai"].Unread == nil || held["openai"].Value != "" {
			t.Errorf("%s, the key other is %+v", when, held["openai"])
		}
		if status, text := l.send(asked); status != 200 {
			t.Errorf("%s, a request with the key team: %d %s", when, status, text)
		}
	}
	has("both new", "sk-first")
	write("sk-second")
	has("exchanged", "sk-second")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	has("its file gone", "sk-second")
	write("sk-third")
	has("back", "sk-third")
	if _, err := l.book.Set(t.Context(), "test", "ann", func(x *tenant.Tenant) error {
		x.Keys = map[string]string{"up": "other"}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.look(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if status, text := l.send(asked); status != 503 || !strings.Contains(text, "cannot read it") ||
		!strings.Contains(text, "gateway.keys.other") {
		t.Errorf("a request with the key other: %d %s", status, text)
	}
	log := l.log.String()
	for line, times := range map[string]int{"key=other why=\"the variable OTHER_KEY is not set": 2, // one for the request
		"last value stays in force\" key=team": 1, "can be read again\" key=team": 1, "new value\" key=team": 2,
		"sk-": 0} {
		if n := strings.Count(log, line); n != times {
			t.Errorf("the log has %q %d times, want %d:\n%s", line, n, times, log)
		}
	}
}
