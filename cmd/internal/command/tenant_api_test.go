package command

import (
	"regexp"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/internal/pgtest"
)

// The admin API answers in the command's words, and each sees the other's changes.
func TestTenant_theAPIIsTheCommand(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { theAPIIsTheCommand(t, newTeamDesk(t)) })
	t.Run("postgres", func(t *testing.T) {
		d := newTeamDesk(t)
		d.env = append(d.env, "WINNOW_STORE="+pgtest.Start(t))
		theAPIIsTheCommand(t, d)
	})
}

func theAPIIsTheCommand(t *testing.T, d *desk) {
	url, _ := billing(t)
	d.configure(`{"gateway": {"listen": "127.0.0.1:0", "upstreams": {"house": "` + url + `"}}}`)
	d.run("tenant", "add", "ann", "--budget-month", "50").wants(t, cli.ExitDone)
	root := d.token(t, "ann", "--scopes", "relay,admin", "--owner", "ann@example.com")
	g := d.gate()
	if status, answer := ask(t, g.url+"/house/v1/messages", saying("hello"), "X-Winnow-Token", root, "X-Api-Key", "own"); status != 200 {
		t.Fatalf("%d %s", status, answer)
	}
	api := func(method, path, body string) string {
		t.Helper()
		a, text := send(t, method, g.url+"/~admin/v1"+path, body, "X-Winnow-Token", root)
		if a.StatusCode >= 300 {
			t.Fatalf("%s %s: %d %s", method, path, a.StatusCode, text)
		}
		return text
	}
	api("POST", "/tenants", `{"name": "bob", "budget": {"day": 5}, "each": {"day": 1}}`)
	d.run("tenant", "set", "bob", "--per-minute", "9").wants(t, cli.ExitDone)
	api("PATCH", "/tenants/bob", `{"budget": {"month": 70}}`)
	if o := d.run("tenant", "show", "bob"); !strings.Contains(o.stdout, "of $70.00") || !strings.Contains(o.stdout, "of $5.00") ||
		!strings.Contains(o.stdout, "9 requests a minute") {
		t.Errorf("bob is\n%s", o.stdout)
	}
	api("POST", "/tenants/bob/tokens", `{"scopes": ["read"], "label": "screen", "expires": "90d"}`)
	for path, command := range map[string][]string{
		"/tenants": {"list"}, "/tenants/ann": {"show", "ann"}, "/tenants/bob": {"show", "bob"}, "/tokens": {"token", "list"},
		"/tenants/bob/tokens": {"token", "list", "bob"},
		"/tenants/bob/audit":  {"audit", "bob"}, "/audit?limit=2": {"audit", "--limit", "2"},
	} {
		api("GET", path, "") // that is noted, once
		got := canonical(t, api("GET", path, ""))
		o := d.run(append([]string{"--json", "tenant"}, command...)...)
		if want := canonical(t, o.stdout); got != want {
			t.Errorf("%s is not what the command says:\n%s\n%s", path, got, want)
		}
	}
	// They refuse with the same sentences.
	for _, c := range []struct {
		method, path, body string
		command            []string
	}{
		{"POST", "/tenants", `{"name": "Bob"}`, []string{"add", "Bob"}},
		{"PATCH", "/tenants/bob", `{"mode": "bold"}`, []string{"set", "bob", "--mode", "bold"}},
		{"PATCH", "/tenants/eve", `{"mode": "safe"}`, []string{"set", "eve", "--mode", "safe"}},
		{"POST", "/tenants/bob/tokens", `{"scopes": ["root"]}`, []string{"token", "add", "bob", "--scopes", "root"}},
		{"POST", "/tenants/bob/tokens", `{"expires": "soon"}`, []string{"token", "add", "bob", "--expires", "soon"}},
		{"POST", "/tokens/tok_none/rotate", ``, []string{"token", "rotate", "tok_none"}},
	} {
		a, text := send(t, c.method, g.url+"/~admin/v1"+c.path, c.body, "X-Winnow-Token", root)
		o := d.run(append([]string{"tenant"}, c.command...)...)
		said := strings.TrimSpace(strings.TrimPrefix(o.stderr, "winnow: "))
		message := jsontext.Value(regexp.MustCompile(`"message":("(?:[^"\\]|\\.)*")`).FindStringSubmatch(text)[1])
		sentence, err := jsontext.AppendUnquote(nil, message)
		if err != nil || a.StatusCode < 400 || o.code != cli.ExitUsage || string(sentence) != said {
			t.Errorf("%s %s: %d %s (%v), and the command: %d %s", c.method, c.path, a.StatusCode, text, err, o.code, o.stderr)
		}
	}
	api("DELETE", "/tenants/bob", "")
	d.run("tenant", "show", "bob").wants(t, cli.ExitUsage, "not found")
	g.ends()
}

// canonical is JSON without spaces, its members in order, and without when tokens were used, which a
// serve notes when it likes.
func canonical(t *testing.T, text string) string {
	t.Helper()
	v := jsontext.Value(regexp.MustCompile(`"used": ?"[^"]*",? ?`).ReplaceAllString(text, ""))
	if err := v.Canonicalize(); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return string(v)
}
