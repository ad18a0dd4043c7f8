package agent_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/internal/llmtest"
)

// seeing is a model that calls what it is told to, step by step, and a person who says something
// now and then. What the tools gave and what was said must be in the next request that is answered.
type seeing struct {
	mu   sync.Mutex
	plan [][]int // of each step how many lines each of its calls is to give; no call ends the turn
	step int
	next int      // number of the next output
	owed []string // what no request has had yet
	lost []string // what a request came without

	window int // of the provider: a longer prompt is refused
}

// owe notes what the next request must have.
func (s *seeing) owe(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.owed = append(s.owed, text)
}

func (s *seeing) answer(r llmtest.Request) llmtest.Reply {
	if isSummary(r) {
		return llmtest.Reply{Text: "## Goal\nLook at lamps.\n\n## Done\nLooked at some of them.\n\n## Next\nLook at " +
			"more."}
	}
	if r.Prompt > s.window {
		return llmtest.Reply{} // nobody reads it
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, text := range s.owed {
		if !r.Contains(text) {
			s.lost = append(s.lost, fmt.Sprintf("request %d lacks %q", r.Number, text))
		}
	}
	s.owed = nil
	if s.step == len(s.plan) {
		return llmtest.Reply{Text: "All is seen."}
	}
	reply := llmtest.Reply{Text: fmt.Sprintf("Step %d.", s.step)}
	for _, n := range s.plan[s.step] {
		reply.Calls = append(reply.Calls, call("look", fmt.Sprintf(`{"path":"seen%dx","text":"%d"}`, s.next, n)))
		s.next++
	}
	s.step++
	return reply
}

func (s *seeing) tool() agent.Tool {
	return tool{"look", pathSchema, func(_ context.Context, c agent.Call) (agent.Result, error) {
		name, text := path(c)
		n := 0
		fmt.Sscan(text, &n)
		s.owe(fmt.Sprintf("   0  the lamp of %s ", name))
		s.owe(fmt.Sprintf("%4d  the lamp of %s ", n-1, name))
		return agent.Result{Title: name, Output: lines(name, n)}, nil
	}}
}

func (s *seeing) told(t interface{ Errorf(string, ...any) }) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, lost := range s.lost {
		t.Errorf("it was folded or left out before it was ever sent: %s", lost)
	}
}

func TestRun_whatWasNeverSentIsNotFolded(t *testing.T) {
	for name, c := range map[string]struct {
		plan   [][]int
		window int // of the provider; reader's is what is believed
		calls  int // of tools, as many as it was told to make and no more
	}{
		"one output that is larger than any tail": {[][]int{{900}, {900}, {900}, {900}, {900}, {900}, {900},
			{900}}, 64_000, 8},
		"several at once": {[][]int{{700, 700, 700}, {700, 700, 700}, {700, 700, 700}},
			64_000, 9},
		"all that a window holds, step after step": {[][]int{{900, 900, 900}, {900, 900, 900}, {900, 900, 900},
			{900, 900, 900}, {900, 900, 900}}, 64_000, 15},
		"more at once than the window holds":          {[][]int{{50}, {900, 900, 900, 900, 900}, {50}}, 64_000, 7},
		"the same as the very first thing":            {[][]int{{900, 900, 900, 900, 900}, {50}}, 64_000, 6},
		"in a window that is smaller than it is said": {[][]int{{900}, {900}, {900}, {900, 900}, {900}}, 36_000, 6},
		"much smaller, with more at once than it holds": {[][]int{{50}, {900, 900, 900}, {50}, {900, 50, 900, 900},
			{50}}, 30_000, 10},
		"and a new turn behind each": {[][]int{{900}, {}, {900, 900}, {}, {900, 900, 900}, {},
			{900}}, 64_000, 7},
		"and where the rejected turn is a new one":       {[][]int{{900}, {900}, {}, {900}, {}, {900}}, 34_000, 4},
		"and what is short beside what is long stays so": {[][]int{{3, 900, 900, 900, 900, 900, 3}, {3}}, 64_000, 8},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &seeing{plan: c.plan, window: c.window}
			b := setUp(t, llmtest.Anthropic, llmtest.Script{Window: c.window, Answer: s.answer}, nil, s.tool())
			id := ""
			for i := 0; i == 0 || s.step < len(s.plan); i++ {
				said := fmt.Sprintf("Look at all lamps, time %d.", i)
				s.owe(said)
				got, err := b.Run(t.Context(), id, said)
				if err != nil {
					t.Fatal(err)
				}
				id = got.SessionID
			}
			s.told(t)
			b.sound(id)
			if calls := b.calls(id); len(calls) != c.calls {
				t.Errorf("%d calls, want %d", len(calls), c.calls)
			}
		})
	}
}

// Whatever is given and said, however small the window is and whichever summariser writes: each
// result and each message is in the request that follows it, before anything is folded or left out.
// Where it cannot be, the run ends with an error, and it is still there.
func TestRun_everythingIsSentBeforeItIsFolded(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := &seeing{plan: rapid.SliceOfN(rapid.SliceOfN(rapid.OneOf(rapid.IntRange(1, 60), rapid.IntRange(1, 1000)), 0,
			4), 1, 8).Draw(rt, "plan")}
		believed := rapid.IntRange(16_000, 64_000).Draw(rt, "believed")
		window := believed
		if rapid.IntRange(0, 3).Draw(rt, "a smaller one") == 0 {
			window = believed * 7 / 10
		}
		s.window = window
		b := setUp(t, llmtest.Anthropic, llmtest.Script{Window: window, Answer: s.answer},
			func(c *agent.Config) { c.Model.Limits.Context = believed }, s.tool())
		if b.scribe = rapid.Bool().Draw(rt, "the model writes"); b.scribe {
			b.open(b.store)
		}
		id := ""
		for i := 0; i == 0 || s.step < len(s.plan); i++ {
			said := fmt.Sprintf("Look at all lamps, time %d.", i)
			s.owe(said)
			got, err := b.Run(t.Context(), id, said)
			id = got.SessionID
			if err != nil {
				if code := winnow.CodeOf(err); code != winnow.NoProgress && code != winnow.NothingToFold {
					rt.Fatal(err)
				}
				v, err := b.engine.View(t.Context(), id)
				if err != nil {
					rt.Fatal(err)
				}
				text := ""
				for _, m := range v.Messages {
					for _, p := range m.Parts {
						text += p.Text
						if p.State != nil {
							text += p.State.Result()
						}
					}
				}
				for _, owed := range s.owed {
					if !strings.Contains(text, owed) {
						rt.Fatalf("the run ended with an error, and %q is not to be seen any more", owed)
					}
				}
				break
			}
		}
		s.told(rt)
		b.engine.Close()
	})
}
