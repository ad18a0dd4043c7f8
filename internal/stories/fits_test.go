package stories

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/settings"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/summarize/offline"
)

// scribe writes a summary of each request and fails the test where one does not fit, or lacks what
// the user wants said.
type scribe struct {
	*rapid.T
	limit, long int
	wants       []string
	facts       *rule.Facts
	asked       int
	bad         bool // the first answer does not count
}

func (*scribe) Name() string { return "p/scribe" }
func (s *scribe) Limit() int { return s.limit }

func (s *scribe) Summarize(_ context.Context, r pivot.Request) (pivot.Answer, error) {
	s.asked++
	n := r.Tokens(s.facts)
	if strings.Contains(r.Instruction, "An earlier answer did not count") {
		n -= 64 // that is what these words were kept free for
	}
	if n > s.limit {
		s.Errorf("request %d has %d tokens, limit %d; notes %q", s.asked, n, s.limit, r.Notes)
	}
	for _, want := range s.wants {
		if !strings.Contains(r.Asks(), want) {
			s.Errorf("request %d does not say %.40q", s.asked, want)
		}
	}
	if s.bad && s.asked == 1 {
		return pivot.Answer{Text: "sure!", Finish: "stop"}, nil
	}
	if s.bad && s.asked == 2 && !strings.Contains(r.Asks(), pivot.ErrHeadings.Error()) {
		s.Errorf("the second request does not say what was wrong with the first answer")
	}
	return pivot.Answer{Text: "## Goal\n\n" + strings.Repeat("word ", min(s.long, r.Budget)), Finish: "stop"}, nil
}

// Whatever is folded, whatever the user wants said, and however small the window: each request fits
// and says it, and the session is folded.
func TestCompact_theRequestAlwaysFits(t *testing.T) {
	if testing.Short() {
		t.Skip("it does one thing after the other: -short is for the race detector")
	}
	rapid.Check(t, func(rt *rapid.T) {
		draw := func(name string, of ...int) int { return rapid.SampledFrom(of).Draw(rt, name) }
		prompt := strings.Repeat("Write it as I want it. ", draw("prompt", 0, 0, 10, 300, 20_000))
		line := strings.Repeat("The branch is main. ", draw("context", 0, 1, 300))
		focus := strings.Repeat("the lamp ", draw("focus", 0, 1, 300))
		s := &scribe{T: rt, limit: draw("limit", 1_500, 4_000, 16_000, 100_000, 1_000_000),
			long: draw("answer", 5, 300, 8_000), bad: rapid.Bool().Draw(rt, "bad")}
		settings := settings.Default()
		settings.Compaction.Prompt = prompt
		if line != "" {
			settings.Compaction.Context = []string{line}
		}
		for _, want := range []string{prompt, line, strings.TrimSpace(focus)} {
			if want != "" {
				s.wants = append(s.wants, want)
			}
		}
		l := newLab(t, winnow.Config{Summarizer: s, Settings: &settings, Models: small(1_000_000, 4000)})
		s.facts = rule.NewFacts(l.config.Counter)
		rounds := draw("rounds", 1, 2)
		for range rounds {
			switch draw("kind", 0, 1, 2, 3) {
			case 0:
				l.user(strings.Repeat("one line of a log that was pasted\n", draw("lines", 100, 10_000)))
			case 1:
				var tiny []session.Message
				for i := range 1000 {
					tiny = append(tiny, session.Message{MessageInfo: session.MessageInfo{Role: session.User},
						Parts: []session.Part{{Type: session.TextPart, Text: fmt.Sprint("Number ", i)}}})
				}
				if err := l.Append(context.Background(), l.id, tiny...); err != nil {
					rt.Fatal(err)
				}
			case 2:
				for range 20 {
					l.append(session.Message{MessageInfo: session.MessageInfo{Role: session.User},
						Parts: []session.Part{
							{Type: session.FilePart, Mime: "image/png", Filename: "a.png",
								URL: "data:image/png;base64," + strings.Repeat("A", 4000)}}})
					l.says("I see it.")
				}
			case 3:
				l.work(20)
				l.reads("huge.txt", 30_000)
			}
			l.says(strings.Repeat("That is how it stands. ", 200))
			l.user("And now?")
			l.says("Now it is done.")
			r, err := l.Compact(context.Background(), l.id, winnow.CompactOptions{Focus: strings.TrimSpace(focus)})
			if code := winnow.CodeOf(err); code == winnow.NoProgress || code == winnow.NothingToFold {
				return // there was too little to fold
			}
			if err != nil {
				rt.Fatalf("%v", err)
			}
			prompts := s.facts.Count(prompt + line + focus)
			if r.Summarizer == offline.Name && r.Kind == pivot.Compaction && prompts < s.limit/3 && s.limit > 1_500 {
				rt.Errorf("a limit of %d, prompts of %d: written by %s; notes %q", s.limit, prompts, r.Summarizer,
					r.Notes)
			}
		}
	})
}

// An answer that does not count is asked for once more, whichever piece it is for: what the pieces
// before it cost is not for nothing.
func TestCompact_eachPieceIsAskedForOnceMore(t *testing.T) {
	bad := pivot.Answer{Text: "sure!", Finish: "stop"}
	for name, c := range map[string]struct {
		answers []any
		by      string
	}{
		"two pieces, each of them once": {[]any{bad, notes("one"), bad, notes("two")}, "p/scribe"},
		"one piece twice":               {[]any{notes("one"), bad, bad, notes("two")}, offline.Name},
		"the first piece alone":         {[]any{bad, notes("one")}, "p/scribe"},
	} {
		s := &scripted{limit: 4000, answers: c.answers}
		l := newLab(t, winnow.Config{Summarizer: s, Models: small(1_000_000, 4000)})
		l.user("What do you see?")
		l.says(strings.Repeat("one line of a long answer about it\n", 1000))
		l.user("And?")
		l.says("No more.")
		if r := l.compact(winnow.CompactOptions{}); r.Summarizer != c.by || len(s.asked) < 3 {
			t.Errorf("%s: written by %s in %d requests, want %s; notes %q", name, r.Summarizer, len(s.asked), c.by,
				r.Notes)
		}
	}
}
