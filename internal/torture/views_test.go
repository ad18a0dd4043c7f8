package torture

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/winnowhq/winnow/store/memory"
)

// TestViews_areThoseOfAFreshEngine: an engine that was there all the time shows what one shows that
// reads the store now.
func TestViews_areThoseOfAFreshEngine(t *testing.T) {
	ctx := t.Context()
	seeds := uint64(4)
	if *long {
		seeds = 40
	}
	for seed := range seeds {
		kept := memory.New()
		w, err := newWorker(seed, kept)
		if err != nil {
			t.Fatal(err)
		}
		dice := rand.New(rand.NewPCG(seed, 3))
		kind := "create"
		for n := range 60 {
			if _, err := w.do(ctx, op{n, kind}); err != nil {
				t.Fatal(err)
			}
			fresh, err := newWorker(seed, kept)
			if err != nil {
				t.Fatal(err)
			}
			old, err := w.engine.View(ctx, mainSession)
			if err != nil {
				t.Fatal(err)
			}
			now, err := fresh.engine.View(ctx, mainSession)
			if err != nil {
				t.Fatal(err)
			}
			if fmt.Sprint(texts(old.Messages)) != fmt.Sprint(texts(now.Messages)) { // not the tokens: what an engine learned of them is its own
				t.Fatalf("seed %d: after operation %d, %s, the engine shows %d messages, a fresh one %d, or others",
					seed, n, kind, len(old.Messages), len(now.Messages))
			}
			kind = background[dice.IntN(len(background))]
		}
	}
}
