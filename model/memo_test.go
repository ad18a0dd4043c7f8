package model_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/model"
)

// A memo finds what the catalogue finds, also for more names than it remembers, and for several who
// ask at once.
func TestMemo_findsWhatTheCatalogueFinds(t *testing.T) {
	c := model.Default()
	memo := c.Memo()
	names := []string{"anthropic/claude-sonnet-4-5", "claude-sonnet-4-5-20250929", "gpt-5", "nobody/knows", ""}
	for i := range 300 {
		names = append(names, fmt.Sprintf("made-up/%d", i))
	}
	names = append(names, names[:5]...)
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			for _, name := range names {
				if diff := cmp.Diff(c.Lookup(name), memo.Lookup(name)); diff != "" {
					t.Errorf("%q: -catalogue +memo\n%s", name, diff)
				}
			}
		})
	}
	all.Wait()
}
