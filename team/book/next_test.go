package book_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/winnowhq/winnow/gateway/tenant"
	"github.com/winnowhq/winnow/internal/pgtest"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/team/book"
)

// A book opens on the tables of the next version if their migration says that it may, and on no other
// newer ones.
func TestOpen_onTablesOfTheNextVersion(t *testing.T) {
	for driver, at := range map[string]func() string{
		"sqlite": func() string { return filepath.Join(t.TempDir(), "book.sqlite") },
		"pgx":    func() string { return pgtest.Start(t) },
	} {
		t.Run(driver, func(t *testing.T) {
			address := at()
			try := func() error {
				b, err := book.Open(t.Context(), address, time.Now)
				if err != nil {
					return err
				}
				defer b.Close()
				if _, err := b.Tenant(t.Context(), "ann"); err == nil {
					return b.Remove(t.Context(), "test", "ann")
				}
				return b.Add(t.Context(), "test", tenant.Tenant{Name: "ann"})
			}
			if err := try(); err != nil {
				t.Fatal(err)
			}
			db, err := sql.Open(driver, address)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			run := func(statements ...string) {
				t.Helper()
				for _, statement := range statements {
					if _, err := db.ExecContext(t.Context(), statement); err != nil {
						t.Fatal(err)
					}
				}
			}
			const next = `INSERT INTO book_version (version_id, is_applied) SELECT max(version_id) + 1, true FROM book_version`
			const marked = `INSERT INTO book_compatible SELECT max(version_id) FROM book_version`
			run(next, `ALTER TABLE book_tenant ADD COLUMN colour text`)
			if err := try(); !errors.Is(err, store.ErrNewer) {
				t.Errorf("of a migration that says nothing: %v", err)
			}
			run(marked)
			if err := try(); err != nil {
				t.Errorf("of a migration that the version before can live with: %v", err)
			}
			run(next, marked)
			if err := try(); !errors.Is(err, store.ErrNewer) {
				t.Errorf("two versions ahead: %v", err)
			}
		})
	}
}
