package gateway

import (
	"database/sql"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/winnowhq/winnow/gateway/tenant"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/internal/pgtest"
	"github.com/winnowhq/winnow/store"
)

// secret is a sentence that is said to the model, and in no other place.
const secret = "The heliotrope is under the third stone."

// where are the places in which a text is: tables of the database, or files beside the store.
func (l *till) where(text string) (places []string) {
	l.t.Helper()
	if store.IsURL(l.at) {
		return inTables(l.t, l.at, text)
	}
	err := filepath.WalkDir(filepath.Dir(l.at), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			return nil
		}
		if strings.Contains(string(data), text) {
			places = append(places, filepath.Base(path))
		}
		return err
	})
	if err != nil {
		l.t.Fatal(err)
	}
	return places
}

// inTables are the tables that have a text in any column, in whatever type.
func inTables(t *testing.T, at, text string) (tables []string) {
	t.Helper()
	db, err := sql.Open("pgx", at)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), `SELECT table_name FROM information_schema.tables
		WHERE table_schema = current_schema() AND table_type = 'BASE TABLE' ORDER BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	if len(names) < 20 {
		t.Fatalf("only %v", names)
	}
	for _, name := range names {
		var n int
		err := db.QueryRowContext(t.Context(), fmt.Sprintf(`SELECT count(*) FROM %q AS t
			WHERE position($1 in t::text) > 0 OR position($2 in t::text) > 0`, name), text, hex.EncodeToString([]byte(text))).Scan(&n)
		if err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			tables = append(tables, name)
		}
	}
	return tables
}

// both runs a test on a file, and on a database with two replicas.
func both(t *testing.T, ann tenant.Tenant, answer llmtest.Answer, test func(t *testing.T, l *till)) {
	for _, kind := range []string{"sqlite", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			at := ""
			if kind == "postgres" {
				at = pgtest.Start(t)
			}
			l := openTill(t, at, ann, answer)
			if kind == "postgres" {
				l.relay()
			}
			test(t, l)
		})
	}
}

// eraser erases as the command does.
func (l *till) eraser() Eraser { return Eraser{App: l.relays[0].app, Book: l.book, Who: "cli:test"} }

// sentence is a request that says one, also in a text that is kept apart.
func sentence(text string) string {
	return fmt.Sprintf(`{"model":"claude-sonnet-4-5","max_tokens":2000,"tools":[{"name":"a","input_schema":{"type":"object"}}],
		"messages":[{"role":"user","content":%q},{"role":"assistant","content":"Yes."},{"role":"user","content":%q}]}`, text,
		strings.Repeat(text+" ", 400))
}

// Nothing of an erased tenant is left, of none that had its name: in no table, in no byte of a
// file, in no replica, though one is at work for it; its stream ends. Another tenant keeps
// everything.
func TestEraser_leavesNothingOfATenant(t *testing.T) {
	both(t, tenant.Tenant{Name: "ann", Budget: plenty}, says, func(t *testing.T, l *till) {
		if err := l.book.Add(t.Context(), "test", tenant.Tenant{Name: "bob"}); err != nil {
			t.Fatal(err)
		}
		anns, bobs := l.token, l.tokenOf("bob")
		say := func(token, text string) {
			t.Helper()
			l.token = token
			for through := range l.relays {
				if status, answer := l.send(request{path: "/v1/messages", body: sentence(text), through: through}); status != http.StatusOK {
					t.Fatalf("%d %s", status, answer)
				}
			}
		}
		say(bobs, "The amaranth is bob's.")
		say(anns, secret)
		l.spent()
		if err := l.book.Remove(t.Context(), "test", "ann"); err != nil { // the first of this name
			t.Fatal(err)
		}
		if err := l.book.Add(t.Context(), "test", tenant.Tenant{Name: "ann", Budget: plenty}); err != nil {
			t.Fatal(err)
		}
		say(l.tokenOf("ann"), secret)
		l.spent()
		if len(l.where(secret)) == 0 {
			t.Fatal("the test looks in the wrong places")
		}
		var streams []chan time.Time
		for through := range l.relays {
			l.provider.Inject(llmtest.HangMidStream)
			q := asks(llmtest.Anthropic, true, "")
			streams = append(streams, l.stream(l.token, "/up"+q.path, strings.Replace(q.body, "The quick", secret, 1), through))
		}
		receipt, err := l.eraser().Tenant(t.Context(), "ann")
		if err != nil {
			t.Fatal(err)
		}
		for i, ended := range streams {
			select {
			case <-ended:
			case <-time.After(time.Second):
				t.Errorf("stream %d goes on", i)
			}
		}
		if !slices.Equal(receipt.Stores, []string{"ann", "ann.2"}) || receipt.Sessions < 2 || receipt.Messages < 6 || receipt.Texts == 0 ||
			receipt.Bytes == 0 || receipt.Tokens != 1 || receipt.Entries < 5 || receipt.By != "cli:test" || len(receipt.Remains) < 3 {
			t.Errorf("the receipt: %+v", receipt)
		}
		for _, text := range []string{secret, "third stone"} {
			if places := l.where(text); len(places) > 0 {
				t.Errorf("%q is in %v", text, places)
			}
		}
		if len(l.where("The amaranth is bob's.")) == 0 {
			t.Error("nothing is left of bob's")
		}
		for _, of := range receipt.Stores {
			spent, err := l.book.Spent(t.Context(), of, time.Now())
			if err != nil || spent != (tenant.Spent{}) {
				t.Errorf("%s has spent %+v, %v", of, spent, err)
			}
			all, err := l.book.Audited(t.Context(), of, 10)
			if err != nil || of == "ann" && len(all) != 0 || of != "ann" && (len(all) != 1 || all[0].Did != tenant.Erased) {
				t.Errorf("the audit log of %s: %+v, %v", of, all, err)
			}
			for i, r := range l.relays {
				if r.stateOf(of) != nil {
					t.Errorf("replica %d holds what it had of %s", i, of)
				}
			}
		}
		if _, err := l.eraser().Tenant(t.Context(), "nobody"); err == nil {
			t.Error("a tenant that never was is erased")
		}
	})
}
