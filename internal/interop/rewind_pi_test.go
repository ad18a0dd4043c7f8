//go:build interop

package interop

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow/wire"
)

// piRPC is pi in its mode for other programs.
type piRPC struct {
	t     *testing.T
	in    io.Writer
	lines chan []byte
}

// piGoto is an extension with a command that does what /tree does in pi's terminal.
const piGoto = `export default function (pi) {
	pi.registerCommand("goto", {
		description: "go to an entry",
		handler: async (id, ctx) => { await ctx.navigateTree(id.trim(), { summarize: false }) },
	})
}
`

func servePi(t *testing.T, c *client, file string) (s *piRPC, stop func()) {
	t.Helper()
	extension := filepath.Join(c.Home, "goto.ts")
	putFile(t, extension, piGoto)
	in, lines, stop := c.talks(t, "--mode", "rpc", "--provider", "loopback", "--model", "scripted", "--session", file,
		"-e", extension)
	return &piRPC{t: t, in: in, lines: lines}, stop
}

// call sends a command, and waits until a line is the end of it.
func (s *piRPC) call(command map[string]any, ends string) (line []byte) {
	s.t.Helper()
	text, err := json.Marshal(command)
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := fmt.Fprintf(s.in, "%s\n", text); err != nil {
		s.t.Fatal(err)
	}
	for late := time.After(time.Minute); ; {
		select {
		case line := <-s.lines:
			v := wire.ValueOf(line)
			if v.Get("type").String() == "response" && string(v.Get("success").Bytes()) != "true" || line == nil {
				s.t.Fatalf("pi answers %s: %s", text, line)
			}
			if v.Get("type").String() == ends {
				return line
			}
		case <-late:
			s.t.Fatalf("waited in vain for the end of %s", text)
		}
	}
}

// TestPi_forksAndGoesToOlderEntriesAfterAFold: after `winnow compact --in-place` and two more turns
// the session is forked and cloned, and gone on with at older entries, as /fork and /tree do it.
func TestPi_forksAndGoesToOlderEntriesAfterAFold(t *testing.T) {
	w, a := newWorkshop(t, piAgent), piAgent(t)
	a.begins(t)
	file := filepath.Join(a.Home, "session.jsonl")
	w.inPlace(t, "compact", file)
	a.goes(t)
	remembers(t, a.asked(t, "ZEBRA"), true, 3, 4, 5, 6)
	whole := a.save(t)
	for _, c := range []struct {
		name    string
		at      int // the last turn that stays
		summary bool
	}{
		{"whole", 6, true},
		{"behind the fold", 5, true},
		{"at the end of the tail", 4, true},
		{"in the tail", 3, false}, // which ends before the fold, and has all from before it
		{"before the fold", 1, false},
	} {
		for _, fork := range []bool{true, false} {
			name := c.name
			if fork {
				name += ", forked"
			}
			t.Run(name, func(t *testing.T) {
				tries(t, "compact", "rewind")
				putFile(t, file, string(whole))
				a.up.Forget()
				s, stop := servePi(t, a.client, file)
				piGoes(t, s, whole, c.at, fork)
				s.call(map[string]any{"type": "prompt", "message": "And now, OKAPI?"}, "agent_end")
				now := wire.ValueOf(s.call(map[string]any{"type": "get_state"}, "response")).Get("data").Get("sessionFile").String()
				stop()
				asked := a.asked(t, "OKAPI")
				first := 0
				if c.summary {
					first = 2
				}
				turns := []int{1, 2, 3, 4, 5, 6}[first:c.at]
				remembers(t, asked, c.summary, turns...)
				if fork == (now == file) {
					t.Errorf("it goes on in %s", now)
				}
				text := readFile(t, now)
				if dir := os.Getenv("WINNOW_SICK"); dir != "" {
					putFile(t, filepath.Join(dir, "pi-"+name), string(text))
				}
				w.reads(t, a, text, asked)
				again := func(prompt string, summary bool, turns ...int) {
					t.Helper()
					text := readFile(t, now)
					a.up.Forget()
					askPi(t, a.client, now, prompt)
					asked := a.asked(t, prompt)
					a.agreesOnPast(t, visible(readAny(t, text), a.cleared), asked)
					remembers(t, asked, summary, turns...)
				}
				again("And then, LEMUR?", c.summary, turns...)
				if c.summary {
					putFile(t, now, string(text))
					w.inPlace(t, "undo", now)
					again("And last, GNU?", false, []int{1, 2, 3, 4, 5, 6}[:c.at]...)
				}
			})
		}
	}
}

// piGoes forks a session behind a turn of the past, or goes there.
func piGoes(t *testing.T, s *piRPC, whole []byte, at int, fork bool) {
	t.Helper()
	switch {
	case fork && at == len(past):
		s.call(map[string]any{"type": "clone"}, "response")
	case fork:
		s.call(map[string]any{"type": "fork", "entryId": piPrompt(t, whole, at+1)}, "response")
	case at < len(past):
		s.call(map[string]any{"type": "prompt", "message": "/goto " + piPrompt(t, whole, at+1)}, "response")
	}
}

// piPrompt is the id of the entry with the prompt of a turn.
func piPrompt(t *testing.T, text []byte, turn int) string {
	t.Helper()
	for line := range bytes.Lines(text) {
		if e := wire.ValueOf(line); e.Get("message").Get("role").String() == "user" &&
			bytes.Contains(line, []byte(past[turn-1].prompt)) {
			return e.Get("id").String()
		}
	}
	t.Fatalf("no entry has the prompt of turn %d", turn)
	return ""
}
