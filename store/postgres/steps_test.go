package postgres_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/internal/pgtest"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/postgres"
)

// An index that is made in small steps, as the job makes that of a tenant who asks little, writes
// little more to the log of the database than one that is made at once.
func TestIndex_inStepsWritesLittleMore(t *testing.T) {
	c := pgtest.NewCluster(t, false)
	d := open(t, c.URL(), postgres.Options{})
	written := func(tenant string, everyStep bool) (wal int64) {
		s := d.Tenant(tenant)
		index := func() {
			before := count(t, c.URL(), `SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint`)
			if err := s.Index(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			wal += count(t, c.URL(), `SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint`) - before
		}
		dice := rand.New(rand.NewPCG(1, 1))
		if err := s.Create(t.Context(), session.Info{ID: "ses"}); err != nil {
			t.Fatal(err)
		}
		for step := range 80 {
			var text strings.Builder
			for range 400 {
				fmt.Fprintf(&text, "w%d ", dice.IntN(1<<dice.IntN(13)+1)) // few words are often, many seldom
			}
			if _, err := s.Apply(t.Context(), "ses", store.Change{Append: []session.Message{{
				MessageInfo: session.MessageInfo{ID: fmt.Sprint("m", step), Role: session.User},
				Parts:       []session.Part{{ID: fmt.Sprint("p", step), Type: session.TextPart, Text: text.String()}}}}}); err != nil {
				t.Fatal(err)
			}
			if everyStep {
				index()
			}
		}
		index()
		return wal
	}
	once, steps := written("once", false), written("steps", true)
	t.Logf("at once %d bytes, in steps %d", once, steps)
	if steps > once*3/2 {
		t.Errorf("in steps it writes %.1f times as much", float64(steps)/float64(once))
	}
}
