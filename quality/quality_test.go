package quality

import (
	"os"
	"strconv"
	"testing"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/settings"
	"github.com/winnowhq/winnow/summarize/offline"
)

func TestTable(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("N"))
	for _, p := range []Phrasings{Known(), HeldOut()} {
		for _, policy := range []string{"balanced"} {
			for _, to := range []int{2, 4, 8} {
				s := settings.Default()
				s.Policy = policy
				r, err := Run(t.Context(), Case{Config: winnow.Config{Settings: &s, Summarizer: offline.New()}, To: to, Sessions: max(4, n), Phrasings: p})
				if err != nil {
					t.Fatal(err)
				}
				for n, f := range r.Folds {
					if n == 4 || os.Getenv("ALL") != "" {
						t.Logf("%s 1/%d fold %d: planted %v standing %v stale %d/%d mixed %d/%d drift %d/%d inputs lost %d/%d, %d→%d tokens, %d over", p.Name, to, n+1, f.Planted, f.Standing, f.Stale, f.Replaced, f.Mixed, f.Apart, f.Drifted, f.Stood, f.LostInputs, f.Inputs, f.Before, f.After, f.Over)
					}
				}
				if p.Name == "known" && to == 4 {
					for _, l := range r.Lost {
						if l.Fold == 5 {
							t.Logf("%+v", l)
						}
					}
				}
			}
		}
	}
}
