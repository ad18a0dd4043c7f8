package stories

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/plan/budget"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/session"
)

// Whether a summary was prepared or not, and whatever the fold comes of: the newest message of the
// user's stands in the view word for word, once as a message of theirs after a rejection and where
// it was never sent, and otherwise there or in what is carried over. What was never sent stays.
func TestCompact_theNewestMessageIsThereOnce(t *testing.T) {
	ctx := context.Background()
	const needle, found = "Now look at the picture NEEDLE, please.", "/src/unsent.go"
	for _, prepared := range []string{"not prepared", "prepared before it was said",
		"prepared while it was worked on"} {
		for _, worked := range []int{0, 1, 3} {
			for _, how := range []string{"rejected", "threshold", "manual", "marker"} {
				if prepared == "prepared while it was worked on" && worked < 3 {
					continue
				}
				t.Run(fmt.Sprintf("%s, %d steps, %s", prepared, worked, how), func(t *testing.T) {
					a := &ahead{scribe: newSlow(), done: make(chan error, 1)}
					c := winnow.Config{Summarizer: a.scribe, Settings: withPolicy("balanced")}
					c.Settings.Compaction.Prune = false
					if keep := 0; prepared == "prepared while it was worked on" {
						c.Settings.Compaction.Keep = &keep // so that the message is in what is folded
					}
					a.lab = newLab(t, c)
					a.worked(9, 900)
					if prepared == "prepared before it was said" {
						a.begin()
						a.written()
					}
					a.user(needle)
					for i := range worked {
						if i == worked-1 {
							a.reads(found, 150)
							break
						}
						a.reads(fmt.Sprintf("/src/late%d.go", i), 150)
						if prepared == "prepared while it was worked on" && i == 0 {
							a.begin()
							a.written()
						}
					}
					if prepared == "not prepared" {
						a.scribe.answers <- notes("The lamps are counted.")
					}
					var r *pivot.Receipt
					var err error
					var out winnow.Outcome
					switch how {
					case "rejected":
						out, _, err = a.Rejected(ctx, a.id, budget.Rejection{Code: "context_length_exceeded"})
						r = out.Compacted
					case "threshold":
						out, err = a.Observe(ctx, a.id, a.over())
						r = out.Compacted
					case "marker":
						if _, err := a.Schedule(ctx, a.id, true); err != nil {
							t.Fatal(err)
						}
						r, err = a.Compact(ctx, a.id, winnow.CompactOptions{})
					default:
						r, err = a.Compact(ctx, a.id, winnow.CompactOptions{})
					}
					if err != nil || r == nil || r.Kind != pivot.Compaction {
						t.Fatalf("%+v, %v", r, err)
					}
					if a.scribe.times() != 1 {
						t.Errorf("%d summaries were asked for, want 1", a.scribe.times())
					}
					said, carried, unsent := 0, 0, 0
					for _, m := range a.view().Messages {
						switch {
						case m.IsSummary():
							carried += strings.Count(m.Text(), needle)
						case m.Role == session.User:
							said += strings.Count(m.Text(), needle)
						}
						for i := range m.Parts {
							if s := m.Parts[i].State; s != nil && strings.Contains(string(s.Input), found) &&
								strings.HasPrefix(s.Output, "wordword") {
								unsent++
							}
						}
					}
					if must := how == "rejected" || worked == 0; said+carried != 1 || must && said != 1 {
						t.Errorf("it stands %d times as a message and %d times in the carry-over\n%s", said, carried,
							a.text())
					}
					if worked > 0 && unsent != 1 {
						t.Errorf("what was never sent stands %d times in the view, want once", unsent)
					}
				})
			}
		}
	}
}
