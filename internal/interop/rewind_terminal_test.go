//go:build interop

package interop

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestClaudeCode_rewindsInItsTerminal: /rewind offers the prompts of the tail and those behind the
// fold; the conversation goes on from there, in the terminal and once it is resumed.
func TestClaudeCode_rewindsInItsTerminal(t *testing.T) {
	w, a := newWorkshop(t, claudeAgent), claudeAgent(t)
	a.begins(t)
	path := a.sessionFile(t)
	w.inPlace(t, "compact", path)
	a.goes(t)
	a.claudeKnows(t)
	whole := a.save(t)
	for _, c := range []struct {
		name  string
		up    int // how often the arrow is pressed
		turns []int
	}{
		{"behind the fold", 1, []int{3, 4, 5}},
		{"at the end of the tail", 2, []int{3, 4}},
		{"in the tail", 3, []int{3}},
	} {
		t.Run(c.name, func(t *testing.T) {
			tries(t, "compact", "rewind")
			putFile(t, path, string(whole))
			x := openTerminal(t, a.client, "--resume", strings.TrimSuffix(filepath.Base(path), ".jsonl"))
			x.shows("ZEBRA")
			x.shows("auto mode on")
			x.types("/rewind")
			x.shows("Restore the code and/or conversation")
			checkScreen(t, x, true, "NARWHAL", "TAPIR", "GIRAFFE", "ZEBRA")
			checkScreen(t, x, false, "CAPYBARA", "WALRUS")
			for range c.up {
				x.must("send-keys", "Up")
			}
			prompt := past[len(past)-c.up].prompt
			x.shows("❯ " + prompt)
			x.must("send-keys", "Enter")
			x.shows("❯ 1. Restore conversation")
			x.must("send-keys", "Enter")
			x.waits("the rewind", func() bool {
				s := x.screen()
				return strings.Contains(s, prompt) && !strings.Contains(s, "Restore conversation")
			})
			x.must("send-keys", "C-u")
			a.up.Forget()
			x.types("And now, OKAPI?")
			x.waits("the answer", func() bool {
				return len(requestsTo(a.up)) > 0 && strings.Contains(x.screen(), "The job is done.")
			})
			asked := a.asked(t, "OKAPI")
			checkPairs(t, asked)
			remembers(t, asked, true, c.turns...)
			x.types("/exit")
			x.shows("[ended]")
			text := readFile(t, path)
			w.reads(t, a, text, asked)
			w.again(t, a, path, true, c.turns...)
			putFile(t, path, string(text))
			w.inPlace(t, "undo", path)
			w.goesBack(t, a, path, "And last, GNU?", false, []int{1, 2, 3, 4, 5}[:len(past)-c.up]...)
		})
	}
}

func checkScreen(t *testing.T, x *terminal, want bool, words ...string) {
	t.Helper()
	_, list, _ := strings.Cut(x.screen(), "Restore the code and/or conversation")
	for _, word := range words {
		if strings.Contains(list, word) != want {
			t.Errorf("the list has %s: %v, want %v", word, !want, want)
		}
	}
}
