package workday

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/token"
)

func TestMake_isTheSameForOneSeed(t *testing.T) {
	if diff := cmp.Diff(Make(7, 40), Make(7, 40)); diff != "" {
		t.Errorf("two sessions of one seed differ (-first +second):\n%s", diff)
	}
	if cmp.Equal(Make(7, 40).Messages, Make(8, 40).Messages) {
		t.Error("two seeds gave one session")
	}
}

func TestMake_isAboutAsLargeAsItSays(t *testing.T) {
	tokens, steps := 0, 0
	const sessions = 10
	for seed := range uint64(sessions) {
		s := Make(seed, Steps)
		tokens += rule.NewFacts(token.Linear{}).Total(s.Messages)
		for i := range s.Messages {
			if s.Messages[i].Role == session.Assistant {
				steps++
			}
		}
	}
	if steps != sessions*Steps {
		t.Errorf("%d sessions have %d steps, want %d", sessions, steps, sessions*Steps)
	}
	if each := tokens / sessions; each < Tokens*9/10 || each > Tokens*11/10 {
		t.Errorf("a session has %d tokens, want about %d", each, Tokens)
	}
}
