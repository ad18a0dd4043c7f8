package gateway

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow/gateway/admin"
	"github.com/winnowhq/winnow/gateway/serve"
	"github.com/winnowhq/winnow/gateway/tenant"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/internal/schema"
	"github.com/winnowhq/winnow/team/api"
)

// signed has signed in everybody.
type signed struct{ *serve.Client }

func (s signed) Viewer(*http.Request) *serve.Client { return s.Client }
func (s signed) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	http.Error(w, "sign in", http.StatusTeapot)
}

// Only a token with the scope admin opens the admin API, and whoever else asks is answered in its
// shape.
func TestAdmin_isForTokensOfAdmins(t *testing.T) {
	l := newTill(t, "", tenant.Budget{}, says)
	l.relays[0].tenants.signIn = signed{&serve.Client{Tenant: "ann", Who: "eve@example.com", Scopes: tenant.AllScopes()}}
	root, _ := l.with(tenant.Admin)
	reader, _ := l.with(tenant.Relay, tenant.Read, tenant.Act)
	types, err := schema.Answers(api.Document)
	if err != nil {
		t.Fatal(err)
	}
	here := "http://" + l.relays[0].Address()
	for _, c := range []struct {
		name, method, path string
		headers            []string
		status             int
	}{
		{"an admin", "GET", "/~admin/v1/tenants", []string{"X-Winnow-Token", root}, 200},
		{"as a key", "GET", "/~admin/v1/tenants", []string{"Authorization", "Bearer " + root}, 200},
		{"in the path", "GET", "/" + root + "/~admin/v1/tenants/ann", nil, 200},
		{"its own page", "GET", "/~admin/v1/tenants", []string{"X-Winnow-Token", root, "Origin", here}, 200},
		{"another page", "GET", "/~admin/v1/tenants", []string{"X-Winnow-Token", root, "Origin", "http://evil.example"}, 403},
		{"another scope", "GET", "/~admin/v1/tenants", []string{"X-Winnow-Token", reader}, 403},
		{"another scope at a tenant of that name", "GET", "/~admin/v1/tenants/messages", []string{"X-Winnow-Token", reader}, 403},
		{"an unknown token", "GET", "/~admin/v1/tenants/messages", []string{"X-Winnow-Token", "wt_" + strings.Repeat("x", 64)}, 401},
		{"a cookie", "GET", "/~admin/v1/tenants", nil, 401},
		{"a cookie of a browser", "GET", "/~admin/v1/tenants", []string{"Accept", "text/html"}, 401},
		{"a cookie that changes", "DELETE", "/~admin/v1/tenants/ann", []string{"Origin", here}, 401},
		{"below a tenant", "GET", "/~t/ann/~admin/v1/tenants", []string{"X-Winnow-Token", root}, 404},
		{"another version", "GET", "/~admin/v2/tenants", []string{"X-Winnow-Token", root}, 404},
	} {
		r, err := http.NewRequestWithContext(t.Context(), c.method, here+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(c.headers); i += 2 {
			r.Header.Set(c.headers[i], c.headers[i+1])
		}
		a, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(a.Body)
		a.Body.Close()
		if a.StatusCode != c.status {
			t.Errorf("%s: %d %s, want %d", c.name, a.StatusCode, text, c.status)
			continue
		}
		if a.StatusCode >= 400 {
			for _, wrong := range types.Def("Failure", text) {
				t.Errorf("%s: %s in %s", c.name, wrong, text)
			}
		}
	}
}

// An admin makes a tenant and a token, which counts through every replica within two seconds, and ends
// the requests that it let in; the audit log names who did that, and who looked.
func TestAdmin_changesWhatReplicasDo(t *testing.T) {
	l := newTill(t, "", tenant.Budget{}, says)
	l.relay()
	root, kept, err := tenant.NewToken("ann", "", tenant.Scopes{tenant.Admin}, time.Now(), 0)
	kept.Owner = "root@example.com"
	if err == nil {
		err = l.book.AddToken(t.Context(), "test", kept)
	}
	if err != nil {
		t.Fatal(err)
	}
	l.look()
	do := func(method, path, body string, status int) string {
		t.Helper()
		got, text := l.get(method, "/~admin/v1"+path, root, body)
		if got != status {
			t.Fatalf("%s %s: %d %s, want %d", method, path, got, text, status)
		}
		return text
	}
	do("POST", "/tenants", `{"name": "bob", "limits": {"concurrent": 8}}`, 201)
	var made admin.Made
	if err := json.Unmarshal([]byte(do("POST", "/tenants/bob/tokens", `{"label": "laptop"}`, 201)), &made); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		do("GET", "/tenants/bob", "", 200)
	}
	time.Sleep(endsWithin)
	q := asks(llmtest.Anthropic, true, "")
	var streams []chan time.Time
	for through := range 2 {
		l.provider.Inject(llmtest.HangMidStream)
		streams = append(streams, l.stream(made.Token, "/up"+q.path, q.body, through))
	}
	do("POST", "/tokens/"+made.Kept.ID+"/revoke", "", 200)
	for i, ended := range streams {
		select {
		case <-ended:
		case <-time.After(endsWithin):
			t.Errorf("the stream through replica %d is open", i)
		}
	}
	all, err := l.book.Audited(t.Context(), "bob", 10)
	if err != nil {
		t.Fatal(err)
	}
	var did []string
	for _, e := range all {
		if did = append(did, e.Did); e.Who != kept.ID || e.Person != "root@example.com" {
			t.Errorf("%s was done by %q of %q", e.Did, e.Who, e.Person)
		}
	}
	if want := "token revoke, tenant show, token add, tenant add"; strings.Join(did, ", ") != want {
		t.Errorf("the audit log has %s, want %s", strings.Join(did, ", "), want)
	}
}

// admin makes an admin in a tenant of its own, and returns its token.
func (l *till) admin() (shown string, token tenant.Token) {
	l.t.Helper()
	if err := l.book.Add(l.t.Context(), "test", tenant.Tenant{Name: "root"}); err != nil {
		l.t.Fatal(err)
	}
	shown, token, err := tenant.NewToken("root", "", tenant.Scopes{tenant.Admin}, time.Now(), 0)
	if err == nil {
		err = l.book.AddToken(l.t.Context(), "test", token)
	}
	if err != nil {
		l.t.Fatal(err)
	}
	l.look()
	return shown, token
}

// An admin erases a tenant and gets the receipt; the audit log says who did it, and nothing else of
// the tenant.
func TestAdmin_erasesATenant(t *testing.T) {
	l := newTill(t, "", tenant.Budget{}, says)
	if status, text := l.send(request{path: "/v1/messages", body: sentence(secret)}); status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	l.spent()
	root, kept := l.admin()
	status, text := l.get("POST", "/~admin/v1/tenants/ann/erase", root, "")
	var receipt tenant.Erasure
	if err := json.Unmarshal([]byte(text), &receipt); err != nil || status != http.StatusOK || receipt.Sessions != 1 ||
		receipt.Tokens != 1 || receipt.By != kept.ID {
		t.Errorf("%d %s, %v", status, text, err)
	}
	if places := l.where(secret); len(places) > 0 {
		t.Errorf("it is in %v", places)
	}
	all, err := l.book.Audited(t.Context(), "ann", 10)
	if err != nil || len(all) != 1 || all[0].Who != kept.ID || all[0].Did != tenant.Erased {
		t.Errorf("the audit log has %+v, %v", all, err)
	}
}

// An admin deletes a session of a tenant and gets the receipt; the audit log says who did it, and
// which session. One that is not there is said, and nothing is deleted.
func TestAdmin_deletesASession(t *testing.T) {
	l := newTill(t, "", tenant.Budget{}, says)
	l.says(l.token, "The amaranth stays.", 0)
	l.spent()
	kept := l.sessions()
	l.says(l.token, secret, 0)
	l.spent()
	ids := slices.DeleteFunc(l.sessions(), func(id string) bool { return slices.Contains(kept, id) })
	root, by := l.admin()
	const path = "/~admin/v1/tenants/ann/sessions/delete"
	for body, want := range map[string]int{`{"sessions": ["` + ids[0] + `", "live_none"]}`: http.StatusNotFound,
		`{"sessions": []}`: http.StatusUnprocessableEntity, `{}`: http.StatusUnprocessableEntity} {
		if status, text := l.get("POST", path, root, body); status != want {
			t.Errorf("%s: %d %s, want %d", body, status, text, want)
		}
	}
	if len(l.sessions()) != 2 {
		t.Error("something was deleted all the same")
	}
	status, text := l.get("POST", path, root, `{"sessions": ["`+ids[0]+`"]}`)
	var receipt tenant.Erasure
	if err := json.Unmarshal([]byte(text), &receipt); err != nil || status != http.StatusOK || receipt.Sessions != 1 ||
		receipt.Tenant != "ann" || receipt.By != by.ID {
		t.Errorf("%d %s, %v", status, text, err)
	}
	if places := l.where(secret); len(places) > 0 {
		t.Errorf("it is in %v", places)
	}
	if got := l.sessions(); !slices.Equal(got, kept) {
		t.Errorf("%v are left, want %v", got, kept)
	}
	all, err := l.book.Audited(t.Context(), "ann", 1)
	if err != nil || len(all) != 1 || all[0].Who != by.ID || all[0].Did != "session delete" || all[0].Session != ids[0] {
		t.Errorf("the audit log has %+v, %v", all, err)
	}
}
