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
