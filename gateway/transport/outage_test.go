package transport

import (
	"sync"
	"testing"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/store/memory"
)

// A store that answers is never taken for lost, however many ask it and how soon.
func TestOutage_aStoreThatAnswersIsThere(t *testing.T) {
	engine := must(winnow.Open(winnow.Config{Store: memory.New()}))
	defer engine.Close()
	tr := New(engine, Options{})
	defer tr.Close()
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			for i := range 1000 {
				if !tr.answers() {
					t.Errorf("asked for time %d, it counts as lost", i)
					return
				}
			}
		})
	}
	all.Wait()
}
