package pgtest

import (
	"os"
	"testing"

	"github.com/jackc/pgx/v5"
)

func TestStart_givesEachTestASchemaOfItsOwn(t *testing.T) {
	first, second := Start(t), Start(t)
	for _, url := range []string{first, second} {
		c, err := pgx.Connect(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(t.Context())
		if _, err := c.Exec(t.Context(), "CREATE TABLE a (b int)"); err != nil {
			t.Errorf("in %s: %v", url, err)
		}
	}
}

func TestCluster_isGoneAfterItsTest(t *testing.T) {
	var dir string
	t.Run("with a cluster", func(t *testing.T) {
		c := NewCluster(t, true)
		dir = c.dir
		for _, mode := range []string{"fast", "immediate"} {
			if err := c.Down(mode); err != nil {
				t.Fatal(err)
			}
			if err := c.Up(); err != nil {
				t.Fatal(err)
			}
		}
		conn, err := pgx.Connect(t.Context(), c.URL())
		if err != nil {
			t.Fatal(err)
		}
		conn.Close(t.Context())
	})
	if dir == "" {
		t.Skip("there was none")
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s is left: %v", dir, err)
	}
}

// What was committed on a primary is on its standby when the primary is killed, over and over, and
// who names both finds the one that takes writes.
func TestPair_losesNothingThatWasCommitted(t *testing.T) {
	p := NewPair(t)
	connect := func() *pgx.Conn {
		t.Helper()
		c, err := pgx.Connect(t.Context(), p.URL())
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := connect()
	if _, err := c.Exec(t.Context(), "CREATE TABLE a (b int)"); err != nil {
		t.Fatal(err)
	}
	written := 0
	for range 3 {
		for range 20 {
			if _, err := c.Exec(t.Context(), "INSERT INTO a VALUES ($1)", written); err != nil {
				t.Fatal(err)
			}
			written++
		}
		if err := p.FailOver(); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Exec(t.Context(), "INSERT INTO a VALUES (-1)"); err == nil {
			t.Error("the server that was killed takes a row")
		}
		if err := p.Follow(t.Context()); err != nil {
			t.Fatal(err)
		}
		c = connect()
		n := 0
		if err := c.QueryRow(t.Context(), "SELECT count(*) FROM a").Scan(&n); err != nil || n != written {
			t.Errorf("there are %d rows of %d, %v", n, written, err)
		}
	}
	c.Close(t.Context())
}
