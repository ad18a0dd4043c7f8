package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/sqlite"
)

// Who has much to write, transaction after transaction, lets others in between.
func TestWrite_inTurns(t *testing.T) {
	if testing.Short() {
		t.Skip("it fills an index for seconds")
	}
	path := filepath.Join(t.TempDir(), "winnow.db")
	s := open(t, sqlite.Config{Path: path})
	if _, err := s.Apply(t.Context(), "large", store.Change{Create: &session.Info{ID: "large"},
		Append: steps(1000, 16_000, 1)}); err != nil {
		t.Fatal(err)
	}
	other := open(t, sqlite.Config{Path: path})
	begun, ended := make(chan struct{}), make(chan error, 1)
	batches := 0
	go func() {
		ended <- s.Index(t.Context(), func(int, int) {
			if batches++; batches == 1 {
				close(begun)
			}
		})
	}()
	<-begun
	if err := other.Create(t.Context(), session.Info{ID: "small"}); err != nil {
		t.Fatal(err)
	}
	for writes := 1; ; writes++ {
		select {
		case err := <-ended:
			if err != nil {
				t.Fatal(err)
			}
			if batches < 6 || writes < batches/2 {
				t.Errorf("beside %d transactions of one store, another could make %d", batches, writes)
			}
			return
		default:
		}
		if _, err := other.Apply(t.Context(), "small",
			store.Change{Append: steps(1, 100, uint64(writes))}); err != nil {
			t.Fatal(err)
		}
	}
}
