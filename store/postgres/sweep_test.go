package postgres_test

import (
	"testing"

	"github.com/winnowhq/winnow/internal/pgtest"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/postgres"
)

// Texts that nothing uses are deleted in pieces: a request that adds a text waits for one of them.
func TestSweep_holdsItsLockForAPiece(t *testing.T) {
	url := pgtest.Start(t)
	s := open(t, url, postgres.Options{}).Tenant("acme")
	if err := s.Create(t.Context(), session.Info{ID: "ses"}); err != nil {
		t.Fatal(err)
	}
	query(t, url, `INSERT INTO content SELECT 'acme', int4send(n), 1, 0, 'x' FROM generate_series(1, 2500) AS n`)
	query(t, url, `INSERT INTO garbage SELECT tenant, hash FROM content`)
	if n := count(t, url, `SELECT winnow_sweep('acme')`); n > 1000 || n == 0 {
		t.Errorf("at once %d texts were deleted", n)
	}
	if err := s.Delete(t.Context(), "ses"); err != nil {
		t.Fatal(err)
	}
	if n := count(t, url, `SELECT (SELECT count(*) FROM content) + (SELECT count(*) FROM garbage)`); n != 0 {
		t.Errorf("%d are left", n)
	}
}
