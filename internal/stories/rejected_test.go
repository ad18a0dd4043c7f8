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

// A request was refused as too long, a summary does not help, and the newest result is shown in part
// instead: what the attempts at a summary took is recorded once, as spent for nothing.
func TestRejected_attemptsThatCameToNothingCostOnce(t *testing.T) {
	scribe := &scripted{answers: []any{notes(strings.Repeat("a word more than there was ", 35))}}
	l := newLab(t, winnow.Config{Summarizer: scribe, Settings: withPolicy("balanced"), Models: small(12_000, 1_000)})
	l.worked(3, 60)
	l.user("Read the log.")
	l.reads("/src/log.txt", 9_000)
	out, ok, err := l.Rejected(t.Context(), l.id, budget.Rejection{Status: 413})
	if err != nil || !ok || out.Compacted == nil || out.Compacted.Kind != pivot.Pruning {
		t.Fatalf("ok %v, receipt %+v, error %v", ok, out.Compacted, err)
	}
	_, state, err := l.Session(t.Context(), l.id)
	if err != nil {
		t.Fatal(err)
	}
	if len(scribe.asked) == 0 || len(state.Spent) != len(scribe.asked) {
		t.Errorf("%d requests are recorded, %d were made", len(state.Spent), len(scribe.asked))
	}
	for _, s := range state.Spent {
		if !s.Failed {
			t.Errorf("a request that came to nothing counts: %+v", s)
		}
	}
}
