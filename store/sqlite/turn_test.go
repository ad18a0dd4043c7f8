package sqlite_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
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
	dice := rand.New(rand.NewPCG(1, 2))
	said := func(id, text string) session.Message {
		return session.Message{MessageInfo: session.MessageInfo{ID: id, Role: session.User}, Parts: []session.Part{{ID: id + "-text", Type: session.TextPart, Text: text}}}
	}
	log := make([]session.Message, 80)
	for i := range log {
		var b strings.Builder
		for b.Len() < 200_000 {
			fmt.Fprintf(&b, "line %x of %x\n", dice.Uint32(), dice.Uint64())
		}
		log[i] = said(fmt.Sprint("m", i), b.String())
	}
	if _, err := s.Apply(t.Context(), "large", store.Change{Create: &session.Info{ID: "large"}, Append: log}); err != nil {
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
		if _, err := other.Apply(t.Context(), "small", store.Change{Append: []session.Message{said(fmt.Sprint("n", writes), "x")}}); err != nil {
			t.Fatal(err)
		}
	}
}
