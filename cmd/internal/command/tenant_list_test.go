package command

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/internal/pgtest"
)

// Who may see all tenants has one list of them; others are answered as if there were none.
func TestTenant_oneListForAnAdmin(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { oneList(t, newTeamDesk(t)) })
	t.Run("postgres", func(t *testing.T) {
		d := newTeamDesk(t)
		d.env = append(d.env, "WINNOW_STORE="+pgtest.Start(t))
		oneList(t, d)
	})
}

func oneList(t *testing.T, d *desk) {
	url, _ := billing(t)
	d.configure(`{"gateway": {"listen": "127.0.0.1:0", "upstreams": {"house": "` + url + `"}}}`)
	d.run("tenant", "add", "ann", "--budget-day", "20").wants(t, cli.ExitDone)
	d.run("tenant", "add", "bob").wants(t, cli.ExitDone)
	ann, bob := d.token(t, "ann"), d.token(t, "bob", "--scopes", "relay,read,act")
	chief := d.token(t, "bob", "--scopes", "read,admin")
	g := d.gate()
	for range 2 {
		if status, text := ask(t, g.url+"/house/v1/messages", saying("hello"), "X-Winnow-Token", ann,
			"X-Api-Key", "own"); status != 200 {
			t.Fatalf("%d %s", status, text)
		}
		g.figures(ann)
	}
	for _, token := range []string{ann, bob} {
		for _, accept := range []string{"text/html", "*/*"} {
			a, text := send(t, "GET", g.url+"/~t/", "", "X-Winnow-Token", token, "Accept", accept)
			if a.StatusCode != 404 || strings.Contains(text, "bob") || strings.Contains(text, "ann") {
				t.Errorf("without the scope admin: %d %s", a.StatusCode, text)
			}
		}
		if _, text := send(t, "GET", g.url+"/", "", "X-Winnow-Token", token, "Accept",
			"text/html"); strings.Contains(text, "~t/") {
			t.Errorf("the page leads to the list: %s", text)
		}
	}
	if a, _ := send(t, "GET", g.url+"/~t/", ""); a.StatusCode != 401 {
		t.Errorf("without a token: %d", a.StatusCode)
	}
	if a, text := send(t, "POST", g.url+"/~t/", "", "X-Winnow-Token", chief); a.StatusCode != 405 {
		t.Errorf("POST: %d %s", a.StatusCode, text)
	}
	a, text := send(t, "GET", g.url+"/~t/", "", "X-Winnow-Token", chief)
	var doc struct {
		Tenants []struct {
			Tenant          string
			Requests, Spent map[string]float64
			LastSeen        string
		}
	}
	if err := json.Unmarshal([]byte(text), &doc); err != nil || a.StatusCode != 200 || len(doc.Tenants) != 2 {
		t.Fatalf("%d %s %v", a.StatusCode, text, err)
	}
	if l := doc.Tenants[0]; l.Tenant != "ann" || l.Requests["day"] != 2 || l.Requests["month"] != 2 ||
		l.Spent["day"] != 6 || l.LastSeen == "" {
		t.Errorf("ann: %+v", l)
	}
	if l := doc.Tenants[1]; l.Tenant != "bob" || l.Requests["month"] != 0 || l.Spent["month"] != 0 {
		t.Errorf("bob: %+v", l)
	}
	a, text = send(t, "GET", g.url+"/"+chief+"/~t/?q=an", "", "Accept", "text/html")
	if a.StatusCode != 200 || !strings.Contains(text, `<a href="ann/">ann</a>`) || strings.Contains(text,
		`href="bob/"`) || !strings.Contains(text, "$20.00") {
		t.Errorf("the page: %d %s", a.StatusCode, text)
	}
	if _, text := send(t, "GET", g.url+"/", "", "X-Winnow-Token", chief, "Accept",
		"text/html"); !strings.Contains(text, `<a href="~t/">all tenants</a>`) {
		t.Errorf("the admin's page does not lead to the list: %s", text)
	}
	g.ends()
	if o := d.run("tenant", "audit", "bob"); !strings.Contains(o.stdout, "tenant list") || strings.Contains(o.stdout, "the list of") {
		t.Errorf("the audit log: %s", o.stdout)
	}
}
