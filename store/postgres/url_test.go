package postgres

import "testing"

// A database is named by the servers that have it, and by nothing that is secret.
func TestRedacted(t *testing.T) {
	for url, want := range map[string]string{
		"postgres://ann:secret@db/winnow":                                              "postgres://db/winnow",
		"postgres://ann:secret@db:5433/winnow?sslmode=disable":                         "postgres://db:5433/winnow",
		"postgres://ann@db1,db2/winnow?target_session_attrs=read-write":                "postgres://db1,db2/winnow",
		"postgres://ann@db1:5432,db2:6432/winnow?target_session_attrs=read-write":      "postgres://db1,db2:6432/winnow",
		"postgres://ann@/winnow?host=%2Frun%2Fa,%2Frun%2Fb&passfile=%2Fsecret":         "postgres:///winnow?host=/run/a,/run/b",
		"postgres://ann@db1,db2/winnow?target_session_attrs=read-write&tenant=acme":    "postgres://db1,db2/winnow?tenant=acme",
		"host=db1,db2 port=5432,6432 user=ann password=secret dbname=winnow":           "postgres://db1,db2:6432/winnow",
		"postgres://ann:sec ret@db/winnow":                                             "postgres://…",
		"postgres://ann@[::1]:5433/winnow?sslmode=disable":                             "postgres://[::1]:5433/winnow",
		"postgres://ann@/winnow?host=%2Frun%2Fa&target_session_attrs=any&tenant=a%2Fb": "postgres:///winnow?host=%2Frun%2Fa&tenant=a%2Fb",
	} {
		if got := Redacted(url); got != want {
			t.Errorf("%s\n got %s\nwant %s", url, got, want)
		}
	}
}
