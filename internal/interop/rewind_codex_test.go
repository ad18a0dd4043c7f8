//go:build interop

package interop

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/wire"
)

// appServer is Codex's app server: its terminal and its extensions for editors speak to it.
type appServer struct {
	t     *testing.T
	in    io.Writer
	lines chan []byte
	calls int
}

// serveCodex starts the app server. It ends with the test, or when it is stopped.
func serveCodex(t *testing.T, c *client) (s *appServer, stop func()) {
	t.Helper()
	in, lines, stop := c.talks(t, "app-server")
	s = &appServer{t: t, in: in, lines: lines}
	s.call("initialize", map[string]any{"clientInfo": map[string]any{"name": "test", "version": "1"},
		"capabilities": map[string]any{"experimentalApi": true}})
	return s, stop
}

// heard is a line of the server's.
type heard struct {
	ID     int            `json:"id"`
	Method string         `json:"method"`
	Params jsontext.Value `json:"params"`
	Result jsontext.Value `json:"result"`
	Error  jsontext.Value `json:"error"`
}

// hears waits for a line.
func (s *appServer) hears(what string, is func(heard) bool) heard {
	s.t.Helper()
	late := time.After(time.Minute)
	for {
		select {
		case line, open := <-s.lines:
			var h heard
			if !open {
				s.t.Fatalf("the app server ended before %s", what)
			}
			if err := json.Unmarshal(line, &h); err != nil {
				s.t.Fatalf("%v: %s", err, line)
			}
			if is(h) {
				return h
			}
		case <-late:
			s.t.Fatalf("waited in vain for %s", what)
		}
	}
}

// call calls a method; the test fails when that fails.
func (s *appServer) call(method string, params map[string]any) jsontext.Value {
	s.t.Helper()
	result, failed := s.tries(method, params)
	if failed != nil {
		s.t.Fatalf("%s: %s", method, failed)
	}
	return result
}

func (s *appServer) tries(method string, params map[string]any) (result, failed jsontext.Value) {
	s.t.Helper()
	s.calls++
	text, err := json.Marshal(map[string]any{"id": s.calls, "method": method, "params": params})
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := fmt.Fprintf(s.in, "%s\n", text); err != nil {
		s.t.Fatal(err)
	}
	h := s.hears(method, func(h heard) bool { return h.ID == s.calls && h.Method == "" })
	return h.Result, h.Error
}

// says plays a turn of a thread, and waits for its end.
func (s *appServer) says(thread, prompt string) {
	s.t.Helper()
	s.call("turn/start", map[string]any{"threadId": thread,
		"input": []any{map[string]any{"type": "text", "text": prompt}}})
	s.hears("the end of the turn "+prompt, func(h heard) bool { return h.Method == "turn/completed" })
}

// turns are the ids of the turns of a thread that is loaded, oldest first.
func (s *appServer) resumes(thread string) (turns []string) {
	s.t.Helper()
	got := s.call("thread/resume", map[string]any{"threadId": thread})
	for v := range wire.ValueOf(got).Get("thread").Get("turns").Values() {
		turns = append(turns, v.Get("id").String())
	}
	return turns
}

// TestCodex_forksAndRevertsAfterAFold: after `winnow compact --in-place` and two more turns the
// thread is forked, whole and at older turns, and reverted to before older turns, as Codex's
// terminal does it. This version has no thread/rollback any more.
func TestCodex_forksAndRevertsAfterAFold(t *testing.T) {
	w, a := newWorkshop(t, codexAgent), codexAgent(t)
	a.begins(t)
	path := a.sessionFile(t)
	w.inPlace(t, "compact", path)
	a.goes(t)
	remembers(t, a.asked(t, "ZEBRA"), true, 3, 4, 5, 6)
	thread, saved := codexThread(t, a), t.TempDir()
	a.keeps(t, saved)
	for _, c := range []struct {
		name           string
		at             int  // the last turn that stays
		fork, reverted bool // whether the summary is there
	}{
		{"whole", 6, true, true},
		{"behind the fold", 5, true, true},
		{"at the end of the tail", 4, false, true}, // a fork ends with the turn, before the fold
		{"in the tail", 3, false, false},           // both end before the fold, and have all from before it
		{"before the fold", 1, false, false},
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
				s, stop := serveCodex(t, a.client)
				on := codexGoes(t, s, thread, c.at, fork)
				s.says(on, "And now, OKAPI?")
				stop()
				asked := a.asked(t, "OKAPI")
				codexPaired(t, asked)
				summary, first := fork && c.fork || !fork && c.reverted, 0
				if summary {
					first = 2
				}
				remembers(t, asked, summary, []int{1, 2, 3, 4, 5, 6}[first:c.at]...)
				if c.at == 1 {
					return // too little to fold
				}

				// The file has the new turn alone, and names its base.
				now := codexNewest(t, a.client)
				before := readFile(t, now)
				later := time.Now().Add(time.Hour)
				if err := os.Chtimes(path, later, later); err != nil {
					t.Fatal(err)
				}
				if !strings.Contains(winnowIn(t, a.client, w.winnow, "inspect", "codex:"+on, "--as", "text"), "OKAPI") {
					t.Error("the id names another rollout than the one that Codex goes on with")
				}
				w.inPlace(t, "compact", now)
				w.inPlace(t, "undo", now)
				if !bytes.Equal(before, readFile(t, now)) {
					t.Error("undone, the file is another one")
				}
				w.inPlace(t, "compact", now)
				a.up.Forget()
				s, stop = serveCodex(t, a.client)
				s.resumes(on)
				s.says(on, "And then, LEMUR?")
				stop()
				asked = a.asked(t, "LEMUR")
				codexPaired(t, asked)
				if n := holds(t, asked, c.at); n == 0 {
					t.Error("no turn is folded")
				}
				checkContains(t, asked, true, "And now, OKAPI?")
			})
		}
	}
}

// codexGoes forks a thread behind a turn of the past, or reverts it to there, and returns the thread
// that goes on.
func codexGoes(t *testing.T, s *appServer, thread string, at int, fork bool) string {
	t.Helper()
	turns := s.resumes(thread)
	if len(turns) != len(past) {
		t.Fatalf("the thread has %d turns", len(turns))
	}
	if fork {
		made := s.call("thread/fork", map[string]any{"threadId": thread, "lastTurnId": turns[at-1]})
		return wire.ValueOf(made).Get("thread").Get("id").String()
	}
	if at < len(past) {
		s.call("thread/revert", map[string]any{"threadId": thread, "beforeTurnId": turns[at]})
	}
	return thread
}

// codexNewest is the rollout that was written last.
func codexNewest(t *testing.T, c *client) (path string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(c.Home, ".codex", "sessions", "*", "*", "*", "rollout-*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("rollouts: %q, %v", files, err)
	}
	var newest time.Time
	for _, file := range files {
		if info, err := os.Stat(file); err == nil && info.ModTime().After(newest) {
			path, newest = file, info.ModTime()
		}
	}
	return path
}

// keeps copies the home of a product, in which it has more than the session's file, and restores
// brings it back.
func (a *agent) keeps(t *testing.T, to string) {
	t.Helper()
	if out, err := exec.Command("cp", "-a", a.Home+"/.", to).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

func (a *agent) restores(t *testing.T, from string) {
	t.Helper()
	if err := os.RemoveAll(a.Home); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cp", "-a", from+"/.", a.Home).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
