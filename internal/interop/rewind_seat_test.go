//go:build interop

package interop

import (
	"path/filepath"
	"strings"
	"testing"
)

// goesBackInASeat plays the past of a product in which winnow is installed, and has it compact
// behind the fourth turn. Then the product forks the session, or goes back to the end of a turn.
func (s *guest) goesBackInASeat(t *testing.T, points []int, goes func(t *testing.T, at int, fork bool, prompt string)) {
	s.plays(t, 0, beforeFold)
	s.compact(t)
	s.plays(t, beforeFold, len(past))
	folded := holds(t, s.asked(t, "ZEBRA"), len(past))
	if folded == 0 {
		t.Fatal("winnow folded nothing")
	}
	saved := t.TempDir()
	s.keeps(t, saved)
	for _, at := range points {
		for _, fork := range []bool{true, false} {
			name := past[at-1].output
			if fork {
				name += ", forked"
			}
			t.Run(name, func(t *testing.T) {
				tries(t, "seat", "rewind")
				s.restores(t, saved)
				s.up.Forget()
				goes(t, at, fork, "And now, OKAPI?")
				now := holds(t, s.asked(t, "OKAPI"), at)
				s.paired(t)
				t.Logf("%s: %d of %d turns are folded, before %d", name, now, at, folded)
				if at > beforeFold && now != folded {
					t.Errorf("%d turns are folded, before %d", now, folded)
				}
			})
		}
	}
}

// TestClaudeCode_rewindsInASeat: of a point before the fold the product knows nothing.
func TestClaudeCode_rewindsInASeat(t *testing.T) {
	s := newGuest(t, claudeAgent, "claude")
	s.goesBackInASeat(t, []int{6, 5}, func(t *testing.T, at int, fork bool, prompt string) {
		claudeGoes(t, s.agent, at, fork, prompt)
	})
}

// claudeGoes forks a session, or resumes it, whole or at the end of a turn of the past, and says
// something.
func claudeGoes(t *testing.T, a *agent, at int, fork bool, prompt string) {
	t.Helper()
	path := (&claude{client: a.client}).file(t)
	args := []string{"-p", prompt, "--dangerously-skip-permissions",
		"--resume", strings.TrimSuffix(filepath.Base(path), ".jsonl")}
	if at < len(past) {
		args = append(args, "--resume-session-at", claudeAnswer(t, readFile(t, path), at))
	}
	if fork {
		args = append(args, "--fork-session")
	}
	a.run(t, args...)
	checkPairs(t, a.asked(t, prompt))
}

func TestPi_goesBackInASeat(t *testing.T) {
	s := newGuest(t, piAgent, "pi")
	file := filepath.Join(s.Home, "session.jsonl")
	s.agent.compact = func(t *testing.T) {
		p, stop := servePi(t, s.client, file)
		p.call(map[string]any{"type": "compact"}, "response")
		stop()
	}
	s.goesBackInASeat(t, []int{6, 5, 4, 3, 1}, func(t *testing.T, at int, fork bool, prompt string) {
		p, stop := servePi(t, s.client, file)
		piGoes(t, p, s.save(t), at, fork)
		p.call(map[string]any{"type": "prompt", "message": prompt}, "agent_end")
		stop()
	})
}

func TestOpenCode_goesBackInASeat(t *testing.T) {
	s := newGuest(t, openCodeOffline, "opencode")
	s.goesBackInASeat(t, []int{6, 5, 4, 3, 1}, s.onAServer())
}
