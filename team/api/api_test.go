package api_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow/gateway/admin"
	"github.com/winnowhq/winnow/gateway/tenant"
	"github.com/winnowhq/winnow/internal/schema"
	"github.com/winnowhq/winnow/team/api"
	"github.com/winnowhq/winnow/team/book"
)

// desk is an API on a book.
type desk struct {
	t      *testing.T
	book   *book.Book
	url    string
	looked []string // what was noted
	deaf   error    // why nothing can be noted
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	b, err := book.Open(t.Context(), filepath.Join(t.TempDir(), "book.sqlite"), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	d := &desk{t: t, book: b}
	s := httptest.NewServer(api.New(api.Config{
		Service: func(context.Context) (admin.Service, error) {
			return admin.Service{Book: b.As("ann@example.com"), Who: "tok_1", Now: time.Now, At: "here",
				Left:   func(store string) string { return store + ".db" },
				Erased: func(tenant.Removed) (time.Time, error) { return time.Time{}, nil }, Eraser: erasing{b}}, nil
		},
		Looked: func(_ context.Context, of, did string) error {
			d.looked = append(d.looked, strings.TrimSpace(did+" "+of))
			return d.deaf
		},
		Log: slog.New(slog.DiscardHandler),
	}))
	t.Cleanup(s.Close)
	d.url = s.URL
	return d
}

// erasing has nothing to erase but tenants.
type erasing struct{ tenant.Book }

func (e erasing) Tenant(ctx context.Context, name string) (tenant.Erasure, error) {
	return tenant.Erasure{Tenant: name, Stores: []string{name}, By: "tok_1", Remains: []string{}}, e.Remove(ctx, "tok_1", name)
}

func (e erasing) Person(ctx context.Context, name, person string) (tenant.Erasure, error) {
	_, err := e.Book.Tenant(ctx, name)
	return tenant.Erasure{Tenant: name, Person: person, Stores: []string{name}, By: "tok_1", Remains: []string{}}, err
}

func (e erasing) Sessions(_ context.Context, name string, ids ...string) (tenant.Erasure, error) {
	if ids[0] != "live_1" {
		return tenant.Erasure{}, fmt.Errorf("%w: the session %s of the tenant %s", tenant.ErrNotFound, ids[0], name)
	}
	return tenant.Erasure{Tenant: name, Stores: []string{name}, By: "tok_1", Remains: []string{}}, nil
}

// ask asks the API, and is the answer.
func (d *desk) ask(method, path, body string) (status int, text string) {
	d.t.Helper()
	r, err := http.NewRequestWithContext(d.t.Context(), method, d.url+api.Prefix+path, strings.NewReader(body))
	if err != nil {
		d.t.Fatal(err)
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		d.t.Fatal(err)
	}
	defer a.Body.Close()
	all, err := io.ReadAll(a.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	if kept := a.Header.Get("Cache-Control"); a.StatusCode < 300 && kept != "no-store" {
		d.t.Errorf("%s %s may be kept: %q", method, path, kept)
	}
	return a.StatusCode, string(all)
}

// wants asks the API, and is the answer, which must have a status and a text.
func (d *desk) wants(method, path, body string, status int, text string) string {
	d.t.Helper()
	got, answer := d.ask(method, path, body)
	if got != status || !strings.Contains(answer, text) {
		d.t.Errorf("%s %s %s: %d %s, want %d and %q", method, path, body, got, answer, status, text)
	}
	return answer
}

// The OpenAPI document has every route, and each answers in the shape that is described there.
func TestRoutes_answerAsTheDocumentSays(t *testing.T) {
	d := newDesk(t)
	types, err := schema.Answers(api.Document)
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Paths map[string]map[string]struct{ OperationID string } `json:"paths"`
	}
	if err := json.Unmarshal(api.Document, &document, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatal(err)
	}
	bodies := map[string]string{"addTenant": `{"name": "web", "budget": {"day": 20}}`, "setTenant": `{"limits": {"perMinute": 8}}`,
		"addToken": `{"owner": "bob@example.com"}`, "deleteSessions": `{"sessions": ["live_1"]}`}
	token := ""
	replace := func(path string) string {
		return strings.NewReplacer("{tenant}", "web", "{token}", token, "{person}", "bob@example.com").Replace(path)
	}
	routes := api.Routes()
	// In this order: a tenant is added first and removed last.
	for _, name := range []string{"addTenant", "setTenant", "addToken", "rotateToken", "revokeToken", "listTenants", "showTenant", "showSpending",
		"auditTenant", "audit", "listTenantTokens", "listTokens", "deleteSessions", "erasePerson", "removeTenant", "eraseTenant"} {
		i := 0
		for i < len(routes) && routes[i].Name != name {
			i++
		}
		if i == len(routes) {
			t.Fatalf("there is no route %s", name)
		}
		r := routes[i]
		routes = append(routes[:i:i], routes[i+1:]...)
		if got := document.Paths[r.Path][strings.ToLower(r.Method)].OperationID; got != name {
			t.Errorf("%s %s is %q in the document", r.Method, r.Path, got)
		}
		if name == "eraseTenant" { // it was removed just now
			d.wants("POST", "/tenants", bodies["addTenant"], 201, "")
		}
		answer := d.wants(r.Method, replace(r.Path), bodies[name], r.Status, "")
		shape := r.Answer.Name()
		if r.Answer == reflect.TypeFor[tenant.Erasure]() {
			shape = "TenantErasure" // types of other packages begin with those
		}
		for _, wrong := range types.Def(shape, []byte(answer)) {
			t.Errorf("%s: %s in %s", name, wrong, answer)
		}
		if r.Answer == reflect.TypeFor[admin.Made]() {
			var made admin.Made
			if err := json.Unmarshal([]byte(answer), &made); err != nil || !strings.HasPrefix(made.Token, tenant.Prefix) {
				t.Errorf("%s: %v in %s", name, err, answer)
			}
			token = made.Kept.ID
		}
		if r.Method == http.MethodGet && (len(d.looked) == 0 || !strings.HasPrefix(d.looked[len(d.looked)-1], r.Did)) {
			t.Errorf("%s is not noted: %q", name, d.looked)
		}
	}
	if len(routes) > 0 {
		t.Errorf("nobody tried %+v", routes)
	}
	if _, text := d.ask("GET", "/openapi.json", ""); text != string(api.Document) {
		t.Errorf("the document is %.200s", text)
	}
	all, err := d.book.Audited(t.Context(), "web", 10)
	if err != nil || len(all) != 6 {
		t.Errorf("the audit log has %+v, %v", all, err)
	}
	for _, e := range all {
		if e.Who != "tok_1" || e.Person != "ann@example.com" {
			t.Errorf("%s was done by %q of %q", e.Did, e.Who, e.Person)
		}
	}
}

// Only what a body says of a tenant changes.
func TestSet_changesWhatIsSaid(t *testing.T) {
	d := newDesk(t)
	d.wants("POST", "/tenants", `{"name": "web", "limits": {"perMinute": 8, "concurrent": 2}, "keys": {"a": "x", "b": "y"}, "models": ["m*"]}`, 201, "")
	d.wants("PATCH", "/tenants/web", `{"limits": {"concurrent": 3}, "keys": {"a": "", "c": "z"}, "models": [], "name": "web"}`, 200, "")
	got, err := d.book.Tenant(t.Context(), "web")
	if err != nil || got.Limits != (tenant.Limits{PerMinute: 8, Concurrent: 3}) || fmt.Sprint(got.Keys) != "map[b:y c:z]" || len(got.Models) > 0 {
		t.Errorf("it is %+v, %v", got, err)
	}
	before, err := d.book.Revision(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for body, why := range map[string]string{
		`{"limit": {}}`:                        "there is no member limit",
		`{"limits": {"perHour": 1}}`:           "there is no member limits.perHour",
		`{"budget": null}`:                     "budget cannot be null",
		`{"budget": {"day": "20"}}`:            "budget.day cannot be this text",
		`{"name": "other"}`:                    "a tenant keeps its name",
		`{"created": "2026-01-02T03:04:05Z"}`:  "created",
		`{"store": "other"}`:                   "store",
		`{"budget": {"day": 1}, "mode":"off"}`: "a budget cannot be kept",
		`{"mode": "bold"}`:                     "unknown mode",
		`{"mode": "full"`:                      "not JSON",
		`{"mode": "full"} {}`:                  "not JSON",
		`[]`:                                   "the body cannot be a list",
	} {
		d.wants("PATCH", "/tenants/web", body, 422, why)
	}
	d.wants("PATCH", "/tenants/web", `{"models": ["`+strings.Repeat("m", 70_000)+`"]}`, 413, "at most 65536 bytes")
	if after, err := d.book.Revision(t.Context()); err != nil || after != before {
		t.Errorf("something was changed: %d, then %d, %v", before, after, err)
	}
}

// Errors have one shape, and the command's own sentences.
func TestAPI_refuses(t *testing.T) {
	d := newDesk(t)
	types, err := schema.Answers(api.Document)
	if err != nil {
		t.Fatal(err)
	}
	d.wants("POST", "/tenants", `{"name": "web"}`, 201, "")
	var made admin.Made
	if err := json.Unmarshal([]byte(d.wants("POST", "/tenants/web/tokens", "", 201, "")), &made); err != nil {
		t.Fatal(err)
	}
	d.wants("POST", "/tokens/"+made.Kept.ID+"/revoke", "", 200, `"state":"revoked"`)
	for _, c := range []struct {
		method, path, body string
		status             int
		why                string
	}{
		{"POST", "/tenants", `{"name": "WEB"}`, 409, "exists already: the tenant WEB"},
		{"POST", "/tenants", `{"name": "a b"}`, 422, "cannot name a tenant"},
		{"POST", "/tenants", ``, 422, "cannot name a tenant"},
		{"GET", "/tenants/none", ``, 404, "not found: the tenant none"},
		{"GET", "/tenants/messages", ``, 404, "not found: the tenant messages"},
		{"PATCH", "/tenants/none", `{}`, 404, "not found: the tenant none"},
		{"DELETE", "/tenants/none", ``, 404, "not found: the tenant none"},
		{"POST", "/tenants/none/people/bob/erase", ``, 404, "not found: the tenant none"},
		{"POST", "/tenants/a%20b/erase", ``, 422, "cannot name a tenant"},
		{"POST", "/tenants/web/people/a%20b/erase", ``, 422, "cannot name a person"},
		{"POST", "/tenants/web/sessions/delete", `{"sessions": ["live_2"]}`, 404, "not found: the session live_2 of the tenant web"},
		{"POST", "/tenants/web/sessions/delete", `{"sessions": []}`, 422, "name at least one"},
		{"GET", "/tenants/none/spent", ``, 404, "not found: the tenant none"},
		{"GET", "/tenants/none/tokens", ``, 404, "not found: the tenant none"},
		{"POST", "/tenants/none/tokens", `{}`, 404, "not found: the tenant none"},
		{"POST", "/tenants/web/tokens", `{"scopes": ["relay", "root"]}`, 422, `unknown scope`},
		{"POST", "/tenants/web/tokens", `{"scopes": []}`, 422, `unknown scope`},
		{"POST", "/tenants/web/tokens", `{"expires": "soon"}`, 422, "is not an age"},
		{"POST", "/tenants/web/tokens", `{"owner": "a b"}`, 422, "cannot name a person"},
		{"POST", "/tokens/" + made.Kept.ID + "/rotate", ``, 409, "is revoked"},
		{"POST", "/tokens/tok_none/rotate", ``, 404, "not found: the token tok_none"},
		{"POST", "/tokens/tok_none/revoke", ``, 404, "not found: the token tok_none"},
		{"GET", "/audit?limit=0", ``, 422, "give 1 or more"},
		{"GET", "/audit?limit=10001", ``, 422, "give 1 to 10000"},
		{"PUT", "/tenants/web", `{}`, 405, "use DELETE or GET or PATCH"},
		{"POST", "/openapi.json", ``, 405, "use GET"},
		{"GET", "/nothing", ``, 404, "/openapi.json"},
	} {
		answer := d.wants(c.method, c.path, c.body, c.status, c.why)
		for _, wrong := range types.Def("Failure", []byte(answer)) {
			t.Errorf("%s %s: %s in %s", c.method, c.path, wrong, answer)
		}
	}
	d.deaf = errors.New("the disk is full")
	d.wants("GET", "/tenants", "", 503, "cannot be noted")
	d.book.Close()
	if answer := d.wants("DELETE", "/tenants/web", "", 503, "cannot be read or changed now"); strings.Contains(answer, "sql") {
		t.Errorf("it says %s", answer)
	}
}

// A body changes what it may, or nothing: no text of it makes a tenant that is not sound.
func FuzzSet(f *testing.F) {
	for _, body := range []string{`{}`, `{"limits":{"perMinute":1}}`, `{"keys":{"a":""}}`, `{"budget":null}`, `[1]`, `{"mode":"x"}`} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		d := newDesk(t)
		d.wants("POST", "/tenants", `{"name": "web"}`, 201, "")
		if status, text := d.ask("PATCH", "/tenants/web", body); status != 200 && status != 422 && status != 413 {
			t.Errorf("%q: %d %s", body, status, text)
		}
		if got, err := d.book.Tenant(t.Context(), "web"); err != nil || got.Check() != nil {
			t.Errorf("%q made %+v, %v, %v", body, got, got.Check(), err)
		}
	})
}
