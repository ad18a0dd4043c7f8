package command

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/jackc/pgx/v5"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/internal/pgtest"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/postgres"
)

// TestScripts_withADatabase runs what people do with a store in PostgreSQL.
func TestScripts_withADatabase(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs the command many times")
	}
	database := pgtest.Start(t)
	// A password in the URL, which the server does not ask for: it must be shown nowhere.
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(u.User.Username(), "canary-password")
	testscript.Run(t, script([]string{filepath.Join("testdata", "script", "postgres", "store.txtar")},
		"DATABASE="+u.String(), "MISSING="+missing(*u)))
}

// missing is the URL of a database that the server does not have.
func missing(u url.URL) string {
	u.Path = "/nosuch"
	return u.String()
}

// What is damaged in a database doctor finds, and so does the job that looks through it once a week,
// for each tenant.
func TestDatabase_damageIsFound(t *testing.T) {
	database := pgtest.Start(t)
	d := newTeamDesk(t)
	d.configure(`{"gateway": {"listen": "127.0.0.1:0"}}`)
	d.env = append(d.env, "WINNOW_STORE="+database)
	d.run("tenant", "add", "ann").wants(t, cli.ExitDone)
	admin := d.token(t, "ann", "--scopes", "read,admin")
	place := database + "&tenant=ann"
	kept, err := postgres.OpenStore(t.Context(), place, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	said := session.Message{MessageInfo: session.MessageInfo{ID: "m1", Role: session.User},
		Parts: []session.Part{{ID: "p1", Type: session.TextPart, Text: strings.Repeat("quince ", 5000)}}}
	info := session.Info{ID: "ses_1"}
	change := store.Change{Create: &info, Append: []session.Message{said}}
	if _, err := kept.Apply(t.Context(), info.ID, change); err != nil {
		t.Fatal(err)
	}
	sound := func() (bool, string) {
		o := d.run("doctor", "--store", place, "--json")
		var seen diagnosis
		if err := json.Unmarshal([]byte(o.stdout), &seen); err != nil || seen.Store == nil {
			t.Fatalf("%v: %s", err, o.stdout)
		}
		what := ""
		for _, f := range seen.Findings {
			if f.Code == brokenStore {
				what = f.What
			}
		}
		return seen.Store.Sound, what
	}
	if ok, what := sound(); !ok || what != "" {
		t.Errorf("a sound store: %s", what)
	}
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	if _, err := conn.Exec(t.Context(), `DELETE FROM content WHERE tenant = 'ann'`); err != nil {
		t.Fatal(err)
	}
	const want = "message 1 of session ses_1: a text of part 1 is missing"
	if ok, what := sound(); ok || !strings.Contains(what, want) {
		t.Errorf("doctor finds %q", what)
	}
	g := d.gate()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, g.url+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Winnow-Token", admin)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		if strings.Contains(string(text), "winnow_store_problems 1\n") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the metrics are\n%s", text)
		}
	}
}
