package stories

import (
	"sync"
	"testing"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/session"
)

// Who updates a message as it was read from the log writes nothing into what others read of it: a
// summary that is prepared reads the log meanwhile.
func TestUpdate_leavesThePartsOfTheLogAlone(t *testing.T) {
	l := newLab(t, winnow.Config{})
	l.work(3)
	log, _, err := l.Session(t.Context(), l.id)
	if err != nil {
		t.Fatal(err)
	}
	var reading sync.WaitGroup
	defer reading.Wait()
	reading.Go(func() {
		for range 1000 {
			for i := range log.Messages {
				for _, p := range log.Messages[i].Parts {
					if p.SessionID != l.id {
						t.Errorf("a part is of session %q", p.SessionID)
						return
					}
				}
			}
		}
	})
	for range 20 {
		m := log.Messages[0]
		m.Summary = session.Outline{Title: "a title"}.Value()
		if err := l.Update(t.Context(), l.id, m); err != nil {
			t.Fatal(err)
		}
	}
}
