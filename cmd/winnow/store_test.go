package main

import (
	"net/url"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/winnowhq/winnow/internal/pgtest"
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
