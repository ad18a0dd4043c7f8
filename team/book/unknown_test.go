package book_test

import (
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/winnowhq/winnow/gateway/tenant"
	"github.com/winnowhq/winnow/internal/pgtest"
	"github.com/winnowhq/winnow/team/book"
)

// A change keeps the settings that a newer version has made, wherever they stand, and those that this
// one knows are changed as ever.
func TestSet_keepsSettingsOfANewerVersion(t *testing.T) {
	for driver, at := range map[string]func() string{
		"sqlite": func() string { return filepath.Join(t.TempDir(), "book.sqlite") },
		"pgx":    func() string { return pgtest.Start(t) },
	} {
		t.Run(driver, func(t *testing.T) {
			address := at()
			b, err := book.Open(t.Context(), address, time.Now)
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			if err := b.Add(t.Context(), "test", tenant.Tenant{Name: "ann"}); err != nil {
				t.Fatal(err)
			}
			db, err := sql.Open(driver, address)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			const newer = `{"limits":{"perMinute":8,"concurrent":2,"burst":3},"each":{"week":9},"keys":{"a":"x"},"mode":"safe","region":{"eu":[1,2]}}`
			if _, err := db.ExecContext(t.Context(), `UPDATE book_tenant SET settings = $1`, newer); err != nil {
				t.Fatal(err)
			}
			set := func(edit func(*tenant.Tenant), want string) {
				t.Helper()
				if _, err := b.Set(t.Context(), "test", "ann", func(s *tenant.Tenant) error { edit(s); return nil }); err != nil {
					t.Fatal(err)
				}
				var got string
				if err := db.QueryRowContext(t.Context(), `SELECT settings FROM book_tenant`).Scan(&got); err != nil || got != want {
					t.Errorf("the settings are\n%s, want\n%s, %v", got, want, err)
				}
			}
			set(func(s *tenant.Tenant) { s.Limits.PerMinute, s.Keys, s.Mode = 9, nil, "" },
				`{"each":{"week":9},"limits":{"burst":3,"concurrent":2,"perMinute":9},"region":{"eu":[1,2]}}`)
			set(func(s *tenant.Tenant) { s.Limits, s.Each.Day = tenant.Limits{}, 5 },
				`{"each":{"day":5,"month":0,"warn":0,"week":9},"limits":{"burst":3},"region":{"eu":[1,2]}}`)
		})
	}
}
