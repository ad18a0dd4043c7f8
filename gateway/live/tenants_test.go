package live

import (
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTenants_listsThem(t *testing.T) {
	noon := time.Date(2026, 5, 31, 12, 0, 0, 0, time.UTC)
	lines := []TenantLine{
		{Tenant: "ann", Requests: PerDay[int64]{3, 1400}, Spent: PerDay[float64]{1.5, 7.25},
			Budget: PerDay[float64]{Day: 20}, Seen: noon.Add(-3 * time.Hour)},
		{Tenant: "bob"},
	}
	var noted, fails error
	h := Tenants(TenantsConfig{Now: func() time.Time { return noon },
		Audit:   func(context.Context) error { return noted },
		Tenants: func(context.Context) ([]TenantLine, error) { return lines, fails }})
	ask := func(query, accept string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("GET", "/~t/"+query, nil)
		r.Header.Set("Accept", accept)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	for _, test := range []struct {
		query    string
		has, not []string
	}{
		{"", []string{`<a href="ann/">ann</a>`, ">1,400<", "$1.50", "$20.00", "3 hours ago", "never",
			"unlimited", "2 of 2"}, []string{"<script"}},
		{"?q=AN", []string{`<a href="ann/">ann</a>`, "1 of 2"}, []string{`<a href="bob/">`}},
		{"?q=%22%3E%3Cscript%3E", []string{"No tenant has such a name.", "&lt;script&gt;"}, []string{"<script"}},
	} {
		w := ask(test.query, "text/html")
		for _, want := range test.has {
			if !strings.Contains(w.Body.String(), want) {
				t.Errorf("%q has no %s:\n%s", test.query, want, w.Body)
			}
		}
		for _, not := range test.not {
			if strings.Contains(w.Body.String(), not) {
				t.Errorf("%q has %s", test.query, not)
			}
		}
		if p := w.Header().Get("Content-Security-Policy"); !strings.Contains(p, "default-src 'none'") ||
			!strings.Contains(p, "form-action 'self'") {
			t.Errorf("the policy is %s", p)
		}
	}
	var doc struct{ Tenants []TenantLine }
	if err := json.Unmarshal(ask("", "*/*").Body.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(lines, doc.Tenants); diff != "" {
		t.Error(diff)
	}
	if fails = errors.New("away"); ask("", "*/*").Code != 503 {
		t.Error("tenants that cannot be read are listed")
	}
	if fails, noted = nil, errors.New("away"); ask("", "*/*").Code != 503 {
		t.Error("what cannot be noted is shown")
	}
}
