package postgres_test

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/winnowhq/winnow/internal/pgtest"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/postgres"
)

// A program starts and works on the tables of the version after its own if their migration says that
// it may, as when replicas are replaced one after the other, or put back. Otherwise it refuses.
func TestOpen_onTablesOfTheNextVersion(t *testing.T) {
	url := pgtest.Start(t)
	open(t, url, postgres.Options{}).Close()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	run := func(sql string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	try := func() error {
		d, err := postgres.Open(t.Context(), url, postgres.Options{})
		if err != nil {
			return err
		}
		defer d.Close()
		s := d.Tenant("ann")
		info := session.Info{ID: "s"}
		if _, err := s.Apply(t.Context(), "s", store.Change{Create: &info}); err != nil {
			return err
		}
		return s.Delete(t.Context(), "s")
	}
	run(`ALTER TABLE session ADD COLUMN colour text; CREATE TABLE palette (tenant text, colour text);
		INSERT INTO winnow_version (version_id, is_applied) SELECT max(version_id) + 1, true FROM winnow_version`)
	if err := try(); !errors.Is(err, store.ErrNewer) {
		t.Errorf("of a migration that says nothing: %v", err)
	}
	run(`INSERT INTO winnow_compatible SELECT max(version_id) FROM winnow_version`)
	if err := try(); err != nil {
		t.Errorf("of a migration that the version before can live with: %v", err)
	}
	if _, err := postgres.Open(t.Context(), url, postgres.Options{ReadOnly: true}); err != nil {
		t.Errorf("to read: %v", err)
	}
	run(`INSERT INTO winnow_version (version_id, is_applied) SELECT max(version_id) + 1, true FROM winnow_version;
		INSERT INTO winnow_compatible SELECT max(version_id) FROM winnow_version`)
	if err := try(); !errors.Is(err, store.ErrNewer) {
		t.Errorf("two versions ahead: %v", err)
	}
}
