package agent_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/llm"
)

// Whatever goes wrong with the request for a title: the turn is done, and has one.
func TestHeadlines_everyFault(t *testing.T) {
	for _, protocol := range faulty() {
		for _, fault := range faults() {
			if fault.Hangs() && (testing.Short() || protocol != llmtest.Anthropic) {
				continue // each takes the seconds after which a silent request is given up
			}
			t.Run(fmt.Sprintf("%s/%s", protocol, fault), func(t *testing.T) {
				t.Parallel()
				answer := llmtest.Text("They burn. All is "+
					"well.").FailsWhen(func(q llmtest.Request) bool {
					return strings.Contains(q.System,
						"You name finished pieces of work")
				}, fault)
				b := setUp(t, protocol, llmtest.Script{Answer: answer}, func(c *agent.Config) {
					c.Headlines = agent.HeadlinesBy(llm.Retry(c.Client, c.Retry), c.Model)
				})
				got, err := b.Run(t.Context(), "", "See to the lamps. All of them.")
				if err != nil || got.Text != "They burn. All is well." {
					t.Fatalf("got %q, %v", got.Text, err)
				}
				if len(b.upstream.Records()) < 2 {
					t.Fatal("no title was asked for: the test does not show what it is to show")
				}
				s := b.log(got.SessionID)
				if o, ok := s.Messages[0].Outline(); !ok || strings.TrimSpace(o.Title) == "" ||
					strings.Contains(o.Title, "<") {
					t.Errorf("the outline is %+v", o)
				}
				if s.Info.Title == "" {
					t.Error("the session has no title")
				}
				b.sound(got.SessionID)
			})
		}
	}
}

// A greeting is no title: the first request that means something gives the session one.
func TestTitle_isNoGreeting(t *testing.T) {
	b := setUp(t, llmtest.Anthropic, llmtest.Script{Answer: llmtest.Text("They burn.")}, nil)
	got, err := b.Run(t.Context(), "", "hi")
	if err != nil {
		t.Fatal(err)
	}
	id := got.SessionID
	if title := b.log(id).Info.Title; title != "" {
		t.Errorf("after a greeting the session is called %q", title)
	}
	for _, prompt := range []string{"Hello there, see to the lamps. All of them.", "And the door?"} {
		if _, err := b.Run(t.Context(), id, prompt); err != nil {
			t.Fatal(err)
		}
		if title := b.log(id).Info.Title; title != "see to the lamps." {
			t.Errorf("after %q the session is called %q", prompt, title)
		}
	}
}
