package sqlite_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/sqlite"
)

// small fills a store with sessions of two messages each.
func small(t testing.TB, s *sqlite.Store, sessions int) {
	t.Helper()
	for i := range sessions {
		id := fmt.Sprintf("ses_%05d", i)
		c := store.Change{Create: &session.Info{ID: id}}
		for n, role := range []session.Role{session.User, session.Assistant} {
			m := session.MessageInfo{ID: fmt.Sprintf("msg_%d_%d", i, n), SessionID: id, Role: role,
				Time: session.MessageTime{Created: 1.7e12}}
			c.Append = append(c.Append, session.Message{MessageInfo: m, Parts: []session.Part{
				{ID: fmt.Sprintf("prt_%d_%d", i, n), SessionID: id, MessageID: m.ID, Type: session.TextPart,
					Text: fmt.Sprintf("heron %d of the ledger", i)}}})
		}
		if _, err := s.Apply(t.Context(), id, c); err != nil {
			t.Fatal(err)
		}
	}
}

// Filling the index asks again and again what is left to do. None of these questions may go through
// all the sessions that are done.
func TestIndex_looksOnlyAtWhatItLacks(t *testing.T) {
	s := open(t, sqlite.Config{Path: filepath.Join(t.TempDir(), "winnow.db")})
	small(t, s, 50)
	for _, query := range sqlite.Repeated {
		rows, err := s.Reader().Query(`EXPLAIN QUERY PLAN ` + query)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var id, parent, unused int
			var detail string
			if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
				t.Fatal(err)
			}
			for _, table := range []string{"session", "kept", "message", "part"} {
				if strings.HasPrefix(detail, "SCAN "+table) && !strings.Contains(detail, "INDEX session_behind") &&
					!strings.Contains(detail, "INDEX kept_fresh") {
					t.Errorf("%s\nlooks through all of %s: %s", query, table, detail)
				}
			}
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		rows.Close()
	}
	if found := search(t, s, "heron"); found.Total != 100 || found.Behind != 0 {
		t.Errorf("%d hits, %d messages behind", found.Total, found.Behind)
	}
	if n := count(t, s, `SELECT count(*) FROM session INDEXED BY session_behind WHERE indexed < messages`); n != 0 {
		t.Errorf("%d sessions are still among those that the index lacks", n)
	}
	if _, err := s.Apply(t.Context(), "ses_00007", store.Change{Append: steps(1, 100, 1)}); err != nil {
		t.Fatal(err)
	}
	if n := count(t, s, `SELECT count(*) FROM session INDEXED BY session_behind WHERE indexed < messages`); n != 1 {
		t.Errorf("%d sessions are among those that the index lacks, want the one that grew", n)
	}
}

// BenchmarkIndex_smallSessions fills the index from sessions of two messages each.
func BenchmarkIndex_smallSessions(b *testing.B) {
	for _, sessions := range []int{1_000, 10_000} {
		b.Run(fmt.Sprintf("sessions=%d", sessions), func(b *testing.B) {
			var took time.Duration
			for range b.N {
				s := open(b, sqlite.Config{Path: filepath.Join(b.TempDir(), "winnow.db")})
				small(b, s, sessions)
				begun := time.Now()
				if err := s.Index(b.Context(), nil); err != nil {
					b.Fatal(err)
				}
				took += time.Since(begun)
				s.Close()
			}
			b.ReportMetric(float64(took.Microseconds())/float64(b.N*sessions), "µs/session")
		})
	}
}
