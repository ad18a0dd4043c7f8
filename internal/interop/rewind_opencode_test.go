//go:build interop

package interop

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/format/opencodeserver"
	"github.com/winnowhq/winnow/session"
)

// TestOpenCode_forksAndRevertsAfterAFold: after `winnow compact`, an import and two more turns the
// session is forked, and reverted to before older prompts, as OpenCode's terminal does it.
func TestOpenCode_forksAndRevertsAfterAFold(t *testing.T) {
	w, a := newWorkshop(t, openCodeAgent), openCodeAgent(t)
	a.begins(t)
	export := filepath.Join(a.Project, "export.json")
	putFile(t, export, string(a.save(t)))
	w.inPlace(t, "compact", export)
	a.load(t, readFile(t, export))
	a.goes(t)
	remembers(t, a.asked(t, "ZEBRA"), true, 3, 4, 5, 6)
	whole, saved := readAny(t, a.save(t)).Session, t.TempDir()
	a.keeps(t, saved)
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
				a.restores(t, saved)
				a.up.Forget()
				s := serve(t, a.client)
				on := openCodeGoes(t, s, whole, c.at, fork)
				ask(t, s.url, on, "And now, OKAPI?")
				s.stop()
				asked := a.asked(t, "OKAPI")
				first := 0
				if c.summary {
					first = 2
				}
				turns := []int{1, 2, 3, 4, 5, 6}[first:c.at]
				remembers(t, asked, c.summary, turns...)
				text := []byte(a.run(t, "export", on))
				if dir := os.Getenv("WINNOW_SICK"); dir != "" {
					putFile(t, filepath.Join(dir, "opencode-"+name), string(text))
				}
				w.reads(t, a, text, asked)
			})
		}
	}
}

// openCodeGoes forks a session behind a turn of the past, or reverts it to there, and returns the
// session that goes on.
func openCodeGoes(t *testing.T, s *served, whole session.Session, at int, fork bool) string {
	t.Helper()
	for _, m := range whole.Messages { // else OpenCode 2 drops the compaction
		if m.IsSummary() && m.Time.Completed == 0 {
			t.Errorf("the summary %s has no end", m.ID)
		}
	}
	id, from := whole.Info.ID, map[string]any{}
	if at < len(past) {
		from["messageID"] = openCodePrompt(t, whole.Messages, at+1)
	}
	if fork {
		var made struct{ ID string }
		if err := json.Unmarshal(s.call(t, "/session/"+id+"/fork", from), &made); err != nil {
			t.Fatal(err)
		}
		return made.ID
	}
	if at < len(past) { // and once more, after the opposite
		s.call(t, "/session/"+id+"/revert", from)
		s.call(t, "/session/"+id+"/unrevert", map[string]any{})
		s.call(t, "/session/"+id+"/revert", from)
	}
	return id
}

// openCodePrompt is the id of the message with the prompt of a turn.
func openCodePrompt(t *testing.T, log []session.Message, turn int) string {
	t.Helper()
	at := slices.IndexFunc(log, func(m session.Message) bool {
		return m.Written() && strings.Contains(m.Text(), past[turn-1].prompt)
	})
	if at < 0 {
		t.Fatalf("no message has the prompt of turn %d", turn)
	}
	return log[at].ID
}

// onAServer has one server play the turns of the past, and compact between them. The result forks the
// session, or takes it back, and says something there.
func (a *agent) onAServer() (goes func(t *testing.T, at int, fork bool, prompt string)) {
	var s *served
	id := ""
	a.say = func(t *testing.T, prompt string) {
		t.Helper()
		if s == nil {
			s = serve(t, a.client)
			id = s.begin(t, "Lists")
		}
		ask(t, s.url, id, prompt)
		if prompt == past[len(past)-1].prompt {
			s.stop()
		}
	}
	a.compact = func(t *testing.T) {
		s.call(t, "/session/"+id+"/summarize", map[string]any{"providerID": "local", "modelID": "m1"})
	}
	return func(t *testing.T, at int, fork bool, prompt string) {
		t.Helper()
		s := serve(t, a.client)
		defer s.stop()
		reader, err := opencodeserver.Dial(t.Context(), s.url, opencodeserver.Login{})
		if err != nil {
			t.Fatal(err)
		}
		doc, err := reader.Read(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		ask(t, s.url, openCodeGoes(t, s, doc.Session, at, fork), prompt)
	}
}
