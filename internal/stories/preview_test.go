package stories

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule"
)

// worked fills a lab with turns of reading, the newest of which is small.
func (l *lab) worked(turns, tokens int) {
	for i := range turns {
		l.user(fmt.Sprintf("Look at file %d, and never touch the lamp.", i))
		l.reads(fmt.Sprintf("/src/file%d.go", i), tokens)
		l.says(fmt.Sprintf("File %d holds the lamp number %d.", i, i))
	}
}

// What is foreseen is what happens, to the token, where the offline summariser writes.
func TestPreview_isTheCompactionThatComes(t *testing.T) {
	for _, policy := range []string{"balanced", "classic", "aggressive"} {
		for _, o := range []winnow.CompactOptions{{}, {Auto: true}, {Rejected: true}, {Focus: "the lamp"}} {
			t.Run(fmt.Sprintf("%s %+v", policy, o), func(t *testing.T) {
				l := newLab(t, winnow.Config{Settings: withPolicy(policy)})
				l.worked(6, 900)
				before, state, err := l.Session(context.Background(), l.id)
				if err != nil {
					t.Fatal(err)
				}
				p, err := l.Preview(context.Background(), l.id, o)
				if err != nil {
					t.Fatal(err)
				}
				after, still, err := l.Session(context.Background(), l.id)
				if err != nil || still.Revision != state.Revision || len(after.Messages) != len(before.Messages) {
					t.Errorf("the preview wrote: revision %d, was %d (%v)", still.Revision, state.Revision, err)
				}
				r := l.compact(o)
				keys := func(all []rule.Elision) map[rule.Key]string {
					m := map[rule.Key]string{}
					for _, el := range all {
						m[el.Key()] = el.Shown
					}
					return m
				}
				type figures struct {
					Kind                                                       pivot.Kind
					Before, After, MessagesBefore, MessagesAfter, Folded, Tail int
					Start                                                      string
					Gone                                                       map[string]int
					Carried                                                    pivot.Carried
					Committed                                                  map[rule.Key]string
				}
				got := figures{p.Kind, p.TokensBefore, p.TokensAfter, p.MessagesBefore, p.MessagesAfter, p.Folded,
					p.Tail, p.TailStart, p.Gone, p.Carried, keys(p.Committed)}
				want := figures{r.Kind, r.TokensBefore, r.TokensAfter, r.MessagesBefore, r.MessagesAfter, r.Folded,
					r.Tail, r.TailStart, r.Gone, r.Carried, keys(r.Committed)}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("the receipt (−) and the preview (+):\n%s", diff)
				}
				if p.Summary == nil || p.Summary.Basis != "written" || p.Summary.Cost != 0 || p.Summary.Calls != 0 {
					t.Errorf("of the summary: %+v", p.Summary)
				}
			})
		}
	}
}

func TestPreview_asksNoModelAndSaysWhatItWouldCost(t *testing.T) {
	scribe := &scripted{limit: 100_000, answers: []any{notes(strings.Repeat("The lamp is lit. ", 40))}}
	models := small(16000, 4000)
	models.Models = append(models.Models,
		model.Model{Provider: "p", ID: "scribe", Price: model.Price{Input: 1, Output: 10}})
	l := newLab(t, winnow.Config{Models: models, Summarizer: scribe})
	l.worked(6, 900)
	p, err := l.Preview(context.Background(), l.id, winnow.CompactOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s := p.Summary
	if len(scribe.asked) != 0 || s.Summarizer != "p/scribe" || s.Basis != "bound" || s.Calls != 1 {
		t.Errorf("%d were asked, %+v; want none, one call of p/scribe, as long as it may be", len(scribe.asked), s)
	}
	if want := float64(s.Prompt)/1e6 + 10*float64(s.Output)/1e6; s.Prompt < 1000 || s.Cost < 0.999*want ||
		s.Cost > 1.001*want {
		t.Errorf("it would cost %g of %+v, want %g", s.Cost, s, want)
	}
	r := l.compact(winnow.CompactOptions{})
	if p.TokensAfter < r.TokensAfter || p.Folded != r.Folded || p.Tail != r.Tail {
		t.Errorf("foreseen %d tokens, %d folded, %d kept; got %d, %d, %d", p.TokensAfter, p.Folded, p.Tail,
			r.TokensAfter, r.Folded, r.Tail)
	}
	l.worked(6, 900)
	if p, err = l.Preview(context.Background(), l.id, winnow.CompactOptions{}); err != nil {
		t.Fatal(err)
	}
	if p.Summary.Basis != "earlier" || p.Summary.Tokens >= s.Tokens {
		t.Errorf("the second: %+v, want as long as the first was", p.Summary)
	}
}

func TestPreview_refusesWhatCompactWould(t *testing.T) {
	for name, fill := range map[string]func(l *lab){
		"an empty session":  func(*lab) {},
		"one short message": func(l *lab) { l.user("Hello.") },
		"what is pinned": func(l *lab) {
			l.user("Look.")
			m := l.reads("/src/a.go", 2000)
			if _, err := l.Pin(context.Background(), l.id, rule.Pin{Part: m.Parts[0].ID}); err != nil {
				l.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, winnow.Config{})
			fill(l)
			_, got := l.Preview(context.Background(), l.id, winnow.CompactOptions{})
			_, want := l.Compact(context.Background(), l.id, winnow.CompactOptions{})
			if winnow.CodeOf(want) == "" || winnow.CodeOf(got) != winnow.CodeOf(want) {
				t.Errorf("the preview says %v, and Compact %v", got, want)
			}
		})
	}
}

func TestPreview_whereFoldingDoesNotHelpElisionsGo(t *testing.T) {
	l := newLab(t, winnow.Config{Models: small(400000, 4000)})
	l.user("Read the log.")
	l.reads("huge.log", 90000)
	l.user("And?")
	l.user("So?")
	l.says("It is long.")
	p, err := l.Preview(context.Background(), l.id, winnow.CompactOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r := l.compact(winnow.CompactOptions{})
	if p.Kind != r.Kind || p.Kind != pivot.Pruning || p.TokensAfter != r.TokensAfter || p.Saved != r.Saved ||
		len(p.Committed) != len(r.Committed) || p.Summary != nil {
		t.Errorf("foreseen a %s to %d tokens, %d elisions, %+v; got a %s to %d, %d", p.Kind, p.TokensAfter,
			len(p.Committed), p.Summary, r.Kind, r.TokensAfter, len(r.Committed))
	}
}
