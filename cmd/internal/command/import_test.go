package command

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/store/sqlite"
)

// shelf fills a folder with sessions of the given number of messages each, and returns its name.
func (d *desk) shelf(sessions, messages int) string {
	d.t.Helper()
	if err := os.Mkdir(filepath.Join(d.dir, "shelf"), 0o755); err != nil {
		d.t.Fatal(err)
	}
	for i := range sessions {
		text := strings.ReplaceAll(string(bigSession(messages)), "eeee", fmt.Sprintf("%04d", i))
		d.put(filepath.Join("shelf", fmt.Sprintf("%04d.jsonl", i)), []byte(text))
	}
	return "shelf"
}

// held returns how many messages each session of the store has, by State and by reading them.
func (d *desk) held() map[string]int {
	d.t.Helper()
	s, err := sqlite.Open(d.t.Context(), sqlite.Config{Path: filepath.Join(d.dir, "..", "home", ".local", "share", "winnow", "winnow.db")})
	if err != nil {
		d.t.Fatal(err)
	}
	defer s.Close()
	list, err := s.List(d.t.Context())
	if err != nil {
		d.t.Fatal(err)
	}
	held := map[string]int{}
	for _, l := range list {
		n := 0
		for _, err := range s.Messages(d.t.Context(), l.Info.ID) {
			if err != nil {
				d.t.Fatal(err)
			}
			n++
		}
		source, err := s.Source(d.t.Context(), l.Info.ID)
		if err != nil || source == nil || n != l.Messages {
			d.t.Errorf("session %s has %d messages of %d, source %v, %v", l.Info.ID, n, l.Messages, source != nil, err)
		}
		held[l.Info.ID] = n
	}
	return held
}

// An import that is killed at any moment has whole sessions or none of them, and the next one goes
// on.
func TestImport_killedGoesOnWhereItWas(t *testing.T) {
	sequential(t)
	d := newDesk(t)
	const sessions, messages = 40, 60
	folder := d.shelf(sessions, messages)
	last := 0
	for _, after := range []time.Duration{60, 90, 120, 150, 200, 250} {
		cmd := d.command("import", folder)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(after * time.Millisecond)
		cmd.Process.Kill()
		cmd.Wait()
		held := d.held()
		for id, n := range held {
			if n != messages {
				t.Errorf("half a session is seen: %s has %d messages of %d", id, n, messages)
			}
		}
		if len(held) < last {
			t.Errorf("%d sessions are left of %d", len(held), last)
		}
		last = len(held)
		t.Logf("after %d ms: %d sessions", after, last)
	}
	o := d.run("import", folder, "--json")
	if o.code != cli.ExitDone && o.code != cli.ExitNothing {
		t.Fatalf("the next import: %s", o.stderr)
	}
	doc := o.document(t)
	if doc["files"] != float64(sessions) {
		t.Errorf("%v files were looked at", doc["files"])
	}
	if got := len(d.held()); got != sessions {
		t.Errorf("%d sessions of %d are there in the end", got, sessions)
	}
	o = d.run("import", folder, "--json")
	o.wants(t, cli.ExitNothing)
	if doc := o.document(t); doc["unchanged"] != float64(sessions) {
		t.Errorf("%v files of %d are known as they are", doc["unchanged"], sessions)
	}
}

func TestImport_stopsWithItsContext(t *testing.T) {
	d := newDesk(t)
	folder := d.shelf(30, 60)
	ctx, cancel := context.WithTimeout(t.Context(), 80*time.Millisecond)
	defer cancel()
	o := d.runWith(ctx, strings.NewReader(""), new(strings.Builder), "import", folder)
	if o.code != cli.ExitInterrupted && o.code != cli.ExitDone {
		t.Errorf("exit code %d: %s", o.code, o.stderr)
	}
	time.Sleep(cli.Patience) // it may still be at its last transaction
	for id, n := range d.held() {
		if n != 60 {
			t.Errorf("half a session is seen: %s has %d messages", id, n)
		}
	}
}

func TestImport_tellsOnATerminalHowFarItIs(t *testing.T) {
	d := newDesk(t)
	folder := d.shelf(3, 5)
	var stderr strings.Builder
	env := cli.System()
	env.Stdin, env.Stdout, env.Stderr, env.Dir, env.Environ = strings.NewReader(""), new(strings.Builder), &stderr, d.dir, d.env
	env.StdoutTerminal, env.StderrTerminal = false, true
	env.Getenv = func(name string) string {
		if name == "HOME" {
			return filepath.Join(d.dir, "..", "home")
		}
		return ""
	}
	env.Now = hasty()
	if code := (Program{}).Main(t.Context(), []string{"import", folder}, env); code != cli.ExitDone {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	if !strings.Contains(stderr.String(), "importing 1 of 3 files") || !regexp.MustCompile(`importing 3 of 3 files, .*, [0-9.]+/s, 0 s left`).MatchString(stderr.String()) || !strings.HasSuffix(stderr.String(), "\r\x1b[K") {
		t.Errorf("it said %q", &stderr)
	}
}
